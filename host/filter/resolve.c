// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/numbers.h"
#include "host/filter/allocator.h"
#include "host/filter/expression.h"
#include "host/filter/main_heap.h"
#include "host/filter/stacks.h"
#include "host/filter/where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A time is beyond all others, but a block may be there at it.
#define LATEST (HS_NEVER - 1)

// Whole numbers up to this many times the seconds of the recording are seconds, larger ones are milliseconds. The
// factor is about the geometric mean of 1 and 1000.
#define SECONDS_AT_MOST 32

struct resolution {
    const struct hs_filter_parameters *parameters;
    struct hs_filter_scope *scope;
    const struct hs_query_control *control;
    struct hs_resolved_filter *resolved;
    struct hs_filter *filter;
    struct hs_error *error;
    uint64_t runtime;
    uint64_t second; // since 1970, at the end of the recording
    bool seed_era;
    enum hs_time_unit unit;
    const struct resolution *outer; // of a part of `where`: what stands around it
};

static const struct hs_given_parameter *find(const struct resolution *resolution, enum hs_parameter_id id)
{
    return hs_given_parameter__find(resolution->parameters, id);
}

// Objects to which the filter points are freed with it.
static void keep(struct resolution *resolution, void *memory)
{
    resolution->resolved->memory[resolution->resolved->memory_count++] = memory;
}

static void match_nothing(struct resolution *resolution)
{
    resolution->resolved->nothing = true;
    resolution->filter->kinds = 0;
}

// ---- times ---------------------------------------------------------------------------------------------------------

static enum hs_time_unit unit_of(const struct resolution *resolution)
{
    const struct hs_given_parameter *unit = find(resolution, HS_PARAMETER_TIME_UNIT);
    const struct hs_given_parameter *era = find(resolution, HS_PARAMETER_ERA);
    if (unit)
        return hs_given_parameter__is(unit, "s")       ? HS_TIME_UNIT_SECONDS
               : hs_given_parameter__is(unit, "ms")    ? HS_TIME_UNIT_MILLISECONDS
               : hs_given_parameter__is(unit, "start") ? HS_TIME_UNIT_START
                                                       : HS_TIME_UNIT_AUTO;
    if (era)
        return resolution->seed_era ? HS_TIME_UNIT_SECONDS : HS_TIME_UNIT_MILLISECONDS;
    return resolution->outer ? resolution->outer->unit : resolution->parameters->time_unit;
}

static uint64_t clamp(unsigned __int128 time)
{
    return time > LATEST ? LATEST : (uint64_t)time;
}

// A number of units since 1970, as time of the trace. The end of the unit is the last time before the next one begins.
static uint64_t absolute(const struct resolution *resolution, const struct hs_given_parameter *given, uint64_t unit_ns,
                         bool to_end)
{
    unsigned __int128 realtime = (unsigned __int128)given->decimal.whole * unit_ns;
    realtime += (unsigned __int128)given->decimal.nano * unit_ns / HS_NANO;
    const struct hs_store *store = resolution->scope->store;
    if (!to_end || given->fraction)
        return clamp(hs_store__time_of_realtime(store, clamp(realtime)));
    uint64_t next = hs_store__time_of_realtime(store, clamp(realtime + unit_ns));
    return clamp(next ? next - 1 : 0);
}

static uint64_t time_point(const struct resolution *resolution, const struct hs_given_parameter *given)
{
    bool to_end = hs_parameters[given->id].kind == HS_PARAMETER_TIME_END;
    enum hs_time_unit unit = resolution->unit;
    if (given->form == HS_VALUE_PERCENT)
        return clamp(hs_quantity__share(given->decimal, resolution->runtime));
    if (given->form == HS_VALUE_LENGTH)
        return clamp(given->number);
    if (unit == HS_TIME_UNIT_START)
        return clamp((unsigned __int128)given->decimal.whole * HS_NANO + given->decimal.nano);
    if (unit == HS_TIME_UNIT_AUTO)
        unit = given->decimal.whole / SECONDS_AT_MOST > resolution->second ? HS_TIME_UNIT_MILLISECONDS
                                                                           : HS_TIME_UNIT_SECONDS;
    return absolute(resolution, given, unit == HS_TIME_UNIT_SECONDS ? HS_NANO : HS_NANO / 1000, to_end);
}

static uint64_t group_time_point(const void *context, const struct hs_given_parameter *given)
{
    return time_point(context, given);
}

