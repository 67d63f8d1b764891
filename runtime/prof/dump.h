// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dumps: when one is due, under which name, in which format; written to a temporary name beside it (.heapsonde-dump.*)
// and renamed, so that a file under its final name is complete; a process that is killed may leave the temporary file.
// One dump at a time; who asks meanwhile waits (a manual one, a minute at most) or is noted and served right after (an
// automatic one).
//
// From a signal handler a dump works and never deadlocks, also in the middle of another one of the same thread, which
// it does not disturb; but when it interrupted the profiler while that held its tables, nothing is written: EAGAIN. A
// child that is forked in the middle of a dump leaves the file to its parent.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_H

#include "runtime/prof/contexts.h"
#include "runtime/prof/options.h"

#include <stdbool.h>
#include <stdint.h>

enum hs_dump_kind { HS_DUMP_FINAL = 'f', HS_DUMP_INTERVAL = 'i', HS_DUMP_MANUAL = 'm', HS_DUMP_PEAK = 'u' };

#pragma GCC visibility push(hidden)
// Writes a dump under an automatic name. Returns 0 or an errno value; EFAULT when automatic names are switched off (an
// empty prefix). Prints jemalloc's messages for the automatic kinds. `name` (HS_PROF_PATH bytes) gets the file name;
// may be NULL.
int hs_dump__automatic(enum hs_dump_kind kind, char *name);

// Writes a dump to `path`. 0 or an errno value; prints nothing.
int hs_dump__to_file(const char *path, enum hs_dump_format format);

// After every dump to a file, also one that failed, hs_hooks.dump (runtime/prof/events.h) is called with the pointer
// that named it; no lock is held.

// Writes a dump to an open descriptor.
int hs_dump__to_descriptor(int fd, enum hs_dump_format format);

// At the end of the process: the final dump and the leak report, as the options say. Returns the exit status that
// prof_leak_error asks for, 0 for none. Once.
int hs_dump__final(void);

// prof.prefix. Cut to HS_PROF_PATH - 1 bytes.
void hs_dump__set_prefix(const char *prefix);

// Interval and high-water triggers: called by the sampler on its slow path, outside of every lock, with what the
// thread allocated since the last call and the process's live bytes.
void hs_dump__consider(uint64_t allocated, uint64_t live);

// Whether one of those triggers is set: the sampler then comes by at least every 16 KiB.
bool hs_dump__watches(void);

// Called after every dump to a file, also after one that failed, with the very pointer that named it; no lock is held.
// May be NULL.
extern void (*volatile hs_dump_hook)(const char *name);

// Around fork: a dump in progress ends first.
void hs_dump__before_fork(void);
void hs_dump__after_fork(bool in_child);

// ---- for writers, one file per format -------------------------------------------------------------------------------

enum {
    HS_DUMP_ADDRESS_TEXTS = 512,
    HS_DUMP_ADDRESS_ROOM = 20, // of " 0x" and 16 digits, in words
    HS_DUMP_TAIL_FRAMES = 256,
    HS_DUMP_SHORT_LIMIT = 32,
};

// The few addresses that most stacks are made of, as text: " 0x" and the digits. It is copied with what is before or
// behind it, all of one length.
struct hs_dump_address_text {
    uint64_t address; // 0: none
    uint32_t length;
    char before[HS_DUMP_ADDRESS_ROOM], text[HS_DUMP_ADDRESS_ROOM];
};

// The outer frames of the stack that was written last, as text: the next one, whose number follows, shares most of
// them.
struct hs_dump_tail {
    uint32_t count;
    uintptr_t frames[HS_DUMP_TAIL_FRAMES]; // outermost first
    uint32_t
        lengths[HS_DUMP_TAIL_FRAMES + 1]; // of the outermost 0, 1, ... frames' text, which ends at HS_DUMP_TAIL_END
    char text[HS_DUMP_ADDRESS_ROOM * (HS_DUMP_TAIL_FRAMES + 1) + HS_DUMP_SHORT_LIMIT];
};
#define HS_DUMP_TAIL_END (HS_DUMP_ADDRESS_ROOM * (HS_DUMP_TAIL_FRAMES + 1))

// A buffered file. Errors stick.
struct hs_dump_output {
    int fd;        // -1: into the stream alone
    bool streamed; // into the stream, too
    int error;     // errno value, 0
    uint32_t pid;  // of who writes
    uint32_t used;
    uint64_t written;
    struct hs_dump_facts *facts; // what else there is to say (runtime/prof/dump_facts.h)
    struct hs_dump_address_text texts[HS_DUMP_ADDRESS_TEXTS];
    struct hs_dump_tail tail;
    char buffer[65536 - 64];
};

void hs_dump_output__text(struct hs_dump_output *output, const char *text);
void hs_dump_output__bytes(struct hs_dump_output *output, const void *bytes, uint64_t length);
void hs_dump_output__number(struct hs_dump_output *output, uint64_t number);
void hs_dump_output__hex(struct hs_dump_output *output, uint64_t number);
void hs_dump_output__address(struct hs_dump_output *output, uint64_t address); // " 0x" and the number
void hs_dump_output__flush(struct hs_dump_output *output);

// The addresses of a stack's frames, innermost first, by hs_dump__address().
void hs_dump_output__stack(struct hs_dump_output *output, const uintptr_t *frames, uint32_t count);

// A literal of less than HS_DUMP_SHORT_LIMIT bytes.
#define HS_DUMP_OUTPUT__LITERAL(output, literal) hs_dump_output__short(output, literal, sizeof literal - 1)
static inline void hs_dump_output__short(struct hs_dump_output *output, const char *text, uint32_t length)
{
    if (sizeof output->buffer - output->used < HS_DUMP_SHORT_LIMIT)
        hs_dump_output__flush(output);
    __builtin_memcpy(output->buffer + output->used, text, length);
    output->used += length;
}

// The address to write for frame `i` of a stack (0: innermost) so that jeprof, which takes 1 from all but the first,
// arrives at the call.
uint64_t hs_dump__address(uintptr_t return_address, uint32_t i);

// Sums what the pairs of one stack hold, which begin at number `first`. Returns the number behind them.
uint32_t hs_dump__sum_stack(const struct hs_profile_snapshot *snapshot, uint32_t first, struct hs_counts *live,
                            struct hs_counts *total);

void hs_dump_write__heap_v2(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__text(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__proto(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__symbolized(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
void hs_dump_write__collapsed(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot);
#pragma GCC visibility pop

#endif
