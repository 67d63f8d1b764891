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
    // A file that cannot be unpacked may be one; hs_foreign__convert() then reports the problem.
    bool heaptrack = in && (is_heaptrack(in) || ferror(in));
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

static bool is_zstd(const char *path)
{
    unsigned char first = 0;
    FILE *in = fopen(path, "rbe");
    bool is = in && fread(&first, 1, 1, in) == 1 && first == 0x28;
    if (in)
        fclose(in);
    return is;
}

// For compressed files from which not even the first byte can be unpacked.
static int check_start(const char *path, FILE *in, struct hs_error *error)
{
    struct stat status = {0};
    ungetc(getc(in), in);
    int problem = errno;
    if (!ferror(in))
        return 0;
    stat(path, &status);
    const char *packed = is_zstd(path) ? "zstd, as heaptrack does" : "gzip, as pprof does, and heaptrack without zstd";
    if (problem == ENODATA)
        return hs_error__set(error, EBADMSG,
                             "%s: compressed with %s, but truncated: it ends after %lld bytes, in its first block, and "
                             "nothing can be read",
                             path, packed, (long long)status.st_size);
    return hs_error__set(error, EBADMSG, "%s: compressed with %s, but damaged in its first block: nothing can be read",
                         path, packed);
}

int hs_foreign__convert(const char *path, enum hs_foreign kind, FILE *out, struct hs_error *error)
{
    FILE *in = kind == HS_FOREIGN_HEAPTRACK ? hs_unpack__open(path) : fopen(path, "rbe");
    if (!in)
        return hs_error__set(error, errno, "%s: %s", path, strerror(errno));
    bool heaptrack = kind == HS_FOREIGN_HEAPTRACK;
    int result = heaptrack ? check_start(path, in, error) : 0;
    if (!result)
        result = heaptrack ? hs_convert__heaptrack(path, in, out, error) : hs_convert__recorder(path, in, out, error);
    fclose(in);
    return result;
}
