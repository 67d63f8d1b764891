// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A table of registered sections. A slot contains the start of the section, or NULL. Readers are counted, so that a
// section is released only when no thread can be reading it.
#include "unwind/jit_frames.h"

#include "arch/far.h"
#include "arch/system.h"
#include "unwind/eh_frame.h"
#include "unwind/include/heapsonde/unwind.h"
#include "unwind/rule_cache.h"

#include <stdatomic.h>

enum { SECTIONS = 4096, WAIT_ROUNDS = 10000 };

struct section {
    _Atomic(const uint8_t *) eh_frame;
    _Atomic uintptr_t low, high; // what its FDEs cover; high is 0 until that is known
    _Atomic uintptr_t end;       // of the section's bytes
};

static struct section sections[SECTIONS] HS_FAR;
static _Atomic uint32_t slots_used;
static _Atomic uint32_t registered;
static _Atomic uint32_t readers;

static struct section *section_at(uint32_t number)
{
    return *HS_FAR_AT(sections) + number;
}

bool hs_jit_frames_begin(void)
{
    if (!atomic_load_explicit(&registered, memory_order_relaxed))
        return false;
    atomic_fetch_add_explicit(&readers, 1, memory_order_seq_cst);
    return true;
}

void hs_jit_frames_end(void)
{
    atomic_fetch_sub_explicit(&readers, 1, memory_order_release);
}

static struct hs_cfi_section describe(const uint8_t *start, const uint8_t *end)
{
    return (struct hs_cfi_section){start, end, 0, 0, false};
}

static bool find_in(struct section *slot, uintptr_t address, struct hs_cfi_section *section, struct hs_fde *fde)
{
    const uint8_t *eh_frame = atomic_load_explicit(&slot->eh_frame, memory_order_seq_cst);
    uintptr_t high = atomic_load_explicit(&slot->high, memory_order_acquire);
    uintptr_t low = atomic_load_explicit(&slot->low, memory_order_relaxed);
    uintptr_t end = atomic_load_explicit(&slot->end, memory_order_relaxed);
    if (!eh_frame || address < low || address >= high)
        return false;
    *section = describe(eh_frame, (const uint8_t *)end);
    return hs_eh_frame_scan(section, eh_frame, address, fde);
}

bool hs_jit_frames_find(uintptr_t address, struct hs_cfi_section *section, struct hs_fde *fde)
{
    uint32_t used = atomic_load_explicit(&slots_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++)
        if (find_in(section_at(i), address, section, fde))
            return true;
    return false;
}

// The end of a section that a zero word terminates, by the lengths of its records.
static const uint8_t *find_end(const uint8_t *at)
{
    uint32_t length;
    for (;; at += 4 + length) {
        __builtin_memcpy(&length, at, sizeof length);
        if (!length)
            return at + 4;
        if (length >= 0xfffffff0)
            return NULL;
    }
}

static bool measure(const uint8_t *eh_frame, const uint8_t *end, uintptr_t *low, uintptr_t *high)
{
    struct hs_cfi_section section = describe(eh_frame, end);
    struct hs_fde fde = {.cie = NULL};
    *low = UINTPTR_MAX;
    *high = 0;
    for (const uint8_t *record = eh_frame;; record = fde.next) {
        switch (hs_cfi_read_record(&section, record, &fde)) {
        case HS_FDE_FOUND:
            *low = fde.start < *low ? fde.start : *low;
            *high = fde.end > *high ? fde.end : *high;
            break;
        case HS_FDE_OTHER:
            break;
        case HS_FDE_END:
            return *high != 0;
        case HS_FDE_BAD:
            return false;
        }
    }
}

static struct section *claim_slot(const uint8_t *eh_frame)
{
    for (uint32_t i = 0; i < SECTIONS; i++) {
        const uint8_t *expected = NULL;
        if (!atomic_compare_exchange_strong(&section_at(i)->eh_frame, &expected, eh_frame))
            continue;
        uint32_t used = atomic_load(&slots_used);
        while (used < i + 1 && !atomic_compare_exchange_weak(&slots_used, &used, i + 1))
            ;
        return section_at(i);
    }
    return NULL;
}

int hs_register_frames(const void *eh_frame)
{
    uintptr_t low, high;
    if (!eh_frame)
        return -1;
    const uint8_t *end = find_end(eh_frame);
    if (!end || !measure(eh_frame, end, &low, &high))
        return -1;
    struct section *slot = claim_slot(eh_frame);
    if (!slot)
        return -1;
    atomic_store_explicit(&slot->low, low, memory_order_relaxed);
    atomic_store_explicit(&slot->end, (uintptr_t)end, memory_order_relaxed);
    atomic_store_explicit(&slot->high, high, memory_order_release);
    atomic_fetch_add(&registered, 1);
    hs_rule_cache_forget_guesses();
    return 0;
}

// Readers are short and never wait, so this ends; the limit is for a reader that was stopped permanently.
static void wait_for_readers(void)
{
    for (int round = 0; atomic_load_explicit(&readers, memory_order_seq_cst) && round < WAIT_ROUNDS; round++)
        HS_SYSTEM0(SYS_sched_yield);
}

int hs_deregister_frames(const void *eh_frame)
{
    uint32_t used = atomic_load(&slots_used);
    for (uint32_t i = 0; eh_frame && i < used; i++) {
        struct section *slot = section_at(i);
        if (atomic_load(&slot->eh_frame) != eh_frame)
            continue;
        atomic_store(&slot->high, 0);
        atomic_store(&slot->eh_frame, NULL);
        atomic_fetch_sub(&registered, 1);
        wait_for_readers();
        hs_unwind_forget_rules();
        return 0;
    }
    return -1;
}
