// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heap_v2, with and without names, and the older text.
#include "host/dump/write.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

bool hs_dump_output__parse(const char *word, enum hs_dump_output *output)
{
    static const char *const words[] = {[HS_DUMP_TO_HEAP_V2] = "heap_v2",
                                        [HS_DUMP_TO_HEAP_PROFILE] = "heap_profile",
                                        [HS_DUMP_TO_PPROF] = "pprof",
                                        [HS_DUMP_TO_SYMBOLIZED] = "symbolized"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        *output = (enum hs_dump_output)i;
        if (!strcmp(word, words[i]))
            return true;
    }
    return false;
}

const char *hs_dump__obstacle(const struct hs_dump *dump, enum hs_dump_output output)
{
    if (output != HS_DUMP_TO_HEAP_V2 && output != HS_DUMP_TO_HEAP_PROFILE)
        return NULL;
    for (size_t i = 0; i < dump->location_count; i++) {
        if (!dump->location[i].has_address)
            return "it has names without addresses, which this format does not support; pprof and symbolized do";
    }
    return NULL;
}

// ---- counts --------------------------------------------------------------------------------------------------------

// With a period of one byte a reader makes almost nothing of the counts; what it does make is taken back here.
static void to_period_1(double blocks, double bytes, uint64_t *blocks_written, uint64_t *bytes_written)
{
    *blocks_written = *bytes_written = 0;
    if (bytes < 0.5)
        return;
    blocks = blocks < 1 ? 1 : blocks;
    double share = -expm1(-bytes / blocks);
    *blocks_written = (uint64_t)llround(fmin(fmax(blocks * share, 1), 0x1p62));
    *bytes_written = (uint64_t)llround(fmin(bytes * share, 0x1p62));
}

static struct hs_dump_counts counts_to_write(const struct hs_dump *dump, const struct hs_dump_counts *counts)
{
    if (dump->sampling == HS_SAMPLING_POISSON)
        return *counts;
    struct hs_dump_counts written;
    struct hs_dump_estimate estimate = hs_dump__estimate(dump, counts);
    to_period_1(estimate.live_blocks, estimate.live_bytes, &written.live_blocks, &written.live_bytes);
    to_period_1(estimate.all_blocks, estimate.all_bytes, &written.all_blocks, &written.all_bytes);
    return written;
}

static bool is_empty(const struct hs_dump_counts *counts)
{
    return !counts->live_blocks && !counts->live_bytes && !counts->all_blocks && !counts->all_bytes;
}

static void print_counts(FILE *out, const struct hs_dump_counts *counts)
{
    fprintf(out, "%" PRIu64 ": %" PRIu64 " [%" PRIu64 ": %" PRIu64 "]", counts->live_blocks, counts->live_bytes,
            counts->all_blocks, counts->all_bytes);
}

static struct hs_dump_counts whole(const struct hs_dump *dump)
{
    struct hs_dump_counts sum = {0};
    if (dump->has_total && dump->sampling == HS_SAMPLING_POISSON)
        return dump->total;
    for (size_t i = 0; i < dump->context_count; i++) {
        struct hs_dump_counts counts = counts_to_write(dump, &dump->context[i].counts);
        sum.live_blocks += counts.live_blocks;
        sum.live_bytes += counts.live_bytes;
        sum.all_blocks += counts.all_blocks;
        sum.all_bytes += counts.all_bytes;
    }
    return sum;
}

static uint64_t period_to_write(const struct hs_dump *dump)
{
    return dump->sampling == HS_SAMPLING_POISSON && dump->period ? dump->period : 1;
}

// ---- lines ---------------------------------------------------------------------------------------------------------

// Locations without an address get one that nothing else has.
struct addresses {
    const struct hs_dump *dump;
    uint64_t spare;
};

static uint64_t address_of(const struct addresses *addresses, uint32_t location)
{
    const struct hs_dump_location *it = &addresses->dump->location[location];
    return it->has_address ? it->address : addresses->spare + 16 * (uint64_t)location;
}

static struct addresses find_addresses(const struct hs_dump *dump)
{
    struct addresses addresses = {dump, 0};
    for (size_t i = 0; i < dump->location_count; i++) {
        if (dump->location[i].has_address && dump->location[i].address > addresses.spare)
            addresses.spare = dump->location[i].address;
    }
    if (addresses.spare > UINT64_MAX / 2)
        addresses.spare = 0;
    addresses.spare = (addresses.spare + 16 * PAGE) & ~(uint64_t)(PAGE - 1);
    return addresses;
}

static void print_stack(FILE *out, const struct addresses *addresses, const struct hs_dump_context *context)
{
    struct hs_dump_walk walk = hs_dump__walk(addresses->dump, context);
    uint32_t location;
    putc('@', out);
    for (unsigned outer = 0; hs_dump_walk__next(&walk, &location); outer = 1)
        fprintf(out, " 0x%" PRIx64, address_of(addresses, location) + outer);
}

// A line is a line, whatever a name holds.
static void print_text(FILE *out, const char *text)
{
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 ? '?' : *text, out);
}

static void print_facts(FILE *out, const struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->fact_count; i++) {
        fputs("# ", out);
        print_text(out, dump->fact[i].key);
        fputs(": ", out);
        print_text(out, dump->fact[i].value);
        putc('\n', out);
    }
    if (dump->sampling != HS_SAMPLING_POISSON && dump->period > 1)
        fprintf(out, "# sampled-with-period: %" PRIu64 "\n", dump->period);
}

