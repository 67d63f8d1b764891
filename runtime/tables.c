// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/tables.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/memory.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

enum { NOTED = 64, PAGES_AT_ONCE = 128 };

#define IN_PLACE    (UINT64_C(1) << 63) // of an entry of /proc/self/pagemap
#define OF_THE_FILE (UINT64_C(1) << 61)
#define APART_NS    UINT64_C(64000000)

static struct {
    int pagemap; // the descriptor, more by one; 0: none
    bool closed;
    _Atomic uint32_t count;
    uint32_t nodes; // stack nodes at the last time: without new ones no rule was looked up
    uint64_t due_ns;
    struct {
        uintptr_t first, behind; // numbers of pages
    } noted[NOTED];
} tables;

void hs_tables__note(uintptr_t start, uintptr_t end)
{
    uint32_t count = atomic_load_explicit(&tables.count, memory_order_relaxed);
    if (tables.closed || count == NOTED || start >= end)
        return;
    size_t page = hs_memory__page_size();
    tables.noted[count].first = (start - 1) / page + 1;
    tables.noted[count].behind = (end - 1) / page + 1;
    atomic_store_explicit(&tables.count, count + 1, memory_order_release);
}

static bool is_clean(uint64_t entry)
{
    return (entry & (IN_PLACE | OF_THE_FILE)) == (IN_PLACE | OF_THE_FILE);
}

// Right after the kernel has said what the pages are.
static void give_back_some(int pagemap, uintptr_t first, size_t count)
{
    uint64_t entries[PAGES_AT_ONCE];
    size_t page = hs_memory__page_size(), run = 0;
    long got = hs_system_pread(pagemap, entries, count * sizeof *entries, (uint64_t)first * sizeof *entries);
    if (got != (long)(count * sizeof *entries))
        return;
    for (size_t i = 0; i <= count; i++) {
        if (i < count && is_clean(entries[i])) {
            run++;
        } else if (run) {
            HS_SYSTEM3(SYS_madvise, (first + i - run) * page, run * page, MADV_DONTNEED);
            run = 0;
        }
    }
}

static void give_back_range(int pagemap, uintptr_t first, uintptr_t behind)
{
    for (; first < behind; first += PAGES_AT_ONCE)
        give_back_some(pagemap, first, behind - first < PAGES_AT_ONCE ? behind - first : PAGES_AT_ONCE);
}

void hs_tables__close(void)
{
    tables.closed = true;
}

void hs_tables__watch(void)
{
    long pagemap = tables.closed ? -1 : HS_SYSTEM_OPEN_OWN("pagemap");
    tables.pagemap = pagemap >= 0 ? (int)pagemap + 1 : 0;
}

void hs_tables__forget(void)
{
    tables.pagemap = 0;
}

void hs_tables__give_back(void)
{
    if (!tables.pagemap)
        return;
    uint32_t count = atomic_load_explicit(&tables.count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        give_back_range(tables.pagemap - 1, tables.noted[i].first, tables.noted[i].behind);
}

void hs_tables__give_back_if_due(uint32_t nodes)
{
    uint64_t now = hs_clock__monotonic_ns();
    if (nodes == tables.nodes || now < tables.due_ns)
        return;
    tables.nodes = nodes;
    tables.due_ns = now + APART_NS;
    hs_tables__give_back();
}
