// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions about samples of the kernel, and about other events than allocations that can be added up by stack.
#ifndef HEAPSONDE_QUERY_SAMPLES_H
#define HEAPSONDE_QUERY_SAMPLES_H

#include "host/query/own_mapping.h"
#include "host/query/query.h"

// What is added up by stack.
enum hs_events {
    HS_EVENTS_HEAP,
    HS_EVENTS_CPU,              // samples of CPU time
    HS_EVENTS_OFF_CPU,          // time that threads were off the processor
    HS_EVENTS_FAULTS,           // page faults that have a stack
    HS_EVENTS_TOUCHED,          // blocks of the heap, by their touched bytes
    HS_EVENTS_TOUCHED_MAPPINGS, // the same of mappings
    HS_EVENTS_COUNT
};
static inline bool hs_events__are_samples(enum hs_events events)
{
    return events == HS_EVENTS_CPU || events == HS_EVENTS_OFF_CPU || events == HS_EVENTS_FAULTS;
}
static inline bool hs_events__are_touched(enum hs_events events)
{
    return events == HS_EVENTS_TOUCHED || events == HS_EVENTS_TOUCHED_MAPPINGS;
}

// Their weight is ns.
static inline bool hs_events__are_times(enum hs_events events)
{
    return events == HS_EVENTS_CPU || events == HS_EVENTS_OFF_CPU;
}

// Whether there are any in the trace.
bool hs_events__are_in(enum hs_events events, const struct hs_store *store);
// Whether the recorder sampled them, so that a trace without them had none. Known only for CPU time.
bool hs_events__were_looked_for(enum hs_events events, const struct hs_store *store);

// The filter with the domain that these events are of.
struct hs_filter hs_events__filter(enum hs_events events, const struct hs_filter *filter);

// ---- single samples ------------------------------------------------------------------------------------------------

// The samples that match, in the order of time.
struct hs_sample_list {
    const struct hs_sample **sample;
    size_t count;
};
int hs_query__samples(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                      struct hs_sample_list *list, struct hs_error *error);
void hs_sample_list__free(struct hs_sample_list *list);

// The same without a list and without an order. 0 or -ENOMEM.
int hs_query__each_sample(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                          void (*visit)(void *context, const struct hs_sample *sample), void *context);

// The thread of a sample: the last one with this number that had begun by then. Threads that neither allocated nor
// freed are not known.
struct hs_sample_threads {
    const struct hs_thread **thread; // by tid, then by start
    size_t count;
};
int hs_sample_threads__make(struct hs_sample_threads *threads, const struct hs_store *store); // 0 or -ENOMEM
void hs_sample_threads__free(struct hs_sample_threads *threads);
const struct hs_thread *hs_sample_threads__find(const struct hs_sample_threads *threads, uint32_t tid, uint64_t time);

// ---- touched -------------------------------------------------------------------------------------------------------

// The touched bytes of single blocks: those on pages that a page fault made resident while the block was live. Pages
// that were resident before count, too. For a block with a mapping of its own, they count only if they came with it: if
// the mapping grew, moved, or is the rest of another one. NULL: out of memory.
struct hs_touching;
struct hs_touching *hs_touching__create(const struct hs_store *store);
void hs_touching__destroy(struct hs_touching *touching);
uint64_t hs_touching__bytes(const struct hs_touching *touching, uint64_t row);
// The touched bytes that are still resident at the end. 0 for a block that has ended.
uint64_t hs_touching__resident(const struct hs_touching *touching, uint64_t row);

#endif
