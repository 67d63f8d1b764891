// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What libcounter.so counts. One such record per process image lives in a file that the process maps shared, so it
// holds whatever happened up to the very last call, however the process ended.
#ifndef HEAPSONDE_TESTS_COUNTER_H
#define HEAPSONDE_TESTS_COUNTER_H

#include <stdint.h>

#define COUNTER_MAGIC 0x31544e434f534548ull

enum counter_function {
    COUNTER_MALLOC,
    COUNTER_CALLOC,
    COUNTER_REALLOC,
    COUNTER_ALIGNED, // posix_memalign, aligned_alloc, memalign, valloc, pvalloc
    COUNTER_FREE,
    COUNTER_FUNCTIONS
};

struct counter {
    uint64_t magic;
    uint64_t pid;
    uint64_t calls[COUNTER_FUNCTIONS];  // that reached the library
    uint64_t failed[COUNTER_FUNCTIONS]; // that returned NULL although they were asked for memory
    uint64_t bytes[COUNTER_FUNCTIONS];  // requested, of the calls that succeeded
    uint64_t allocations;               // blocks that came to be: every call that returned a block, realloc too
    uint64_t deallocations; // blocks that ceased to be: free of a block, a realloc that succeeded, realloc(block, 0)
    uint64_t unknown_frees; // of blocks that this library has not seen
    uint64_t live_count;
    uint64_t live_bytes; // requested
    uint64_t peak_bytes;
    uint64_t forked; // 1: a child without exec; live and peak hold what it inherited
    char program[64];
};

#endif