static void resolve_times(struct resolution *resolution)
{
    static const enum hs_parameter_id alive[] = {HS_PARAMETER_ALIVE_AT, HS_PARAMETER_ALIVE_AT_2};
    struct hs_filter *filter = resolution->filter;
    const struct hs_given_parameter *from = find(resolution, HS_PARAMETER_FROM);
    const struct hs_given_parameter *to = find(resolution, HS_PARAMETER_TO);
    if (from)
        filter->time_min = time_point(resolution, from);
    if (to)
        filter->time_max = time_point(resolution, to);
    for (size_t i = 0; i < 2; i++) {
        const struct hs_given_parameter *given = find(resolution, alive[i]);
        if (given)
            filter->alive_at[filter->alive_count++] = time_point(resolution, given);
    }
}

// The end of the range that is asked about: a part of `where` that has none is asked about the one around it.
static uint64_t range_end(const struct resolution *resolution)
{
    const struct resolution *outer = find(resolution, HS_PARAMETER_TO) ? NULL : resolution->outer;
    return (outer ? outer : resolution)->filter->time_max;
}

static void resolve_lifetime(struct resolution *resolution)
{
    struct hs_filter *filter = resolution->filter;
    const uint64_t to = range_end(resolution);
    const struct hs_given_parameter *given = find(resolution, HS_PARAMETER_LIFETIME);
    if (hs_given_parameter__is(given, "only_leaked") || hs_given_parameter__is(given, "only_whole_group_leaked"))
        filter->never_freed_only = true;
    else if (hs_given_parameter__is(given, "only_chain_leaked"))
        filter->chain_never_freed_only = true;
    else if (hs_given_parameter__is(given, "only_temporary"))
        filter->freed_only = true;
    else if (hs_given_parameter__is(given, "only_not_deallocated_in_current_range"))
        filter->free_min = to > LATEST ? HS_NEVER : to + 1;
    else if (hs_given_parameter__is(given, "only_deallocated_in_current_range")) {
        filter->freed_only = true;
        filter->free_max = clamp(to);
    }
}

// ---- numbers -------------------------------------------------------------------------------------------------------

static void resolve_numbers(struct resolution *resolution)
{
    struct hs_filter *filter = resolution->filter;
    const struct {
        enum hs_parameter_id id;
        uint64_t *number;
        uint32_t *small_number;
    } numbers[] = {
        {HS_PARAMETER_ADDRESS_MIN, &filter->address_min, NULL},
        {HS_PARAMETER_ADDRESS_MAX, &filter->address_max, NULL},
        {HS_PARAMETER_SIZE_MIN, &filter->size_min, NULL},
        {HS_PARAMETER_SIZE_MAX, &filter->size_max, NULL},
        {HS_PARAMETER_FIRST_SIZE_MIN, &filter->first_size_min, NULL},
        {HS_PARAMETER_FIRST_SIZE_MAX, &filter->first_size_max, NULL},
        {HS_PARAMETER_LAST_SIZE_MIN, &filter->last_size_min, NULL},
        {HS_PARAMETER_LAST_SIZE_MAX, &filter->last_size_max, NULL},
        {HS_PARAMETER_LIFETIME_MIN, &filter->lifetime_min, NULL},
        {HS_PARAMETER_LIFETIME_MAX, &filter->lifetime_max, NULL},
        {HS_PARAMETER_CHAIN_LIFETIME_MIN, &filter->chain_lifetime_min, NULL},
        {HS_PARAMETER_CHAIN_LIFETIME_MAX, &filter->chain_lifetime_max, NULL},
        {HS_PARAMETER_CHAIN_LENGTH_MIN, NULL, &filter->chain_length_min},
        {HS_PARAMETER_CHAIN_LENGTH_MAX, NULL, &filter->chain_length_max},
        {HS_PARAMETER_POSITION_IN_CHAIN_MIN, NULL, &filter->position_min},
        {HS_PARAMETER_POSITION_IN_CHAIN_MAX, NULL, &filter->position_max},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const struct hs_given_parameter *given = find(resolution, numbers[i].id);
        if (given && numbers[i].number)
            *numbers[i].number = given->number;
        else if (given)
            *numbers[i].small_number = (uint32_t)given->number;
    }
    filter->unfreed_live_forever = resolution->seed_era;
}

static int out_of_memory(const struct resolution *resolution, enum hs_parameter_id id)
{
    return hs_error__set(resolution->error, ENOMEM, "%s: out of memory", hs_parameters[id].name);
}

// ---- sets ----------------------------------------------------------------------------------------------------------

static bool is_thread(const struct hs_thread *thread, const char *text)
{
    uint64_t tid;
    return !strcmp(thread->name, text) || (hs_quantity__number(text, &tid) && tid == thread->tid);
}

