// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/clock.h"

#include "arch/system.h"
#include "format/trace_format.h"
#include "runtime/text.h"
#include "runtime/vdso.h"

#include <stdbool.h>
#include <time.h>

struct hs_clock hs_clock;

static uint64_t read_clock(int clock)
{
    struct hs_time now = {0};
    if (!hs_vdso__clock || hs_vdso__clock(clock, &now) != 0)
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
    hs_vdso__find();
    const bool has_counter = hs_arch_ticks_usable() && kernel_trusts_counter();
    hs_clock.start_monotonic_ns = hs_clock__monotonic_ns();
    if (has_counter) {
        hs_clock.source = HS_CLOCK_COUNTER;
        hs_clock.shift = HS_ARCH_TICK_SHIFT;
        hs_clock.start = hs_arch_ticks();
    } else {
        hs_clock.source = HS_CLOCK_MONOTONIC;
        hs_clock.shift = 0;
        hs_clock.start = hs_clock.start_monotonic_ns;
    }
}
