// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/path.h"
#include "host/cli/commands.h"
#include "host/cli/output.h"
#include "host/cli/stream_dumps.h"
#include "host/convert/convert.h"
#include "host/import/import.h"
#include "host/report/text.h"
#include "host/store/folder.h"
#include "host/symbols/given_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A name that is not taken yet: name, name.000, name.001, ... A trace may name its files as it likes: only the last
// part counts, and nothing that is there is overwritten.
static FILE *create(int folder, const char *wanted, char name[NAME_MAX + 1])
{
    bool usable = *wanted && strcmp(wanted, ".") != 0 && strcmp(wanted, "..") != 0;
    for (unsigned i = 0; i <= 1000; i++) {
        int length = i ? snprintf(name, NAME_MAX + 1, "%s.%03u", usable ? wanted : "file", i - 1)
                       : snprintf(name, NAME_MAX + 1, "%s", usable ? wanted : "file");
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
            return NULL;
        }
        int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fdopen(fd, "w");
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

struct target {
    const char *folder;
    int fd; // of the folder
};

static int extract_file(const struct hs_arguments *arguments, const struct hs_store *store, size_t index,
                        const struct hs_embedded *embedded, const struct target *to)
{
    char name[NAME_MAX + 1] = "";
    struct hs_error error = {.message = ""};
    void *contents = malloc(embedded->length + 1);
    if (!contents || hs_store__read_embedded(store, index, contents, &error)) {
        hs_complain(arguments->command, "%s: %s", embedded->name, contents ? error.message : "out of memory");
        free(contents);
        return HS_EXIT_FAILURE;
    }
    FILE *file = create(to->fd, hs_path__name(embedded->name), name);
    bool written = file && fwrite(contents, 1, embedded->length, file) == embedded->length;
    if (file && fclose(file))
        written = false;
    free(contents);
    if (!written) {
        hs_complain(arguments->command, "%s/%s: %s", to->folder, name, strerror(errno));
        return HS_EXIT_FAILURE;
    }
    hs_text__print(stdout, to->folder, strlen(to->folder));
    putchar('/');
    hs_text__print(stdout, name, strlen(name));
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
    const struct target to = {folder, hs_folder__open(folder, 0777)};
    if (to.fd < 0) {
        hs_complain(arguments->command, "%s: %s", folder, hs_folder__problem(to.fd));
        return HS_EXIT_FAILURE;
    }
    for (size_t i = 0; i < count; i++) {
        if (!strncmp(embedded[i].name, HS_GIVEN_NAMES, strlen(HS_GIVEN_NAMES)))
            continue;
        int failed = extract_file(arguments, store, i, &embedded[i], &to);
        status = failed ? failed : status;
        files++;
    }
    close(to.fd);
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
    int result = hs_foreign__open(path, NULL, &store, &error);
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
     .help = "the folder to write into, created if needed; default the current one"},
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_extract = {
    .name = "extract",
    .synopsis = "[-o DIR] TRACE",
    .summary = "write the files that are embedded in a trace into a folder",
    .description =
        "A trace may contain files of the recorded machine: programs and libraries, its maps, and files that were "
        "requested. They are written under their names, without their folders. If several have the same name, the "
        "later ones get .000, .001 and so on. Nothing is overwritten.\n\nFrom the output of a sampler to a descriptor "
        "(HEAPSONDE_OUTPUT=fd:N) it writes the heap dumps, as NUMBER.KIND.heap.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = extract,
};
