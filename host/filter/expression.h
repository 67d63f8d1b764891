// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters joined by AND, OR and NOT, as `where` has them and the parentheses of conditions:
//
//   size>=4K and (function=~"^parse_" or not thread=main)
//
//   expression  the logic of host/filter/logic.h; a part of it is:  filter { "," filter }
//   filter      NAME "=" VALUE          any parameter of host/filter/parameters.h but `where`
//             | NAME "=~" VALUE         function and source: <NAME>_regex
//             | NAME "!~" VALUE         function and source: negative_<NAME>_regex
//             | NAME "!=" VALUE         library: negative_library
//             | NAME ">=" VALUE         <NAME>_min, and "<=" <NAME>_max
//   VALUE       "text" or 'text' (with \ before a quote or a \), or a word up to a space, a comma or a parenthesis
//
// A part is what the same parameters mean when they are given together.
#ifndef HEAPSONDE_FILTER_EXPRESSION_H
#define HEAPSONDE_FILTER_EXPRESSION_H

#include "host/filter/filter.h"
#include "host/filter/logic.h"

#define HS_EXPRESSION_PARTS 64

struct hs_expression {
    struct hs_logic logic;
    struct hs_filter_parameters part[HS_EXPRESSION_PARTS];
    uint32_t parts;
};

// Reads as much as belongs to one. Returns NULL with the place and the reason in the reader's error.
struct hs_expression *hs_expression__read(struct hs_reader *reader);
void hs_expression__destroy(struct hs_expression *expression);

#endif
