// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The folder of gathered traces: one file per trace, which contains the bytes of the stream at their offsets.
//
// The name of a file is DATE_TIME_PID_NAME_TRACEID8.dat, of letters, digits, dot, dash and underscore. Nothing that a
// device sends can select another folder or an existing file. A file appears together with its whole header. When
// hs_gathered__write returns, the bytes are in the file and survive any end of this process. What hs_gathered__end has
// reported through `stored`, and everything older than about a second, also survives a power failure.
//
// The folder is locked against a second gatherer. The file .heapsonde-gather contains what file names do not: which
// device sent a trace, and whether it has ended.
#ifndef HEAPSONDE_HOST_GATHER_TRACES_H
#define HEAPSONDE_HOST_GATHER_TRACES_H

#include "host/base/error.h"
#include "host/gather/device.h"
#include "host/gather/refusal.h"
#include "host/gather/trace_state.h"

#include <sys/uio.h>

int hs_traces__open(struct hs_traces **traces, const struct hs_traces_options *options, struct hs_error *error);
// Flushes everything to the disk. No claim may be used afterwards.
void hs_traces__close(struct hs_traces *traces);

// The folder as a descriptor, which is open until the end.
int hs_traces__directory(const struct hs_traces *traces);

// A connection claims its trace with a unique number; older claims become void. *size is the number of stored bytes.
// NULL: refused, with the reason.
struct hs_gathered *hs_traces__claim(struct hs_traces *traces, const struct hs_device *device, uint64_t newest,
                                     uint64_t claim, uint64_t *size, enum hs_refusal *refusal);

// Appends bytes after those that were written before. If the result is not NONE, only a part or nothing was written.
// *stored is the size of the file, which may be acknowledged.
enum hs_refusal hs_gathered__write(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim,
                                   const struct iovec *pieces, int count, uint64_t *stored);

// The stream ends at `offset`. `stored` is called when it is on the disk.
enum hs_refusal hs_gathered__end(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim, uint64_t offset);

// Whether the claim is still valid.
bool hs_gathered__is_claimed(struct hs_gathered *trace, uint64_t claim);

// Releases the claim; with the reason if the stream is refused.
void hs_gathered__release(struct hs_traces *traces, struct hs_gathered *trace, uint64_t claim, enum hs_refusal why);

// Removes the file of a trace that has ended and that no connection uses. False: not now. If its device did not hear
// that all was stored, it comes again as a new one, or says that it has no more.
bool hs_traces__remove(struct hs_traces *traces, const uint8_t id[16]);

// ---- what there is to show ------------------------------------------------------------------------------------------

struct hs_gathered_row {
    struct hs_device device;
    char file[160]; // "": its header has not come yet
    enum hs_gathered_state state;
    enum hs_refusal refusal;
    bool samples; // `file` is a folder with this many dumps
    uint64_t size, events, dumps, dropped;
    bool counts_lost;     // events and dropped are unknown
    uint64_t began_at;    // offset of the first byte of this run
    unsigned connections; // in this run
    uint64_t heard;       // when its last bytes came, in ns since 1970; 0: not in this run
};

void hs_gathered__row(struct hs_gathered *trace, struct hs_gathered_row *row);

// The claim of the connection that sends the trace whose row has this file; 0: there is none.
uint64_t hs_traces__claim_of(struct hs_traces *traces, const char *file);

// The traces of this run, running ones first; at most `most`. Returns their number.
size_t hs_traces__rows(struct hs_traces *traces, struct hs_gathered_row *rows, size_t most);

struct hs_traces_totals {
    uint64_t begun, unfinished; // streams of this run
    uint64_t received;          // in this run
    uint64_t stored;            // bytes in the folder
    uint64_t removed;           // traces that were removed because of the quota
    uint64_t running;
};

void hs_traces__totals(struct hs_traces *traces, struct hs_traces_totals *totals);

#endif
