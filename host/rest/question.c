// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/question.h"

#include "host/base/array.h"
#include "host/base/strings.h"
#include "host/dump/series.h"
#include "host/import/ticks.h"
#include "host/query/event_totals.h"
#include "host/query/planner.h"
#include "host/query/usage.h"
#include "host/report/events.h"
#include "host/rest/unknown.h"

#include <errno.h>
#include <malloc.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

// ---- parameters -----------------------------------------------------------------------------------------------------

static const struct hs_rest_parameter *find_parameter(const struct hs_endpoint *endpoint, const char *name)
{
    const struct hs_rest_parameter *arrays[HS_PARAMETER_ARRAYS];
    size_t count = hs_endpoint__parameters(endpoint, arrays);
    for (size_t i = 0; i < count; i++)
        for (const struct hs_rest_parameter *parameter = arrays[i]; parameter->name; parameter++)
            if (!strcmp(parameter->name, name))
                return parameter;
    return NULL;
}

const char *hs_question__text(const struct hs_question *question, const char *name)
{
    const char *value = hs_uri__value(&question->uri, name);
    const struct hs_rest_parameter *parameter = value ? NULL : find_parameter(question->endpoint, name);
    return parameter ? parameter->default_value : value;
}

uint64_t hs_question__number(const struct hs_question *question, const char *name, uint64_t default_value)
{
    const char *text = hs_question__text(question, name);
    return text ? strtoull(text, NULL, 10) : default_value;
}

double hs_question__real(const struct hs_question *question, const char *name, double default_value)
{
    const char *text = hs_question__text(question, name);
    return text ? strtod(text, NULL) : default_value;
}

uint64_t hs_question__written(const struct hs_question *question, FILE *out)
{
    return (question->sent ? *question->sent : 0) + __fpending(out);
}

bool hs_question__flag(const struct hs_question *question, const char *name)
{
    const char *text = hs_question__text(question, name);
    return text && !strcmp(text, "true");
}

// The filter language reads times; `alive_at` is the parameter that takes one.
static int read_time(struct hs_question *question, const struct hs_rest_state *state, const char *name,
                     const char *text, uint64_t *time)
{
    struct hs_filter_parameters parameters;
    struct hs_resolved_filter resolved;
    struct hs_error wrong = {""};
    static const char stand_in[] = "alive_at ";
    static const char *const reading[] = {"era", "time_unit"}; // how times are read
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    int result = 0;
    for (size_t i = 0; i < sizeof(reading) / sizeof(reading[0]) && !result; i++) {
        const char *word = hs_uri__value(&question->uri, reading[i]);
        if (word && hs_filter_parameters__take(&parameters, reading[i], word, &question->error) == HS_PARAMETER_WRONG)
            result = -EINVAL;
    }
    if (!result && hs_filter_parameters__take(&parameters, "alive_at", text, &wrong) != HS_PARAMETER_TAKEN)
        result = hs_error__set(&question->error, EINVAL, "%s %s", name,
                               strncmp(wrong.message, stand_in, sizeof(stand_in) - 1)
                                   ? wrong.message
                                   : wrong.message + sizeof(stand_in) - 1);
    if (!result && state && time) {
        result =
            hs_filter_parameters__resolve(&parameters, state->scope, &question->control, &resolved, &question->error);
        if (!result) {
            *time = resolved.filter.alive_at[0];
            hs_resolved_filter__free(&resolved);
        }
    }
    hs_filter_parameters__free(&parameters);
    return result;
}

struct resolving {
    struct hs_question *question;
    const struct hs_rest_state *state;
    struct hs_filter_parameters parameters;
};

// Parses a time of the state's trace. -EINVAL.
static int parse_time(struct hs_question *question, const struct hs_rest_state *state, const char *name, uint64_t *time)
{
    const char *text = hs_question__text(question, name);
    return text ? read_time(question, state, name, text, time) : 0;
}

