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
static bool was_call(const struct shadow *shadow, const struct hs_snapshot *at)
{
    uintptr_t before = shadow->pc;
    const struct shadow_entry *open = &shadow->entries[shadow->depth - 1];
    uintptr_t back = return_address(at), pc = at->registers.values[HS_DWARF_PC], sp = at->registers.values[HS_DWARF_SP];
#if defined(__x86_64__)
    (void)open;
    return sp == shadow->sp - sizeof sp && back > before && back <= before + 8 && pc != back;
#elif defined(__arm__)
    (void)sp, (void)open;
    if (!(before & 1))
        return back == before + 4 && pc != back;
    const uint16_t *code = (const uint16_t *)(before - 1);
    bool by_register = (code[0] & 0xff87) == 0x4780, direct = (code[0] & 0xf800) == 0xf000 && code[1] >= 0xc000;
    return ((by_register && back == before + 2) || (direct && back == before + 4)) && pc != back;
#elif defined(__mips__)
    // A stub for lazy binding calls with the return address of its caller in t7, and is not returned to.
    if (at->registers.values[15] == open->return_address && sp == open->sp)
        return false;
    return back == before + 8 && pc != back && pc != before + 4;
#else
    (void)sp, (void)open;
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
    *shadow = (struct shadow){.depth = 0};
    push(shadow, (struct shadow_entry){return_address(at), at->registers.values[HS_DWARF_SP], 0, false});
    remember(shadow, at);
}

#ifdef HS_ARCH_LINK_REGISTER
// longjmp() goes to where a call came back before, with the stack pointer of calls that are open.
static bool jumped_back(const struct shadow *shadow, uintptr_t pc, uintptr_t sp)
{
    for (unsigned i = 0; i < SHADOW_MAX; i++)
        if (shadow->returned[i].return_address == pc && shadow->returned[i].sp == sp)
            return true;
    return false;
}

// The call may have kept the stack pointer.
static bool has_left(const struct shadow *shadow, const struct shadow_entry *entry, uintptr_t pc, uintptr_t sp)
{
    bool returned = pc == entry->return_address && !entry->jumps;
    return entry->sp < sp || (entry->sp == sp && (returned || jumped_back(shadow, pc, sp)));
}

// What longjmp() has done once the stack pointer is that of calls that are open: those have ended, and it will return
// to where the return address register leads.
static void jump(struct shadow *shadow, uintptr_t sp)
{
    while (shadow->depth && shadow->entries[shadow->depth - 1].sp == sp)
        shadow->depth--;
    push(shadow, (struct shadow_entry){.sp = sp, .jumps = true});
}
#else
static void jump(struct shadow *shadow, uintptr_t sp)
{
    (void)shadow, (void)sp;
}

static bool has_left(const struct shadow *shadow, const struct shadow_entry *entry, uintptr_t pc, uintptr_t sp)
{
    (void)shadow, (void)pc;
    return entry->sp < sp;
}
#endif

// Whether the call has come to its end: by a return, or by a jump out of it.
static bool has_ended(const struct shadow *shadow, const struct shadow_entry *entry, uintptr_t pc, uintptr_t sp)
{
    return !entry->interrupted && has_left(shadow, entry, pc, sp);
}

static bool in_trampoline(const struct shadow_entry *entry, uintptr_t pc)
{
    enum { SIZE = 16 };
    return entry->interrupted && pc - (entry->return_address & ~(uintptr_t)1) < SIZE;
}

// What the handler returned to has led back to where the signal came. QEMU executes what is there with it.
static void end_handler(struct shadow *shadow, uintptr_t pc)
{
    const struct shadow_entry *top = &shadow->entries[shadow->depth - 1];
    if (in_trampoline(top, shadow->pc) && !in_trampoline(top, pc))
        shadow->depth--;
}

#if defined(__arm__)
// Code that the kernel has for programs to call returns; QEMU executes what comes next with it.
static bool kernel_returned(uintptr_t before, uintptr_t pc)
{
    return HS_ARCH_IS_LEAF(before) && !HS_ARCH_IS_LEAF(pc);
}
#else
static bool kernel_returned(uintptr_t before, uintptr_t pc)
{
    (void)before, (void)pc;
    return false;
}
#endif

static void end_call(struct shadow *shadow, uintptr_t pc)
{
    const struct shadow_entry *entry = &shadow->entries[--shadow->depth];
    if (pc == entry->return_address)
        shadow->returned[shadow->returns++ % SHADOW_MAX] = *entry;
}

void shadow_step(struct shadow *shadow, const struct hs_snapshot *at, bool handler)
{
    uintptr_t pc = at->registers.values[HS_DWARF_PC], sp = at->registers.values[HS_DWARF_SP];
    if (handler) {
        push(shadow, (struct shadow_entry){return_address(at), sp, shadow->pc, false});
    } else {
        end_handler(shadow, pc);
        if (kernel_returned(shadow->pc, pc))
            end_call(shadow, shadow->entries[shadow->depth - 1].return_address);
        bool out_of = false;
        for (; shadow->depth && has_ended(shadow, &shadow->entries[shadow->depth - 1], pc, sp); end_call(shadow, pc))
            out_of = out_of || shadow->entries[shadow->depth - 1].sp < sp;
        if (out_of && shadow->depth)
            jump(shadow, sp);
        if (shadow->depth && was_call(shadow, at))
            push(shadow, (struct shadow_entry){return_address(at), sp, 0, false});
    }
    remember(shadow, at);
}

unsigned shadow_stack(const struct shadow *shadow, const struct hs_snapshot *at, uintptr_t *frames)
{
    unsigned count = 0;
    uintptr_t pc = at->registers.values[HS_DWARF_PC];
    bool at_return = false; // the handler has returned into the code that ends it
    frames[count++] = hs_frame_address(pc, true);
    for (unsigned i = shadow->depth; i-- > 0;) {
        const struct shadow_entry *entry = &shadow->entries[i];
        at_return = i + 1 == shadow->depth && in_trampoline(entry, pc);
        if (!at_return)
            frames[count++] = entry->jumps ? return_address(at) : entry->return_address;
        if (entry->interrupted)
            frames[count++] = hs_frame_address(entry->interrupted, true);
    }
    return count;
}
