// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Limits the memory of a command, because its input may be damaged, or made to exhaust the machine. The kernel enforces
// the limit (RLIMIT_DATA: allocated memory, not mapped files), so it also applies to libraries. An allocation beyond
// the limit fails, and hs_error__set() names the option in its message.
#ifndef HEAPSONDE_BASE_MEMORY_H
#define HEAPSONDE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The memory of a sanitizer itself is far beyond any limit, so commands that are built with one have no limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HS_MEMORY_IS_LIMITED 0
#elif defined(__has_feature)
#define HS_MEMORY_IS_LIMITED (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define HS_MEMORY_IS_LIMITED 1
#endif

// Limits this process to `bytes`; 0: three quarters of the machine's memory. Under a small limit, threads that are
// created later have small stacks, because stacks count for it.
void hs_memory__limit(uint64_t bytes);
// 0: hs_memory__limit() was not called.
uint64_t hs_memory__most(void);
// Whether this process may allocate `bytes` more now. True: also if that is not known. Allocates nothing itself.
bool hs_memory__has_room(uint64_t bytes);
// The size of the stacks of threads.
size_t hs_memory__stack(void);

// The number of bytes to which `packed` bytes may unpack: `times` as many, which is well above real files, or an amount
// that is small on any machine. If the user gave a limit, only that applies.
uint64_t hs_memory__unpacked(uint64_t packed, unsigned times);

// The same for texts, which repeat themselves more: at least 16 MiB.
uint64_t hs_memory__unpacked_text(uint64_t packed, unsigned times);

// The number of blocks that may be live at once in a recording of `packed` bytes. Each takes at most
// HS_MEMORY_BLOCK bytes: 96 in the map of live blocks while it doubles, 12 in the row.
#define HS_MEMORY_BLOCK 108
uint64_t hs_memory__live_blocks(uint64_t packed);

// Memory that a node of a trace's stacks takes at most, while it is imported. 40 were enough for 40 million.
#define HS_MEMORY_NODE 64

// The end of the message of a refusal, such as "--memory 1856M is enough". `bytes` is the memory that the command needs
// in addition to what every command takes; 0 if that is not known: "--memory SIZE allows more".
struct hs_memory_advice {
    char text[48];
};
struct hs_memory_advice hs_memory__advice(uint64_t bytes);

#endif
