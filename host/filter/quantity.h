// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers with units, read exactly. Each returns false when the text is no such quantity or is too large.
#ifndef HEAPSONDE_FILTER_QUANTITY_H
#define HEAPSONDE_FILTER_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#define HS_NANO 1000000000u // parts of a fraction

// A decimal number: `whole`, and a fraction in units of 1 / HS_NANO.
struct hs_decimal {
    uint64_t whole;
    uint32_t nano;
};

bool hs_quantity__number(const char *text, uint64_t *number);
bool hs_quantity__decimal(const char *text, struct hs_decimal *decimal);
// Bytes: 4096, 64K, 1.5MiB, 2g.
bool hs_quantity__size(const char *text, uint64_t *bytes);
// 4096 or 0x1000.
bool hs_quantity__address(const char *text, uint64_t *address);
// Nanoseconds: 2, 1.5s, 300ms, 4h3m2s, with spaces anywhere; the last number may be without a unit, in seconds. Nothing
// is 0.
bool hs_quantity__interval(const char *text, uint64_t *nanoseconds);
// 50%, 12.5%: percent.
bool hs_quantity__percent(const char *text, struct hs_decimal *percent);
// So many percent of `whole`, rounded down.
uint64_t hs_quantity__share(struct hs_decimal percent, uint64_t whole);

#endif
