// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The public functions: a memo per thread around the walkers.
//
// A thread's memory is a block in a list that only grows. A block belongs to the thread whose id it holds; when that
// thread is gone, a new thread takes the block over. A forked child starts a list of its own, since thread ids mean
// something else there; the thread that forked keeps its block.
#include "arch/system.h"
#include "unwind/step.h"
#include "unwind/walk.h"

#include "unwind/include/heapsonde/unwind.h"

#include <errno.h>
#include <sys/mman.h>

enum { MEMO_CAPACITY = HS_BACKTRACE_MEMO, BLOCKS_TRIED = 16 };
enum { THREAD_ID_BITS = 22, THREAD_ID_MASK = (1 << THREAD_ID_BITS) - 1 }; // the kernel's PID_MAX_LIMIT

struct backtrace_block {
    struct backtrace_block *next;
    _Atomic uintptr_t owner; // use count << 22 | thread id: the count tells two threads of the same id apart
    _Atomic bool busy;
    struct hs_memo *memo;
};

static _Atomic(struct backtrace_block *) blocks;
static _Atomic(struct backtrace_block *) next_tried;
static _Atomic int32_t blocks_pid;
static __thread struct backtrace_block *own_block;

static size_t block_size(void)
{
    return 64 + hs_memo_size(MEMO_CAPACITY);
}

static bool thread_gone(int32_t pid, uint32_t tid)
{
    return HS_SYSTEM3(SYS_tgkill, pid, tid, 0) == -ESRCH;
}

// Takes the block over when its thread has ended. A block with this thread's id is an ended thread's, too.
static bool take_over(struct backtrace_block *block, int32_t pid, uint32_t tid)
{
    uintptr_t owner = atomic_load_explicit(&block->owner, memory_order_relaxed);
    uint32_t owner_tid = (uint32_t)owner & THREAD_ID_MASK;
    if (owner_tid != tid && !thread_gone(pid, owner_tid))
        return false;
    uintptr_t mine = ((owner >> THREAD_ID_BITS) + 1) << THREAD_ID_BITS | tid;
    return atomic_compare_exchange_strong_explicit(&block->owner, &owner, mine, memory_order_acquire,
                                                   memory_order_relaxed);
}

static struct backtrace_block *reuse_block(int32_t pid, uint32_t tid)
{
    struct backtrace_block *block = atomic_load_explicit(&next_tried, memory_order_acquire);
    for (int i = 0; i < BLOCKS_TRIED; i++) {
        if (!block)
            block = atomic_load_explicit(&blocks, memory_order_acquire);
        if (!block)
            return NULL;
        if (take_over(block, pid, tid)) {
            atomic_store_explicit(&next_tried, block->next, memory_order_release);
            return block;
        }
        block = block->next;
    }
    atomic_store_explicit(&next_tried, block, memory_order_release);
    return NULL;
}

static struct backtrace_block *map_block(uint32_t tid)
{
    struct backtrace_block *block = hs_system_memory(block_size());
    if (!block)
        return NULL;
    atomic_init(&block->owner, tid);
    block->next = atomic_load_explicit(&blocks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&blocks, &block->next, block, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return block;
}

static void start_list_after_fork(int32_t pid)
{
    if (atomic_exchange_explicit(&blocks_pid, pid, memory_order_relaxed) == pid)
        return;
    atomic_store_explicit(&next_tried, NULL, memory_order_relaxed);
    atomic_store_explicit(&blocks, NULL, memory_order_relaxed);
}

static __attribute__((noinline, cold)) struct backtrace_block *acquire_block(void)
{
    int32_t pid = (int32_t)hs_system_getpid();
    uint32_t tid = (uint32_t)hs_system_gettid();
    start_list_after_fork(pid);
    struct backtrace_block *block = reuse_block(pid, tid);
    if (!block)
        block = map_block(tid);
    if (!block)
        return NULL;
    block->memo = hs_memo_create((char *)block + 64, MEMO_CAPACITY);
    atomic_store_explicit(&block->busy, false, memory_order_relaxed);
    own_block = block;
    return block;
}

// The calling thread's block, marked busy; NULL when it is in use by the code that a signal interrupted.
static inline struct backtrace_block *begin(void)
{
    struct backtrace_block *block = own_block;
    if (__builtin_expect(!block, 0) && !(block = acquire_block()))
        return NULL;
    if (atomic_load_explicit(&block->busy, memory_order_relaxed))
        return NULL;
    atomic_store_explicit(&block->busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return block;
}

static inline void finish(struct backtrace_block *block)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&block->busy, false, memory_order_relaxed);
}

