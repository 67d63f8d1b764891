// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/export.h"

#include <string.h>

const struct hs_export_format hs_export_formats[] = {
    {"collapsed", "one line per stack, root;...;leaf value, for flamegraph.pl, speedscope and others", false,
     hs_export__collapsed},
    {"flamegraph", "an interactive picture in one SVG file, for any browser", false, hs_export__flamegraph},
    {"json", "every stack with all its numbers and frames", true, hs_export__json},
    {NULL, NULL, false, NULL},
};

const struct hs_export_format *hs_export_format__find(const char *name)
{
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        if (!strcmp(format->name, name))
            return format;
    }
    return NULL;
}
