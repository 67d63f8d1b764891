// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes valid trace files from events, for tests: what the recorder does, without a process to record.
#ifndef HEAPSONDE_TESTS_TRACE_WRITER_H
#define HEAPSONDE_TESTS_TRACE_WRITER_H

#include "format/event.h"
#include "format/event_codec.h"
#include "format/meta.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct trace_writer {
    FILE *file;
    struct hs_file_header header;
    struct hs_codec_target target;
    uint64_t sequence;
    uint64_t offset;
    uint8_t *footer;
    size_t footer_length;
    void *scratch;
    uint8_t *output;
    bool pack_meta;
};

// Starts a file of an AMD64 process. Records of live slots are written in `byte_order`.
void trace_writer__open(struct trace_writer *writer, const char *path, uint8_t byte_order, uint8_t pointer_size);
// The same for any ELF machine.
void trace_writer__open_for(struct trace_writer *writer, const char *path, uint16_t machine,
                            const struct hs_codec_target *target);

// Before anything is written: HS_CLOCK_COUNTER in place of HS_CLOCK_MONOTONIC; it ticks each nanosecond.
void trace_writer__set_clock(struct trace_writer *writer, uint8_t clock_source);

// Turns events of one thread into slot records (this machine's order). Returns the words written; *used is the number
// of events that fitted. Times count from `base`.
size_t trace_records(const struct hs_codec_target *target, const struct hs_event *events, size_t count, uint64_t base,
                     uint64_t *words, size_t max_words, size_t *used);

// Appends events of one stream as sealed chunks; the last part may be left as a live slot.
void trace_writer__events(struct trace_writer *writer, uint32_t stream, const struct hs_event *events, size_t count,
                          bool live);
// Appends meta records; `bytes` is what a hs_meta_writer wrote.
void trace_writer__meta(struct trace_writer *writer, const uint8_t *bytes, size_t length, bool live);
void trace_writer__chunk(struct trace_writer *writer, struct hs_chunk_header *chunk, const void *payload);

// clean: with footer and closed state; else as a killed process leaves it.
void trace_writer__close(struct trace_writer *writer, bool clean, uint64_t end_time);

// ---- random programs -----------------------------------------------------------------------------------------------

struct random_state {
    uint64_t word;
};
uint64_t random_next(struct random_state *random);
static inline uint64_t random_below(struct random_state *random, uint64_t limit)
{
    return random_next(random) % limit;
}

// A program of `threads` threads that allocates, frees and reallocates; events are in time order, with the stream of
// each. Frees of unknown blocks and missed frees occur when `faults` is set.
struct random_program {
    struct hs_event *event;
    uint32_t *stream;
    size_t count;
    uint32_t threads, stacks;
    uint64_t end_time;
};
void random_program__make(struct random_program *program, uint64_t seed, size_t events, uint32_t threads, bool faults,
                          uint8_t pointer_size);
void random_program__free(struct random_program *program);
// Writes it as a trace file; `live`: each thread's last slot stays live and the file is that of a killed process.
void random_program__write(const struct random_program *program, const char *path, uint8_t byte_order,
                           uint8_t pointer_size, bool live, bool pack_meta);

#endif
