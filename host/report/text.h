// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers as people read them.
#ifndef HEAPSONDE_HOST_REPORT_TEXT_H
#define HEAPSONDE_HOST_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct hs_text {
    char text[48];
};

struct hs_text hs_text__bytes(uint64_t bytes);                      // 512 B, 12.3 MiB
struct hs_text hs_text__count(uint64_t count);                      // 1,234,567
struct hs_text hs_text__counted(uint64_t count, const char *thing); // 1 thing, 12 things
struct hs_text hs_text__blocks(uint64_t count);
struct hs_text hs_text__mappings(uint64_t count);
struct hs_text hs_text__samples(uint64_t count);
struct hs_text hs_text__faults(uint64_t count); // page faults
struct hs_text hs_text__time(uint64_t ns);      // 12 us, 3.21 s, 4 min 5 s
// The same of a file whose times count something else: its info "clock", which may be NULL or empty.
struct hs_text hs_text__time_of(uint64_t time, const char *clock); // 1,234 instructions, 12.3 KiB allocated or freed
struct hs_text hs_text__percent(uint64_t part, uint64_t whole);    // 12.3 %
struct hs_text hs_text__rate(uint64_t count, uint64_t ns);         // 1,234 per second; fewer: per hour, per day
struct hs_text hs_text__bytes_rate(double bytes_per_second);       // 12.3 KiB per second, 512 B per hour

// Writes text of unknown origin: bytes that would steer a terminal, or are no text at all, do not reach it.
void hs_text__print(FILE *out, const char *text, size_t length);
// The same in place, with a '?' for each byte.
void hs_text__clean(char *text);

#endif
