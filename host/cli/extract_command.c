// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/commands.h"
#include "host/cli/foreign.h"
#include "host/cli/output.h"
#include "host/cli/stream_dumps.h"
#include "host/import/import.h"
#include "host/report/text.h"
#include "host/symbols/given_names.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A name that is not taken yet: name, name.000, name.001, ... A trace may name its files as it likes: only the last
// part counts, and nothing that is there is overwritten.
static FILE *create(const char *folder, const char *name, char *path, size_t size)
{
    bool usable = *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    for (unsigned i = 0; i <= 1000; i++) {
        int length = i ? snprintf(path, size, "%s/%s.%03u", folder, usable ? name : "file", i - 1)
                       : snprintf(path, size, "%s/%s", folder, usable ? name : "file");
        FILE *file = length > 0 && (size_t)length < size ? fopen(path, "wxe") : NULL;
        if (file || errno != EEXIST)
            return file;
    }
    return NULL;
}

static int extract_file(const struct hs_arguments *arguments, const struct hs_store *store, size_t index,
                        const struct hs_embedded *embedded, const char *folder)
{
    char path[PATH_MAX];
    struct hs_error error = {.message = ""};
    void *contents = malloc(embedded->length + 1);
    if (!contents || hs_store__read_embedded(store, index, contents, &error)) {
        hs_complain(arguments->command, "%s: %s", embedded->name, contents ? error.message : "out of memory");
        free(contents);
        return HS_EXIT_FAILURE;
    }
    FILE *file = create(folder, base_name(embedded->name), path, sizeof(path));
    bool written = file && fwrite(contents, 1, embedded->length, file) == embedded->length;
    if (file && fclose(file))
        written = false;
    free(contents);
    if (!written) {
        hs_complain(arguments->command, "%s: %s", path, strerror(errno));
        return HS_EXIT_FAILURE;
    }
    hs_text__print(stdout, path, strlen(path));
    printf(" (%" PRIu64 " bytes): ", embedded->length);
    hs_text__print(stdout, embedded->name, strlen(embedded->name));
    putchar('\n');
    return 0;
}

static int extract_all(const struct hs_arguments *arguments, const struct hs_store *store, const char *folder)
{
    size_t count = 0, files = 0;
    int status = 0;
    const struct hs_embedded *embedded = hs_store__embedded(store, &count);
    if (mkdir(folder, 0777) && errno != EEXIST) {
        hs_complain(arguments->command, "%s: %s", folder, strerror(errno));
        return HS_EXIT_FAILURE;
    }
    for (size_t i = 0; i < count; i++) {
        if (!strncmp(embedded[i].name, HS_GIVEN_NAMES, strlen(HS_GIVEN_NAMES)))
            continue;
        int failed = extract_file(arguments, store, i, &embedded[i], folder);
        status = failed ? failed : status;
        files++;
    }
    if (!files)
        hs_complain(arguments->command,
                    "%s holds no files; 'heapsonde run' puts some into a trace with --embed-binaries or --include-file",
                    arguments->operands[0]);
    return status;
}

static int extract(const struct hs_arguments *arguments)
{
    const char *path = arguments->operands[0], *folder = hs_arguments__text(arguments, "output", ".");
    if (hs_stream_dumps__recognise(path))
        return hs_stream_dumps__extract(arguments->command, path, folder);
    struct hs_error error = {.message = ""};
    struct hs_store *store = NULL;
    enum hs_foreign foreign = hs_foreign__recognise(path);
    int result = foreign ? hs_open_foreign(path, foreign, &store, &error) : hs_import__open(path, NULL, &store, &error);
    if (result) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    int status = extract_all(arguments, store, folder);
    hs_store__close(store);
    return status;
}

static const struct hs_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = HS_OPTION_FILE,
     .argument = "DIR",
     .help = "the folder to write into, made when it is not there; the current one when not given"},
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_extract = {
    .name = "extract",
    .synopsis = "[-o DIR] TRACE",
    .summary = "write the files that a trace holds into a folder",
    .description =
        "A trace may hold files of the machine that was recorded: programs and libraries, its maps, what was "
        "asked for. They are written by their names, without their folders; of several of one name the later "
        "ones get .000, .001 and so on. Nothing is overwritten.\n\n"
        "Of what a sampler wrote to a descriptor (HEAPSONDE_OUTPUT=fd:N) it writes the heap dumps, as "
        "NUMBER.KIND.heap.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = extract,
};
