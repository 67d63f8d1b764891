// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/export.h"

#include <string.h>

#define ENTRY(name, writer, summary, media_type, suffix, whole, of_blocks)                                             \
    {#name, summary, media_type, suffix, whole, of_blocks, writer},
const struct hs_export_format hs_export_formats[] = {HS_EXPORT_FORMATS(ENTRY){.name = NULL}};

const struct hs_export_format *hs_export_format__find(const char *name)
{
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        if (!strcmp(format->name, name))
            return format;
    }
    return NULL;
}
