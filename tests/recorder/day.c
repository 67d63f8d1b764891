// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "tests/recorder/day.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAK_SIZE = 100,
    START_OFFSET = 56, // of start_monotonic_ns in the trace's header
    OTHER_KIB = 3072,  // what the window does not count: 1.5 MiB of the library's own data, and its code; 0.6 MiB of
                       // each coder; slots of threads
    HOURS_MAX = 240,
    LEAST_HOURS = 24, // before, the cache of rules still fills: it has 256 KiB
    GROWTH_KIB = 16   // in a quarter: the heaps of two runs differ by a page of each thread
};
static const int64_t TIME_TOLERANCE_NS = 1000000; // of a piecewise linear clock
static const uint64_t DEFAULT_MEMORY = 8 << 20;

static FILE *open_file(const char *folder, const char *name)
{
    FILE *file = fopen(text("%s/%s", folder, name), "r");
    if (!file)
        fail("the program left no file %s/%s", folder, name);
    return file;
}

static FILE *export_of(const char *trace, const char *words)
{
    FILE *lines = popen(text("'%s' export %s '%s'", path_heapsonde, words, trace), "r");
    if (!lines)
        fail("heapsonde export %s cannot be started", words);
    return lines;
}

static void export_end(FILE *lines)
{
    if (pclose(lines) != 0)
        fail("heapsonde export fails");
}

// ---- stacks --------------------------------------------------------------------------------------------------------

// The size of the blocks of a stack, or 0 if the program has no such stack: 1, then for each call to the next descend a
// bit, 1 if the frame of a made function is between the two.
static uint64_t size_of(const char *line)
{
    const char *at = strstr(line, ";burst;descend;");
    uint64_t size = 1;
    bool made = false;
    if (!at)
        return 0;
    at += strlen(";burst;descend;");
    for (; strncmp(at, "allocate ", 9) != 0; at = strchr(at, ';') + 1) {
        if (!strncmp(at, "descend;", 8)) {
            size = size * 2 + made;
            made = false;
        } else if (!strncmp(at, "0x", 2) && !made) {
            made = true;
        } else if (strncmp(at, "[guessed caller];", 17) != 0) {
            return 0;
        }
        if (!strchr(at, ';'))
            return 0;
    }
    return made ? 0 : size;
}

static void check_stacks(const char *trace, uint64_t blocks, uint64_t bytes)
{
    static const char words[] = "--format collapsed --cost allocated --function-regex '^burst$'";
    FILE *by_count = export_of(trace, text("%s --unit count", words)), *by_bytes = export_of(trace, words);
    char *stack = NULL, *same = NULL;
    size_t stack_room = 0, same_room = 0;
    uint64_t stacks = 0, odd = 0, all_blocks = 0, all_bytes = 0;
    while (getline(&stack, &stack_room, by_count) > 0 && getline(&same, &same_room, by_bytes) > 0) {
        const char *number = strrchr(stack, ' ');
        const size_t length = (size_t)(number - stack);
        const uint64_t count = strtoull(number, NULL, 10), sum = strtoull(same + length, NULL, 10);
        if ((strncmp(stack, same, length) != 0 || size_of(stack) * count != sum) && !odd++)
            wrong("no such stack allocates %" PRIu64 " bytes in %" PRIu64 " blocks: %.400s", sum, count, stack);
        stacks++;
        all_blocks += count;
        all_bytes += sum;
    }
    export_end(by_count);
    export_end(by_bytes);
    if (odd || all_blocks != blocks || all_bytes != bytes)
        wrong("%" PRIu64 " of %" PRIu64 " stacks are wrong; %" PRIu64 " blocks of %" PRIu64 " bytes in bursts, %" PRIu64
              " of %" PRIu64 " have to be",
              odd, stacks, all_blocks, all_bytes, blocks, bytes);
    note("%" PRIu64 " stacks, %" PRIu64 " blocks", stacks, blocks);
}

// ---- times ---------------------------------------------------------------------------------------------------------

static int64_t start_of(const char *trace)
{
    int64_t start = 0;
    int file = open(trace, O_RDONLY | O_CLOEXEC);
    if (file < 0 || pread(file, &start, sizeof start, START_OFFSET) != (ssize_t)sizeof start)
        fail("%s has no header", trace);
    close(file);
    return start;
}

static int64_t outside(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low - value : value > high ? value - high : 0;
}

