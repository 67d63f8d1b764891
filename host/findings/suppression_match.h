// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which findings are suppressed, once suppressions.h has read what the user does not want to see.
#ifndef HEAPSONDE_HOST_FINDINGS_SUPPRESSION_MATCH_H
#define HEAPSONDE_HOST_FINDINGS_SUPPRESSION_MATCH_H

#include "host/findings/finding.h"

struct hs_suppression {
    const char *kind; // NULL: all
    char *pattern;
};

struct hs_suppressions {
    struct hs_suppression *at;
    size_t count;
    const struct hs_suppressions *other;
};

// Whether findings of the kind about this stack are suppressed. NULL suppresses nothing.
bool hs_suppressions__match(const struct hs_suppressions *suppressions, const char *kind,
                            struct hs_trace_symbols *symbols, uint32_t stack);

// private: whether the pattern matches the text
bool hs_suppression__pattern_matches(const char *pattern, const char *text);

#endif