// Threads that neither allocate nor free are known by their samples alone.
static bool is_sampled(const struct hs_store *store, uint64_t tid)
{
    size_t count;
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (sample[i].tid == tid)
            return true;
    }
    return false;
}

static bool add_number(struct resolution *resolution, uint32_t *tids, const char *text)
{
    uint64_t tid;
    if (!hs_quantity__number(text, &tid) || !is_sampled(resolution->scope->store, tid))
        return false;
    tids[resolution->filter->tid_count++] = (uint32_t)tid;
    return true;
}

static int add_threads(struct resolution *resolution, uint64_t *words, uint32_t *tids, const char *text)
{
    size_t count;
    bool found = add_number(resolution, tids, text);
    const struct hs_thread *threads = hs_store__threads(resolution->scope->store, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_thread(&threads[i], text))
            continue;
        words[threads[i].stream / 64] |= (uint64_t)1 << (threads[i].stream % 64);
        found = true;
    }
    if (found)
        return 0;
    return hs_error__set(resolution->error, EINVAL,
                         "thread: the trace has no thread '%.60s'; 'heapsonde report --threads' lists them", text);
}

static int resolve_threads(struct resolution *resolution)
{
    const struct hs_filter_parameters *parameters = resolution->parameters;
    size_t count;
    uint32_t highest = 0;
    if (!find(resolution, HS_PARAMETER_THREAD))
        return 0;
    const struct hs_thread *threads = hs_store__threads(resolution->scope->store, &count);
    for (size_t i = 0; i < count; i++)
        highest = threads[i].stream > highest ? threads[i].stream : highest;
    uint64_t *words = calloc((size_t)highest / 64 + 1, sizeof(*words));
    uint32_t *tids = calloc(parameters->count, sizeof(*tids));
    keep(resolution, words);
    keep(resolution, tids);
    if (!words || !tids)
        return out_of_memory(resolution, HS_PARAMETER_THREAD);
    resolution->filter->tids = tids;
    resolution->filter->streams = (struct hs_set){words, (size_t)highest + 1};
    int result = 0;
    for (size_t i = 0; !result && i < parameters->count; i++) {
        if (parameters->given[i].id == HS_PARAMETER_THREAD)
            result = add_threads(resolution, words, tids, parameters->given[i].text);
    }
    return result;
}

static int resolve_free_stack(struct resolution *resolution)
{
    const struct hs_given_parameter *given = find(resolution, HS_PARAMETER_DEALLOCATION_BACKTRACES);
    size_t count;
    if (!given)
        return 0;
    hs_store__nodes(resolution->scope->store, &count);
    uint64_t *words = calloc(count / 64 + 1, sizeof(*words));
    if (!words)
        return out_of_memory(resolution, HS_PARAMETER_DEALLOCATION_BACKTRACES);
    keep(resolution, words);
    resolution->filter->free_stacks = (struct hs_set){words, count};
    resolution->filter->freed_only = true;
    if (given->number < count)
        words[given->number / 64] |= (uint64_t)1 << (given->number % 64);
    return 0;
}

static int resolve_frames(struct resolution *resolution)
{
    struct hs_stack_question question = {
        .parameters = resolution->parameters, .scope = resolution->scope, .control = resolution->control};
    int result = hs_stack_question__ask_frames(&question, resolution->error);
    if (question.words)
        keep(resolution, question.words);
    resolution->filter->stacks = (struct hs_set){question.words, question.stacks};
    return result;
}

static int resolve_stacks(struct resolution *resolution)
{
    struct hs_stack_question question = {
        .parameters = resolution->parameters, .scope = resolution->scope, .control = resolution->control};
    int result = hs_stack_question__ask_number(&question, resolution->error);
    if (!result)
        result = hs_stack_question__ask_frames(&question, resolution->error);
    if (!result)
        result = hs_stack_question__ask_groups(&question, group_time_point, resolution, resolution->error);
    if (question.words)
        keep(resolution, question.words);
    resolution->filter->stacks = (struct hs_set){question.words, question.stacks};
    return result;
}

// ---- what happened in the trace ------------------------------------------------------------------------------------

