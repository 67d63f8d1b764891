// SPDX-License-Identifier: MIT OR Apache-2.0
//
// report --growth: the call sites whose live memory still grows, by how fast.
#ifndef HEAPSONDE_HOST_FINDINGS_SLOPES_H
#define HEAPSONDE_HOST_FINDINGS_SLOPES_H

#include "host/base/json.h"
#include "host/findings/finding.h"

#include <stdio.h>

// The first and the last part of the time that count, of 20: neither how the program starts nor how it ends.
enum { HS_SLOPES_FIRST = 5, HS_SLOPES_LAST = 18 };

struct hs_slope {
    uint32_t stack;
    char *name;
    double bytes_per_second; // of the straight line through the live memory at the ends of the parts
    uint64_t before, after;  // at the end of the first and of the last part that count
    unsigned parts;          // in which it grew, of HS_SLOPES_LAST - HS_SLOPES_FIRST
};

struct hs_slopes {
    struct hs_slope *site; // the fastest first
    size_t count;
    uint64_t from, to; // times of the ends of the first and the last part
};

// At most `most` sites. Returns 0, or a negative errno with the error set.
int hs_slopes__find(struct hs_slopes *growing, const struct hs_findings_question *question, size_t most,
                    struct hs_error *error);
void hs_slopes__free(struct hs_slopes *growing);

void hs_slopes__text(FILE *out, const struct hs_slopes *growing);
void hs_slopes__json(struct hs_json *json, const struct hs_slopes *growing); // members of the open object

#endif
