// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/style.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wants_colour(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    int fd = fileno(out);
    if ((no_colour && *no_colour) || (terminal && !strcmp(terminal, "dumb")))
        return false;
    return fd >= 0 && isatty(fd);
}

const struct hs_style *hs_style__for(FILE *out)
{
    static const struct hs_style none = {"", "", "", "", ""};
    static const struct hs_style colour = {"\033[1m", "\033[1;36m", "\033[2m", "\033[33m", "\033[0m"};
    return wants_colour(out) ? &colour : &none;
}
