// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A page is tried with rt_sigprocmask and an impossible `how`: the kernel reads the new set before it rejects `how`,
// so the answer is EINVAL for a readable page and EFAULT for another, and nothing changes either way.
// Readable pages are remembered; that a remembered one is unmapped later matters only to a walk over a damaged stack.
#include "unwind/stack_memory.h"

#include "arch/likely.h"
#include "arch/system.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/uio.h>

enum { KNOWN_PAGES = 1024, FILL_LIMIT = 64, IMPOSSIBLE_HOW = 0x7fff };

static _Atomic uintptr_t known_pages[KNOWN_PAGES];

static HS_COLD bool is_readable(uintptr_t address)
{
    if (hs_system_forbids(HS_FORBIDDEN_PROBES))
        return false;
    return HS_SYSTEM4(SYS_rt_sigprocmask, IMPOSSIBLE_HOW, address, 0, HS_KERNEL_SIGSET_SIZE) == -EINVAL;
}

HS_COLD bool hs_memory_copy(uintptr_t address, void *to, size_t length, bool may_go)
{
    struct iovec local = {to, length}, remote = {(void *)address, length};
    uintptr_t last = address + length - 1, word = sizeof(uintptr_t);
    may_go &= !hs_system_forbids(HS_FORBIDDEN_PROBES);
    long result = may_go ? HS_SYSTEM6(SYS_process_vm_readv, hs_system_getpid(), &local, 1, &remote, 1, 0) : -ENOSYS;
    if (result != -ENOSYS)
        return result == (long)length;
    if (!is_readable(address - address % word) || !is_readable(last - last % word))
        return false;
    __builtin_memcpy(to, (const void *)address, length);
    return true;
}

static HS_COLD bool page_readable(uintptr_t page)
{
    uintptr_t number = page / HS_STACK_PAGE;
    _Atomic uintptr_t *known = &known_pages[(number ^ number >> 10) % KNOWN_PAGES];
    if (atomic_load_explicit(known, memory_order_relaxed) == number)
        return number != 0;
    if (!is_readable(page))
        return false;
    atomic_store_explicit(known, number, memory_order_relaxed);
    return true;
}

static HS_COLD bool pages_readable(uintptr_t from, uintptr_t to)
{
    for (uintptr_t page = from; page != to; page += HS_STACK_PAGE)
        if (!page_readable(page))
            return false;
    return true;
}

HS_COLD bool hs_memory_readable(uintptr_t address, size_t length)
{
    const uintptr_t mask = ~(uintptr_t)(HS_STACK_PAGE - 1), first = address & mask;
    uintptr_t end = ((address + length - 1) & mask) + HS_STACK_PAGE;
    return length && end > first && pages_readable(first, end);
}

static struct hs_stack_memory range(uintptr_t low, uintptr_t end)
{
    return (struct hs_stack_memory){low, end - low - (sizeof(uintptr_t) - 1)};
}

struct hs_stack_memory hs_stack_memory_extend(struct hs_stack_memory memory, uintptr_t address)
{
    const uintptr_t mask = ~(uintptr_t)(HS_STACK_PAGE - 1), limit = FILL_LIMIT * HS_STACK_PAGE;
    uintptr_t first = address & mask;
    uintptr_t end = ((address + sizeof(uintptr_t) - 1) & mask) + HS_STACK_PAGE;
    if (end <= first || !pages_readable(first, end))
        return (struct hs_stack_memory){0, 0};
    uintptr_t low = memory.low, high = low + memory.span + (sizeof(uintptr_t) - 1);
    if (!memory.span)
        return range(first, end);
    if (first >= low && (first <= high || (first - high <= limit && pages_readable(high, first))))
        return range(low, end > high ? end : high);
    if (first < low && low - first <= limit && pages_readable(first, low))
        return range(first, high);
    return range(first, end);
}

HS_COLD bool hs_stack_window_read(struct hs_stack_window *window, uintptr_t address, uintptr_t *word)
{
    if (address - window->own->low < window->own->span) {
        *word = hs_stack_word(address);
        return true;
    }
    const uintptr_t first = address - address % sizeof window->words;
    if (window->at != first) {
        window->at = 0;
        if (!hs_memory_copy(first, window->words, sizeof window->words, true))
            return false;
        window->at = first;
    }
    *word = window->words[(address - first) / sizeof *word];
    return true;
}

// A stack that grows on demand answers like one that is there: the kernel lets it grow when it reads below.
static HS_COLD bool has_pages(uintptr_t count)
{
    uintptr_t page = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(HS_STACK_PAGE - 1);
    for (; count; count--)
        if (!page_readable(page -= HS_STACK_PAGE))
            return hs_system_forbids(HS_FORBIDDEN_PROBES); // nobody knows
    return true;
}

HS_COLD bool hs_stack_has_room(void)
{
    return has_pages(2);
}

HS_COLD bool hs_stack_has_page(void)
{
    return has_pages(1);
}
