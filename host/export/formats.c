// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/export.h"

#include "host/base/path.h"

#include <string.h>

#define ENTRY(name, writer, summary, media_type, suffix, whole, of_blocks, events, row_bytes, frame_bytes)             \
    {#name, summary, media_type, suffix, whole, of_blocks, events, row_bytes, frame_bytes, writer},
const struct hs_export_format hs_export_formats[] = {HS_EXPORT_FORMATS(ENTRY){.name = NULL}};

const struct hs_export_format *hs_export_format__find(const char *name)
{
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        if (!strcmp(format->name, name))
            return format;
    }
    return NULL;
}

const struct hs_export_format *hs_export_format__of_path(const char *path)
{
    const struct hs_export_format *found = NULL;
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        if (hs_path__ends_with(path, format->suffix) && (!found || strlen(format->suffix) > strlen(found->suffix)))
            found = format;
    }
    return found;
}

static uint64_t product(uint64_t count, unsigned bytes_of_each)
{
    uint64_t bytes;
    return __builtin_mul_overflow(count, bytes_of_each, &bytes) ? UINT64_MAX : bytes;
}

uint64_t hs_export_format__bytes(const struct hs_export_format *format, uint64_t rows)
{
    return product(rows, format->row_bytes);
}

uint64_t hs_export_format__stack_bytes(const struct hs_export_format *format, uint64_t frames)
{
    return product(frames, format->frame_bytes);
}

void hs_export_formats__list(enum hs_events events, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        if (format->events >> events & 1 && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", format->name);
    }
}

void hs_export_formats__list_of_stacks(char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        if (!format->of_blocks && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " " : "", format->name);
    }
}