// Of a range that ends before it begins.
static int refuse_reversed(struct hs_question *question, const char *const names[2])
{
    const bool ends = hs_question__text(question, names[1]);
    return hs_error__set(&question->error, EINVAL, "%s: is later than %s%s%s", names[0],
                         ends ? "'" : "the end of the recording", ends ? names[1] : "", ends ? "'" : "");
}

int hs_question__range(struct hs_question *question, const struct hs_rest_state *state, const char *const names[2],
                       uint64_t *from, uint64_t *to)
{
    int result = parse_time(question, state, names[0], from);
    if (!result)
        result = parse_time(question, state, names[1], to);
    return !result && *from > *to ? refuse_reversed(question, names) : result;
}

// Whether from and to are not where a timeline begins and ends.
static bool has_axis(const struct hs_question *question)
{
    return hs_uri__value(&question->uri, "axis_from") || hs_uri__value(&question->uri, "axis_to");
}

int hs_question__axis(struct hs_question *question, uint64_t *from, uint64_t *to)
{
    const bool axis = has_axis(question), filters = question->endpoint->takes & HS_TAKES_FILTER;
    const char *const names[] = {axis ? "axis_from" : "from", axis ? "axis_to" : "to"};
    if (axis && !filters && (hs_uri__value(&question->uri, "from") || hs_uri__value(&question->uri, "to")))
        return hs_error__set(&question->error, EINVAL,
                             "axis_from: here it means the same as from; give only one of them");
    return hs_question__range(question, question->state, names, from, to);
}

// Instants with a name.
static const char peak[] = "peak", resident_peak[] = "peak_rss";

static int find_resident_peak(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct resolving *resolving = context;
    uint64_t *time = calloc(1, sizeof(*time)), resident;
    if (!time)
        return hs_error__set(error, ENOMEM, "out of memory");
    *value = time;
    *bytes = sizeof(*time);
    int result =
        hs_query__resident_peak(resolving->state->store, &resolving->question->control, time, &resident, error);
    if (result)
        free(time);
    return result;
}

// When the resident memory of the process was first largest.
static int read_resident_peak(struct hs_question *question, const struct hs_rest_state *state, const char *name,
                              uint64_t *time)
{
    struct resolving resolving = {.question = question, .state = state};
    const struct hs_cache_maker maker = {find_resident_peak, &resolving, free};
    void *value = NULL;
    char absence[128];
    if (hs_events__absence(HS_EVENTS_FAULTS, state->store, absence, sizeof(absence)))
        return hs_error__set(&question->error, ENOENT, "%s: the trace %s", name, absence);
    int result = hs_question__cached(question, state, resident_peak, &maker, &value);
    if (!result)
        *time = *(const uint64_t *)value;
    return result;
}

int hs_question__narrow(struct hs_question *question, const struct hs_rest_state *state, const char *name,
                        struct hs_filter *filter)
{
    const char *text = hs_question__text(question, name);
    const struct hs_summary *summary = state ? hs_store__summary(state->store) : NULL;
    uint64_t time = summary ? summary->peak_time : 0;
    int result = 0;
    if (!text)
        return 0;
    if (state && !strcmp(text, resident_peak)) {
        result = read_resident_peak(question, state, name, &time);
    } else if (strcmp(text, peak) != 0) {
        result = read_time(question, state, name, text, &time);
    } else if (!summary || !summary->is_aggregate) {
        filter->flags_all |= HS_ROW_AT_PEAK;
        return 0;
    }
    // One that is alive at three instants is alive at the first and the last of them.
    if (!result && filter->alive_count < 2)
        filter->alive_at[filter->alive_count++] = time;
    else if (!result) {
        unsigned later = filter->alive_at[1] > filter->alive_at[0];
        if (time > filter->alive_at[later])
            filter->alive_at[later] = time;
        else if (time < filter->alive_at[!later])
            filter->alive_at[!later] = time;
    }
    return result;
}

