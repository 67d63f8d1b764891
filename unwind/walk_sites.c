// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/walk_sites.h"

#include "unwind/rule_cache.h"
#include "unwind/stack_memory.h"
#include "unwind/walk_marks.h"

enum { TRUST_MAX = 7 };

static inline unsigned place_of(const struct hs_registers *start)
{
    uintptr_t mixed = (start->pc ^ start->sp << 7) * (uintptr_t)UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(mixed >> (8 * sizeof mixed - 5));
}
_Static_assert(HS_SITES == 1 << 5, "place_of() gives 5 bits");

static inline bool is_of(const struct hs_site *site, const struct hs_registers *start, uint32_t epoch)
{
    return site->sp == start->sp && site->pc == start->pc && site->epoch == epoch && site->id;
}

static inline bool unchanged(const uint16_t *offsets, const uintptr_t *values, unsigned words, uintptr_t sp)
{
#pragma GCC unroll 4
    for (unsigned i = 0; i < words; i++)
        if (hs_stack_word(sp + offsets[i] * sizeof(uintptr_t)) != values[i])
            return false;
    return true;
}

uint32_t hs_sites_recall(struct hs_sites *sites, const struct hs_registers *start)
{
    unsigned place = place_of(start);
    struct hs_site *site = &sites->sites[place];
    const uintptr_t *values = sites->values[place];
    if (!is_of(site, start, hs_rule_generation()) || site->words - 1u >= HS_SITE_WORDS)
        return 0;
    if (site->needs_fp && values[HS_SITE_WORDS] != start->fp)
        return 0;
    if (!unchanged(sites->offsets[place], values, site->words, start->sp))
        return 0;
    site->trust += site->trust < TRUST_MAX;
    return site->id;
}

struct collector {
    uint16_t *offsets;
    uintptr_t *values;
    unsigned words;
    uintptr_t sp;
};

static bool collect(struct collector *collector, const uintptr_t *address)
{
    uintptr_t distance = (uintptr_t)address - collector->sp;
    uint16_t offset = (uint16_t)(distance / sizeof(uintptr_t));
    if (collector->words == HS_SITE_WORDS || offset * sizeof(uintptr_t) != distance)
        return false;
    collector->offsets[collector->words] = offset;
    collector->values[collector->words++] = hs_stack_word((uintptr_t)address);
    return true;
}

// The words that the memo's stack depends on, innermost first. 0: too many, or they do not say everything.
static unsigned collect_all(struct collector *collector, const struct hs_memo *memo)
{
    for (uint32_t frame = memo->depth; frame-- > 0;) {
        uint32_t mark = memo->marks[frame];
        if (mark & (MARK_BARRIER | MARK_EXACT))
            return 0;
        if (!frame)
            break;
        const uintptr_t *slot = memo->slots[frame - 1];
        if (!collect(collector, slot))
            return 0;
        bool reload = mark & MARK_SLOT && memo->marks[frame - 1] & MARK_NEED;
        if (reload && !collect(collector, slot - mark_fp_below_ra(mark)))
            return 0;
    }
    return collector->words;
}

void hs_sites_learn(struct hs_sites *sites, const struct hs_memo *memo, const struct hs_registers *start, uint32_t id)
{
    unsigned place = place_of(start);
    struct hs_site *site = &sites->sites[place];
    uint32_t epoch = hs_rule_generation();
    if (!is_of(site, start, epoch) || site->id != id) {
        if (site->words && site->words != HS_SITE_UNKEPT && site->epoch == epoch && site->trust-- > 0)
            return;
        *site = (struct hs_site){start->pc, start->sp, id, epoch, 0, 0, false};
        return;
    }
    if (site->words || memo->end != HS_END_ROOT || memo->guessed || memo->generation != epoch || !memo->depth)
        return;
    struct collector collector = {sites->offsets[place], sites->values[place], 0, start->sp};
    unsigned words = collect_all(&collector, memo);
    site->words = (uint16_t)(words ? words : HS_SITE_UNKEPT);
    site->needs_fp = memo->marks[memo->depth - 1] & MARK_NEED;
    sites->values[place][HS_SITE_WORDS] = start->fp;
    site->trust = 1;
}

void hs_sites_forget(struct hs_sites *sites)
{
    for (unsigned i = 0; i < HS_SITES; i++)
        sites->sites[i].id = 0;
}
