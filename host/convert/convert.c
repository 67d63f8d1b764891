// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/convert.h"

#include "host/convert/unpack.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const char *hs_foreign__name(enum hs_foreign kind)
{
    static const char *const names[] = {"", "heaptrack", "memory-profiler"};
    return names[kind];
}

static bool is_heaptrack(FILE *in)
{
    unsigned version, format;
    char line[64];
    return fgets(line, sizeof(line), in) && sscanf(line, "v %x %x\n", &version, &format) == 2;
}

enum hs_foreign hs_foreign__recognise(const char *path)
{
    struct stat status;
    // A pipe would lose what is read from it.
    FILE *in = !stat(path, &status) && S_ISREG(status.st_mode) ? hs_unpack__open(path) : NULL;
    bool heaptrack = in && is_heaptrack(in);
    if (in)
        fclose(in);
    if (heaptrack)
        return HS_FOREIGN_HEAPTRACK;
    in = in ? fopen(path, "rbe") : NULL;
    bool recorder = in && hs_convert__is_recorder(in);
    if (in)
        fclose(in);
    return recorder ? HS_FOREIGN_RECORDER : HS_FOREIGN_NONE;
}

int hs_foreign__convert(const char *path, enum hs_foreign kind, FILE *out, struct hs_error *error)
{
    FILE *in = kind == HS_FOREIGN_HEAPTRACK ? hs_unpack__open(path) : fopen(path, "rbe");
    if (!in)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    int result = kind == HS_FOREIGN_HEAPTRACK ? hs_convert__heaptrack(path, in, out, error)
                                              : hs_convert__recorder(path, in, out, error);
    fclose(in);
    return result;
}