enum { LONGEST_WORD = 64 };

static bool is_word(const char *text, const char *choices)
{
    size_t length = strlen(text);
    for (const char *at = choices; length && (at = strstr(at, text)); at++)
        if ((at == choices || at[-1] == ' ') && (!at[length] || at[length] == ' ') && !strchr(text, ' '))
            return true;
    return false;
}

static int check_number(struct hs_question *question, const struct hs_rest_parameter *parameter, const char *value)
{
    uint64_t most = parameter->most ? parameter->most : UINT64_MAX;
    errno = 0;
    uint64_t number = hs_string__is_digits(value) ? strtoull(value, NULL, 10) : 0;
    if (hs_string__is_digits(value) && !errno && number >= parameter->least && number <= most)
        return 0;
    if (parameter->most)
        return hs_error__set(&question->error, EINVAL, "%s: '%s' is not a whole number from %llu to %llu",
                             parameter->name, value, (unsigned long long)parameter->least, (unsigned long long)most);
    if (parameter->least)
        return hs_error__set(&question->error, EINVAL, "%s: '%s' is not a whole number of at least %llu",
                             parameter->name, value, (unsigned long long)parameter->least);
    return hs_error__set(&question->error, EINVAL, "%s: '%s' is not a whole number such as 0, 1 or 20", parameter->name,
                         value);
}

static int check_real(struct hs_question *question, const struct hs_rest_parameter *parameter, const char *value)
{
    size_t whole = strspn(value, "0123456789");
    size_t all = whole + (value[whole] == '.' ? 1 + strspn(value + whole + 1, "0123456789") : 0);
    if (whole && !value[all] && strlen(value) < 32)
        return 0;
    return hs_error__set(&question->error, EINVAL, "%s: '%s' is not a number such as 0, 0.5 or 2", parameter->name,
                         value);
}

static int check_choices(struct hs_question *question, const struct hs_rest_parameter *parameter, const char *value)
{
    char word[64];
    for (const char *at = value;; at++) {
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word) - 1), at);
        if (!is_word(word, parameter->choices))
            return hs_error__set(&question->error, EINVAL, "%s: '%s' is none of: %s", parameter->name, word,
                                 parameter->choices);
        for (const char *before = value; before < at; before += strcspn(before, ",") + 1)
            if (strcspn(before, ",") == length && !strncmp(before, at, length))
                return hs_error__set(&question->error, EINVAL, "%s: '%s' is given twice", parameter->name, word);
        at += length;
        if (!*at)
            return 0;
    }
}

// Of a value that is too long to be right, the begin: the message has to end with what is right.
static const char *shortened(const char *value, char begin[LONGEST_WORD + sizeof("...")])
{
    size_t length = LONGEST_WORD;
    if (strlen(value) <= LONGEST_WORD)
        return value;
    while (length && ((unsigned char)value[length] & 0xc0) == 0x80)
        length--;
    memcpy(begin, value, length);
    memcpy(begin + length, "...", sizeof("..."));
    return begin;
}

static int check_value(struct hs_question *question, const struct hs_rest_parameter *parameter, const char *given)
{
    const bool is_short = parameter->kind == HS_REST_NUMBER || parameter->kind == HS_REST_REAL ||
                          parameter->kind == HS_REST_FLAG || parameter->kind == HS_REST_CHOICE;
    char begin[LONGEST_WORD + sizeof("...")];
    const char *value = is_short ? shortened(given, begin) : given;
    switch (parameter->kind) {
    case HS_REST_NUMBER:
        return check_number(question, parameter, value);
    case HS_REST_REAL:
        return check_real(question, parameter, value);
    case HS_REST_FLAG:
        if (!strcmp(value, "true") || !strcmp(value, "false"))
            return 0;
        return hs_error__set(&question->error, EINVAL, "%s: '%s' is neither true nor false", parameter->name, value);
    case HS_REST_CHOICE:
        if (is_word(value, parameter->choices))
            return 0;
        return hs_error__set(&question->error, EINVAL, "%s: '%s' is none of: %s", parameter->name, value,
                             parameter->choices);
    case HS_REST_CHOICES:
        return check_choices(question, parameter, value);
    case HS_REST_INSTANT:
        return strcmp(value, peak) && strcmp(value, resident_peak)
                   ? read_time(question, NULL, parameter->name, value, NULL)
                   : 0;
    case HS_REST_TIME:
        return read_time(question, NULL, parameter->name, value, NULL);
    default:
        return 0;
    }
}

