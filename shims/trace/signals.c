// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The toggling handlers stay out of the program's sight: as long as it has not set a handler of its own, it is told
// that SIGUSR1 and SIGUSR2 have the default action.
#include "runtime/process.h"
#include "runtime/signal_action.h"
#include "shims/common/real.h"

#include <errno.h>
#include <signal.h>

static bool is_ours(const struct sigaction *action)
{
    return !(hs_signal_action__flags(action) & SA_SIGINFO) &&
           hs_signal_action__handler(action) == hs_process__toggle_on_signal;
}

HS_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (!hs_real.sigaction)
        hs_real__resolve();
    if (!hs_real.sigaction) {
        hs_real__set_errno(ENOSYS);
        return -1;
    }
    int result = hs_real.sigaction(number, action, old);
    if (result == 0 && old && is_ours(old))
        hs_signal_action__set(old, SIG_DFL, 0);
    return result;
}

HS_EXPORT void (*signal(int number, void (*handler)(int)))(int)
{
    if (!hs_real.signal)
        hs_real__resolve();
    if (!hs_real.signal) {
        hs_real__set_errno(ENOSYS);
        return SIG_ERR;
    }
    void (*old)(int) = hs_real.signal(number, handler);
    return old == hs_process__toggle_on_signal ? SIG_DFL : old;
}
