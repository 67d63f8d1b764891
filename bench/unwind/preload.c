// SPDX-License-Identifier: MIT OR Apache-2.0
//
// LD_PRELOAD tool: walks the stack at every malloc, calloc and realloc of a program, and measures or compares.
//
//   UNWIND_BENCH=empty    an empty walk: what the tool itself costs
//   UNWIND_BENCH=memo     hs_memo_walk()
//   UNWIND_BENCH=plain    hs_walk_plain()
//   UNWIND_BENCH=public   hs_backtrace()
//   UNWIND_BENCH=libunwind  unw_backtrace()
//   UNWIND_BENCH=compare  hs_backtrace() against unw_backtrace(), frame by frame
//   UNWIND_BENCH_OUTPUT   the report is appended to this file
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include "unwind/include/heapsonde/unwind.h"
#include "unwind/walk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libunwind.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

enum mode { OFF, EMPTY, MEMO, PLAIN, PUBLIC, LIBUNWIND, COMPARE };
// A walk that took longer was interrupted; it is left out, whatever is measured.
enum { INTERRUPTED = 50000 };
enum { FRAMES = 1024, EXAMPLES = 20, FRESH_CLASSES = 12 };

struct statistics {
    uint64_t walks, ticks, frames, fresh, identical, different_frames, different_lengths, cut;
    uint64_t fresh_classes[FRESH_CLASSES];
};

static enum mode mode;
static struct statistics total;
static __thread bool busy __attribute__((tls_model("initial-exec")));
static __thread struct hs_memo *memo __attribute__((tls_model("initial-exec")));
static int examples;

static struct hs_memo *thread_memo(void)
{
    if (!memo) {
        void *memory = mmap(NULL, hs_memo_size(FRAMES), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memo = hs_memo_create(memory, FRAMES);
    }
    return memo;
}

static void count_fresh(uint32_t fresh)
{
    total.fresh += fresh;
    total.identical += fresh == 0;
    total.fresh_classes[fresh < FRESH_CLASSES ? fresh : FRESH_CLASSES - 1]++;
}

static void print_example(void **ours, int our_depth, void **theirs, int their_depth, int at)
{
    if (examples++ >= EXAMPLES)
        return;
    fprintf(stderr, "difference at frame %d: ours %d frames, libunwind %d\n", at, our_depth, their_depth);
    for (int i = at > 2 ? at - 2 : 0; i < at + 4; i++) {
        Dl_info a = {0}, b = {0};
        void *our = i < our_depth ? ours[i] : NULL, *their = i < their_depth ? theirs[i] : NULL;
        dladdr(our, &a), dladdr(their, &b);
        fprintf(stderr, "  %2d %p %s+%#tx %s | %p %s+%#tx %s\n", i, our, a.dli_fname ? a.dli_fname : "?",
                (char *)our - (char *)a.dli_fbase, a.dli_sname ? a.dli_sname : "", their,
                b.dli_fname ? b.dli_fname : "?", (char *)their - (char *)b.dli_fbase, b.dli_sname ? b.dli_sname : "");
    }
}

// unw_backtrace() starts in this function, hs_backtrace() too: frame 0 differs by the call instruction only.
static __attribute__((noinline)) void compare(void)
{
    static __thread void *ours[FRAMES] __attribute__((tls_model("initial-exec")));
    static __thread void *theirs[FRAMES] __attribute__((tls_model("initial-exec")));
    struct hs_backtrace_info info;
    int our_depth = hs_backtrace_reason(ours, FRAMES, &info);
    int their_depth = unw_backtrace(theirs, FRAMES);
    total.frames += (uint64_t)our_depth;
    total.cut += info.end != HS_BACKTRACE_COMPLETE;
    int common = our_depth < their_depth ? our_depth : their_depth;
    for (int i = 1; i < common; i++)
        if (ours[i] != theirs[i]) {
            total.different_frames++;
            print_example(ours, our_depth, theirs, their_depth, i);
            return;
        }
    if (our_depth != their_depth) {
        total.different_lengths++;
        print_example(ours, our_depth, theirs, their_depth, common);
    }
}

static __attribute__((noinline)) void walk(void)
{
    static __thread void *pcs[FRAMES] __attribute__((tls_model("initial-exec")));
    struct hs_registers start;
    enum hs_end end;
    uint64_t ticks = 0;
    uint32_t kept;
    HS_CAPTURE_CALLER(&start);
    uint64_t from = hs_arch_ticks();
    switch (mode) {
    case MEMO:
        kept = hs_memo_walk(thread_memo(), &start);
        ticks = hs_arch_ticks() - from;
        total.frames += memo->depth;
        count_fresh(memo->depth - kept);
        break;
    case PLAIN:
        total.frames += hs_walk_plain((uintptr_t *)pcs, FRAMES, &start, &end);
        ticks = hs_arch_ticks() - from;
        break;
    case PUBLIC:
        total.frames += (uint64_t)hs_backtrace(pcs, FRAMES);
        ticks = hs_arch_ticks() - from;
        break;
    case LIBUNWIND:
        total.frames += (uint64_t)unw_backtrace(pcs, FRAMES);
        ticks = hs_arch_ticks() - from;
        break;
    case COMPARE:
        compare();
        break;
    default:
        ticks = hs_arch_ticks() - from;
    }
    if (ticks > INTERRUPTED)
        return;
    total.ticks += ticks;
    total.walks++;
}

static inline void hook(void)
{
    if (!mode || busy)
        return;
    busy = true;
    walk();
    busy = false;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    hook();
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    hook();
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *block, size_t size)
{
    hook();
    return __libc_realloc(block, size);
}

__attribute__((constructor)) static void start(void)
{
    static const char *const names[] = {"off", "empty", "memo", "plain", "public", "libunwind", "compare"};
    const char *wanted = getenv("UNWIND_BENCH");
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    for (unsigned i = 0; wanted && i < sizeof names / sizeof *names; i++)
        if (!strcmp(wanted, names[i]))
            mode = (enum mode)i;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("UNWIND_BENCH_OUTPUT");
    busy = true;
    FILE *output = path ? fopen(path, "a") : stderr;
    if (!mode || !output || !total.walks)
        return;
    fprintf(output,
            "mode=%s walks=%lu ticks=%.2f depth=%.2f fresh=%.2f identical=%.4f frames=%lu lengths=%lu cut=%lu\n",
            getenv("UNWIND_BENCH"), total.walks, (double)total.ticks / (double)total.walks,
            (double)total.frames / (double)total.walks, (double)total.fresh / (double)total.walks,
            (double)total.identical / (double)total.walks, total.different_frames, total.different_lengths, total.cut);
    if (path)
        fclose(output);
}
