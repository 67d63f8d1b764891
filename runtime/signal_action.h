// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fields of struct sigaction in the layout of the program's libc. glibc and musl agree except on MIPS, where glibc
// follows the kernel and has the flags first.
#ifndef HEAPSONDE_RUNTIME_SIGNAL_ACTION_H
#define HEAPSONDE_RUNTIME_SIGNAL_ACTION_H

#include "runtime/libc_kind.h"

#include <signal.h>
#include <stddef.h>

typedef void (*hs_signal_handler)(int);

// Large enough for both.
union hs_signal_action {
    struct sigaction action;
    char room[192];
};

struct hs_signal_action_places {
    size_t handler, flags;
};

static inline struct hs_signal_action_places hs_signal_action__places(void)
{
#ifdef __mips__
    if (!hs_libc_is_musl())
        return (struct hs_signal_action_places){8, 0};
    return (struct hs_signal_action_places){0, 8 + 128};
#else
    return (struct hs_signal_action_places){offsetof(struct sigaction, sa_handler),
                                            offsetof(struct sigaction, sa_flags)};
#endif
}

static inline hs_signal_handler hs_signal_action__handler(const struct sigaction *action)
{
    hs_signal_handler handler;
    __builtin_memcpy(&handler, (const char *)action + hs_signal_action__places().handler, sizeof handler);
    return handler;
}

static inline int hs_signal_action__flags(const struct sigaction *action)
{
    int flags;
    __builtin_memcpy(&flags, (const char *)action + hs_signal_action__places().flags, sizeof flags);
    return flags;
}

static inline void hs_signal_action__set(struct sigaction *action, hs_signal_handler handler, int flags)
{
    __builtin_memcpy((char *)action + hs_signal_action__places().handler, &handler, sizeof handler);
    __builtin_memcpy((char *)action + hs_signal_action__places().flags, &flags, sizeof flags);
}

#endif
