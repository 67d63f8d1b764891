// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/foreign.h"

#include "host/base/path.h"
#include "host/import/import.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *make_file(char *made, size_t size)
{
    snprintf(made, size, "%s/heapsonde-XXXXXX", hs_path__temporary());
    int fd = mkstemp(made);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb+");
    if (!file && fd >= 0) {
        close(fd);
        unlink(made);
    }
    return file;
}

int hs_open_foreign(const char *path, enum hs_foreign kind, struct hs_store **store, struct hs_error *error)
{
    char made[PATH_MAX];
    struct hs_import_options options = {.temporary = true};
    FILE *file = make_file(made, sizeof(made));
    if (!file)
        return hs_error__set(error, errno, "%s: %s", made, strerror(errno));
    int result = hs_foreign__convert(path, kind, file, error);
    if (fclose(file) && !result)
        result = hs_error__set(error, errno, "%s: %s", made, strerror(errno));
    if (!result)
        result = hs_import__open(made, &options, store, error);
    unlink(made); // it stays open
    return result;
}

bool hs_refuse_foreign(const struct hs_command *command, const char *path)
{
    enum hs_foreign kind = hs_foreign__recognise(path);
    if (kind)
        hs_complain(command, "%s is a recording of %s; 'heapsonde import' makes a trace of it", path,
                    hs_foreign__name(kind));
    return kind != HS_FOREIGN_NONE;
}
