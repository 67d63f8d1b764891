// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SHORT = 1024, LEVEL = 1, GZIP = 16 + MAX_WBITS, PIECE = 32 << 10 };

static bool forbids(const char *parameters, size_t length)
{
    char text[32];
    snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : sizeof(text) - 1), parameters);
    const char *quality = strstr(text, "q=");
    return quality && strtod(quality + 2, NULL) <= 0;
}

bool hs_pack__is_accepted(const char *header)
{
    while (header && *header) {
        header += strspn(header, " \t,");
        const size_t length = strcspn(header, ","), name = strcspn(header, ",; \t");
        const bool named = (name == 4 && !strncasecmp(header, "gzip", 4)) || (name == 1 && *header == '*');
        if (named && !forbids(header + name, length - name))
            return true;
        header += length;
    }
    return false;
}

static bool is_text(const char *type)
{
    static const char *const types[] = {"application/json", "text/plain", "text/html", "text/csv", "image/svg+xml"};
    for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
        if (!strncmp(type, types[i], strlen(types[i])))
            return true;
    return false;
}

// ---- bodies ---------------------------------------------------------------------------------------------------------

static void pack_body(struct hs_http_answer *answer)
{
    z_stream stream = {0};
    if (answer->length > UINT32_MAX || deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    const uLong most = deflateBound(&stream, answer->length);
    char *packed = malloc(most);
    stream.next_in = (Bytef *)answer->body;
    stream.avail_in = (uInt)answer->length;
    stream.next_out = (Bytef *)packed;
    stream.avail_out = (uInt)most;
    if (packed && deflate(&stream, Z_FINISH) == Z_STREAM_END) {
        free(answer->body);
        answer->body = packed;
        answer->length = stream.total_out;
        answer->packed = true;
    } else {
        free(packed);
    }
    deflateEnd(&stream);
}

// The table of static files says how long they are unpacked; 4 bytes at the end of a gzip file do, too.
static int unpack_body(struct hs_http_answer *answer)
{
    z_stream stream = {.next_in = (Bytef *)answer->body, .avail_in = (uInt)answer->length};
    const unsigned char *end = (const unsigned char *)answer->body + answer->length;
    if (answer->length < 18 || inflateInit2(&stream, GZIP) != Z_OK)
        return -ENOMEM;
    const size_t length = end[-4] | end[-3] << 8 | end[-2] << 16 | (size_t)end[-1] << 24;
    char *text = malloc(length + 1);
    stream.next_out = (Bytef *)text;
    stream.avail_out = (uInt)length;
    const bool good = text && inflate(&stream, Z_FINISH) == Z_STREAM_END;
    inflateEnd(&stream);
    if (!good) {
        free(text);
        return -ENOMEM;
    }
    free(answer->body);
    answer->body = text;
    answer->length = length;
    answer->packed = false;
    return 0;
}

// ---- streams --------------------------------------------------------------------------------------------------------

struct packing {
    struct hs_stream_writer writer; // of the text
    z_stream stream;
    FILE *out;
    unsigned char piece[PIECE];
};

static int deflate_to(struct packing *packing, const char *bytes, size_t length, int flush)
{
    packing->stream.next_in = (Bytef *)(uintptr_t)bytes;
    packing->stream.avail_in = (uInt)length;
    do {
        packing->stream.next_out = packing->piece;
        packing->stream.avail_out = PIECE;
        deflate(&packing->stream, flush);
        const size_t made = PIECE - packing->stream.avail_out;
        if (fwrite(packing->piece, 1, made, packing->out) != made)
            return -EPIPE;
    } while (!packing->stream.avail_out);
    return 0;
}

static ssize_t take_text(void *cookie, const char *bytes, size_t length)
{
    return deflate_to(cookie, bytes, length, Z_NO_FLUSH) ? 0 : (ssize_t)length;
}

static int write_packed(void *context, FILE *out)
{
    struct packing *packing = context;
    packing->out = out;
    FILE *text = fopencookie(packing, "w", (cookie_io_functions_t){.write = take_text});
    if (!text)
        return -ENOMEM;
    setvbuf(text, NULL, _IOFBF, PIECE);
    int result = packing->writer.write(packing->writer.context, text);
    if (fclose(text) && !result)
        result = -EPIPE;
    return result ? result : deflate_to(packing, NULL, 0, Z_FINISH);
}

static void end_packing(void *context)
{
    struct packing *packing = context;
    if (packing->writer.done)
        packing->writer.done(packing->writer.context);
    deflateEnd(&packing->stream);
    free(packing);
}

static void pack_stream(struct hs_http_answer *answer)
{
    struct packing *packing = calloc(1, sizeof(*packing));
    if (!packing)
        return;
    packing->writer = answer->writer;
    if (deflateInit2(&packing->stream, LEVEL, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(packing);
        return;
    }
    answer->writer = (struct hs_stream_writer){write_packed, end_packing, packing};
    answer->packed = true;
}

int hs_pack__answer(struct hs_http_answer *answer, bool accepted)
{
    if (answer->packed)
        return accepted ? 0 : unpack_body(answer);
    if (!accepted || !is_text(answer->type))
        return 0;
    if (answer->writer.write)
        pack_stream(answer);
    else if (answer->body && answer->length > SHORT)
        pack_body(answer);
    return 0;
}
