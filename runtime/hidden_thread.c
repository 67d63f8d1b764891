// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/hidden_thread.h"

#include "arch/system.h"
#include "runtime/lock.h"
#include "runtime/memory.h"

#include <errno.h>
#include <limits.h>
#include <linux/sched.h>
#include <linux/wait.h>

#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define WAIT_NS      1000000

enum { PAGE = 4096, MOST_DISTANCE = 64 << 20, LIBC_RECORD = 0x8000 };

static __thread char here __attribute__((tls_model("initial-exec")));

// Thread-local variables lie at fixed distances from the thread pointer: in `here`'s neighbourhood those of this
// library, at the pointer itself its own word. In an attached process, the variables move into libc's record of the
// thread while a hidden thread runs: that is below the pointer, with glibc on MIPS64 by 0x7690 bytes.
// Returns the bytes that they need, and where the pointer is in them.
static size_t thread_local_size(size_t *pointer_at)
{
    intptr_t distance = (intptr_t)&here - (intptr_t)hs_arch_thread_pointer();
    size_t apart = (size_t)(distance < 0 ? -distance : distance);
    if (apart > MOST_DISTANCE)
        return 0;
    size_t below = distance < 0 && apart > LIBC_RECORD ? apart : LIBC_RECORD;
    *pointer_at = PAGE + below;
    *pointer_at += -*pointer_at & 63;
    return (below + apart + 3 * PAGE) & ~(size_t)(PAGE - 1);
}

static void begin(void *data)
{
    struct hs_hidden_thread *thread = data;
    hs_arch_set_thread_pointer(thread->thread_pointer);
    if (thread->is_process)
        HS_SYSTEM0(SYS_setsid);
    thread->main(thread->argument);
    for (;;)
        HS_SYSTEM1(SYS_exit, 0);
}

long hs_hidden_thread__start(struct hs_hidden_thread *thread, size_t stack_size, void (*main)(void *), void *argument,
                             enum hs_hidden_kind kind)
{
    static const unsigned long flags[] = {THREAD_FLAGS | CLONE_FILES, THREAD_FLAGS, CLONE_VM};
    size_t pointer_at = 0;
    size_t local = thread_local_size(&pointer_at);
    if (local == 0)
        return -ENOTSUP;
    *thread = (struct hs_hidden_thread){
        .size = local + stack_size, .main = main, .argument = argument, .is_process = kind == HS_HIDDEN_PROCESS};
    thread->memory = hs_memory__map(thread->size);
    if (!thread->memory)
        return -ENOMEM;
    thread->thread_pointer = (uintptr_t)thread->memory + pointer_at;
    struct hs_signal_set before;
    hs_system_block_signals(&before);
    long tid = hs_arch_clone_thread(flags[kind], thread->memory + thread->size, begin, thread);
    hs_system_restore_signals(&before);
    if (tid < 0) {
        hs_hidden_thread__forget(thread);
        return tid;
    }
    thread->tid = (uint32_t)tid;
    return 0;
}

static void close_between(int first, int end)
{
    if (first >= end || HS_SYSTEM3(HS_KERNEL_CLOSE_RANGE, first, end - 1, 0) == 0)
        return; // an older kernel has no such call, a filter may refuse it
    do
        hs_system_close(first);
    while (++first < end && first < 65536);
}

void hs_hidden_thread__close_descriptors(int keep, int also)
{
    int low = keep < also ? keep : also, high = keep < also ? also : keep;
    close_between(0, low);
    close_between(low + 1, high);
    close_between(high + 1, INT_MAX);
}

static bool has_ended(const struct hs_hidden_thread *thread)
{
    if (thread->is_process)
        return HS_SYSTEM4(SYS_wait4, thread->tid, 0, WNOHANG | __WCLONE, 0) != 0;
    return hs_thread_is_gone(thread->tid);
}

bool hs_hidden_thread__join(struct hs_hidden_thread *thread, int64_t timeout_ns)
{
    static _Atomic uint32_t never;
    while (thread->tid && !has_ended(thread)) {
        if (timeout_ns <= 0)
            return false;
        timeout_ns -= hs_futex__wait_part(&never, 0, WAIT_NS);
    }
    hs_hidden_thread__forget(thread);
    return true;
}

void hs_hidden_thread__forget(struct hs_hidden_thread *thread)
{
    if (thread->memory)
        hs_memory__unmap(thread->memory, thread->size);
    *thread = (struct hs_hidden_thread){0};
}