static void print_mappings(FILE *out, const struct hs_dump *dump)
{
    fputs("\nMAPPED_LIBRARIES:\n", out);
    for (size_t i = 0; i < dump->mapping_count; i++) {
        const struct hs_dump_mapping *mapping = &dump->mapping[i];
        fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r-%cp %08" PRIx64 " 00:00 0 ", mapping->start, mapping->end,
                mapping->executable ? 'x' : '-', mapping->offset);
        print_text(out, mapping->path);
        putc('\n', out);
    }
    // Facts that are not in lines of the kernel.
    const char *last = NULL;
    for (size_t i = 0; i < dump->mapping_count && !hs_dump__fact(dump, "build-id"); i++) {
        const struct hs_dump_mapping *mapping = &dump->mapping[i];
        if (!mapping->build_id_length || (last && !strcmp(last, mapping->path)))
            continue;
        fputs("# build-id: ", out);
        for (uint32_t k = 0; k < mapping->build_id_length; k++)
            fprintf(out, "%02x", mapping->build_id[k]);
        putc(' ', out);
        print_text(out, mapping->path);
        putc('\n', out);
        last = mapping->path;
    }
}

// ---- the formats ---------------------------------------------------------------------------------------------------

static void write_heap_v2(FILE *out, const struct hs_dump *dump)
{
    struct addresses addresses = find_addresses(dump);
    struct hs_dump_counts total = whole(dump);
    fprintf(out, "heap_v2/%" PRIu64 "\n", period_to_write(dump));
    print_facts(out, dump);
    fputs("  t*: ", out);
    print_counts(out, &total);
    putc('\n', out);
    for (size_t i = 0; i < dump->thread_count; i++) {
        struct hs_dump_counts counts = counts_to_write(dump, &dump->thread[i].counts);
        fprintf(out, "  t%" PRIu64 ": ", dump->thread[i].uid);
        print_counts(out, &counts);
        fputs(*dump->thread[i].name ? " " : "", out);
        print_text(out, dump->thread[i].name);
        putc('\n', out);
    }
    size_t share = 0;
    for (size_t i = 0; i < dump->context_count; i++) {
        struct hs_dump_counts counts = counts_to_write(dump, &dump->context[i].counts);
        bool empty = is_empty(&counts);
        if (!empty) {
            print_stack(out, &addresses, &dump->context[i]);
            fputs("\n  t*: ", out);
            print_counts(out, &counts);
            putc('\n', out);
        }
        for (; share < dump->share_count && dump->share[share].context == i; share++) {
            struct hs_dump_counts part = counts_to_write(dump, &dump->share[share].counts);
            if (empty || is_empty(&part))
                continue;
            fprintf(out, "  t%" PRIu64 ": ", dump->thread[dump->share[share].thread].uid);
            print_counts(out, &part);
            putc('\n', out);
        }
    }
    print_mappings(out, dump);
}

static void write_heap_profile(FILE *out, const struct hs_dump *dump)
{
    struct addresses addresses = find_addresses(dump);
    struct hs_dump_counts total = whole(dump);
    fputs("heap profile: ", out);
    print_counts(out, &total);
    fprintf(out, " @ heap_v2/%" PRIu64 "\n", period_to_write(dump));
    print_facts(out, dump);
    for (size_t i = 0; i < dump->context_count; i++) {
        struct hs_dump_counts counts = counts_to_write(dump, &dump->context[i].counts);
        if (is_empty(&counts))
            continue;
        putc(' ', out);
        print_counts(out, &counts);
        putc(' ', out);
        print_stack(out, &addresses, &dump->context[i]);
        putc('\n', out);
    }
    print_mappings(out, dump);
}

// "--" stands between names, and a line is an address.
static void print_name(FILE *out, const char *name)
{
    for (const char *at = name; *at; at++) {
        putc((unsigned char)*at < 0x20 ? '?' : *at, out);
        if (at[0] == '-' && at[1] == '-')
            putc(' ', out);
    }
}

// Readers take blanks at the end of a line away.
static bool is_blank(const char *name)
{
    return !name[strspn(name, " ")];
}

static void print_symbol(FILE *out, const struct hs_dump *dump, const struct addresses *addresses, uint32_t location)
{
    const struct hs_dump_location *it = &dump->location[location];
    if (!it->line_count || is_blank(dump->line[it->first_line + it->line_count - 1].function))
        return;
    fprintf(out, "0x%" PRIx64 " ", address_of(addresses, location));
    // Callers first.
    for (uint32_t i = it->line_count; i-- > 0;) {
        print_name(out, dump->line[it->first_line + i].function);
        fputs(i ? "--" : "", out);
    }
    putc('\n', out);
}

static void write_symbolized(FILE *out, const struct hs_dump *dump)
{
    struct addresses addresses = find_addresses(dump);
    fputs("--- symbol\nbinary=", out);
    print_text(out, *dump->executable ? dump->executable : "unknown");
    putc('\n', out);
    for (uint32_t i = 0; i < dump->location_count; i++)
        print_symbol(out, dump, &addresses, i);
    fputs("---\n--- heap\n", out);
    if (dump->text)
        fwrite(dump->text, 1, dump->text_length, out);
    else
        write_heap_v2(out, dump);
}

int hs_dump__write(FILE *out, const struct hs_dump *dump, enum hs_dump_output output)
{
    switch (output) {
    case HS_DUMP_TO_HEAP_V2:
        write_heap_v2(out, dump);
        return 0;
    case HS_DUMP_TO_HEAP_PROFILE:
        write_heap_profile(out, dump);
        return 0;
    case HS_DUMP_TO_SYMBOLIZED:
        write_symbolized(out, dump);
        return 0;
    case HS_DUMP_TO_PPROF:
        return hs_dump_write__pprof(out, dump);
    }
    return 0;
}
