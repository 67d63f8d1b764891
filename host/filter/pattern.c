// SPDX-License-Identifier: MIT OR Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "host/filter/pattern.h"

#include "host/base/clock.h"

#include <errno.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A pattern that would take forever is reported instead of waited for. Most matches need few steps. A match that does
// not end within FEW_STEPS gets MANY_STEPS, for at most LONG_MATCHES names. One step passes at most once through the
// pattern, so a long pattern gets fewer steps. The time of all matches together is limited, too.
#define FEW_STEPS       5000
#define MANY_STEPS      500000
#define LONG_MATCHES    200
#define LEAST_LONG      20
#define USUAL_LENGTH    200 // bytes of a compiled pattern that gets all steps
#define SECONDS_MAX     20  // of processors
#define HEAP_KIBIBYTES  20000
#define LONGEST_PATTERN 16384
#define BATCH           256
#define WORKERS_MAX     16

struct hs_pattern {
    const char *name;
    pcre2_code *code;
};

struct pattern_search {
    const struct hs_pattern *pattern;
    const char *const *names;
    size_t count;
    uint8_t *matches;
    const int *cancel;
    atomic_size_t next;
    atomic_uint long_matches;
    atomic_int problem;  // a negative errno
    atomic_ullong spent; // ns of processors
};

struct matcher {
    pcre2_match_data *data;
    pcre2_match_context *few, *many;
};

static int create_error(const char *name, int code, PCRE2_SIZE offset, struct hs_error *error)
{
    PCRE2_UCHAR text[160];
    pcre2_get_error_message(code, text, sizeof(text));
    return hs_error__set(error, EINVAL, "invalid '%s': %s at position %zu; give a Perl regular expression", name,
                         (const char *)text, (size_t)offset);
}

int hs_pattern__create(const char *name, const char *text, struct hs_pattern **pattern, struct hs_error *error)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    *pattern = calloc(1, sizeof(**pattern));
    if (!*pattern || !context) {
        pcre2_compile_context_free(context);
        free(*pattern);
        *pattern = NULL;
        return hs_error__set(error, ENOMEM, "%s: out of memory", name);
    }
    pcre2_set_max_pattern_length(context, LONGEST_PATTERN);
    // Names of damaged files may hold anything.
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
    (*pattern)->name = name;
    (*pattern)->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &code, &offset, context);
    pcre2_compile_context_free(context);
    if ((*pattern)->code) {
        pcre2_jit_compile((*pattern)->code, PCRE2_JIT_COMPLETE); // without it matching is slower
        return 0;
    }
    free(*pattern);
    *pattern = NULL;
    return create_error(name, code, offset, error);
}

void hs_pattern__destroy(struct hs_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    free(pattern);
}

// ---- matching ------------------------------------------------------------------------------------------------------

static pcre2_match_context *create_context(uint32_t steps)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    if (!context)
        return NULL;
    pcre2_set_match_limit(context, steps);
    pcre2_set_heap_limit(context, HEAP_KIBIBYTES);
    return context;
}

static void free_matcher(struct matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->few);
    pcre2_match_context_free(matcher->many);
}

static uint32_t part_of(const struct hs_pattern *pattern, uint32_t most)
{
    size_t length = 0;
    pcre2_pattern_info(pattern->code, PCRE2_INFO_SIZE, &length);
    return length > USUAL_LENGTH ? (uint32_t)((uint64_t)most * USUAL_LENGTH / length) : most;
}

static uint32_t long_matches(const struct hs_pattern *pattern)
{
    uint32_t most = part_of(pattern, LONG_MATCHES);
    return most > LEAST_LONG ? most : LEAST_LONG;
}

static bool create_matcher(struct matcher *matcher, const struct hs_pattern *pattern)
{
    matcher->data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    matcher->few = create_context(FEW_STEPS);
    matcher->many = create_context(part_of(pattern, MANY_STEPS));
    if (matcher->data && matcher->few && matcher->many)
        return true;
    free_matcher(matcher);
    return false;
}

static bool ran_out(int result)
{
    return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_JIT_STACKLIMIT ||
           result == PCRE2_ERROR_HEAPLIMIT || result == PCRE2_ERROR_DEPTHLIMIT;
}

// Returns 0 or a negative errno.
static int match_name(struct pattern_search *search, const struct matcher *matcher, size_t i)
{
    const char *name = search->names[i];
    const pcre2_code *code = search->pattern->code;
    size_t length = strlen(name);
    int result = pcre2_match(code, (PCRE2_SPTR)name, length, 0, 0, matcher->data, matcher->few);
    if (ran_out(result)) {
        if (atomic_fetch_add(&search->long_matches, 1) >= long_matches(search->pattern))
            return -EINVAL;
        // The compiled form has a small stack; the other one is bounded by the limits alone.
        result = pcre2_match(code, (PCRE2_SPTR)name, length, 0, PCRE2_NO_JIT, matcher->data, matcher->many);
    }
    if (ran_out(result))
        return -EINVAL;
    if (result == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    search->matches[i] = result >= 0;
    return 0;
}

static int match_batch(struct pattern_search *search, const struct matcher *matcher, size_t first)
{
    size_t end = first + BATCH < search->count ? first + BATCH : search->count;
    const uint64_t began = hs_clock__thread_cpu();
    int result = 0;
    for (size_t i = first; !result && i < end; i++) {
        bool cancelled = search->cancel && __atomic_load_n(search->cancel, __ATOMIC_RELAXED);
        result = cancelled ? -ECANCELED : match_name(search, matcher, i);
    }
    const uint64_t spent = hs_clock__thread_cpu() - began;
    if (!result && atomic_fetch_add(&search->spent, spent) + spent > SECONDS_MAX * UINT64_C(1000000000))
        result = -EINVAL;
    return result;
}

static void *match_names(void *argument)
{
    struct pattern_search *search = argument;
    struct matcher matcher;
    int result = create_matcher(&matcher, search->pattern) ? 0 : -ENOMEM;
    bool created = !result;
    size_t first;
    while (!result && !atomic_load(&search->problem) &&
           (first = atomic_fetch_add(&search->next, BATCH)) < search->count)
        result = match_batch(search, &matcher, first);
    int none = 0;
    if (result)
        atomic_compare_exchange_strong(&search->problem, &none, result);
    if (created)
        free_matcher(&matcher);
    return NULL;
}

// More threads for more names.
static unsigned choose_workers(const struct hs_query_control *control, size_t names)
{
    long processors = control && control->threads ? (long)control->threads : sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = names / (8 * (size_t)BATCH) + 1;
    unsigned workers = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (unsigned)processors;
    return workers > most ? (unsigned)most : workers;
}

int hs_pattern__match_all(const struct hs_pattern *pattern, const char *const *names, size_t count, uint8_t *matches,
                          const struct hs_query_control *control, struct hs_error *error)
{
    struct pattern_search search = {.pattern = pattern,
                                    .names = names,
                                    .count = count,
                                    .matches = matches,
                                    .cancel = control ? control->cancel : NULL,
                                    .next = 1};
    pthread_t threads[WORKERS_MAX];
    unsigned started = 0;
    for (unsigned i = 1; i < choose_workers(control, count); i++)
        started += !pthread_create(&threads[started], NULL, match_names, &search);
    match_names(&search);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    int problem = atomic_load(&search.problem);
    if (problem == -EINVAL)
        return hs_error__set(error, EINVAL, "invalid '%s': it takes too long to match; write it more simply",
                             pattern->name);
    if (problem)
        hs_error__set(error, -problem, "%s: %s", pattern->name, strerror(-problem));
    return problem;
}
