// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One thread at a time writes an entry, and its sequence number is odd meanwhile. A reader takes a copy and checks that
// the number has not changed. A signal handler that interrupts a write of its own thread finds nothing.
#include "unwind/cfi_row_cache.h"

#include "unwind/rule_cache.h"

#include <stdatomic.h>

enum { SETS = 64, WAYS = 4 };

struct kept {
    uintptr_t pc;        // the first word
    uint32_t generation; // of the rules; 0: nothing is kept
    bool exact;
    struct hs_cfi_row cfi_row;
};

enum { WORDS = (sizeof(struct kept) + sizeof(uintptr_t) - 1) / sizeof(uintptr_t) };

union content {
    struct kept kept;
    uintptr_t words[WORDS];
};

struct cfi_row_cache_place {
    _Atomic uint32_t sequence;
    _Atomic uintptr_t words[WORDS];
};
static struct cfi_row_cache_place places[SETS][WAYS];
static _Atomic uint32_t next_victim;

static struct cfi_row_cache_place *set_of(uintptr_t pc)
{
    return places[(hs_rule_mix(pc) >> (8 * sizeof pc - 6)) % SETS];
}

static bool read_place(struct cfi_row_cache_place *place, uintptr_t pc, union content *content)
{
    uint32_t before = atomic_load_explicit(&place->sequence, memory_order_acquire);
    if (before % 2 || atomic_load_explicit(&place->words[0], memory_order_relaxed) != pc)
        return false;
    for (size_t i = 0; i < WORDS; i++)
        content->words[i] = atomic_load_explicit(&place->words[i], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&place->sequence, memory_order_relaxed) == before && content->kept.pc == pc;
}

static bool find(uintptr_t pc, bool exact, uint32_t generation, union content *content)
{
    struct cfi_row_cache_place *set = set_of(pc);
    for (int way = 0; way < WAYS; way++)
        if (read_place(&set[way], pc, content) && content->kept.exact == exact &&
            content->kept.generation == generation)
            return true;
    return false;
}

static void write_place(struct cfi_row_cache_place *place, const union content *content)
{
    uint32_t before = atomic_load_explicit(&place->sequence, memory_order_relaxed);
    if (before % 2 || !atomic_compare_exchange_strong_explicit(&place->sequence, &before, before + 1,
                                                               memory_order_acquire, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < WORDS; i++)
        atomic_store_explicit(&place->words[i], content->words[i], memory_order_relaxed);
    atomic_store_explicit(&place->sequence, before + 2, memory_order_release);
}

static void keep(const union content *content)
{
    struct cfi_row_cache_place *set = set_of(content->kept.pc);
    int way = 0;
    while (way < WAYS && atomic_load_explicit(&set[way].sequence, memory_order_relaxed))
        way++;
    if (way == WAYS)
        way = (int)(atomic_fetch_add_explicit(&next_victim, 1, memory_order_relaxed) % WAYS);
    write_place(&set[way], content);
}

static bool needs_table(uint8_t kind)
{
    return kind >= HS_CFI_AT_EXPRESSION && !(HS_DECODERS_ALIGN && kind == HS_CFI_AT_BASE);
}

// Whether all that a walk needs is in the CFI row: nothing of the table that it is from.
static bool stands_alone(const struct hs_found_cfi_row *found)
{
    if (found->guessed || found->cfi_row.cfa_expression || found->place.fde.signal_frame ||
        found->place.fde.return_address_column != HS_DWARF_RA)
        return false;
    for (int i = 0; i < HS_DWARF_REGISTERS; i++)
        if (needs_table(found->cfi_row.registers[i].kind))
            return false;
    return true;
}

enum hs_cfi_row_result hs_cfi_row_cache_find(uintptr_t pc, bool exact, struct hs_found_cfi_row *found)
{
    uint32_t generation = hs_rule_generation();
    union content content;
    if (find(pc, exact, generation, &content)) {
        found->place = (struct hs_fde_place){.fde.return_address_column = HS_DWARF_RA};
        found->cfi_row = content.kept.cfi_row;
        found->address = hs_rule_address(pc, exact);
        found->guessed = false;
        return HS_ROW_FOUND;
    }
    enum hs_cfi_row_result result = hs_cfi_row_find(pc, exact, found);
    bool dear = !found->place.section.start || found->place.scanned;
    if (result == HS_ROW_FOUND && dear && stands_alone(found)) {
        content = (union content){.kept = {pc, generation, exact, found->cfi_row}};
        keep(&content);
    }
    return result;
}
