// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HEAPSONDE_HAS_ZSTD
#include <zstd.h>

struct zstd_file {
    FILE *file;
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    size_t wanted; // bytes that are still to come, 0 at the end of a frame
    char bytes[65536];
};

static ssize_t read_zstd(void *cookie, char *to, size_t size)
{
    struct zstd_file *zstd = cookie;
    ZSTD_outBuffer out = {to, size, 0};
    while (out.pos == 0) {
        if (zstd->in.pos == zstd->in.size) {
            zstd->in = (ZSTD_inBuffer){zstd->bytes, fread(zstd->bytes, 1, sizeof(zstd->bytes), zstd->file), 0};
            if (!zstd->in.size && !zstd->wanted)
                return 0;
        }
        bool is_end = !zstd->in.size;
        zstd->wanted = ZSTD_decompressStream(zstd->stream, &out, &zstd->in);
        if (ZSTD_isError(zstd->wanted) || (is_end && !out.pos)) {
            errno = ZSTD_isError(zstd->wanted) ? EBADMSG : ENODATA;
            return -1;
        }
    }
    return (ssize_t)out.pos;
}

static int close_zstd(void *cookie)
{
    struct zstd_file *zstd = cookie;
    fclose(zstd->file);
    ZSTD_freeDStream(zstd->stream);
    free(zstd);
    return 0;
}

static FILE *open_zstd(FILE *file)
{
    struct zstd_file *zstd = calloc(1, sizeof(*zstd));
    if (zstd)
        zstd->stream = ZSTD_createDStream();
    if (!zstd || !zstd->stream) {
        free(zstd);
        fclose(file);
        errno = ENOMEM;
        return NULL;
    }
    zstd->file = file;
    FILE *stream = fopencookie(zstd, "r", (cookie_io_functions_t){.read = read_zstd, .close = close_zstd});
    if (!stream)
        close_zstd(zstd);
    return stream;
}
#else
static FILE *open_zstd(FILE *file)
{
    fclose(file);
    errno = ENOTSUP;
    return NULL;
}
#endif

static ssize_t read_gzip(void *cookie, char *to, size_t size)
{
    int problem = Z_OK;
    int got = gzread(cookie, to, size < (1u << 30) ? (unsigned)size : 1u << 30);
    // At an end in the middle zlib hands out what is there, and then nothing.
    bool cut = !got && (gzerror(cookie, &problem), problem == Z_BUF_ERROR);
    if (got >= 0 && !cut)
        return got;
    errno = cut ? ENODATA : EBADMSG;
    return -1;
}

static int close_gzip(void *cookie)
{
    gzclose(cookie);
    return 0;
}

// zlib hands on what is not compressed.
static FILE *open_gzip(FILE *file, const char *path)
{
    fclose(file);
    gzFile gzip = gzopen(path, "rbe");
    if (!gzip)
        return NULL;
    FILE *stream = fopencookie(gzip, "r", (cookie_io_functions_t){.read = read_gzip, .close = close_gzip});
    if (!stream)
        gzclose(gzip);
    return stream;
}

FILE *hs_unpack__open(const char *path)
{
    unsigned char magic[4] = "";
    FILE *file = fopen(path, "rbe");
    if (!file)
        return NULL;
    size_t got = fread(magic, 1, sizeof(magic), file);
    rewind(file);
    return got == sizeof(magic) && !memcmp(magic, "\x28\xb5\x2f\xfd", 4) ? open_zstd(file) : open_gzip(file, path);
}
