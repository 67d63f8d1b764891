// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/text.h"

#include "host/base/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct hs_text hs_text__bytes(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct hs_text result;
    unsigned unit = 0;
    double value = (double)bytes;
    // 1023.96 would print as 1024.0: take the next unit a little earlier.
    while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " B", bytes);
    else
        snprintf(result.text, sizeof(result.text), value < 9.995 ? "%.2f %s" : "%.1f %s", value, units[unit]);
    return result;
}

struct hs_text hs_text__count(uint64_t count)
{
    struct hs_text result;
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *to = result.text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return result;
}

struct hs_text hs_text__counted(uint64_t count, const char *thing)
{
    struct hs_text result;
    snprintf(result.text, sizeof(result.text), "%s %s%s", hs_text__count(count).text, thing, count == 1 ? "" : "s");
    return result;
}

struct hs_text hs_text__blocks(uint64_t count)
{
    return hs_text__counted(count, "block");
}

struct hs_text hs_text__mappings(uint64_t count)
{
    return hs_text__counted(count, "mapping");
}

struct hs_text hs_text__samples(uint64_t count)
{
    return hs_text__counted(count, "sample");
}

struct hs_text hs_text__faults(uint64_t count)
{
    return hs_text__counted(count, "page fault");
}

struct hs_text hs_text__time(uint64_t ns)
{
    struct hs_text result;
    double seconds = (double)ns / 1e9;
    uint64_t whole = ns / 1000000000u;
    if (ns < 1000)
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        snprintf(result.text, sizeof(result.text), "%.3g us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(result.text, sizeof(result.text), "%.3g ms", (double)ns / 1e6);
    else if (whole < 60)
        snprintf(result.text, sizeof(result.text), "%.2f s", seconds);
    else if (whole < 3600)
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " min %" PRIu64 " s", whole / 60, whole % 60);
    else
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " h %" PRIu64 " min", whole / 3600, whole % 3600 / 60);
    return result;
}

struct hs_text hs_text__time_of(uint64_t time, const char *clock)
{
    struct hs_text result;
    if (clock && !strcmp(clock, "instructions"))
        return hs_text__counted(time, "instruction");
    if (!clock || strcmp(clock, "bytes") != 0)
        return hs_text__time(time);
    snprintf(result.text, sizeof(result.text), "%s allocated or freed", hs_text__bytes(time).text);
    return result;
}

struct hs_text hs_text__percent(uint64_t part, uint64_t whole)
{
    struct hs_text result;
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    snprintf(result.text, sizeof(result.text), "%.1f %%", percent);
    return result;
}

// Of the second, the hour and the day the shortest in which there is a whole one.
static struct hs_text rate_text(double per_second, struct hs_text (*text)(uint64_t))
{
    static const struct {
        double seconds;
        const char *name;
    } intervals[] = {{1, " per second"}, {3600, " per hour"}, {86400, " per day"}};
    size_t i = 0;
    while (i + 1 < sizeof(intervals) / sizeof(intervals[0]) && per_second > 0 && per_second * intervals[i].seconds < 1)
        i++;
    const double rate = per_second * intervals[i].seconds;
    const bool less = rate > 0 && rate < 1;
    const uint64_t whole = less ? 1 : rate < 0x1p64 ? (uint64_t)(rate + 0.5) : UINT64_MAX;
    struct hs_text result;
    strcpy(result.text, less ? "less than " : "");
    strcat(result.text, text(whole).text);
    strcat(result.text, intervals[i].name);
    return result;
}

struct hs_text hs_text__rate(uint64_t count, uint64_t ns)
{
    return rate_text(ns ? (double)count * 1e9 / (double)ns : 0, hs_text__count);
}

struct hs_text hs_text__bytes_rate(double bytes_per_second)
{
    return rate_text(bytes_per_second, hs_text__bytes);
}

// What a terminal acts on instead of showing it: C0 and C1, separators of lines, and what turns the direction of
// writing.
static bool is_control(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 1)
        return bytes[0] < 0x20 || bytes[0] == 0x7f;
    if (length == 2)
        return (bytes[0] == 0xc2 && bytes[1] < 0xa0) || (bytes[0] == 0xd8 && bytes[1] == 0x9c); // U+0080, U+061C
    if (length != 3 || bytes[0] != 0xe2)
        return false;
    return (bytes[1] == 0x80 && (bytes[2] == 0x8e || bytes[2] == 0x8f || (bytes[2] >= 0xa8 && bytes[2] <= 0xae))) ||
           (bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9); // U+200E, U+2028, U+2066
}

void hs_text__clean(char *text)
{
    for (size_t length = strlen(text), i = 0; i < length;) {
        size_t sequence = hs_utf8__length(text + i, length - i);
        bool harmless = sequence && !is_control(text + i, sequence);
        sequence += !sequence;
        if (!harmless)
            memset(text + i, '?', sequence);
        i += sequence;
    }
}

void hs_text__print(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__length(text + i, length - i);
        if (!sequence || is_control(text + i, sequence))
            putc('?', out);
        else
            fwrite(text + i, 1, sequence, out);
        i += sequence ? sequence : 1;
    }
}
