// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/webui/one_file.h"

#include "host/webui/files.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP 16 // added to the size of the window

// ---- packing -------------------------------------------------------------------------------------------------------

// To be freed; NULL: out of memory, or not packed.
static unsigned char *unpack(const struct hs_webui_file *file, size_t *length)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)file->bytes, .avail_in = (uInt)file->length};
    size_t room = 8 * file->length + 4096;
    unsigned char *bytes = malloc(room);
    if (!bytes || inflateInit2(&stream, MAX_WBITS + GZIP) != Z_OK) {
        free(bytes);
        return NULL;
    }
    stream.next_out = bytes;
    stream.avail_out = (uInt)room;
    const int result = inflate(&stream, Z_FINISH);
    *length = stream.total_out;
    inflateEnd(&stream);
    if (result == Z_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

static unsigned char *pack(const char *text, size_t length, size_t *packed)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)length};
    if (length > UINT32_MAX / 2 ||
        deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    const size_t room = deflateBound(&stream, length);
    unsigned char *bytes = malloc(room);
    stream.next_out = bytes;
    stream.avail_out = (uInt)room;
    const int result = bytes ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    *packed = stream.total_out;
    deflateEnd(&stream);
    if (result == Z_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

static void write_base64(FILE *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const unsigned word =
            (unsigned)bytes[i] << 16 | (left > 1 ? bytes[i + 1] : 0u) << 8 | (left > 2 ? bytes[i + 2] : 0u);
        fputc(digits[word >> 18], out);
        fputc(digits[word >> 12 & 63], out);
        fputc(left > 1 ? digits[word >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[word & 63] : '=', out);
    }
}

// ---- the page ------------------------------------------------------------------------------------------------------

static const struct hs_webui_file *find(const char *type)
{
    for (const struct hs_webui_file *file = hs_webui_files; file->path; file++)
        if (!strncmp(file->type, type, strlen(type)))
            return file;
    return NULL;
}

static void write_hash(FILE *out, const struct hs_webui_file *file)
{
    unsigned char hash[32] = {0};
    for (size_t i = 0; i < sizeof(hash) && strlen(file->sha256) >= 2 * sizeof(hash); i++) {
        const char byte[3] = {file->sha256[2 * i], file->sha256[2 * i + 1], 0};
        hash[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    fputs("'sha256-", out);
    write_base64(out, hash, sizeof(hash));
    fputc('\'', out);
}

// Nothing but the script and the style in this file is executed, and nothing is loaded from anywhere.
static void write_policy(FILE *out, const struct hs_webui_file *script, const struct hs_webui_file *style)
{
    fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; connect-src 'none'; base-uri "
          "'none'; form-action 'none'; img-src data: blob:; script-src ",
          out);
    write_hash(out, script);
    fputs("; style-src ", out);
    write_hash(out, style);
    fputs("\">\n", out);
}

static void write_file(FILE *out, const unsigned char *bytes, size_t length, const char *before, const char *behind)
{
    fputs(before, out);
    fwrite(bytes, 1, length, out);
    fputs(behind, out);
}

int hs_one_file__start(struct hs_one_file *file, FILE *out, size_t most, const char *about, struct hs_error *error)
{
    const struct hs_webui_file *script = find("text/javascript"), *style = find("text/css");
    size_t script_length = 0, style_length = 0;
    *file = (struct hs_one_file){.out = out, .most = most};
    if (!script || !style)
        return hs_error__set(error, ENOTSUP, "this build has no page; build it with HEAPSONDE_WEBUI=build");
    unsigned char *code = unpack(script, &script_length), *rules = unpack(style, &style_length);
    int result = code && rules ? 0 : hs_error__set(error, ENOMEM, "out of memory");
    if (!result) {
        fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
        write_policy(out, script, style);
        fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
              "content=\"light dark\">\n<title>heapsonde</title>\n",
              out);
        write_file(out, rules, style_length, "<style>", "</style>\n");
        write_file(out, code, script_length, "<script type=\"module\">", "</script>\n");
        fprintf(out,
                "</head>\n<body>\n<div id=\"app\"></div>\n<noscript><h1>heapsonde</h1><p>This report needs "
                "JavaScript.</p></noscript>\n<script type=\"application/json\" id=\"report\">\n{\"about\":%s,\n"
                "\"answers\":{",
                about);
        file->size = script_length + style_length + strlen(about) + 2048;
    }
    free(code);
    free(rules);
    return result;
}

int hs_one_file__add(struct hs_one_file *file, const char *path, const char *answer, size_t length)
{
    size_t packed = 0;
    unsigned char *bytes = pack(answer, length, &packed);
    if (!bytes)
        return -ENOMEM;
    const size_t size = packed / 3 * 4 + strlen(path) + 16;
    const int result = file->size + size > file->most ? -EFBIG : 0;
    if (!result) {
        fprintf(file->out, "%s\n\"%s\":\"", file->answers++ ? "," : "", path);
        write_base64(file->out, bytes, packed);
        fputc('"', file->out);
        file->size += size;
    }
    free(bytes);
    return result;
}

void hs_one_file__finish(struct hs_one_file *file, const char *left_out)
{
    fprintf(file->out, "},\n\"left_out\":%s}\n</script>\n</body>\n</html>\n", left_out);
}
