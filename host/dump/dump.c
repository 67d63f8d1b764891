// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/dump.h"

#include "host/symbols/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void hs_dump__close(struct hs_dump *dump)
{
    if (!dump)
        return;
    free(dump->context);
    free(dump->frames);
    free(dump->location);
    free(dump->caller);
    free(dump->line);
    free(dump->thread);
    free(dump->share);
    free(dump->mapping);
    free(dump->fact);
    free(dump->warning);
    if (dump->bytes && dump->mapped)
        munmap(dump->bytes, dump->byte_count);
    else
        free(dump->bytes);
    hs_strings__destroy(dump->strings);
    free(dump);
}

const char *hs_dump__fact(const struct hs_dump *dump, const char *key)
{
    for (size_t i = 0; i < dump->fact_count; i++) {
        if (!strcmp(dump->fact[i].key, key))
            return dump->fact[i].value;
    }
    return NULL;
}

const char *hs_dump_format_name(enum hs_dump_format format)
{
    static const char *const names[] = {[HS_DUMP_HEAP_V2] = "heap_v2",     [HS_DUMP_HEAP_PROFILE] = "heap profile",
                                        [HS_DUMP_PPROF] = "profile.proto", [HS_DUMP_COLLAPSED] = "collapsed stacks",
                                        [HS_DUMP_MASSIF] = "massif",       [HS_DUMP_DHAT] = "DHAT",
                                        [HS_DUMP_TRACE] = "trace"};
    return names[format];
}

uint64_t hs_dump__offset(const struct hs_dump *dump, const struct hs_dump_location *location)
{
    if (location->mapping == HS_DUMP_NONE)
        return location->address;
    const struct hs_dump_mapping *mapping = &dump->mapping[location->mapping];
    return location->address - mapping->start + mapping->offset;
}

bool hs_dump__lacks_libraries(const struct hs_dump *dump)
{
    size_t lacking = 0;
    for (size_t i = 0; dump->format != HS_DUMP_TRACE && i < dump->location_count; i++) {
        const struct hs_dump_location *location = &dump->location[i];
        if (!location->has_address)
            return true;
        lacking += location->line_count && location->mapping == HS_DUMP_NONE;
    }
    return 2 * lacking > dump->location_count;
}

// ---- estimates -----------------------------------------------------------------------------------------------------

// The number of blocks that a sampled block of the average size represents.
static double weight(const struct hs_dump *dump, uint64_t blocks, uint64_t bytes)
{
    if (!blocks || !bytes || !dump->period || dump->sampling == HS_SAMPLING_NONE)
        return 1;
    double ratio = (double)bytes / (double)blocks / (double)dump->period;
    return -1 / expm1(-ratio);
}

struct hs_dump_estimate hs_dump__estimate(const struct hs_dump *dump, const struct hs_dump_counts *counts)
{
    double live = weight(dump, counts->live_blocks, counts->live_bytes);
    double all = weight(dump, counts->all_blocks, counts->all_bytes);
    return (struct hs_dump_estimate){
        .live_blocks = live * (double)counts->live_blocks,
        .live_bytes = live * (double)counts->live_bytes,
        .all_blocks = all * (double)counts->all_blocks,
        .all_bytes = all * (double)counts->all_bytes,
    };
}

void hs_dump_estimate__add(struct hs_dump_estimate *to, struct hs_dump_estimate from)
{
    to->live_blocks += from.live_blocks;
    to->live_bytes += from.live_bytes;
    to->all_blocks += from.all_blocks;
    to->all_bytes += from.all_bytes;
}

struct hs_dump_estimate hs_dump__sum(const struct hs_dump *dump)
{
    struct hs_dump_estimate sum = {0};
    for (size_t i = 0; i < dump->context_count; i++)
        hs_dump_estimate__add(&sum, hs_dump__estimate(dump, &dump->context[i].counts));
    return sum;
}
