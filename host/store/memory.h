// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How much memory a command may take: what it reads may be damaged, or made to exhaust the machine. The kernel keeps
// the limit (RLIMIT_DATA: what is allocated, not files that are mapped), so it holds for libraries, too. An allocation
// beyond it fails, and hs_error__set() names the option.
#ifndef HEAPSONDE_STORE_MEMORY_H
#define HEAPSONDE_STORE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// A sanitizer's own memory is far beyond any limit: commands that are built with one have none.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HS_MEMORY_IS_LIMITED 0
#elif defined(__has_feature)
#define HS_MEMORY_IS_LIMITED (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define HS_MEMORY_IS_LIMITED 1
#endif

// From here on the process takes at most `bytes`; 0: three quarters of what the machine has.
void hs_memory__limit(uint64_t bytes);
// 0: hs_memory__limit() was not called.
uint64_t hs_memory__most(void);

// How many bytes `packed` ones may unpack to: `times` as many, where real files stay well below, or what is little on
// any machine. Where the user named a limit, that one alone holds.
uint64_t hs_memory__unpacked(uint64_t packed, unsigned times);

#endif
