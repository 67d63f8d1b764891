// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A thread that the program cannot see or break: all signals blocked, own stack, own descriptor table, no libc state.
// Its code must not call libc. It shares memory, working directory and process with the program. The second kind is a
// process that shares only the memory: it continues when the program has ended in any way. The program's wait(2) does
// not see it, and it is not in the program's process group.
#ifndef HEAPSONDE_RUNTIME_HIDDEN_THREAD_H
#define HEAPSONDE_RUNTIME_HIDDEN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_hidden_thread {
    uint8_t *memory; // the stack; below it a substitute for thread-local storage
    size_t size;
    uint32_t tid; // 0: none
    bool is_process;
    uintptr_t thread_pointer;
    void (*main)(void *argument);
    void *argument;
};

// Starts `main(argument)`; the thread ends when that returns. Thread-local variables of this library read as zero in
// it. Returns 0 or -errno; -EINVAL: this kind is not supported (QEMU's user mode has only the first).
enum hs_hidden_kind { HS_HIDDEN_SHARED_DESCRIPTORS, HS_HIDDEN_THREAD, HS_HIDDEN_PROCESS };
long hs_hidden_thread__start(struct hs_hidden_thread *thread, size_t stack_size, void (*main)(void *), void *argument,
                             enum hs_hidden_kind kind);

// In the thread: closes every descriptor that it got from the program, except `keep` and `also` (-1: none). A file that
// the program has open must be closed when the program closes it.
void hs_hidden_thread__close_descriptors(int keep, int also);

// Waits until the thread (or process) has ended, and frees its memory. Waits at most `timeout_ns` of time in which
// this process could run. False: it still runs.
bool hs_hidden_thread__join(struct hs_hidden_thread *thread, int64_t timeout_ns);

// In a forked child, which has the memory but not the thread.
void hs_hidden_thread__forget(struct hs_hidden_thread *thread);

#endif
