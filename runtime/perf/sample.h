// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Parses the records of a ring. Samples begin with process, thread, time and address. Some also have registers and a
// copy of the stack, as requested in perf_event_attr (HS_SAMPLE_*).
#ifndef HEAPSONDE_RUNTIME_PERF_SAMPLE_H
#define HEAPSONDE_RUNTIME_PERF_SAMPLE_H

#include "unwind/snapshot.h"

#include <linux/perf_event.h>

#define HS_SAMPLE_SHORT (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR)
#define HS_SAMPLE_PAGE  (HS_SAMPLE_SHORT | PERF_SAMPLE_DATA_PAGE_SIZE)
#define HS_SAMPLE_IP    (PERF_SAMPLE_IP | HS_SAMPLE_SHORT)
#define HS_SAMPLE_CHAIN (HS_SAMPLE_SHORT | PERF_SAMPLE_CALLCHAIN)
#define HS_SAMPLE_STACK (HS_SAMPLE_SHORT | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

// More than a record can contain.
enum { HS_CHAIN_MAX = 8192 };

struct hs_perf_sample {
    enum {
        HS_SAMPLE_OTHER,
        HS_SAMPLE_LOST,
        HS_SAMPLE_TAKEN,
        HS_SAMPLE_SWITCHED_IN,
        HS_SAMPLE_CODE_MAPPED,
        HS_SAMPLE_DAMAGED
    } kind;
    uint64_t lost; // LOST: records that did not fit into the ring
    // TAKEN, SWITCHED_IN, CODE_MAPPED (from a file; without a time), and LOST: the first thread that found room again
    uint32_t pid, tid;
    uint64_t time; // CLOCK_MONOTONIC
    // TAKEN:
    uint64_t address;      // of a page fault
    uint64_t page_size;    // of the page that became resident; 0: unknown
    const uint64_t *chain; // the kernel's call chain in the record, innermost first
    uint64_t chain_length;
    bool has_stack; // `snapshot` is set; its copy points into the record
    struct hs_snapshot snapshot;
};

// `type`: the sample_type of the ring's events. The record is `length` untrusted bytes.
void hs_perf_sample__read(const void *record, size_t length, uint64_t type, struct hs_perf_sample *sample);

// The registers to request.
uint64_t hs_perf_sample__registers(void);

#endif