// The times at which the marker that was set last is the wanted one; before the first mark it is 0.
static int resolve_marker(struct resolution *resolution)
{
    const struct hs_given_parameter *given = find(resolution, HS_PARAMETER_MARKER);
    size_t count, ranges = 0;
    if (!given)
        return 0;
    const struct hs_side_event *events = hs_store__side_events(resolution->scope->store, &count);
    struct hs_time_range *range = calloc(count + 2, sizeof(*range));
    if (!range)
        return out_of_memory(resolution, HS_PARAMETER_MARKER);
    keep(resolution, range);
    bool is_set = given->number == 0;
    for (size_t i = 0; i < count; i++) {
        bool sets = (uint32_t)events[i].value == given->number;
        if (events[i].kind != HS_SIDE_MARK || sets == is_set)
            continue;
        if (sets)
            range[ranges].first = events[i].time;
        else if (events[i].time > range[ranges].first)
            range[ranges++].last = events[i].time - 1;
        is_set = sets;
    }
    if (is_set)
        range[ranges++].last = UINT64_MAX;
    resolution->filter->times = range;
    resolution->filter->time_count = ranges;
    return 0;
}

static int resolve_map(struct resolution *resolution)
{
    const struct hs_given_parameter *given = find(resolution, HS_PARAMETER_FROM_MAP);
    const struct hs_columns *columns = hs_store__columns(resolution->scope->store);
    if (!given)
        return 0;
    uint64_t row = given->number;
    if (row >= columns->rows || hs_kind_domain(hs_row__kind(columns, row)) != HS_DOMAIN_MAP)
        return hs_error__set(resolution->error, EINVAL, "from_map: the trace has no mapping %s", given->text);
    uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
    hs_number__raise(&resolution->filter->address_min, address);
    hs_number__lower(&resolution->filter->address_max, address + (size ? size - 1 : 0));
    hs_number__raise(&resolution->filter->time_min, hs_row__time(columns, row));
    hs_number__lower(&resolution->filter->time_max, hs_row__free_time(columns, row));
    return 0;
}

// The conditions about the place that glibc chose for a block.
struct placement {
    struct hs_main_heap heap;
    bool asks_mapped, mapped; // it has a mapping of its own, or not
    bool asks_main, main;     // it lies in the main arena, or in another one
};

static bool is_placed(void *context, const struct hs_store *store, uint64_t row)
{
    const struct placement *placement = context;
    const bool mapped = hs_allocator__is_mapped(store, row);
    if (placement->asks_mapped && mapped != placement->mapped)
        return false;
    // A block with its own mapping is in no arena.
    return !placement->asks_main || (!mapped && hs_main_heap__has(&placement->heap, store, row) == placement->main);
}

static int resolve_placement(struct resolution *resolution, const struct hs_given_parameter *mapped,
                             const struct hs_given_parameter *arena)
{
    struct placement *placement = calloc(1, sizeof(*placement));
    keep(resolution, placement);
    if (!placement)
        return out_of_memory(resolution, (mapped ? mapped : arena)->id);
    hs_main_heap__find(resolution->scope->store, &placement->heap);
    placement->asks_mapped = mapped != NULL;
    placement->mapped = hs_given_parameter__is(mapped, "yes");
    placement->asks_main = arena != NULL;
    placement->main = hs_given_parameter__is(arena, "main");
    resolution->filter->accept = is_placed;
    resolution->filter->context = placement;
    return 0;
}

// The trace knows an allocator by its library, and the main arena by its addresses.
static int resolve_allocator(struct resolution *resolution)
{
    const struct hs_given_parameter *mapped = find(resolution, HS_PARAMETER_MMAPED);
    const struct hs_given_parameter *arena = find(resolution, HS_PARAMETER_ARENA);
    const struct hs_given_parameter *jemalloc = find(resolution, HS_PARAMETER_JEMALLOC);
    if (!mapped && !arena && !jemalloc)
        return 0;
    const enum hs_allocator allocator = hs_allocator__of(resolution->scope->store);
    const bool asks_glibc = mapped || arena;
    if ((jemalloc && hs_given_parameter__is(jemalloc, "yes") != (allocator == HS_ALLOCATOR_JEMALLOC)) ||
        (asks_glibc && allocator != HS_ALLOCATOR_GLIBC))
        match_nothing(resolution);
    return asks_glibc ? resolve_placement(resolution, mapped, arena) : 0;
}

// ---- filters within filters ----------------------------------------------------------------------------------------

static int resolve_part(const struct resolution *outer, const struct hs_filter_parameters *parameters,
                        struct hs_resolved_filter *resolved);

static int resolve_where(struct resolution *resolution)
{
    const struct hs_given_parameter *given = find(resolution, HS_PARAMETER_WHERE);
    if (!given)
        return 0;
    const struct hs_expression *expression = given->expression;
    struct hs_resolved_filter *resolved = resolution->resolved;
    int result = 0;
    resolved->part = calloc(expression->parts, sizeof(*resolved->part));
    if (!resolved->part)
        return out_of_memory(resolution, HS_PARAMETER_WHERE);
    while (!result && resolved->parts < expression->parts) {
        result = resolve_part(resolution, &expression->part[resolved->parts], &resolved->part[resolved->parts]);
        resolved->parts += !result;
    }
    if (!result && hs_where__join(&expression->logic, resolution->scope->store, resolved))
        result = out_of_memory(resolution, HS_PARAMETER_WHERE);
    return result;
}

