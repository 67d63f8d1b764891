// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes one dump, to any destination.
//
// The dump is written to a new file in the same folder and renamed, so that a file with the final name is complete. An
// existing name that is not a regular file (a device, a pipe) is written to directly, but only if the name was given
// explicitly. In that case a link is followed unless it belongs to another user.
#ifndef HEAPSONDE_RUNTIME_PROF_DUMP_WRITE_H
#define HEAPSONDE_RUNTIME_PROF_DUMP_WRITE_H

#include "runtime/place.h"
#include "runtime/prof/dump_facts.h"

// The memory of one dump. It has everything of its own, so that a dump in a signal handler shares nothing with one that
// it interrupted.
struct hs_dump_job {
    struct hs_profile_snapshot snapshot;
    bool has_snapshot;
    char streamed_as; // the letter of the dump's kind; 0: not streamed
    struct hs_dump_facts facts;
    struct hs_dump_output output;
    char name[HS_PROF_PATH];
    struct hs_place place;
    char temporary[96];
    char message[HS_PROF_PATH + 128];
};

// The result of an attempt.
enum hs_dump_stage { HS_DUMP_STAGE_OPEN, HS_DUMP_STAGE_WRITE };

struct hs_dump_result {
    int error; // positive errno, or 0
    enum hs_dump_stage stage;
};

#pragma GCC visibility push(hidden)
// NULL: out of memory.
struct hs_dump_job *hs_dump_job__new(void);
void hs_dump_job__free(struct hs_dump_job *job);

// Takes the snapshot. EAGAIN: in a handler that interrupted the profiler in the same thread.
int hs_dump_job__take(struct hs_dump_job *job);

// Writes the snapshot. `may_write_through`: the name was given explicitly.
struct hs_dump_result hs_dump_job__write_file(struct hs_dump_job *job, const char *path, enum hs_dump_format format,
                                              bool may_write_through);
int hs_dump_job__write_descriptor(struct hs_dump_job *job, int fd, enum hs_dump_format format);

// Writes it only to the stream. EFAULT: there is no stream.
int hs_dump_job__write_stream(struct hs_dump_job *job, enum hs_dump_format format);
#pragma GCC visibility pop

#endif