static bool is_repeated(const struct hs_uri *uri, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (!strcmp(uri->parameter[i].name, uri->parameter[number].name))
            return true;
    return false;
}

static bool is_time_of_filter(const struct hs_question *question, const struct hs_rest_parameter *own)
{
    return question->endpoint->takes & HS_TAKES_FILTER && find_parameter(question->endpoint, "axis_from") &&
           has_axis(question) && (!strcmp(own->name, "from") || !strcmp(own->name, "to"));
}

static int take_parameter(struct hs_question *question, struct hs_filter_parameters *filter, size_t number)
{
    const struct hs_uri_parameter *given = &question->uri.parameter[number];
    const struct hs_rest_parameter *own = find_parameter(question->endpoint, given->name);
    if (own && is_time_of_filter(question, own))
        own = NULL;
    if (own && is_repeated(&question->uri, number))
        return hs_error__set(&question->error, EINVAL, "%s: is given twice", given->name);
    if (own)
        return check_value(question, own, given->value);
    if (!(question->endpoint->takes & (HS_TAKES_FILTER | HS_TAKES_SLICE)))
        return hs_unknown__check(question->endpoint, given->name, &question->error);
    switch (hs_filter_parameters__take(filter, given->name, given->value, &question->error)) {
    case HS_PARAMETER_WRONG:
        return -EINVAL;
    case HS_PARAMETER_TAKEN:
        return 0;
    default:
        return hs_unknown__check(question->endpoint, given->name, &question->error);
    }
}

static int check_required(struct hs_question *question)
{
    const struct hs_rest_parameter *parameter = question->endpoint->parameters;
    for (; parameter && parameter->name; parameter++)
        if (parameter->required && !hs_uri__value(&question->uri, parameter->name))
            return hs_error__set(&question->error, EINVAL, "%s: has to be given; it is %s", parameter->name,
                                 parameter->help);
    return 0;
}

static int take_parameters(struct hs_question *question, struct hs_filter_parameters *filter)
{
    int result = 0;
    hs_filter_parameters__init(filter, HS_TIME_UNIT_AUTO);
    for (size_t i = 0; i < question->uri.parameters && !result; i++)
        result = take_parameter(question, filter, i);
    return result ? result : check_required(question);
}

int hs_question__filter_parameters(struct hs_question *question, struct hs_filter_parameters *parameters)
{
    return take_parameters(question, parameters);
}

// ---- the filter -----------------------------------------------------------------------------------------------------

static void free_resolved(void *value)
{
    hs_resolved_filter__free(value);
    free(value);
}

static int resolve(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct resolving *resolving = context;
    struct hs_resolved_filter *resolved = calloc(1, sizeof(*resolved));
    if (!resolved)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_filter_parameters__resolve(&resolving->parameters, resolving->state->scope,
                                               &resolving->question->control, resolved, error);
    if (result) {
        free(resolved);
        return result;
    }
    size_t nodes = 0;
    hs_store__nodes(resolving->state->store, &nodes);
    *value = resolved;
    *bytes = hs_resolved_filter__bytes(resolved, nodes);
    return 0;
}

