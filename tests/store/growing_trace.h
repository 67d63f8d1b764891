// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes the trace of a random program bit by bit, as a recorder does: with events of all kinds, stacks that become
// known as they are needed and clock points on the way.
#ifndef HEAPSONDE_TESTS_GROWING_TRACE_H
#define HEAPSONDE_TESTS_GROWING_TRACE_H

#include "tests/store/trace_writer.h"

enum { RECORDER_THREADS = 5, RECORDER_SLOT_EVENTS = 300, RECORDER_STREAMS = RECORDER_THREADS + 1 };

// Slots fill and are sealed; each has its number from its first event on.
struct recorder {
    struct trace_writer writer;
    struct random_program program;
    struct random_state random;
    uint64_t sequence;
    size_t next; // event of the program
    uint32_t nodes;
    uint64_t last_time;
    struct slot {
        struct hs_event event[RECORDER_SLOT_EVENTS];
        size_t count, size;
        uint64_t sequence;
    } slot[RECORDER_STREAMS];
};

void begin_recording(struct recorder *recorder, const char *path, uint64_t seed, size_t events, uint8_t clock);
// Up to an event of the program.
void record_until(struct recorder *recorder, size_t end);
// Meta records in a chunk without a sequence.
void write_records(struct recorder *recorder, const uint8_t *bytes, size_t length);
// As whoever opens it now sees the file.
void show(struct recorder *recorder);
void end_recording(struct recorder *recorder);

#endif