// ---- all of it -----------------------------------------------------------------------------------------------------

static int resolve_all(struct resolution *resolution)
{
    resolve_times(resolution);
    resolve_lifetime(resolution);
    resolve_numbers(resolution);
    int result = resolve_allocator(resolution);
    if (!result)
        result = resolve_threads(resolution);
    if (!result)
        result = resolve_free_stack(resolution);
    if (!result)
        result = resolve_marker(resolution);
    if (!result)
        result = resolve_map(resolution);
    if (!result)
        result = resolve_stacks(resolution);
    return result ? result : resolve_where(resolution);
}

static int resolve_part(const struct resolution *outer, const struct hs_filter_parameters *parameters,
                        struct hs_resolved_filter *resolved)
{
    struct resolution resolution = *outer;
    resolution.parameters = parameters;
    resolution.resolved = resolved;
    resolution.filter = &resolved->filter;
    resolution.outer = outer;
    hs_filter__init(&resolved->filter);
    if (find(&resolution, HS_PARAMETER_ERA))
        resolution.seed_era = hs_given_parameter__is(find(&resolution, HS_PARAMETER_ERA), "0.1");
    resolution.unit = unit_of(&resolution);
    int result = resolve_all(&resolution);
    // The surrounding filter selects the domain.
    resolved->filter.domains = HS_FILTER_HEAP | HS_FILTER_POOL | HS_FILTER_MAP;
    if (result)
        hs_resolved_filter__free(resolved);
    return result;
}

int hs_filter_parameters__resolve(const struct hs_filter_parameters *parameters, struct hs_filter_scope *scope,
                                  const struct hs_query_control *control, struct hs_resolved_filter *resolved,
                                  struct hs_error *error)
{
    const struct hs_summary *summary = hs_store__summary(scope->store);
    struct resolution resolution = {.parameters = parameters,
                                    .scope = scope,
                                    .control = control,
                                    .resolved = resolved,
                                    .filter = &resolved->filter,
                                    .error = error,
                                    .runtime = summary->end_time};
    *resolved = (struct hs_resolved_filter){0};
    hs_filter__init(&resolved->filter);
    resolution.second = hs_store__realtime_ns(scope->store, summary->end_time) / HS_NANO;
    resolution.second += !resolution.second;
    resolution.seed_era = hs_given_parameter__is(find(&resolution, HS_PARAMETER_ERA), "0.1");
    resolution.unit = unit_of(&resolution);
    int result = resolve_all(&resolution);
    if (result)
        hs_resolved_filter__free(resolved);
    return result;
}

int hs_filter_parameters__resolve_frames(const struct hs_filter_parameters *parameters, struct hs_filter_scope *scope,
                                         const struct hs_query_control *control, struct hs_resolved_filter *resolved,
                                         struct hs_error *error)
{
    struct resolution resolution = {.parameters = parameters,
                                    .scope = scope,
                                    .control = control,
                                    .resolved = resolved,
                                    .filter = &resolved->filter,
                                    .error = error};
    *resolved = (struct hs_resolved_filter){0};
    hs_filter__init(&resolved->filter);
    const char *other = hs_filter_parameters__not_of_frames(parameters);
    if (other && find(&resolution, HS_PARAMETER_WHERE))
        return hs_error__set(error, EINVAL, "where: %s is a property of blocks, which are not known here", other);
    int result = resolve_frames(&resolution);
    if (!result)
        result = resolve_where(&resolution);
    if (result)
        hs_resolved_filter__free(resolved);
    return result;
}

void hs_resolved_filter__free(struct hs_resolved_filter *resolved)
{
    for (size_t i = 0; i < resolved->parts; i++)
        hs_resolved_filter__free(&resolved->part[i]);
    free(resolved->part);
    for (unsigned i = 0; i < resolved->memory_count; i++)
        free(resolved->memory[i]);
    *resolved = (struct hs_resolved_filter){0};
}

size_t hs_resolved_filter__bytes(const struct hs_resolved_filter *resolved, size_t stacks)
{
    size_t bytes = sizeof(*resolved) + resolved->memory_count * (stacks / 8 + 64);
    for (size_t i = 0; i < resolved->parts; i++)
        bytes += hs_resolved_filter__bytes(&resolved->part[i], stacks);
    return bytes;
}