static int resolve_parameters(struct hs_question *question, const struct hs_rest_state *state,
                              struct resolving *resolving, struct hs_filter *filter)
{
    char *key = NULL;
    char *text = hs_filter_parameters__text(&resolving->parameters);
    void *value = NULL;
    const struct hs_cache_maker maker = {resolve, resolving, free_resolved};
    if (!text || asprintf(&key, "filter?%s", text) < 0) {
        free(text);
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    }
    int result = hs_question__cached(question, state, key, &maker, &value);
    if (!result) {
        const struct hs_resolved_filter *resolved = value;
        *filter = resolved->filter;
        if (resolved->nothing)
            filter->kinds = 0;
    }
    free(key);
    free(text);
    return result;
}

static char *name_filter(const struct hs_filter_parameters *parameters, const char *at)
{
    char *text = hs_filter_parameters__text(parameters);
    char *named = NULL;
    if (!text || asprintf(&named, "%s&at=%s", text, at ? at : "") < 0)
        named = NULL;
    free(text);
    return named;
}

// Without a range of its own, the base has that of the question.
static int take_base_parameters(struct hs_question *question, struct hs_filter_parameters *filter)
{
    static const char *const range[][2] = {{"from", "base_from"}, {"to", "base_to"}};
    const bool has_range = hs_uri__value(&question->uri, "base_from") || hs_uri__value(&question->uri, "base_to");
    int result = 0;
    hs_filter_parameters__init(filter, HS_TIME_UNIT_AUTO);
    for (size_t i = 0; i < question->uri.parameters && !result; i++) {
        const char *name = question->uri.parameter[i].name;
        if (!has_range || (strcmp(name, range[0][0]) != 0 && strcmp(name, range[1][0]) != 0))
            result = take_parameter(question, filter, i);
    }
    for (size_t i = 0; i < 2 && !result; i++) {
        const char *value = hs_uri__value(&question->uri, range[i][1]);
        if (value && hs_filter_parameters__take(filter, range[i][0], value, &question->error) != HS_PARAMETER_TAKEN)
            result = -EINVAL;
    }
    return result;
}

int hs_question__base_filter(struct hs_question *question, const struct hs_rest_state *state, struct hs_filter *filter,
                             char **key)
{
    struct resolving resolving = {.question = question, .state = state};
    *key = NULL;
    int result = take_base_parameters(question, &resolving.parameters);
    if (!result)
        result = resolve_parameters(question, state, &resolving, filter);
    if (!result)
        result = hs_question__narrow(question, state, "base_at", filter);
    if (!result)
        *key = name_filter(&resolving.parameters, hs_question__text(question, "base_at"));
    hs_filter_parameters__free(&resolving.parameters);
    return result || *key ? result : hs_error__set(&question->error, ENOMEM, "out of memory");
}

int hs_question__read_cost(struct hs_question *question, const struct hs_store *store, const char *word,
                           enum hs_cost *cost)
{
    *cost = hs_cost__parse(word);
    if (hs_events__costs(question->events, store) >> *cost & 1)
        return 0;
    return hs_error__set(&question->error, EINVAL, "cost: '%s' is not known for %s", word,
                         hs_events_kind__of(question->events)->words);
}

// Whether the trace has what is asked for, and the filter can be asked of it.
static int check_events(struct hs_question *question)
{
    const char *word = question->endpoint->takes & HS_TAKES_EVENTS ? hs_question__text(question, "events") : NULL;
    question->events = word ? hs_events__parse(word) : question->endpoint->events;
    char absence[128];
    if (hs_events__absence(question->events, question->store, absence, sizeof(absence)))
        return hs_error__set(&question->error, ENOENT, "the trace %s", absence);
    if (hs_events__are_samples(question->events) && question->not_of_samples)
        return hs_error__set(&question->error, EINVAL, "%s: is a property of blocks, which samples do not have",
                             question->not_of_samples);
    if (hs_events__are_touched(question->events))
        question->filter = hs_events__filter(question->events, &question->filter);
    return 0;
}

