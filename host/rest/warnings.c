// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/warnings.h"

#include "host/base/json.h"
#include "host/base/text_stream.h"
#include "host/rest/unknown.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LENGTH = 40 };

static void add(struct hs_warnings *warnings, const char *name)
{
    char shown[NAME_LENGTH + 1];
    size_t length = 0;
    for (; name[length] && length < NAME_LENGTH; length++)
        shown[length] = name[length] < ' ' || name[length] > '~' ? '?' : name[length];
    shown[length] = 0;
    snprintf(warnings->text[warnings->count++], HS_WARNING_LENGTH, "unknown parameter '%s%s' was ignored", shown,
             name[length] ? "..." : "");
}

void hs_warnings__find(struct hs_warnings *warnings, const struct hs_uri *uri)
{
    size_t more = 0;
    warnings->count = 0;
    for (size_t i = 0; i < uri->parameters; i++) {
        if (hs_unknown__is_known(uri->parameter[i].name))
            continue;
        if (warnings->count < HS_WARNINGS - 1)
            add(warnings, uri->parameter[i].name);
        else
            more++;
    }
    if (more)
        snprintf(warnings->text[warnings->count++], HS_WARNING_LENGTH, "%zu more unknown parameters were ignored",
                 more);
}

void hs_warnings__join(const struct hs_warnings *warnings, char *line, size_t size)
{
    size_t at = 0;
    *line = 0;
    for (size_t i = 0; i < warnings->count && at < size; i++)
        at += (size_t)snprintf(line + at, size - at, "%s%s", i ? "; " : "", warnings->text[i]);
}

// The brace of the object, the member, and the comma before the next one: no answer is an empty object.
static void begin_object(const struct hs_warnings *warnings, FILE *out)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "warnings");
    for (size_t i = 0; i < warnings->count; i++)
        hs_json__string(&json, NULL, warnings->text[i]);
    hs_json__close_array(&json);
    fputc(',', out);
}

void hs_warnings__insert(const struct hs_warnings *warnings, char **body, size_t *length)
{
    struct hs_text_stream stream;
    FILE *out = *length && **body == '{' ? hs_text_stream__open(&stream) : NULL;
    if (!out)
        return;
    begin_object(warnings, out);
    fwrite(*body + 1, 1, *length - 1, out);
    char *text = hs_text_stream__close(&stream);
    if (!text)
        return;
    free(*body);
    *body = text;
    *length = stream.size;
}

static ssize_t write_bytes(void *cookie, const char *bytes, size_t length)
{
    struct hs_warned_stream *self = cookie;
    const size_t brace = length && !self->begun && *bytes == '{';
    if (brace)
        begin_object(self->warnings, self->out);
    self->begun |= length > 0;
    return fwrite(bytes + brace, 1, length - brace, self->out) == length - brace ? (ssize_t)length : 0;
}

FILE *hs_warned_stream__open(struct hs_warned_stream *self, const struct hs_warnings *warnings, FILE *out)
{
    *self = (struct hs_warned_stream){.warnings = warnings, .out = out};
    return fopencookie(self, "w", (cookie_io_functions_t){.write = write_bytes});
}
