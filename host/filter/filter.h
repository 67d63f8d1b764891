// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The filter language: from name=value pairs, as the command line and the REST interface take them, to a struct
// hs_filter of host/query/query.h.
//
//     struct hs_filter_parameters parameters;
//     hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
//     for each pair:
//         switch (hs_filter_parameters__take(&parameters, name, value, &error)) { ... }
//     struct hs_resolved_filter resolved;
//     hs_filter_parameters__resolve(&parameters, scope, &control, &resolved, &error);
//     hs_query__totals(store, &resolved.filter, &control, &totals, &error);
//     hs_resolved_filter__free(&resolved);
//     hs_filter_parameters__free(&parameters);
//
// Parsing needs no trace: whatever is wrong with a value is said at once. Resolving needs one: it turns percentages
// into times, regular expressions, libraries and depths into a set of stacks, threads into a set of streams, and the
// conditions on groups into a set of stacks. A group is all allocations of the trace with one stack, before filtering.
// docs/filters.md describes the values.
#ifndef HEAPSONDE_FILTER_FILTER_H
#define HEAPSONDE_FILTER_FILTER_H

#include "host/filter/parameters.h"
#include "host/query/query.h"
#include "host/symbols/trace_symbols.h"

#include <pthread.h>

// ---- parameters ----------------------------------------------------------------------------------------------------

// How a time without a unit is read: `from=1700000000`. Times with a unit (`1.5s`) are since the start, `10%` is of the
// runtime, in every case. The parameter time_unit overrides it.
enum hs_time_unit {
    HS_TIME_UNIT_AUTO,         // since 1970, in seconds or milliseconds, whichever is near the recording
    HS_TIME_UNIT_SECONDS,      // since 1970, as recorders before 0.7 did
    HS_TIME_UNIT_MILLISECONDS, // since 1970, as recorders since 0.7 do
    HS_TIME_UNIT_START         // seconds since the start of the recording
};

// What was given. Values are copied.
struct hs_filter_parameters {
    enum hs_time_unit time_unit; // of hs_filter_parameters__init, for when it is not given
    // These come from the command line: messages name the options, and the last of several values is used.
    bool as_options;
    struct hs_given_parameter *given;
    size_t count, capacity;
};

enum hs_parameter_result {
    HS_PARAMETER_TAKEN,
    HS_PARAMETER_UNKNOWN, // not a parameter of filters: the caller handles or ignores it
    HS_PARAMETER_WRONG    // the error names the parameter and says what it takes
};

void hs_filter_parameters__init(struct hs_filter_parameters *parameters, enum hs_time_unit time_unit);
void hs_filter_parameters__free(struct hs_filter_parameters *parameters);

// Takes one pair. Names may have - for _. A parameter that is given twice is wrong unless it is repeatable or
// as_options is set; so is a value that is not understood and a regular expression that does not compile ("invalid
// 'function_regex': ...").
enum hs_parameter_result hs_filter_parameters__take(struct hs_filter_parameters *parameters, const char *name,
                                                    const char *value, struct hs_error *error);

// Takes all that another one has; what it has counts, and takes the place of all values of the same parameter. Returns
// 0 or a negative errno.
int hs_filter_parameters__add(struct hs_filter_parameters *parameters, const struct hs_filter_parameters *more,
                              struct hs_error *error);

// Whether nothing was given that restricts anything.
bool hs_filter_parameters__are_empty(const struct hs_filter_parameters *parameters);
bool hs_filter_parameters__have(const struct hs_filter_parameters *parameters, enum hs_parameter_id id);

// Whether a least value is above its greatest one, so that nothing can match: their names, as messages call them.
bool hs_filter_parameters__contradict(const struct hs_filter_parameters *parameters, const char **least,
                                      const char **most);

// The first that restricts by what samples do not have (hs_parameter__is_of_samples), as messages call it; NULL: none.
const char *hs_filter_parameters__not_of_samples(const struct hs_filter_parameters *parameters);
// Whether any speaks of frames alone (hs_parameter__is_of_frames).
bool hs_filter_parameters__ask_frames(const struct hs_filter_parameters *parameters);
// The first that says something of what heap dumps do not have (hs_parameter__is_of_frames).
const char *hs_filter_parameters__not_of_frames(const struct hs_filter_parameters *parameters);

// Everything that was given in the order of the table, "size_min=10&thread=main" with percent signs escaped: equal
// texts are equal filters. To be freed; NULL: out of memory.
char *hs_filter_parameters__text(const struct hs_filter_parameters *parameters);

// ---- scope ---------------------------------------------------------------------------------------------------------

// An opened trace as far as filters need it, with what was worked out for one and serves the next: the names of all
// frames, the groups. Any number of threads may resolve filters in one scope at once.
struct hs_filter_scope;

// `symbols` may be NULL: then there are no names, and regular expressions match nothing. A session of symbols belongs
// to one thread at a time: when others use it too, all of them hold `symbols_lock` for that time; NULL: nobody else
// does. Both and the store must outlive the scope. NULL: out of memory.
struct hs_filter_scope *hs_filter_scope__create(const struct hs_store *store, struct hs_trace_symbols *symbols,
                                                pthread_mutex_t *symbols_lock);
void hs_filter_scope__destroy(struct hs_filter_scope *scope);

// What a stack's group is, from the whole trace.
struct hs_group {
    struct hs_total total;   // all allocations of the group, those included that the recorder only summed up
    uint64_t usage_max_time; // when it first had the most requested bytes at once
};
// Prepares the groups, so that the following answer. With `usage` it fails where usage_max_time is not known.
// Returns 0 or a negative errno.
int hs_filter_scope__prepare_groups(struct hs_filter_scope *scope, bool usage, const struct hs_query_control *control,
                                    struct hs_error *error);
// The totals of one stack; false: no allocations.
bool hs_filter_scope__group(const struct hs_filter_scope *scope, uint32_t stack, struct hs_group *group);
// All of them in the order of stacks. 0, -ENOMEM, or what is not 0 of `visit`, which ends it.
typedef int (*hs_group_visitor)(void *context, const struct hs_group *group);
int hs_filter_scope__each_group(const struct hs_filter_scope *scope, hs_group_visitor visit, void *context);

// ---- resolving -----------------------------------------------------------------------------------------------------

struct hs_resolved_filter {
    struct hs_filter filter; // may be copied and narrowed further as long as this is not freed
    bool nothing;            // it is known that no row can match
    void *memory[12];        // what the filter points to
    unsigned memory_count;
    struct hs_resolved_filter *part; // of `where`
    size_t parts;
};

// Asked of the heap domain. -EINVAL: a parameter does not fit this trace (no such thread, a regular expression that
// takes too long); other errors are not the user's. -ECANCELED when `control` (may be NULL) says so.
int hs_filter_parameters__resolve(const struct hs_filter_parameters *parameters, struct hs_filter_scope *scope,
                                  const struct hs_query_control *control, struct hs_resolved_filter *resolved,
                                  struct hs_error *error);

// Only what hs_parameter__is_of_frames: `filter.stacks` of the result says which stacks match. For stores without rows.
int hs_filter_parameters__resolve_frames(const struct hs_filter_parameters *parameters, struct hs_filter_scope *scope,
                                         const struct hs_query_control *control, struct hs_resolved_filter *resolved,
                                         struct hs_error *error);
void hs_resolved_filter__free(struct hs_resolved_filter *resolved);
// Its approximate memory for a trace with this many stacks.
size_t hs_resolved_filter__bytes(const struct hs_resolved_filter *resolved, size_t stacks);

#endif