static void check_leaks(const char *trace, const char *folder)
{
    FILE *leaks = open_file(folder, "leaks"), *rows = export_of(trace, "--format csv --function-regex '^forget$'");
    const int64_t start = start_of(trace);
    char *row = NULL;
    size_t room = 0;
    int64_t before, after, farthest = 0;
    uint64_t count = 0;
    if (getline(&row, &room, rows) <= 0)
        fail("there is no table of the forgotten blocks");
    while (fscanf(leaks, "%" SCNd64 " %" SCNd64, &before, &after) == 2) {
        int64_t time;
        unsigned size;
        if (getline(&row, &room, rows) <= 0 || sscanf(row, "%" SCNd64 ",,%*[^,],%*[^,],%u", &time, &size) != 2 ||
            size != LEAK_SIZE) {
            wrong("forgotten block %" PRIu64 " is not in the trace as such: %s", count, row);
            break;
        }
        const int64_t distance = outside(start + time, before, after);
        if (distance > farthest)
            farthest = distance;
        count++;
    }
    if (getline(&row, &room, rows) > 0)
        wrong("more than the forgotten blocks: %s", row);
    if (farthest > TIME_TOLERANCE_NS)
        wrong("a forgotten block is %" PRId64 " ns away from its time", farthest);
    note("%" PRIu64 " forgotten blocks, at most %" PRId64 " ns away from their time", count, farthest);
    export_end(rows);
    fclose(leaks);
}

static void check_length(const char *trace, const char *folder, const json_t *report)
{
    FILE *span = open_file(folder, "span");
    int64_t first = 0, last = 0;
    if (fscanf(span, "%" SCNd64 " %" SCNd64, &first, &last) != 2)
        fail("the program did not say when it began and ended");
    fclose(span);
    const int64_t start = start_of(trace), duration = (int64_t)report_number(report, "duration_ns");
    if (start > first || start + duration < last - TIME_TOLERANCE_NS || duration > last - first + 60000000000)
        wrong("the recording has %" PRId64 " ns, the program ran for %" PRId64, duration, last - first);
    note("the program ran for %.3f s, the recording has %.3f s", (double)(last - first) / 1e9, (double)duration / 1e9);
}

// ---- memory --------------------------------------------------------------------------------------------------------

struct memory {
    long hours, peak;
    long written[HOURS_MAX + 1]; // after each hour
};

static struct memory memory_of(const char *folder)
{
    struct memory memory = {0};
    FILE *file = fopen(text("%s/memory", folder), "r"); // none if the program ran for less than an hour
    while (file && memory.hours < HOURS_MAX &&
           fscanf(file, "%*d %ld %ld", &memory.written[memory.hours + 1], &memory.peak) == 2)
        memory.hours++;
    if (file)
        fclose(file);
    return memory;
}

static long growth_between(const struct memory *memory, long first, long last)
{
    return memory->written[last] - memory->written[first];
}

// In both of the last quarters: what is used late for the first time makes it grow once.
static void check_growth(const struct memory *counted, const struct memory *recorded)
{
    const long last = recorded->hours, middle = last / 2, between = last * 3 / 4;
    const long third = growth_between(recorded, middle, between) - growth_between(counted, middle, between);
    const long fourth = growth_between(recorded, between, last) - growth_between(counted, between, last);
    const long quarter[] = {1, middle, between, last};
    for (size_t i = 0; i < sizeof quarter / sizeof *quarter; i++)
        note("KiB written to after hour %ld: %ld, recorded %ld", quarter[i], counted->written[quarter[i]],
             recorded->written[quarter[i]]);
    if (third > GROWTH_KIB && fourth > GROWTH_KIB)
        wrong("the recorder's memory grows by %ld and %ld KiB in the last two quarters", third, fourth);
}

static void check_memory(const char *counted_folder, const char *recorded_folder, uint64_t cap)
{
    const struct memory counted = memory_of(counted_folder), recorded = memory_of(recorded_folder);
    if (counted.hours != recorded.hours)
        wrong("memory is noted for %ld hours, recorded for %ld", counted.hours, recorded.hours);
    else if (recorded.hours >= LEAST_HOURS)
        check_growth(&counted, &recorded);
    note("resident KiB at most: %ld, recorded %ld", counted.peak, recorded.peak);
    if (recorded.peak - counted.peak > (long)(cap >> 10) + OTHER_KIB)
        wrong("the recorder takes %ld KiB", recorded.peak - counted.peak);
}

void day_check(const char *counted, const char *recorded, const char *output, uint64_t memory)
{
    char **traces = files_of(recorded, "trace.");
    uint64_t blocks = 0, bytes = 0;
    if (!traces[0])
        fail("no trace");
    for (const char *line = output; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        uint64_t more = 0, more_bytes = 0;
        if (sscanf(line, "thread %*d: %" SCNu64 " blocks of %" SCNu64, &more, &more_bytes) == 2)
            blocks += more, bytes += more_bytes;
    }
    json_t *report = report_of(traces[0], false);
    check_length(traces[0], recorded, report);
    check_stacks(traces[0], blocks, bytes);
    check_leaks(traces[0], recorded);
    check_memory(counted, recorded, memory ? memory : DEFAULT_MEMORY);
    json_decref(report);
}
