// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small language that selects devices.
//
//   expression  term { "or" term }
//   term        factor { "and" factor }
//   factor      "not" factor | "(" expression ")" | KEY OPERATOR VALUE
//   KEY         name, device, pid, address, labels.WORD
//   OPERATOR    == != =~ !~
//   VALUE       "text" or 'text' (with \ before a quote or a \), or a word without spaces, quotes and parentheses
//
// =~ searches the regular expression (PCRE2) anywhere in the value. A missing value is empty. A match that is too
// expensive counts as no match.
#ifndef HEAPSONDE_HOST_GATHER_SELECT_H
#define HEAPSONDE_HOST_GATHER_SELECT_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define HS_SELECT_LONGEST 4096
#define HS_SELECT_DEEPEST 64

struct hs_select;

// NULL: the place and the reason are in `error`.
struct hs_select *hs_select__parse(const char *text, struct hs_error *error);
void hs_select__free(struct hs_select *select);

// The properties of a device. `labels` is KEY=VALUE,KEY=VALUE.
struct hs_select_subject {
    const char *name, *device, *pid, *address, *labels;
};

// NULL selects everything. Thread-safe.
bool hs_select__matches(const struct hs_select *select, const struct hs_select_subject *subject);

#endif
