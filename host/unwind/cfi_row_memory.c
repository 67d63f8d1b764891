// SPDX-License-Identifier: MIT OR Apache-2.0
//
// unwind/cfi_row_cache.h for snapshots: every place in code is looked up once, also where nothing is found, for as long
// as it is kept. What CFI rows point to, the files of the session, stays where it is.
#include "unwind/cfi_row_cache.h"
#include "unwind/rule_cache.h"

#include "host/unwind/cfi_row_memory.h"

#include <stdlib.h>

enum { SET_BITS = 12, WAYS = 4 };

struct cfi_row_memory_kept {
    uintptr_t pc; // 0: nothing is kept
    bool exact;
    enum hs_cfi_row_result result;
    struct hs_found_cfi_row found;
};

static struct cfi_row_memory_kept (*sets)[WAYS];
static unsigned next_victim;

static struct cfi_row_memory_kept *place_of(uintptr_t pc, bool exact)
{
    struct cfi_row_memory_kept *set = sets[hs_rule_mix(pc) >> (8 * sizeof pc - SET_BITS)];
    for (unsigned way = 0; way < WAYS; way++)
        if (!set[way].pc || (set[way].pc == pc && set[way].exact == exact))
            return &set[way];
    struct cfi_row_memory_kept *victim = &set[next_victim++ % WAYS];
    victim->pc = 0;
    return victim;
}

enum hs_cfi_row_result hs_cfi_row_cache_find(uintptr_t pc, bool exact, struct hs_found_cfi_row *found)
{
    if (!sets)
        sets = calloc((size_t)1 << SET_BITS, sizeof *sets);
    if (!sets || !pc)
        return hs_cfi_row_find(pc, exact, found);
    struct cfi_row_memory_kept *place = place_of(pc, exact);
    if (!place->pc) {
        place->result = hs_cfi_row_find(pc, exact, &place->found);
        place->pc = pc;
        place->exact = exact;
    }
    *found = place->found;
    return place->result;
}

void hs_cfi_row_memory_forget(void)
{
    free(sets);
    sets = NULL;
}
