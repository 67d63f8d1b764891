// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shadow.h"

#include "unwind/rule_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HS_ARCH_LINK_REGISTER
static uintptr_t return_address(const struct hs_snapshot *at)
{
    return at->registers.values[HS_DWARF_RA];
}
#else
static uintptr_t return_address(const struct hs_snapshot *at)
{
    uintptr_t word;
    memcpy(&word, at->copy, sizeof word);
    return word;
}
#endif

// Whether the instruction at `before` called: it left the address behind it, and control went elsewhere.
static bool was_call(uintptr_t before, uintptr_t sp_before, const struct hs_snapshot *at)
{
    uintptr_t back = return_address(at), pc = at->registers.values[HS_DWARF_PC], sp = at->registers.values[HS_DWARF_SP];
#if defined(__x86_64__)
    return sp == sp_before - sizeof sp && back > before && back <= before + 8 && pc != back;
#elif defined(__arm__)
    (void)sp, (void)sp_before;
    if (!(before & 1))
        return back == before + 4 && pc != back;
    const uint16_t *code = (const uint16_t *)(before - 1);
    bool by_register = (code[0] & 0xff87) == 0x4780, direct = (code[0] & 0xf800) == 0xf000 && code[1] >= 0xc000;
    return ((by_register && back == before + 2) || (direct && back == before + 4)) && pc != back;
#elif defined(__mips__)
    (void)sp, (void)sp_before;
    return back == before + 8 && pc != back && pc != before + 4;
#else
    (void)sp, (void)sp_before;
    return back == before + 4 && pc != back;
#endif
}

static void push(struct shadow *shadow, struct shadow_entry entry)
{
    if (shadow->depth == SHADOW_MAX) {
        fprintf(stderr, "more than %d calls are open\n", SHADOW_MAX);
        exit(1);
    }
    shadow->entries[shadow->depth++] = entry;
}

static void remember(struct shadow *shadow, const struct hs_snapshot *at)
{
    shadow->pc = at->registers.values[HS_DWARF_PC];
    shadow->sp = at->registers.values[HS_DWARF_SP];
}

void shadow_begin(struct shadow *shadow, const struct hs_snapshot *at)
{
    shadow->depth = 0;
    push(shadow, (struct shadow_entry){return_address(at), at->registers.values[HS_DWARF_SP], 0, 0});
    remember(shadow, at);
}

// Whether the call has come to its end: by a return, or by a jump out of it.
static bool has_ended(const struct shadow_entry *entry, uintptr_t pc, uintptr_t sp)
{
    if (entry->interrupted)
        return pc == entry->interrupted && sp == entry->interrupted_sp;
#ifdef HS_ARCH_LINK_REGISTER
    return entry->sp < sp || (entry->sp == sp && pc == entry->return_address);
#else
    return entry->sp < sp;
#endif
}

void shadow_step(struct shadow *shadow, const struct hs_snapshot *at, bool handler)
{
    uintptr_t pc = at->registers.values[HS_DWARF_PC], sp = at->registers.values[HS_DWARF_SP];
    if (handler) {
        push(shadow, (struct shadow_entry){return_address(at), sp, shadow->pc, shadow->sp});
    } else {
        while (shadow->depth && has_ended(&shadow->entries[shadow->depth - 1], pc, sp))
            shadow->depth--;
        if (was_call(shadow->pc, shadow->sp, at))
            push(shadow, (struct shadow_entry){return_address(at), sp, 0, 0});
    }
    remember(shadow, at);
}

unsigned shadow_stack(const struct shadow *shadow, const struct hs_snapshot *at, uintptr_t *frames)
{
    unsigned count = 0;
    uintptr_t pc = at->registers.values[HS_DWARF_PC];
    bool at_return = false; // the handler has returned into the code that ends it
    frames[count++] = hs_rule_key(pc, true);
    for (unsigned i = shadow->depth; i-- > 0;) {
        const struct shadow_entry *entry = &shadow->entries[i];
        at_return = entry->interrupted && i + 1 == shadow->depth &&
                    (pc - entry->return_address < 16 || at->registers.values[HS_DWARF_SP] > entry->sp);
        if (!at_return)
            frames[count++] = entry->return_address;
        if (entry->interrupted)
            frames[count++] = hs_rule_key(entry->interrupted, true);
    }
    return count;
}
