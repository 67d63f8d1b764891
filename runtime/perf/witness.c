// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/perf/witness.h"

#if HS_PERF_HAS_WITNESSES

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/memory.h"

#include <sys/mman.h>

// Far more than a ring holds samples: a page has its second turn when its first is read.
enum { PAGES = 1 << 14, HALF = PAGES / 2 };

static struct {
    const char *pages;
    struct hs_witness *witnesses;
    _Atomic uint32_t calls, next;
} witness;

// Reads from the page while the frame pointer is the caller's.
static void read_page(const char *page, uintptr_t frame)
{
#if defined(__x86_64__)
    __asm__ volatile("xchgq %0, %%rbp\n\t"
                     "movb (%1), %%al\n\t"
                     "xchgq %0, %%rbp"
                     : "+d"(frame)
                     : "c"(page)
                     : "rax", "memory");
#else
    register uintptr_t caller __asm__("x11") = frame;
    register const char *from __asm__("x12") = page;
    __asm__ volatile("mov x10, x29\n\t"
                     "mov x29, %0\n\t"
                     "ldrb w9, [%1]\n\t"
                     "mov x29, x10"
                     :
                     : "r"(caller), "r"(from)
                     : "x9", "x10", "memory");
#endif
}

static size_t pages_size(void)
{
    return PAGES * hs_memory__page_size();
}

bool hs_witness__start(void)
{
    size_t size = pages_size();
    long pages = hs_system_mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (hs_system_failed(pages))
        return false;
    HS_SYSTEM3(SYS_madvise, pages, size, MADV_NOHUGEPAGE);
    witness.witnesses = hs_memory__map(PAGES * sizeof *witness.witnesses);
    if (witness.witnesses)
        witness.pages = (const char *)pages;
    return witness.witnesses;
}

void hs_witness__reset(void)
{
    if (!witness.pages)
        return;
    hs_memory__unmap((void *)(uintptr_t)witness.pages, pages_size());
    hs_memory__unmap(witness.witnesses, PAGES * sizeof *witness.witnesses);
    witness.pages = NULL;
}

// Pages are used in turn. When one half is begun, the other is given back.
void hs_witness__call(uint32_t stack, const struct hs_registers *caller)
{
    if (!witness.pages || witness.calls++ % hs_config.kernel_stacks)
        return;
    size_t page = hs_memory__page_size();
    uint32_t number = witness.next++ % PAGES;
    if (number % HALF == 0)
        HS_SYSTEM3(SYS_madvise, witness.pages + (number ? 0 : HALF) * page, HALF * page, MADV_DONTNEED);
    witness.witnesses[number] = (struct hs_witness){caller->pc, stack};
    read_page(witness.pages + number * page, caller->fp);
}

struct hs_witness hs_witness__of(uint64_t address)
{
    uint64_t offset = address - (uintptr_t)witness.pages;
    if (!witness.pages || offset >= pages_size())
        return (struct hs_witness){0};
    return witness.witnesses[offset / hs_memory__page_size()];
}

#endif
