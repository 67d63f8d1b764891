// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Controls the recorder from inside the recorded program. Nothing has to be linked: without the shim, every call is a
// test of a null pointer. Compile as position-independent code (the default of present compilers), so that the dynamic
// linker resolves the weak references.
//
// Any thread may call any function. None changes errno.
#ifndef HEAPSONDE_H
#define HEAPSONDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPSONDE_WEAK __attribute__((weak, visibility("default")))

HEAPSONDE_WEAK void heapsonde_api_start(void);
HEAPSONDE_WEAK void heapsonde_api_stop(void);
HEAPSONDE_WEAK int heapsonde_api_sync(void);
HEAPSONDE_WEAK void heapsonde_api_mark(uint64_t value, const char *text);
HEAPSONDE_WEAK void heapsonde_api_pool_alloc(uint64_t pool, const void *block, size_t size);
HEAPSONDE_WEAK void heapsonde_api_pool_free(uint64_t pool, const void *block);

// Whether the recorder is in this process.
static inline int heapsonde_present(void)
{
    return heapsonde_api_start != 0;
}

// Starts or resumes recording. The first start creates the trace. Not async-signal-safe.
static inline void heapsonde_start(void)
{
    if (heapsonde_api_start)
        heapsonde_api_start();
}

// Pauses recording. Frees are still recorded, so that live memory stays right. Not async-signal-safe.
static inline void heapsonde_stop(void)
{
    if (heapsonde_api_stop)
        heapsonde_api_stop();
}

// Waits until what this thread has recorded so far is in the trace file. Returns 1 if it is; 0 if there is no recorder
// or it cannot write (then the events are still in the mapped file, if there is one).
static inline int heapsonde_sync(void)
{
    return heapsonde_api_sync ? heapsonde_api_sync() : 0;
}

// Puts a mark into the trace's timeline: a number and a text of the program (NULL: no text; at most 1,000 bytes are
// kept).
static inline void heapsonde_mark(uint64_t value, const char *text)
{
    if (heapsonde_api_mark)
        heapsonde_api_mark(value, text);
}

// Blocks of a custom allocator. `pool` identifies the pool, for example by an address in it. Blocks of pools are
// counted separately from the heap that contains the pool. Call alloc after the block exists and free before it is
// gone.
static inline void heapsonde_pool_alloc(uint64_t pool, const void *block, size_t size)
{
    if (heapsonde_api_pool_alloc)
        heapsonde_api_pool_alloc(pool, block, size);
}

static inline void heapsonde_pool_free(uint64_t pool, const void *block)
{
    if (heapsonde_api_pool_free)
        heapsonde_api_pool_free(pool, block);
}

#ifdef __cplusplus
}
#endif

#endif
