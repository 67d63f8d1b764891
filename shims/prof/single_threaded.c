// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What needs a single thread, or every thread: the kernel keeps credentials and namespaces for each thread, and libc
// does not know the one that answers control. It ends before, and a new one begins as what the process has become.
#include "arch/system.h"
#include "runtime/prof/control.h"
#include "shims/prof/hooks.h"

#include <errno.h>

#define SINGLE_THREADED(name, parameters, ...)                                                                         \
    HS_EXPORT int name parameters;                                                                                     \
    HS_EXPORT int name parameters                                                                                      \
    {                                                                                                                  \
        if (!hs_real.name)                                                                                             \
            hs_real__resolve();                                                                                        \
        if (!hs_real.name) {                                                                                           \
            hs_real__set_errno(ENOSYS);                                                                                \
            return -1;                                                                                                 \
        }                                                                                                              \
        hs_control__stop();                                                                                            \
        int result = hs_real.name(__VA_ARGS__);                                                                        \
        hs_control__restart();                                                                                         \
        return result;                                                                                                 \
    }

SINGLE_THREADED(unshare, (int flags), flags)
SINGLE_THREADED(setns, (int fd, int type), fd, type)
SINGLE_THREADED(setuid, (uid_t user), user)
SINGLE_THREADED(seteuid, (uid_t user), user)
SINGLE_THREADED(setreuid, (uid_t real, uid_t effective), real, effective)
SINGLE_THREADED(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
SINGLE_THREADED(setgid, (gid_t group), group)
SINGLE_THREADED(setegid, (gid_t group), group)
SINGLE_THREADED(setregid, (gid_t real, gid_t effective), real, effective)
SINGLE_THREADED(setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective, saved)
SINGLE_THREADED(setgroups, (size_t count, const gid_t *groups), count, groups)
