// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The folder of gathered traces: one file per trace, whose bytes are the stream's bytes at their offsets.
//
// A file's name is made here, DATE_TIME_PID_NAME_TRACEID8.dat, from letters, digits, dot, dash and underscore; nothing
// that a device says chooses another folder or an existing file. A file appears with its whole header at once. Bytes
// are in the file when hs_gathered__write returns: they survive the end of this process, however it comes. What
// hs_gathered__end reports through `stored`, and everything that is older than about a second, survives a power cut.
//
// The folder is locked against a second gatherer. What the file names do not say (which device, whether the trace has
// ended) is in the file .heapsonde-gather.
#ifndef HEAPSONDE_HOST_GATHER_TRACES_H
#define HEAPSONDE_HOST_GATHER_TRACES_H

#include "host/gather/device.h"
#include "host/gather/refusal.h"
#include "host/gather/trace_state.h"
#include "host/store/error.h"

#include <sys/uio.h>

int hs_traces__open(struct hs_traces **traces, const struct hs_traces_options *options, struct hs_error *error);
// Brings everything to the disk. No claim may be used any more.
void hs_traces__close(struct hs_traces *traces);

// A connection claims the trace it brings, with a number that no other has. An older claim is void from then on.
// *size is what is stored of it. NULL with the reason.
struct hs_gathered *hs_traces__claim(struct hs_traces *traces, const struct hs_device *device, uint64_t newest,
                                     uint64_t claim, uint64_t *size, enum hs_refusal *refusal);

// Appends bytes, whose offset is what was written before. When it does not return NONE, less than all or nothing was
// written; *stored is what the file has now and may be acknowledged.
enum hs_refusal hs_gathered__write(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim,
                                   const struct iovec *pieces, int count, uint64_t *stored);

// The stream ends at `offset`. `stored` is called once it is on the disk.
enum hs_refusal hs_gathered__end(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim, uint64_t offset);

// Whether the claim still holds.
bool hs_gathered__is_claimed(struct hs_gathered *trace, uint64_t claim);

// Gives the claim up, with the reason when the stream is not wanted any more.
void hs_gathered__release(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim, enum hs_refusal why);

// ---- what there is to show ------------------------------------------------------------------------------------------

struct hs_gathered_row {
    struct hs_device device;
    char file[160]; // "" before its header has come
    enum hs_gathered_state state;
    enum hs_refusal refusal;
    bool samples; // `file` is a folder, in which there are so many dumps
    uint64_t size, events, dumps, dropped;
    bool counts_lost;     // events and dropped are not known
    uint64_t began_at;    // of this run's bytes
    unsigned connections; // in this run
};

void hs_gathered__row(struct hs_gathered *trace, struct hs_gathered_row *row);

// The traces of this run, those that are running first; at most `most`. Returns how many were written.
size_t hs_traces__rows(struct hs_traces *traces, struct hs_gathered_row *rows, size_t most);

struct hs_traces_totals {
    uint64_t begun, unfinished; // streams of this run
    uint64_t received;          // bytes of this run
    uint64_t stored;            // bytes in the folder
    uint64_t removed;           // traces, for the quota
    uint64_t running;
};

void hs_traces__totals(struct hs_traces *traces, struct hs_traces_totals *totals);

#endif
