// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/cancelling.h"

#include <stddef.h>

static const int signals[HS_CANCELLING_SIGNALS] = {SIGHUP, SIGINT, SIGTERM};
static int came; // atomic

static void take_signal(int number)
{
    __atomic_store_n(&came, number, __ATOMIC_RELAXED);
}

const int *hs_cancelling__begin(struct hs_cancelling *cancelling)
{
    struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART | SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    __atomic_store_n(&came, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < HS_CANCELLING_SIGNALS; i++) {
        sigaction(signals[i], NULL, &cancelling->before[i]);
        if (cancelling->before[i].sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
    }
    return &came;
}

void hs_cancelling__end(struct hs_cancelling *cancelling)
{
    for (size_t i = 0; i < HS_CANCELLING_SIGNALS; i++)
        sigaction(signals[i], &cancelling->before[i], NULL);
    const int number = __atomic_load_n(&came, __ATOMIC_RELAXED);
    if (number)
        raise(number);
}
