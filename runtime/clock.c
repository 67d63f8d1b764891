// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/clock.h"

#include "arch/system.h"
#include "format/trace_format.h"
#include "runtime/memory.h"
#include "runtime/text.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <time.h>

struct hs_clock hs_clock;

// Of what the kernel maps into each process. A C library's function of that kind may be the program's, or another
// preloaded library's, and not fit for a thread that has none of its variables.
typedef long clock_function(int clock, struct hs_time *time);
static clock_function *kernel_clock;

static clock_function *find_function(uintptr_t image, const char *name)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(image + header->e_phoff);
    const ElfW(Dyn) *entry = NULL;
    uintptr_t bias = image;
    for (unsigned i = header->e_phnum; i-- > 0;) {
        if (parts[i].p_type == PT_LOAD)
            bias = image + parts[i].p_offset - parts[i].p_vaddr;
        else if (parts[i].p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(image + parts[i].p_offset);
    }
    const ElfW(Sym) *symbol = NULL;
    const char *strings = NULL;
    for (; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_SYMTAB)
            symbol = (const ElfW(Sym) *)(bias + entry->d_un.d_ptr);
        else if (entry->d_tag == DT_STRTAB)
            strings = (const char *)(bias + entry->d_un.d_ptr);
    for (; symbol && (const char *)(symbol + 1) <= strings; symbol++) // the names follow the symbols
        if (symbol->st_value && hs_text__equal(strings + symbol->st_name, name))
            return (clock_function *)(bias + symbol->st_value);
    return NULL;
}

static void find_kernel_clock(void)
{
    uintptr_t image = hs_memory__auxiliary(AT_SYSINFO_EHDR);
    if (image && !kernel_clock)
        kernel_clock = find_function(image, HS_KERNEL_VDSO_CLOCK);
}

static uint64_t read_clock(int clock)
{
    struct hs_time now = {0};
    if (!kernel_clock || kernel_clock(clock, &now) != 0)
        hs_system_clock(clock, &now);
    return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

uint64_t hs_clock__monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t hs_clock__realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t hs_clock__raw_slowly(void)
{
    return hs_clock__monotonic_ns();
}

// The kernel distrusts a counter that is not the same on every core; so do we.
static int kernel_trusts_counter(void)
{
    char name[64];
    hs_text__read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name);
    return !hs_text__starts_with(name, "hpet") && !hs_text__starts_with(name, "acpi_pm") &&
           !hs_text__starts_with(name, "jiffies") && !hs_text__starts_with(name, "refined");
}

void hs_clock__start(void)
{
    find_kernel_clock();
    hs_clock.start_monotonic_ns = hs_clock__monotonic_ns();
    if (hs_arch_ticks_usable() && kernel_trusts_counter()) {
        hs_clock.source = HS_CLOCK_COUNTER;
        hs_clock.shift = HS_ARCH_TICK_SHIFT;
        hs_clock.start = hs_arch_ticks();
    } else {
        hs_clock.source = HS_CLOCK_MONOTONIC;
        hs_clock.shift = 0;
        hs_clock.start = hs_clock.start_monotonic_ns;
    }
}
