// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a trace file to a store.
//
//   hs_import__open   for commands: finds or creates the store of a trace, and opens it
//   hs_trace__open    the trace file: header, chunk index, meta records, events in the order of time
//
// A trace is hostile input: every length is checked, damage is counted by reason, and everything readable is read.
#ifndef HEAPSONDE_IMPORT_IMPORT_H
#define HEAPSONDE_IMPORT_IMPORT_H

#include "format/event.h"
#include "format/trace_format.h"
#include "host/base/error.h"
#include "host/store/store.h"
#include "host/symbols/symbols.h"

#include <stdbool.h>
#include <stdint.h>

// ---- the one call that commands need -------------------------------------------------------------------------------

struct hs_import_options {
    const char *store; // directory of the store; NULL: beside the trace, else in the user's cache, else a temporary one
    bool force;        // import again, even if a matching store exists
    bool temporary;    // the store has no directory
    uint64_t ticks_until;   // with `temporary`, of a trace with sums: only the ticks before this time; 0: all
    uint64_t partial_every; // number of events between two states from which an import can continue after it was
                            // killed; 0: default
    const struct hs_symbols_options *symbols; // where to find the files for unwinding snapshots; NULL: on this machine
    const int *cancel;                        // stop with -ECANCELED when it becomes nonzero; may be NULL
    void (*progress)(void *context, uint64_t done, uint64_t total); // bytes of the trace; may be NULL
    void *context;
};

// Opens the store of the trace at `path`. If there is no store for this trace (same id, size and modification time),
// the trace is imported first. If the trace has grown and its last store still exists, the import continues from there
// (host/import/resume.h). `options` may be NULL. Concurrent calls for one trace are safe: each gets a complete store.
// `path` may also be the directory of a store.
int hs_import__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                    struct hs_error *error);

// ---- the file ------------------------------------------------------------------------------------------------------

enum hs_damage {
    HS_DAMAGE_HEADER = 0,    // bytes between chunks that are not a chunk header
    HS_DAMAGE_CHECKSUM = 1,  // payload does not match its checksum
    HS_DAMAGE_DECODE = 2,    // payload with a correct checksum that does not decode, at least in part
    HS_DAMAGE_TRUNCATED = 3, // the file ends within a chunk
    HS_DAMAGE_SLOT = 4,      // live slot with an invalid record; what was before it is kept
    HS_DAMAGE_META = 5,      // invalid meta record; the rest of its chunk is lost
    HS_DAMAGE_INDEX = 6,     // footer that does not match; the file was scanned instead
    HS_DAMAGE_COUNT
};

struct hs_trace;

struct hs_trace_chunk {
    uint64_t offset; // of the chunk header
    uint64_t sequence;
    uint64_t first_time, last_time; // recorded time
    uint32_t stored_length, plain_length;
    uint32_t stream;
    uint32_t count;
    uint16_t kind;
    uint16_t flags;
};

struct hs_trace_info {
    const char *path;
    uint64_t file_size;
    uint64_t modified_ns;
    struct hs_file_header header; // in host byte order; the live part is that of the time of opening
    uint64_t damage[HS_DAMAGE_COUNT];
    uint64_t damage_bytes[HS_DAMAGE_COUNT];
    uint64_t recovered_slots;
    bool from_footer; // the index was read from the footer
};

int hs_trace__open(const char *path, struct hs_trace **trace, struct hs_error *error);
void hs_trace__close(struct hs_trace *trace);
const struct hs_trace_info *hs_trace__info(const struct hs_trace *trace);

// As hs_summary.trace_id has it.
enum { HS_TRACE_ID = 33 };
void hs_trace__write_id(const struct hs_trace *trace, char id[HS_TRACE_ID]);

// All readable chunks in the order of the file. Live slots with unsealed records are included, with kind
// HS_CHUNK_EVENTS or HS_CHUNK_META and with HS_CHUNK_LIVE in flags.
const struct hs_trace_chunk *hs_trace__chunks(const struct hs_trace *trace, size_t *count);

// Bytes of the payload of a META chunk that are before its first record.
static inline size_t hs_trace_chunk__records(const struct hs_trace_chunk *chunk)
{
    return chunk->flags & HS_CHUNK_LIVE ? HS_SLOT_RECORDS_OFFSET - HS_CHUNK_HEADER_SIZE : 0;
}

// Decodes one EVENTS chunk or live slot. *events is valid until the next call with the same decoder. Returns 0, or
// -EBADMSG if a part cannot be decoded; the events before it are returned.
struct hs_trace_decoder;
struct hs_trace_decoder *hs_trace_decoder__create(const struct hs_trace *trace);
void hs_trace_decoder__free(struct hs_trace_decoder *decoder);
int hs_trace__decode(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, struct hs_trace_decoder *decoder,
                     const struct hs_event **events, size_t *count);

// The uncompressed payload of any chunk; the checksum is verified. The caller frees `*payload`.
int hs_trace__payload(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint8_t **payload,
                      size_t *length);

// All events of all streams in the order of time. A realloc is visited twice: with `phase` HS_PHASE_BEGIN at its begin
// time (the old block ends), and with HS_PHASE_END at its time (the new block starts). All others are visited with
// HS_PHASE_END. `visit` returns 0 to continue; any other value ends the replay and is returned.
enum { HS_PHASE_BEGIN = 0, HS_PHASE_END = 1 };
typedef int (*hs_trace_visitor)(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time);
struct hs_replay_counts {
    uint64_t events;
    uint64_t out_of_order;
    uint64_t damage[HS_DAMAGE_COUNT];
    uint64_t damage_bytes[HS_DAMAGE_COUNT];
    uint64_t bytes_done; // stored bytes that were decoded
};
int hs_trace__replay(const struct hs_trace *trace, hs_trace_visitor visit, void *context,
                     struct hs_replay_counts *counts);

#endif
