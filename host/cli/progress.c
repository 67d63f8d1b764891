// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/progress.h"

#include "host/base/clock.h"
#include "host/report/text.h"

#include <stdio.h>
#include <unistd.h>

#define QUIET_NS    1000000000u
#define INTERVAL_NS 100000000u

void hs_progress__start(struct hs_progress *progress, const char *what, bool bytes)
{
    *progress = (struct hs_progress){.what = what, .bytes = bytes, .terminal = isatty(STDERR_FILENO)};
    progress->start_ns = hs_clock__now();
}

static void show_rest(double ns)
{
    const uint64_t seconds = (uint64_t)(ns / 1e9);
    if (seconds < 60)
        fprintf(stderr, ", %u s left", (unsigned)seconds);
    else
        fprintf(stderr, ", %s left", hs_text__time(seconds * 1000000000u).text);
}

void hs_progress__update(void *context, uint64_t done, uint64_t total)
{
    struct hs_progress *progress = context;
    if (!progress->terminal)
        return;
    if (!progress->began || done < progress->first)
        progress->first = done;
    progress->began = true;
    uint64_t now = hs_clock__now();
    uint64_t passed = now - progress->start_ns;
    if (passed < QUIET_NS || now - progress->last_ns < INTERVAL_NS)
        return;
    progress->last_ns = now;
    progress->shown = true;
    uint64_t rate = (uint64_t)((double)(done - progress->first) * 1e9 / (double)passed);
    // Without a total there is no percentage.
    fprintf(stderr, "\r\033[K%s: %s, %s%s", progress->what,
            total             ? hs_text__percent(done, total).text
            : progress->bytes ? hs_text__bytes(done).text
                              : hs_text__count(done).text,
            progress->bytes ? hs_text__bytes(rate).text : hs_text__count(rate).text,
            progress->bytes ? "/s" : " per second");
    // Bytes are read once, what is counted several times.
    if (progress->bytes && total > done && done > progress->first)
        show_rest((double)passed * (double)(total - done) / (double)(done - progress->first));
    fflush(stderr);
}

void hs_progress__end(struct hs_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
