// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The parts of the profiler around dumps, for suites: a snapshot that the test fills, options, messages.
#ifndef HEAPSONDE_TESTS_PROF_FAKE_PROFILER_H
#define HEAPSONDE_TESTS_PROF_FAKE_PROFILER_H

#include "runtime/prof/contexts.h"
#include "runtime/prof/sampler.h"

#include <stddef.h>
#include <stdint.h>

enum { FAKE_FRAMES_MOST = 4, FAKE_MESSAGES_SIZE = 1 << 14 };

// Sampling of every byte, automatic names "fake.PID...", nothing sampled. Before each test.
void fake_profiler__reset(void);

// One (stack, thread) pair; `frames` are return addresses, innermost first, 0 ends them. Call it ordered by stack, then
// by thread.
void fake_profiler__add(uint32_t stack, uint32_t thread, uint64_t objects, uint64_t bytes, const uintptr_t *frames);
void fake_profiler__name_thread(uint32_t thread, const char *name);

// A snapshot cannot be taken: there is no memory, or the caller interrupted the profiler.
extern bool fake_profiler_has_no_memory, fake_profiler_is_interrupted;

// What was said since the reset.
extern char fake_profiler_messages[FAKE_MESSAGES_SIZE];

// Called by every snapshot, when set: the middle of a dump.
extern void (*fake_profiler_middle)(void);

#endif
