// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One request while it is answered: its checked parameters, and what the answer needs.
#ifndef HEAPSONDE_HOST_REST_QUESTION_H
#define HEAPSONDE_HOST_REST_QUESTION_H

#include "host/filter/filter.h"
#include "host/query/query.h"
#include "host/report/cost.h"
#include "host/rest/cache.h"
#include "host/rest/endpoint.h"
#include "host/rest/importing.h"
#include "host/rest/node_tree.h"
#include "host/rest/stack_totals.h"
#include "host/rest/traces.h"
#include "host/server/uri.h"

#include <stdio.h>

struct hs_rest_control;
struct hs_rest_fleet;
struct hs_rest_folders;
struct hs_suppressions;

enum { HS_QUESTION_VALUES = 4, HS_QUESTION_HELD = 16 };

struct hs_rest {
    struct hs_rest_traces *traces;
    struct hs_cache *cache;
    struct hs_importing *importing;
    const struct hs_suppressions *suppressions; // of findings; NULL: none
    const char *const *sources;                 // folders with source files that may be shown
    size_t source_count;
    const struct hs_rest_control *control; // NULL: nothing may be commanded
    const struct hs_rest_folders *folders; // NULL: none
    struct hs_http_page *pages;
    size_t static_pages;         // index of the first page that belongs to the web page
    struct hs_rest_fleet *fleet; // NULL: none is asked
    uint64_t run;                // identifies this run of the server
    unsigned followers;          // of live streams; atomic
    int gives_up;                // hs_rest__give_up was called; atomic
};

struct hs_question {
    struct hs_rest *rest;
    const struct hs_endpoint *endpoint;
    struct hs_uri uri;                     // of the request
    const char *value[HS_QUESTION_VALUES]; // of the path segments in braces
    struct hs_rest_trace *trace;           // NULL: the question is not about one trace
    const struct hs_rest_state *state;
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter filter;    // only with HS_TAKES_FILTER; `at` is part of it
    bool restricted;            // the filter restricts something
    const char *not_of_samples; // the filter that samples do not have; NULL: none
    enum hs_events events;      // the kind of events that it is about
    char *filter_text;          // equal texts mean equal filters
    const char *type;           // Content-Type of the answer
    const char *link;           // Link of the answer, a constant; NULL: none
    bool may_change;            // false: the request may only read
    bool strip;                 // shorten template arguments
    struct hs_query_control control;
    struct hs_error error;
    const uint64_t *sent; // bytes of the answer that have left its stream; NULL: not counted
    void *work;           // private data of the endpoint
    void (*free_work)(void *work);
    struct hs_rest_trace *other_trace; // another trace that is held during the answer; NULL: none
    const struct hs_rest_state *other;
    struct hs_cached *held[HS_QUESTION_HELD];
    unsigned held_count;
};

// Checks all parameters and resolves the filter, before the endpoint is called. Returns 0, or a negative errno with the
// question's error set.
int hs_question__check(struct hs_question *question);

// Values of the endpoint's own parameters, already checked. If one was not given: its `default_value`, else NULL, 0 or
// false.
const char *hs_question__text(const struct hs_question *question, const char *name);
uint64_t hs_question__number(const struct hs_question *question, const char *name, uint64_t default_value);
double hs_question__real(const struct hs_question *question, const char *name, double default_value);
bool hs_question__flag(const struct hs_question *question, const char *name);
// Number of bytes of the answer that were written so far.
uint64_t hs_question__written(const struct hs_question *question, FILE *out);
// A range of the state's trace, by the names of the parameters for its ends. The caller initialises both with the
// defaults. -EINVAL, also if the range ends before it begins.
int hs_question__range(struct hs_question *question, const struct hs_rest_state *state, const char *const names[2],
                       uint64_t *from, uint64_t *to);
// The interval of a timeline: axis_from to axis_to, or, if neither is given, `from` to `to`. The caller initialises
// both with the defaults. -EINVAL.
int hs_question__axis(struct hs_question *question, uint64_t *from, uint64_t *to);
// Narrows a filter to what was live at an instant: a time, "peak" or "peak_rss". -EINVAL; -ENOENT: the trace does not
// know resident memory.
int hs_question__narrow(struct hs_question *question, const struct hs_rest_state *state, const char *name,
                        struct hs_filter *filter);

// The question's filter parameters as they were given. The caller frees them, also after failures.
int hs_question__filter_parameters(struct hs_question *question, struct hs_filter_parameters *parameters);

// The filter of the base of a difference, which is a state: the question's filter parameters, at the instant `base_at`.
// If `base_from` or `base_to` is given, they take the place of `from` and `to`. The result is kept until the question
// ends. `*key` identifies the filter; the caller frees it.
int hs_question__base_filter(struct hs_question *question, const struct hs_rest_state *state, struct hs_filter *filter,
                             char **key);

// Reads a cost. -EINVAL: the store does not know it for the question's events.
int hs_question__read_cost(struct hs_question *question, const struct hs_store *store, const char *word,
                           enum hs_cost *cost);

// A value that is computed once per state and key. It is kept until the question ends.
int hs_question__cached(struct hs_question *question, const struct hs_rest_state *state, const char *key,
                        const struct hs_cache_maker *maker, void **value);

// Totals by stack of the blocks or events that match a filter; `filter_key` identifies the filter. Read-only.
int hs_question__totals_of(struct hs_question *question, const struct hs_rest_state *state,
                           const struct hs_filter *filter, const char *filter_key, const struct hs_totals **totals);
int hs_question__totals(struct hs_question *question, const struct hs_totals **totals);

// The same in less memory: for the heap, from a table of the store or of an index.
int hs_question__stack_totals_of(struct hs_question *question, const struct hs_rest_state *state,
                                 const struct hs_filter *filter, const char *filter_key,
                                 struct hs_stack_totals *stacks);
int hs_question__stack_totals(struct hs_question *question, struct hs_stack_totals *stacks);

// The values of stacks for one cost. Contains only stacks with such blocks, in the order of stacks; 24 bytes each.
struct hs_stack_values {
    struct hs_stack_value *at;
    size_t count, room;
};
int hs_question__values(struct hs_question *question, enum hs_cost cost, struct hs_stack_values *values);
void hs_stack_values__free(struct hs_stack_values *values);

#endif