int hs_question__check(struct hs_question *question)
{
    struct resolving resolving = {.question = question, .state = question->state};
    int result = take_parameters(question, &resolving.parameters);
    hs_filter__init(&question->filter);
    question->strip = !result && hs_question__flag(question, "strip_template_args");
    if (!result && question->endpoint->takes & HS_TAKES_FILTER) {
        question->restricted =
            !hs_filter_parameters__are_empty(&resolving.parameters) || hs_question__text(question, "at");
        question->filter_text = name_filter(&resolving.parameters, hs_question__text(question, "at"));
        question->not_of_samples =
            hs_uri__value(&question->uri, "at") ? "at" : hs_filter_parameters__not_of_samples(&resolving.parameters);
        result = question->filter_text ? 0 : hs_error__set(&question->error, ENOMEM, "out of memory");
        if (!result)
            result = resolve_parameters(question, question->state, &resolving, &question->filter);
        if (!result && hs_uri__value(&question->uri, "to") && question->filter.time_min > question->filter.time_max)
            result = refuse_reversed(question, (const char *const[]){"from", "to"});
        if (!result)
            result = hs_question__narrow(question, question->state, "at", &question->filter);
    }
    if (!result && question->store)
        result = check_events(question);
    hs_filter_parameters__free(&resolving.parameters);
    return result;
}

// ---- what is kept ---------------------------------------------------------------------------------------------------

struct question_making {
    const struct hs_cache_maker *maker;
    bool made;
};

static int make_noting(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct question_making *making = context;
    making->made = true;
    return making->maker->make(making->maker->context, value, bytes, error);
}

