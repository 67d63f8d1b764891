// SPDX-License-Identifier: MIT OR Apache-2.0
//
// With -Wl,--wrap=hs_system_futex: waits that never time out, so that a lock is never refused. On a busy machine its
// holder may lack a processor for longer than the lock waits.
#ifndef HEAPSONDE_TESTS_PATIENT_FUTEX_H
#define HEAPSONDE_TESTS_PATIENT_FUTEX_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static bool is_patient;
static long (*end_wait)(void); // if set, all waits end at once, with its result

long __real_hs_system_futex(const void *word, int operation, uint32_t value, int64_t timeout_ns);
long __wrap_hs_system_futex(const void *word, int operation, uint32_t value, int64_t timeout_ns);

long __wrap_hs_system_futex(const void *word, int operation, uint32_t value, int64_t timeout_ns)
{
    if (end_wait)
        return end_wait();
    long result = __real_hs_system_futex(word, operation, value, timeout_ns);
    return is_patient && result == -ETIMEDOUT ? 0 : result;
}

#endif
