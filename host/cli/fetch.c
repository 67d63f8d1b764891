// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/fetch.h"

#include "host/base/text_stream.h"
#include "host/board/words.h"
#include "host/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The paths come from another machine and must not lead out of the folder.
static bool stays_below(const char *path)
{
    size_t length = strlen(path);
    return path[0] == '/' && length > 1 && length < PATH_MAX && !strstr(path, "/../") && !strchr(path, '\n') &&
           (length < 3 || strcmp(path + length - 3, "/..") != 0);
}

static bool was_before(const struct hs_module *modules, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (!strcmp(modules[i].path, modules[number].path))
            return true;
    return false;
}

static bool is_wanted(const struct hs_board *board, const struct hs_module *modules, size_t number)
{
    const char *path = modules[number].path;
    bool is_ours = !strncmp(path, board->folder, strlen(board->folder));
    return stays_below(path) && !is_ours && modules[number].build_id_length && !was_before(modules, number);
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

static char *reading(const char *path)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return NULL;
    fputs("exec cat ", out);
    hs_words__quote(out, path);
    return hs_text_stream__close(&stream);
}

static bool is_what_ran(const char *path, const struct hs_module *module)
{
    struct hs_probe probe;
    return !hs_probe__file(&probe, path) && probe.build_id_length == module->build_id_length &&
           !memcmp(probe.build_id, module->build_id, probe.build_id_length);
}

// Whether the folder now contains the file.
static bool fetch(struct hs_board *board, const struct hs_module *module, const char *folder)
{
    char path[2 * PATH_MAX];
    struct hs_session session;
    snprintf(path, sizeof(path), "%s%s", folder, module->path);
    make_folders(path);
    if (is_what_ran(path, module))
        return true;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int result =
        fd < 0 ? -errno
               : hs_board__start(board, &session, reading(module->path), HS_SESSION_OTHER, HS_SESSION_NOTHING, fd, -1);
    if (fd >= 0)
        close(fd);
    bool came = !result && hs_session__wait(&session) == 0 && is_what_ran(path, module);
    if (!came && fd >= 0)
        unlink(path);
    return came;
}

int hs_fetch_binaries(const struct hs_command *command, struct hs_board *board, const char *trace, const char *folder)
{
    struct hs_store *store = NULL;
    struct hs_error error = {.message = ""};
    size_t count = 0;
    int fetched = 0;
    int result = hs_import__open(trace, NULL, &store, &error);
    if (result) {
        hs_complain(command, "--fetch-binaries: %s", error.message);
        return result;
    }
    const struct hs_module *modules = hs_store__modules(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_wanted(board, modules, i))
            continue;
        if (fetch(board, &modules[i], folder))
            fetched++;
        else
            hs_complain(command, "--fetch-binaries: %s on %s is not the recorded file, or cannot be copied",
                        modules[i].path, board->address.text);
    }
    hs_store__close(store);
    return fetched;
}
