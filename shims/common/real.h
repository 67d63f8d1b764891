// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The functions that the shim stands in front of, as the program would have got them.
#ifndef HEAPSONDE_SHIMS_COMMON_REAL_H
#define HEAPSONDE_SHIMS_COMMON_REAL_H

#include "runtime/signal_action.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HS_EXPORT __attribute__((visibility("default")))

// name, result, parameters
#define HS_REAL_FUNCTIONS(X)                                                                                           \
    X(malloc, void *, (size_t))                                                                                        \
    X(calloc, void *, (size_t, size_t))                                                                                \
    X(realloc, void *, (void *, size_t))                                                                               \
    X(free, void, (void *))                                                                                            \
    X(posix_memalign, int, (void **, size_t, size_t))                                                                  \
    X(aligned_alloc, void *, (size_t, size_t))                                                                         \
    X(memalign, void *, (size_t, size_t))                                                                              \
    X(valloc, void *, (size_t))                                                                                        \
    X(pvalloc, void *, (size_t))                                                                                       \
    X(malloc_usable_size, size_t, (void *))                                                                            \
    X(free_sized, void, (void *, size_t))                                                                              \
    X(free_aligned_sized, void, (void *, size_t, size_t))                                                              \
    X(mallopt, int, (int, int))                                                                                        \
    X(mmap, void *, (void *, size_t, int, int, int, long))                                                             \
    X(mmap64, void *, (void *, size_t, int, int, int, int64_t))                                                        \
    X(munmap, int, (void *, size_t))                                                                                   \
    X(mremap, void *, (void *, size_t, size_t, int, ...))                                                              \
    X(brk, int, (void *))                                                                                              \
    X(sbrk, void *, (intptr_t))                                                                                        \
    X(fork, pid_t, (void))                                                                                             \
    X(_Fork, pid_t, (void))                                                                                            \
    X(_exit, void, (int))                                                                                              \
    X(_Exit, void, (int))                                                                                              \
    X(quick_exit, void, (int))                                                                                         \
    X(execve, int, (const char *, char *const[], char *const[]))                                                       \
    X(execv, int, (const char *, char *const[]))                                                                       \
    X(execvp, int, (const char *, char *const[]))                                                                      \
    X(execvpe, int, (const char *, char *const[], char *const[]))                                                      \
    X(fexecve, int, (int, char *const[], char *const[]))                                                               \
    X(unshare, int, (int))                                                                                             \
    X(setns, int, (int, int))                                                                                          \
    X(setuid, int, (uid_t))                                                                                            \
    X(seteuid, int, (uid_t))                                                                                           \
    X(setreuid, int, (uid_t, uid_t))                                                                                   \
    X(setresuid, int, (uid_t, uid_t, uid_t))                                                                           \
    X(setgid, int, (gid_t))                                                                                            \
    X(setegid, int, (gid_t))                                                                                           \
    X(setregid, int, (gid_t, gid_t))                                                                                   \
    X(setresgid, int, (gid_t, gid_t, gid_t))                                                                           \
    X(setgroups, int, (size_t, const gid_t *))                                                                         \
    X(sigaction, int, (int, const struct sigaction *, struct sigaction *))                                             \
    X(signal, hs_signal_handler, (int, hs_signal_handler))                                                             \
    X(syscall, long, (long, ...))                                                                                      \
    X(prctl, int, (int, ...))                                                                                          \
    X(dlopen, void *, (const char *, int))                                                                             \
    X(dlclose, int, (void *))                                                                                          \
    X(__register_frame, void, (void *))                                                                                \
    X(__deregister_frame, void, (void *))

#define HS_DECLARE_REAL(name, result, parameters) result(*name) parameters;
struct hs_real {
    HS_REAL_FUNCTIONS(HS_DECLARE_REAL)
};
#undef HS_DECLARE_REAL

// Filled once by hs_real__resolve(); NULL where the program has no such function. malloc, calloc, realloc, free,
// malloc_usable_size are never NULL: before they are found they lead to the bootstrap arena.
extern struct hs_real hs_real __attribute__((visibility("hidden")));

// For a loader that knows the functions already (format/attach.h): their names, each with a zero at its end, and the
// word that says whether they were found.
extern const char hs_real__names[] __attribute__((visibility("hidden")));
extern _Atomic uint32_t hs_real__state __attribute__((visibility("hidden")));

// Finds the functions. Idempotent; may be re-entered by allocations that the search itself makes.
void hs_real__resolve(void);

// A function by name behind this library in the search order, else in any loaded module. NULL when there is none.
void *hs_real__find(const char *name);

// Whether two functions lie in the same module.
bool hs_real__same_module(const void *a, const void *b);

// After code was unloaded: the operators are looked for again when they are called.
void hs_cxx__forget(void);

// Blocks that were given out before the real allocator was known.
bool hs_bootstrap__owns(const void *block);
void *hs_bootstrap__allocate(size_t alignment, size_t size);
size_t hs_bootstrap__size(const void *block);

// Whether the program's allocator was found.
bool hs_real__has_allocator(void);

// Sets errno where there is one.
void hs_real__set_errno(int error);

// Converts the result of a system call to that of a libc function.
long hs_real__result(long result);

#endif