int hs_question__cached(struct hs_question *question, const struct hs_rest_state *state, const char *key,
                        const struct hs_cache_maker *maker, void **value)
{
    char *whole = NULL;
    struct hs_cached *cached = NULL;
    if (question->held_count == HS_QUESTION_HELD)
        return hs_error__set(&question->error, EOVERFLOW,
                             "the query needs too many results of other queries; split it");
    if (asprintf(&whole, "%s%s", state->key, key) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    struct question_making making = {maker, false};
    const struct hs_cache_maker noting = {make_noting, &making, maker->destroy};
    int result = hs_cache__get(question->rest->cache, whole, &noting, &cached, &question->error);
    free(whole);
    if (result)
        return result;
    if (!making.made)
        hs_explanation__add(question->control.explanation, key, HS_BY_CACHE);
    question->held[question->held_count++] = cached;
    *value = hs_cached__value(cached);
    return 0;
}

struct question_adding {
    struct hs_question *question;
    const struct hs_rest_state *state;
    const struct hs_filter *filter;
    struct hs_plan plan; // of a table
};

static void free_totals(void *value)
{
    hs_totals__free(value);
    free(value);
}

static int add_up_instant(const struct question_adding *adding, struct hs_totals *totals, struct hs_error *error)
{
    const struct hs_rest_state *state = adding->state;
    const struct hs_filter *filter = adding->filter;
    if (!state->series)
        return hs_ticks__totals(state->path, state->store, filter, &adding->question->control, totals, error);
    if (hs_dump_series__totals_at(state->series, filter->alive_at[0], filter->stacks.words ? &filter->stacks : NULL,
                                  totals))
        return hs_error__set(error, ENOMEM, "out of memory");
    return 0;
}

static int add_up(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct question_adding *adding = context;
    struct hs_totals *totals = calloc(1, sizeof(*totals));
    if (!totals)
        return hs_error__set(error, ENOMEM, "out of memory");
    const struct hs_rest_state *state = adding->state;
    const struct hs_query_control *control = &adding->question->control;
    int result =
        hs_ticks__are_asked(state->store, adding->filter)
            ? add_up_instant(adding, totals, error)
            : hs_query__event_totals(state->store, adding->question->events, adding->filter, control, totals, error);
    if (result) {
        free(totals);
        return result;
    }
    *value = totals;
    *bytes = sizeof(*totals) + malloc_usable_size(totals->total);
    return 0;
}

int hs_question__totals_of(struct hs_question *question, const struct hs_rest_state *state,
                           const struct hs_filter *filter, const char *filter_key, const struct hs_totals **totals)
{
    char *key = NULL;
    void *value = NULL;
    struct question_adding adding = {.question = question, .state = state, .filter = filter};
    const struct hs_cache_maker maker = {add_up, &adding, free_totals};
    if (asprintf(&key, "totals?%d&%s", (int)question->events, filter_key) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, state, key, &maker, &value);
    free(key);
    *totals = value;
    return result;
}

int hs_question__totals(struct hs_question *question, const struct hs_totals **totals)
{
    return hs_question__totals_of(question, question->state, &question->filter, question->filter_text, totals);
}

// ---- values ---------------------------------------------------------------------------------------------------------

static int add_value(void *context, uint32_t stack, uint64_t bytes, uint64_t count)
{
    struct hs_stack_values *values = context;
    if (!bytes && !count) // collapsed stacks have bytes only
        return 0;
    if (!HS_ARRAY_HAS_ROOM(values->at, values->count, values->room))
        return -ENOMEM;
    values->at[values->count++] = (struct hs_stack_value){stack, {bytes, count}};
    return 0;
}

static void free_table(void *value)
{
    hs_packed__close(value);
    free(value);
}

static int make_table(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct question_adding *adding = context;
    struct hs_packed *table = calloc(1, sizeof(*table));
    if (!table)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_query__stack_totals_column(adding->state->store, adding->filter, &adding->question->control,
                                               &adding->plan, table, error);
    if (result) {
        free(table);
        return result;
    }
    *value = table;
    *bytes = sizeof(*table) + table->mapped;
    return 0;
}

// Samples are not in tables, but there are few of them. If no temporary file can be created, totals are used.
int hs_question__stack_totals_of(struct hs_question *question, const struct hs_rest_state *state,
                                 const struct hs_filter *filter, const char *filter_key, struct hs_stack_totals *stacks)
{
    char *key = NULL;
    void *value = NULL;
    struct question_adding adding = {.question = question, .state = state, .filter = filter};
    const struct hs_cache_maker maker = {make_table, &adding, free_table};
    *stacks = (struct hs_stack_totals){0};
    if (question->events != HS_EVENTS_HEAP || hs_ticks__are_asked(state->store, filter))
        return hs_question__totals_of(question, state, filter, filter_key, &stacks->totals);
    adding.plan = hs_planner__choose(&question->control, state->store, filter, HS_ASKED_TOTALS);
    if (adding.plan.by == HS_BY_STACK_TOTALS) {
        stacks->table = adding.plan.stack_totals;
        stacks->stacks = filter->stacks;
        return 0;
    }
    if (asprintf(&key, "table?%s", filter_key) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, state, key, &maker, &value);
    free(key);
    stacks->table = value;
    if (result != -EIO)
        return result;
    question->error.message[0] = 0;
    return hs_question__totals_of(question, state, filter, filter_key, &stacks->totals);
}

int hs_question__stack_totals(struct hs_question *question, struct hs_stack_totals *stacks)
{
    return hs_question__stack_totals_of(question, question->state, &question->filter, question->filter_text, stacks);
}

int hs_question__values(struct hs_question *question, enum hs_cost cost, struct hs_stack_values *values)
{
    struct hs_stack_totals stacks;
    *values = (struct hs_stack_values){0};
    int result = hs_question__stack_totals(question, &stacks);
    if (result)
        return result;
    if (hs_stack_totals__each_value(&stacks, hs_cost__key(cost), hs_cost__count_key(cost), add_value, values))
        result = hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return result;
}

void hs_stack_values__free(struct hs_stack_values *values)
{
    free(values->at);
    *values = (struct hs_stack_values){0};
}
