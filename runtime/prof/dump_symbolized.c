// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The formats with names: heap_v2 behind a table of them, and collapsed stacks.
#include "runtime/prof/dump_symbols.h"

void hs_dump_write__symbolized(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    struct hs_dump_symbols symbols;
    hs_dump_symbols__find(&symbols, output->facts, snapshot);
    hs_dump_output__text(output, "--- symbol\nbinary=");
    hs_dump_output__text(output, output->facts->executable);
    hs_dump_output__text(output, "\n");
    for (uint32_t i = 0; i < symbols.addresses.count; i++) {
        uint64_t address = symbols.addresses.slots[i].address;
        hs_dump_output__text(output, "0x");
        hs_dump_output__hex(output, address);
        hs_dump_output__text(output, " ");
        hs_dump_symbols__write(&symbols, output, address);
        hs_dump_output__text(output, "\n");
    }
    hs_dump_symbols__free(&symbols);
    hs_dump_output__text(output, "---\n--- heap\n");
    hs_dump_write__heap_v2(output, snapshot);
}

static void write_line(struct hs_dump_output *output, const struct hs_dump_symbols *symbols, uint32_t stack,
                       uint64_t bytes)
{
    for (uint32_t i = hs_dump_facts__frames(output->facts, stack); i-- > 0;) {
        hs_dump_symbols__write(symbols, output, hs_dump__address(output->facts->frames[i], 0));
        hs_dump_output__text(output, i ? ";" : " ");
    }
    hs_dump_output__number(output, bytes);
    hs_dump_output__text(output, "\n");
}

void hs_dump_write__collapsed(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot)
{
    struct hs_dump_symbols symbols;
    hs_dump_symbols__find(&symbols, output->facts, snapshot);
    for (uint32_t i = 0, first; i < snapshot->pair_count && !output->error;) {
        struct hs_counts live, total;
        first = i;
        i = hs_dump__sum_stack(snapshot, i, &live, &total);
        if (live.objects)
            write_line(output, &symbols, snapshot->pairs[first].stack, live.estimated_bytes);
    }
    hs_dump_symbols__free(&symbols);
}
