// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Puts the recording or the sampling library into a running process and takes it out of service again.
//
// No code of the target's libc runs for this, and no file has to be visible to the target: the library is copied into
// memory of the target, relocated here, and the first instructions of the allocator's functions are replaced by jumps
// to it. Threads are stopped for these patches alone. If this process is killed at any point, the target goes on.
#ifndef HEAPSONDE_HOST_INJECT_INJECT_H
#define HEAPSONDE_HOST_INJECT_INJECT_H

#include "host/base/error.h"
#include "host/inject/named.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { HS_INJECT_VARIABLES = 64 };

struct hs_inject_request {
    pid_t pid;
    const char *library; // path of libheapsonde-trace.so, or of libheapsonde-prof.so
    bool samples;        // it is the latter
    // NAME=VALUE for the library. It does not see the target's own environment.
    const char *variables[HS_INJECT_VARIABLES];
    unsigned variable_count;
    struct hs_named_allocators named;
    bool force;         // also if filters of system calls cannot be read
    bool begins_idle;   // the library records nothing at first
    const char *detach; // for messages: the command that ends a recording, without the PID; NULL: 'heapsonde detach'
};

struct hs_inject_result {
    unsigned threads;     // that were stopped
    unsigned patches;     // functions whose first instructions were replaced, or put back
    bool samples;         // of a detach: what has ended is sampling
    uint64_t pause_ns;    // for which all threads were stopped
    uint64_t begin_ns;    // that the library took to start, beside the program
    char allocators[256]; // the names of the recorded functions: "malloc, je_malloc"
    char allocator[256];  // the file whose functions are recorded
    char unpatched[256];  // functions and allocators that could not be patched: "valloc, je_malloc"
};

// All return 0 or a negative errno. A target that is refused was not changed.
int hs_inject__attach(const struct hs_inject_request *request, struct hs_inject_result *result, struct hs_error *error);

// The same for a child of this process that has stopped itself by SIGSTOP and is about to execute a program: it is
// recorded from its first instruction on, whether it is linked statically or not. This returns when it runs. *executed
// becomes false if it has ended before; then nothing failed here. -ESRCH: a signal has killed it meanwhile.
//
// Its one thread is stopped all the time, at an event stop or at one of a system call. Signals that come are held back
// by its mask, or delivered at the next stop; only SIGKILL ends it. What fails then, in whatever way, fails because of
// that: the stop has ended, and no later request of ptrace succeeds. A thread that is only stopped
// takes all of them.
int hs_inject__start(const struct hs_inject_request *request, struct hs_inject_result *result, bool *executed,
                     struct hs_error *error);

// For a child that has stopped itself in the same way, and into which its dynamic linker loads the library
// (LD_PRELOAD): allocators in the program itself are recorded, too. This returns when it runs. If `named` names
// none, a program in which this fails runs on without it.
int hs_inject__adopt(const struct hs_inject_request *request, struct hs_inject_result *result, bool *executed,
                     struct hs_error *error);

// For a process that this one traces and that stands behind its execve. Afterwards it is stopped
// and traced as before. -EALREADY: its dynamic linker has loaded the library; then the second one records allocators
// in the program itself. -ESRCH: it has ended.
int hs_inject__join(const struct hs_inject_request *request, struct hs_inject_result *result, struct hs_error *error);
int hs_inject__adopt_joined(const struct hs_inject_request *request, struct hs_inject_result *result,
                            struct hs_error *error);

// Whether a program's file has allocators that hs_inject__adopt finds without help.
bool hs_inject__has_allocators(const char *path);

// A program's file: for another machine, or unreadable; one that may trace others; any other. A process can have one
// tracer only.
enum hs_inject_program { HS_INJECT_PROGRAM_OTHER, HS_INJECT_PROGRAM_TRACES, HS_INJECT_PROGRAM_USUAL };
enum hs_inject_program hs_inject__program(const char *path);

// Whether there is an injector for this machine.
bool hs_inject__is_supported(void);

// The program's text is as before afterwards, and the library's threads have ended. Its memory stays, because a thread
// may be waiting in a function that it called.
int hs_inject__detach(pid_t pid, struct hs_inject_result *result, struct hs_error *error);

// Whether an attach would be allowed and possible, as far as that is known without changing the process.
int hs_inject__examine(pid_t pid, bool samples, struct hs_error *error);

// Whether there is no such process, or only what its parent has not waited for.
bool hs_inject__has_ended(pid_t pid);

// Whether the process is being recorded by an attached library.
bool hs_inject__is_attached(pid_t pid);

#endif
