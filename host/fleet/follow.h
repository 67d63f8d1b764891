// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads a trace of sums (docs/aggregate.md) tick by tick while it grows, or one of events when it has ended: what each
// stack has, and its frames as build ids and offsets, which are the same on all devices. Memory is bounded by the
// trace's tables of stacks and modules; the file is read once. A trace is hostile input: what cannot be read is skipped
// and counted.
#ifndef HEAPSONDE_HOST_FLEET_FOLLOW_H
#define HEAPSONDE_HOST_FLEET_FOLLOW_H

#include "host/base/error.h"
#include "host/fleet/row_binary.h"

#include "format/trace_format.h"

struct hs_follow;

struct hs_follow_module {
    uint8_t build[HS_FLEET_BUILD];
    const char *path;
};

// What a stack has had since the start of the trace.
struct hs_follow_sums {
    uint32_t stack; // of the trace; 0: all that have no sums of their own
    uint64_t in_use_bytes, in_use_count, allocated_bytes, allocated_count;
};

struct hs_follow_tick {
    uint64_t realtime_ns;              // by the device's clock
    uint64_t age_ns;                   // since the start of the trace
    uint64_t offset;                   // in the file, behind the tick
    const struct hs_follow_sums *sums; // of the stacks that changed; valid until the next call
    size_t count;
    struct hs_follow_sums total; // of all stacks
};

// `fd` stays the caller's, and is used by the next call of hs_follow__next. -ENOTSUP: the file is a stream of
// dumps. -EAGAIN: its beginning is not there yet.
int hs_follow__open(int fd, const char *path, struct hs_follow **follow, struct hs_error *error);
void hs_follow__close(struct hs_follow *follow);

// The same file under another descriptor.
void hs_follow__set_file(struct hs_follow *follow, int fd);

// 1 with the next tick, 0 when there is none yet, or a negative errno: -ENOMEM, or that of a failed read. What explains
// a tick may come behind it, so the last one is not answered before another follows or, with `whole`, the file has
// ended; a tick that is marked as whole (HS_SUMS_WHOLE) is answered at once.
int hs_follow__next(struct hs_follow *follow, bool whole, struct hs_follow_tick *tick);

// Whether it has events in place of sums. Then hs_follow__next answers nothing, and when the file is whole and has been
// read to its end:
bool hs_follow__has_events(const struct hs_follow *follow);
uint64_t hs_follow__offset(const struct hs_follow *follow); // that it was read to

// Adds its events up, and calls `take` for each of at most 64 ticks. They are the same each time. What `take` returns
// ends it if it is not 0.
int hs_follow__replay(struct hs_follow *follow, int (*take)(void *context, const struct hs_follow_tick *tick),
                      void *context, struct hs_error *error);

const struct hs_file_header *hs_follow__header(const struct hs_follow *follow);
// The value of an INFO record, "" when there is none.
const char *hs_follow__info(const struct hs_follow *follow, const char *key);
// The live part that was read last from a stream, or else from the file.
const struct hs_live *hs_follow__live(const struct hs_follow *follow);
uint64_t hs_follow__damaged(const struct hs_follow *follow); // chunks

// A frame: the module's number, or UINT32_MAX with an address in no module or, below HS_CUT_LIMIT, the reason why the
// outer frames are missing.
struct hs_follow_frame {
    uint32_t module;
    uint64_t offset; // in the address space of the module's file
};
enum { HS_FOLLOW_FRAMES = 512 }; // deeper stacks lose their outermost frames

// Innermost first. Returns the number of frames.
size_t hs_follow__frames(const struct hs_follow *follow, uint32_t stack, struct hs_follow_frame *frames);
const struct hs_follow_module *hs_follow__module(const struct hs_follow *follow, uint32_t module);

#endif
