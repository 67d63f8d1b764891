// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What can be added up by stack, as people read of it: one table for the report, the exports and the server.
#ifndef HEAPSONDE_HOST_REPORT_EVENTS_H
#define HEAPSONDE_HOST_REPORT_EVENTS_H

#include "host/query/samples.h"
#include "host/report/cost.h"
#include "host/report/text.h"

#define HS_EVENTS_CHOICES "heap cpu off_cpu faults touched touched_mappings"

struct hs_events_kind {
    const char *name;  // one of HS_EVENTS_CHOICES
    const char *words; // in a sentence: "CPU time"
    const char *unit;  // of the sums, as profiles call it: bytes, nanoseconds, count
    const char *thing; // what is counted: blocks, samples
    unsigned costs;    // bit per enum hs_cost: those that are known
    const char *needs; // what the recorder has to be asked for
    struct hs_text (*sum)(uint64_t value);
    struct hs_text (*count)(uint64_t count); // "12 samples"
};

const struct hs_events_kind *hs_events_kind__of(enum hs_events events);

// The costs of them that the trace knows: a heap dump does not have all.
unsigned hs_events__costs(enum hs_events events, const struct hs_store *store);

// The text after the name of a trace that has none of these: the reason, or how to record them. NULL: it has some.
const char *hs_events__absence(enum hs_events events, const struct hs_store *store, char *text, size_t size);

enum hs_events hs_events__parse(const char *word); // HS_EVENTS_HEAP when it is none of the words

#endif
