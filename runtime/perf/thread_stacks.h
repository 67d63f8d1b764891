// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the stacks of threads are: the mappings without a file that contain an address on a thread's stack. Stacks that
// the program made itself, for coroutines, are found as well.
#ifndef HEAPSONDE_RUNTIME_PERF_THREAD_STACKS_H
#define HEAPSONDE_RUNTIME_PERF_THREAD_STACKS_H

#include <stdbool.h>
#include <stdint.h>

enum { HS_THREAD_STACKS_KNOWN = 256, HS_THREAD_STACKS_WANTED = 32 };

struct hs_thread_stacks {
    struct {
        uint64_t start, end;
    } known[HS_THREAD_STACKS_KNOWN]; // the newest ones; one that is forgotten may be found again
    uint32_t count, next, last;
    struct {
        uint64_t address;
        uint32_t key;                  // a tid, or what stands for an address
    } wanted[HS_THREAD_STACKS_WANTED]; // one of samples for each thread, and the threads' own
    uint32_t wanted_count;
    bool failed; // the list of mappings cannot be read: the search has ended
};

// Notes an address on the stack that a sample of a thread was on, unless that stack is known or another one of the
// thread is noted. False: there is no room before the next search.
bool hs_thread_stacks__see(struct hs_thread_stacks *stacks, uint32_t tid, uint64_t address);

// Notes an address on a thread's own stack, also if another one of the thread is noted: the caller gives it only once.
bool hs_thread_stacks__see_own(struct hs_thread_stacks *stacks, uint64_t address);

// Searches what was noted in the list of mappings at `path` (/proc/self/maps), and calls `found` for each new stack. An
// address that is no longer in a mapping is dropped. If the list cannot be opened now, what was noted is kept.
void hs_thread_stacks__find(struct hs_thread_stacks *stacks, const char *path,
                            void (*found)(uint64_t start, uint64_t end));

#endif
