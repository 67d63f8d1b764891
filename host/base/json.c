// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/json.h"

#include "host/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Members of the outermost levels stand on lines of their own: readable, and a diff shows what changed.
#define PRETTY_DEPTH 3

void hs_json__start(struct hs_json *json, FILE *out, bool pretty)
{
    *json = (struct hs_json){.out = out, .pretty = pretty};
}

static void write_escaped(FILE *out, unsigned char byte)
{
    switch (byte) {
    case '"':
        fputs("\\\"", out);
        return;
    case '\\':
        fputs("\\\\", out);
        return;
    case '\n':
        fputs("\\n", out);
        return;
    case '\t':
        fputs("\\t", out);
        return;
    default:
        fprintf(out, "\\u%04x", byte);
    }
}

// The number of ASCII characters at the start that need no escape: nearly all text is made of them.
static size_t plain_length(const unsigned char *text, size_t length)
{
    size_t i = 0;
    while (i < length && text[i] >= ' ' && text[i] < 0x7f && text[i] != '"' && text[i] != '\\')
        i++;
    return i;
}

static void write_string(FILE *out, const char *bytes, size_t length)
{
    const unsigned char *text = (const unsigned char *)bytes;
    putc_unlocked('"', out);
    for (size_t i = 0; i < length;) {
        const size_t plain = plain_length(text + i, length - i);
        fwrite_unlocked(text + i, 1, plain, out);
        i += plain;
        if (i == length)
            break;
        size_t sequence = hs_utf8__length(bytes + i, length - i);
        if (!sequence) {
            fputs("\xef\xbf\xbd", out);
            i++;
        } else if (text[i] == '"' || text[i] == '\\' || !hs_utf8__shown(bytes + i, sequence)) {
            // Of two bytes the second is the character: U+0080 to U+009F.
            write_escaped(out, text[i + sequence - 1]);
            i += sequence;
        } else {
            fwrite_unlocked(text + i, 1, sequence, out);
            i += sequence;
        }
    }
    putc_unlocked('"', out);
}

static void new_line(struct hs_json *json)
{
    if (json->pretty && json->depth < PRETTY_DEPTH)
        fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
}

static void begin_value(struct hs_json *json, const char *key)
{
    if (json->depth) {
        if (json->filled[json->depth])
            putc_unlocked(',', json->out);
        json->filled[json->depth] = true;
        new_line(json);
    }
    if (!key)
        return;
    write_string(json->out, key, strlen(key));
    fputs(json->pretty ? ": " : ":", json->out);
}

static void open_container(struct hs_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    putc_unlocked(bracket, json->out);
    if (json->depth + 1 < HS_JSON_DEPTH)
        json->depth++;
    json->filled[json->depth] = false;
}

static void close_container(struct hs_json *json, char bracket)
{
    bool filled = json->filled[json->depth];
    json->depth--;
    if (filled && json->depth + 1 < PRETTY_DEPTH)
        new_line(json);
    putc_unlocked(bracket, json->out);
    if (!json->depth)
        putc_unlocked('\n', json->out);
}

void hs_json__open_object(struct hs_json *json, const char *key)
{
    open_container(json, key, '{');
}

void hs_json__close_object(struct hs_json *json)
{
    close_container(json, '}');
}

void hs_json__open_array(struct hs_json *json, const char *key)
{
    open_container(json, key, '[');
}

void hs_json__close_array(struct hs_json *json)
{
    close_container(json, ']');
}

void hs_json__bytes(struct hs_json *json, const char *key, const char *bytes, size_t length)
{
    begin_value(json, key);
    write_string(json->out, bytes, length);
}

void hs_json__string(struct hs_json *json, const char *key, const char *value)
{
    if (value)
        hs_json__bytes(json, key, value, strlen(value));
    else
        hs_json__null(json, key);
}

void hs_json__number(struct hs_json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    // Readers with signed numbers refuse larger integers; only damaged traces have them.
    if (value > INT64_MAX)
        fprintf(json->out, "%.17e", (double)value);
    else
        fprintf(json->out, "%" PRIu64, value);
}

void hs_json__signed(struct hs_json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void hs_json__signed_array(struct hs_json *json, const char *key, const int32_t *numbers, size_t count)
{
    hs_json__open_array(json, key);
    for (size_t i = 0; i < count; i++)
        hs_json__signed(json, NULL, numbers[i]);
    hs_json__close_array(json);
}

void hs_json__real(struct hs_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        hs_json__null(json, key);
        return;
    }
    begin_value(json, key);
    fprintf(json->out, "%.17g", value);
}

void hs_json__boolean(struct hs_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void hs_json__raw(struct hs_json *json, const char *key, const char *text, size_t length)
{
    begin_value(json, key);
    fwrite(text, 1, length, json->out);
}

void hs_json__null(struct hs_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}