static void report(struct hs_backtrace_info *info, enum hs_end end, bool guessed)
{
    if (info)
        *info = (struct hs_backtrace_info){(int)end, guessed};
}

static int walk_without_memo(void **pcs, int max, struct hs_walk *walk, struct hs_backtrace_info *info)
{
    enum hs_end end;
    uint32_t depth = hs_walk_on((uintptr_t *)pcs, (uint32_t)max, walk, &end);
    report(info, end, walk->guessed);
    return (int)depth;
}

// Two words at once, swapped: copying is half of the cost of an unchanged stack.
typedef uintptr_t word_pair __attribute__((vector_size(2 * sizeof(uintptr_t)), aligned(sizeof(uintptr_t)), may_alias));

// No function: without vector registers, none returns such a pair.
#if __has_builtin(__builtin_shufflevector)
#define SWAPPED(pair) __builtin_shufflevector(pair, pair, 1, 0)
#else // gcc before 12
#define SWAPPED(pair) __builtin_shuffle(pair, (word_pair){1, 0})
#endif

static inline int copy_innermost(void **pcs, int max, const struct hs_memo *memo)
{
    const uintptr_t *from = memo->pcs + memo->depth;
    uint32_t count = memo->depth < (uint32_t)max ? memo->depth : (uint32_t)max;
    uintptr_t *to = (uintptr_t *)pcs, *end = to + count;
#pragma GCC unroll 4
    for (; end - to >= 2; to += 2) {
        from -= 2;
        word_pair pair = *(const word_pair *)from;
        *(word_pair *)to = SWAPPED(pair);
    }
    if (to < end)
        *to = from[-1];
    return (int)count;
}

static inline int walk_from(void **pcs, int max, const struct hs_registers *start, struct hs_backtrace_info *info)
{
    if (max <= 0) {
        report(info, HS_END_TOO_DEEP, false);
        return 0;
    }
    struct backtrace_block *block = begin();
    if (__builtin_expect(block != NULL, 1)) {
        struct hs_memo *memo = block->memo;
        hs_memo_walk(memo, start);
        bool cut = memo->depth > (uint32_t)max;
        bool memo_too_small = memo->end == HS_END_TOO_DEEP && (uint32_t)max > memo->depth;
        int count = copy_innermost(pcs, max, memo);
        report(info, cut ? HS_END_TOO_DEEP : memo->end, memo->guessed);
        finish(block);
        if (__builtin_expect(!memo_too_small, 1))
            return count;
    }
    struct hs_walk walk;
    hs_walk_start(&walk, start, NULL);
    hs_stack_memory_start(&walk.memory, walk.sp);
    return walk_without_memo(pcs, max, &walk, info);
}

__attribute__((noinline)) int hs_backtrace(void **pcs, int max)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    return walk_from(pcs, max, &start, NULL);
}

__attribute__((noinline)) int hs_backtrace_reason(void **pcs, int max, struct hs_backtrace_info *info)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    return walk_from(pcs, max, &start, info);
}

int hs_backtrace_context(void **pcs, int max, const void *context, struct hs_backtrace_info *info)
{
    struct hs_walk walk = {.exact = true};
    report(info, HS_END_TOO_DEEP, false);
    if (max <= 0)
        return 0;
    hs_stack_memory_start(&walk.memory, (uintptr_t)context);
    if (hs_step_signal(&walk, (uintptr_t)context) == HS_END_BAD_STACK)
        return 0;
    walk.memory.span = 0;
    return walk_without_memo(pcs, max, &walk, info);
}
