// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The actions of a shim when the process itself changes. Each of the two libraries defines them, and common/process.c
// calls them. They run in the program's threads, with the program's signal mask.
#ifndef HEAPSONDE_SHIMS_COMMON_SHIM_H
#define HEAPSONDE_SHIMS_COMMON_SHIM_H

#include <stdbool.h>
#include <stdint.h>

// Before _exit, _Exit, quick_exit and syscall(SYS_exit_group). (What exit does, the library's destructor sees.)
void hs_shim__process_ends(void);

// Around a fork; after_fork in the parent and, with child true, in the child. The child may be the only one to return.
// `locks` is what before_fork returned: of this fork alone, since others of other threads and of signal handlers may
// begin and end meanwhile.
uint64_t hs_shim__before_fork(void);
void hs_shim__after_fork(bool child, uint64_t locks);

// Before an exec, and after one that failed. In a vfork child they run in the parent's memory.
void hs_shim__before_exec(void);
void hs_shim__after_failed_exec(void);

// Around calls that need a single thread, or change what each thread of the kernel has for itself (credentials,
// namespaces): libc does not know the shim's own thread.
void hs_shim__before_single_threaded(void);
void hs_shim__after_single_threaded(void);

// Before the program forbids itself system calls (HS_FORBIDDEN_*), in this thread or in all.
void hs_shim__before_filter(uint32_t forbidden, bool all_threads);

// Before dlclose: no other thread of the library may be looking at code that goes.
void hs_shim__code_will_be_unloaded(void);

// After dlclose; what is known of code is forgotten already.
void hs_shim__code_was_unloaded(void);

#endif
