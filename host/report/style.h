// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Colour, only where it is seen: on a terminal, unless NO_COLOR is set.
#ifndef HEAPSONDE_HOST_REPORT_STYLE_H
#define HEAPSONDE_HOST_REPORT_STYLE_H

#include <stdio.h>

struct hs_style {
    const char *heading;
    const char *number;
    const char *faint;
    const char *warning;
    const char *plain;
};

const struct hs_style *hs_style__for(FILE *out);

#endif
