// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/held_signals.h"

#include <errno.h>
#include <signal.h>

#define BIT_OF(signal) ((uint64_t)1 << (signal - 1))

void hs_held_signals__hold(struct hs_held_signals *held)
{
    struct hs_signal_set set = {{BIT_OF(SIGXFSZ) | BIT_OF(SIGPIPE)}}, pending = {{0}};
    HS_SYSTEM4(SYS_rt_sigprocmask, SIG_BLOCK, &set, &held->before, sizeof set);
    HS_SYSTEM2(SYS_rt_sigpending, &pending, sizeof pending);
    held->pending = pending.words[0];
}

void hs_held_signals__release(const struct hs_held_signals *held, int error)
{
    uint64_t raised = error == EFBIG ? BIT_OF(SIGXFSZ) : error == EPIPE ? BIT_OF(SIGPIPE) : 0;
    struct hs_signal_set set = {{raised & ~held->pending}};
    struct hs_time now = {0, 0};
    if (set.words[0])
        HS_SYSTEM4(SYS_rt_sigtimedwait, &set, 0, &now, sizeof set); // all zero: of either width
    hs_system_restore_signals(&held->before);
}
