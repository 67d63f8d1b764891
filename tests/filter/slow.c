// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/filter/slow.h"

#include <check.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct slow_row {
    uint64_t time, end, address, size, usable;
    uint32_t stack, free_stack, stream;
    uint8_t kind;
    bool is_heap;
    uint64_t first, last, position, length; // of its chain
};

struct slow_group {
    uint64_t count, leaked, culled, first, last, peak_time;
};

struct slow_trace {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    uint64_t end_time;
    struct slow_row *row;
    uint64_t rows;
    struct slow_group *group; // by stack
    size_t stacks;
};

// ---- what is known of a trace --------------------------------------------------------------------------------------

static void read_rows(struct slow_trace *trace)
{
    const struct hs_columns *columns = hs_store__columns(trace->store);
    trace->rows = columns->rows;
    trace->row = calloc(trace->rows + 1, sizeof(*trace->row));
    for (uint64_t i = 0; i < trace->rows; i++) {
        struct slow_row *row = &trace->row[i];
        row->time = hs_row__time(columns, i);
        row->end = hs_row__free_time(columns, i);
        row->address = hs_row__address(columns, i);
        row->size = hs_row__size(columns, i);
        row->usable = row->size + hs_row__slack(columns, i);
        row->stack = hs_row__stack(columns, i);
        row->free_stack = hs_row__free_stack(columns, i);
        row->stream = hs_row__stream(columns, i);
        row->kind = hs_row__kind(columns, i);
        row->is_heap = row->kind <= HS_KIND_REALLOC;
        row->first = i;
        row->length = 1;
    }
}

// Each block hands on what it knows of its chain's beginning; the last one knows all of it and tells the others.
static void read_chains(struct slow_trace *trace)
{
    const struct hs_columns *columns = hs_store__columns(trace->store);
    for (uint64_t i = 0; i < trace->rows; i++) {
        uint32_t next = hs_row__next(columns, i);
        trace->row[i].last = i;
        if (!next)
            continue;
        trace->row[next].first = trace->row[i].first;
        trace->row[next].position = trace->row[i].position + 1;
    }
    for (uint64_t i = trace->rows; i-- > 0;) {
        uint32_t next = hs_row__next(columns, i);
        trace->row[i].last = next ? trace->row[next].last : i;
        trace->row[i].length = trace->row[trace->row[i].last].position + 1;
    }
}

static void read_groups(struct slow_trace *trace)
{
    size_t culled_count;
    const struct hs_culled *culled = hs_store__culled(trace->store, &culled_count);
    hs_store__nodes(trace->store, &trace->stacks);
    trace->group = calloc(trace->stacks, sizeof(*trace->group));
    for (uint64_t i = 0; i < trace->rows; i++) {
        const struct slow_row *row = &trace->row[i];
        struct slow_group *group = &trace->group[row->stack];
        if (!row->is_heap)
            continue;
        if (!group->count || row->time < group->first)
            group->first = row->time;
        if (row->time > group->last)
            group->last = row->time;
        group->count++;
        group->leaked += row->end == HS_NEVER;
    }
    for (size_t i = 0; i < culled_count; i++)
        trace->group[culled[i].stack].culled += culled[i].count;
}

// The live bytes of a stack when a row was allocated: all rows of the stack are looked at.
static uint64_t live_at(const struct slow_trace *trace, uint64_t at)
{
    const struct slow_row *now = &trace->row[at];
    uint64_t bytes = 0;
    for (uint64_t i = 0; i <= at; i++) {
        const struct slow_row *row = &trace->row[i];
        if (row->is_heap && row->stack == now->stack && (row->end > now->time || i == at))
            bytes += row->size;
    }
    return bytes;
}

uint64_t slow_trace__peak_time(const struct slow_trace *trace, uint32_t stack)
{
    uint64_t most = 0, time = 0;
    bool any = false;
    for (uint64_t i = 0; i < trace->rows; i++) {
        if (!trace->row[i].is_heap || trace->row[i].stack != stack)
            continue;
        uint64_t bytes = live_at(trace, i);
        if (!any || bytes > most) {
            most = bytes;
            time = trace->row[i].time;
        }
        any = true;
    }
    return time;
}

struct slow_trace *slow_trace__open(const struct hs_store *store, struct hs_trace_symbols *symbols)
{
    struct slow_trace *trace = calloc(1, sizeof(*trace));
    trace->store = store;
    trace->symbols = symbols;
    trace->end_time = hs_store__summary(store)->end_time;
    read_rows(trace);
    read_chains(trace);
    read_groups(trace);
    for (size_t stack = 0; stack < trace->stacks && trace->rows < 10000; stack++)
        trace->group[stack].peak_time = slow_trace__peak_time(trace, (uint32_t)stack);
    return trace;
}

void slow_trace__close(struct slow_trace *trace)
{
    free(trace->row);
    free(trace->group);
    free(trace);
}

// ---- values --------------------------------------------------------------------------------------------------------

static bool is(const struct slow_condition *condition, const char *name)
{
    return !strcmp(condition->name, name);
}

static const struct slow_condition *find(const struct slow_filter *filter, const char *name)
{
    for (unsigned i = 0; i < filter->count; i++) {
        if (is(&filter->condition[i], name))
            return &filter->condition[i];
    }
    return NULL;
}

static const struct slow_condition *find_around(const struct slow_filter *filter, const char *name)
{
    const struct slow_condition *found = find(filter, name);
    return found || !filter->outer ? found : find(filter->outer, name);
}

// The first moment at which the wall clock showed that much.
static uint64_t moment(const struct slow_trace *trace, uint64_t realtime)
{
    uint64_t low = 0, high = (uint64_t)1 << 62;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (hs_store__realtime_ns(trace->store, middle) >= realtime)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t share(uint64_t thousandths, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)whole * thousandths / 100000);
}

static uint64_t time_of(const struct slow_trace *trace, const struct slow_condition *condition, bool end)
{
    uint64_t unit = condition->form == SLOW_SECONDS ? 1000000000u : 1000000u;
    switch (condition->form) {
    case SLOW_PERCENT:
        return share(condition->number, trace->end_time);
    case SLOW_SECONDS:
    case SLOW_MILLISECONDS: {
        uint64_t first = moment(trace, condition->number * unit);
        uint64_t next = moment(trace, (condition->number + 1) * unit);
        return !end ? first : next ? next - 1 : 0;
    }
    default:
        return condition->number;
    }
}

static uint64_t length_of(const struct slow_trace *trace, const struct slow_condition *condition)
{
    return condition->form == SLOW_PERCENT ? share(condition->number, trace->end_time) : condition->number;
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static bool is_frame(const struct slow_trace *trace, uint32_t node)
{
    return !hs_trace_symbols__is_cut(trace->symbols, node) && !hs_trace_symbols__is_guess(trace->symbols, node);
}

// "" for one that is not asked.
static bool name_matches(const char *pattern, const char *name)
{
    regex_t regex;
    if (!name)
        return false;
    ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool matches = !regexec(&regex, name, 0, NULL, 0);
    regfree(&regex);
    return matches;
}

static const char *function_of(const struct hs_frame *frame)
{
    return frame->kind == HS_FRAME_NAMED ? frame->function : NULL;
}

// Whether some frame of the stack matches both patterns; NULL: any.
static bool some_frame(const struct slow_trace *trace, uint32_t stack, const char *function, const char *source)
{
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(trace->symbols, node)) {
        const struct hs_frames *frames = hs_trace_symbols__node(trace->symbols, node);
        for (uint32_t i = 0; is_frame(trace, node) && i < frames->count; i++) {
            if ((!function || name_matches(function, function_of(&frames->frame[i]))) &&
                (!source || name_matches(source, frames->frame[i].file)))
                return true;
        }
    }
    return false;
}

static bool some_library(const struct slow_trace *trace, uint32_t stack, const char *wanted)
{
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(trace->symbols, node)) {
        const struct hs_frames *frames = hs_trace_symbols__node(trace->symbols, node);
        for (uint32_t i = 0; is_frame(trace, node) && i < frames->count; i++) {
            const char *path = frames->frame[i].module;
            const char *name = strrchr(path, '/') && !strchr(wanted, '/') ? strrchr(path, '/') + 1 : path;
            if (*path && !fnmatch(wanted, name, 0))
                return true;
        }
    }
    return false;
}

static uint64_t depth_of(const struct slow_trace *trace, uint32_t stack)
{
    uint64_t depth = 0;
    for (uint32_t node = stack; node; node = hs_trace_symbols__parent(trace->symbols, node))
        depth += is_frame(trace, node) ? hs_trace_symbols__node(trace->symbols, node)->count : 0;
    return depth;
}

static bool stack_matches_frames(const struct slow_filter *filter, const struct slow_trace *trace, uint32_t stack)
{
    const struct slow_condition *function = find(filter, "function_regex"), *source = find(filter, "source_regex");
    if ((function || source) &&
        !some_frame(trace, stack, function ? function->text : NULL, source ? source->text : NULL))
        return false;
    bool library_given = false, library_found = false;
    for (unsigned i = 0; i < filter->count; i++) {
        const struct slow_condition *condition = &filter->condition[i];
        if (is(condition, "library")) {
            library_given = true;
            library_found |= some_library(trace, stack, condition->text);
        }
        if ((is(condition, "negative_library") && some_library(trace, stack, condition->text)) ||
            (is(condition, "negative_function_regex") && some_frame(trace, stack, condition->text, NULL)) ||
            (is(condition, "negative_source_regex") && some_frame(trace, stack, NULL, condition->text)) ||
            (is(condition, "backtrace_depth_min") && depth_of(trace, stack) < condition->number) ||
            (is(condition, "backtrace_depth_max") && depth_of(trace, stack) > condition->number) ||
            (is(condition, "backtraces") && stack != condition->number))
            return false;
    }
    return library_found || !library_given;
}

static uint64_t leaks_of(const struct slow_group *group, const struct slow_condition *condition)
{
    uint64_t all = group->count + group->culled;
    return condition->form == SLOW_PERCENT ? share(condition->number, all) : condition->number;
}

static bool group_matches(const struct slow_filter *filter, const struct slow_trace *trace, uint32_t stack)
{
    const struct slow_group *group = &trace->group[stack];
    for (unsigned i = 0; i < filter->count; i++) {
        const struct slow_condition *condition = &filter->condition[i];
        uint64_t interval = group->last - group->first;
        if ((is(condition, "group_interval_min") && interval < length_of(trace, condition)) ||
            (is(condition, "group_interval_max") && interval > length_of(trace, condition)) ||
            (is(condition, "group_allocations_min") && group->count < condition->number) ||
            (is(condition, "group_allocations_max") && group->count > condition->number) ||
            (is(condition, "group_leaked_allocations_min") && group->leaked < leaks_of(group, condition)) ||
            (is(condition, "group_leaked_allocations_max") && group->leaked > leaks_of(group, condition)) ||
            (is(condition, "group_max_total_usage_first_seen_min") &&
             group->peak_time < time_of(trace, condition, false)) ||
            (is(condition, "group_max_total_usage_first_seen_max") &&
             group->peak_time > time_of(trace, condition, true)))
            return false;
    }
    return true;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

static bool lifetime_matches(const struct slow_filter *filter, const struct slow_trace *trace,
                             const struct slow_row *row, const char *which)
{
    const struct slow_condition *to = find_around(filter, "to");
    uint64_t end_of_range = to ? time_of(trace, to, true) : HS_NEVER - 1;
    bool leaked = row->end == HS_NEVER;
    if (!strcmp(which, "only_leaked"))
        return leaked;
    if (!strcmp(which, "only_chain_leaked"))
        return trace->row[row->last].end == HS_NEVER;
    if (!strcmp(which, "only_temporary"))
        return !leaked;
    if (!strcmp(which, "only_whole_group_leaked"))
        return leaked &&
               trace->group[row->stack].leaked == trace->group[row->stack].count + trace->group[row->stack].culled;
    if (!strcmp(which, "only_not_deallocated_in_current_range"))
        return leaked || row->end > end_of_range;
    if (!strcmp(which, "only_deallocated_in_current_range"))
        return !leaked && row->end <= end_of_range;
    return true;
}

static bool is_old(const struct slow_filter *filter)
{
    const struct slow_condition *era = find_around(filter, "era");
    return era && !strcmp(era->text, "0.1");
}

static bool lived(const struct slow_filter *filter, const struct slow_trace *trace, const struct slow_row *row,
                  const struct slow_condition *condition)
{
    bool at_least = is(condition, "lifetime_min");
    uint64_t lifetime = (row->end == HS_NEVER ? trace->end_time : row->end) - row->time;
    if (row->end == HS_NEVER && is_old(filter))
        return at_least;
    return at_least ? lifetime >= condition->number : lifetime <= condition->number;
}

static uint32_t marker_at(const struct slow_trace *trace, uint64_t time)
{
    size_t count;
    uint32_t marker = 0;
    const struct hs_side_event *events = hs_store__side_events(trace->store, &count);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == HS_SIDE_MARK && events[i].time <= time)
            marker = (uint32_t)events[i].value;
    }
    return marker;
}

static bool has_module(const struct slow_trace *trace, const char *end)
{
    size_t count;
    const struct hs_module *modules = hs_store__modules(trace->store, &count);
    for (size_t i = 0; i < count; i++) {
        if (strstr(modules[i].path, end))
            return true;
    }
    return false;
}

// Behind the program, nearer to it than to what is mapped next.
static bool lies_in_main_heap(const struct slow_trace *trace, uint64_t address)
{
    size_t count;
    const struct hs_module *modules = hs_store__modules(trace->store, &count);
    const char *program = hs_store__info(trace->store, "executable");
    uint64_t end = 0, next = 0;
    for (size_t i = 0; program && i < count; i++)
        if (!strcmp(modules[i].path, program) && modules[i].end > end)
            end = modules[i].end;
    for (size_t i = 0; i < count; i++)
        if (modules[i].start >= end && (!next || modules[i].start < next))
            next = modules[i].start;
    return end && address >= end && (next ? address - end < (next - end) / 2 : address - end < (uint64_t)1 << 40);
}

static bool allocator_matches(const struct slow_trace *trace, const struct slow_row *row,
                              const struct slow_condition *condition)
{
    bool jemalloc = has_module(trace, "/libjemalloc."), glibc = has_module(trace, "/libc.so.6");
    bool yes = !strcmp(condition->text, "yes"), main = !strcmp(condition->text, "main");
    bool mapped = row->usable % 16 == 0 && (row->kind == HS_KIND_ALIGNED || row->address % 4096 == 16);
    if (is(condition, "jemalloc"))
        return jemalloc == yes;
    if (is(condition, "arena"))
        return glibc && !jemalloc && !mapped && lies_in_main_heap(trace, row->address) == main;
    return is(condition, "mmaped") && glibc && !jemalloc && mapped == yes;
}

static bool lies_in_map(const struct slow_trace *trace, const struct slow_row *row, uint64_t number)
{
    const struct slow_row *map = &trace->row[number];
    return row->address >= map->address && row->address - map->address < map->size && row->time >= map->time &&
           row->time <= map->end;
}

static bool thread_matches(const struct slow_trace *trace, const struct slow_row *row, const char *wanted)
{
    const struct hs_thread *thread = hs_store__thread(trace->store, row->stream);
    return thread && (!strcmp(thread->name, wanted) || (uint32_t)atoi(wanted) == thread->tid);
}

static bool row_matches(const struct slow_filter *filter, const struct slow_trace *trace, const struct slow_row *row,
                        const struct slow_condition *condition)
{
    const struct slow_row *first = &trace->row[row->first], *last = &trace->row[row->last];
    uint64_t chain_end = last->end == HS_NEVER ? trace->end_time : last->end;
    uint64_t number = condition->number;
    const struct {
        const char *least, *most;
        uint64_t value;
    } ranges[] = {{"address_min", "address_max", row->address},
                  {"size_min", "size_max", row->size},
                  {"first_size_min", "first_size_max", first->size},
                  {"last_size_min", "last_size_max", last->size},
                  {"chain_length_min", "chain_length_max", row->length},
                  {"position_in_chain_min", "position_in_chain_max", row->position},
                  {"chain_lifetime_min", "chain_lifetime_max", chain_end - first->time}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (is(condition, ranges[i].least))
            return ranges[i].value >= number;
        if (is(condition, ranges[i].most))
            return ranges[i].value <= number;
    }
    if (is(condition, "from"))
        return row->time >= time_of(trace, condition, false);
    if (is(condition, "to"))
        return row->time <= time_of(trace, condition, true);
    if (is(condition, "alive_at") || is(condition, "alive_at_2"))
        return row->time <= time_of(trace, condition, false) && row->end > time_of(trace, condition, false);
    if (is(condition, "lifetime"))
        return lifetime_matches(filter, trace, row, condition->text);
    if (is(condition, "lifetime_min") || is(condition, "lifetime_max"))
        return lived(filter, trace, row, condition);
    if (is(condition, "deallocation_backtraces"))
        return row->end != HS_NEVER && row->free_stack == number;
    if (is(condition, "marker"))
        return marker_at(trace, row->time) == number;
    if (is(condition, "from_map"))
        return lies_in_map(trace, row, number);
    if (is(condition, "mmaped") || is(condition, "arena") || is(condition, "jemalloc"))
        return allocator_matches(trace, row, condition);
    return true;
}

static bool rows_thread_matches(const struct slow_filter *filter, const struct slow_trace *trace,
                                const struct slow_row *row)
{
    bool given = false, found = false;
    for (unsigned i = 0; i < filter->count; i++) {
        if (!is(&filter->condition[i], "thread"))
            continue;
        given = true;
        found |= thread_matches(trace, row, filter->condition[i].text);
    }
    return found || !given;
}

static bool matches_all(const struct slow_filter *filter, const struct slow_trace *trace, const struct slow_row *row)
{
    if (!row->is_heap || !rows_thread_matches(filter, trace, row))
        return false;
    for (unsigned i = 0; i < filter->count; i++) {
        if (!row_matches(filter, trace, row, &filter->condition[i]))
            return false;
    }
    return true;
}

static void run_where(const struct slow_where *where, const struct slow_trace *trace, bool *matches)
{
    if (where->join == SLOW_PART) {
        slow_filter__run(&where->part, trace, matches);
        return;
    }
    bool *right = calloc(trace->rows + 1, sizeof(*right));
    run_where(where->left, trace, matches);
    if (where->right)
        run_where(where->right, trace, right);
    for (uint64_t i = 0; i < trace->rows; i++)
        matches[i] = where->join == SLOW_NOT   ? !matches[i]
                     : where->join == SLOW_AND ? matches[i] && right[i]
                                               : matches[i] || right[i];
    free(right);
}

uint64_t slow_filter__run(const struct slow_filter *filter, const struct slow_trace *trace, bool *matches)
{
    bool *stacks = calloc(trace->stacks, sizeof(*stacks)), *where = calloc(trace->rows + 1, sizeof(*where));
    uint64_t count = 0;
    if (filter->where)
        run_where(filter->where, trace, where);
    for (size_t stack = 0; stack < trace->stacks; stack++)
        stacks[stack] =
            stack_matches_frames(filter, trace, (uint32_t)stack) && group_matches(filter, trace, (uint32_t)stack);
    for (uint64_t i = 0; i < trace->rows; i++) {
        matches[i] =
            stacks[trace->row[i].stack] && matches_all(filter, trace, &trace->row[i]) && (!filter->where || where[i]);
        count += matches[i];
    }
    free(stacks);
    free(where);
    return count;
}

// ---- samples -------------------------------------------------------------------------------------------------------

static bool sample_thread_matches(const struct slow_trace *trace, const struct hs_sample *sample, const char *wanted)
{
    const struct hs_thread *known = NULL;
    size_t count;
    const struct hs_thread *threads = hs_store__threads(trace->store, &count);
    for (size_t i = 0; i < count; i++) {
        if (threads[i].tid == sample->tid)
            known = &threads[i]; // no number is used twice in random traces
    }
    return (known && !strcmp(known->name, wanted)) || (uint32_t)atoi(wanted) == sample->tid;
}

static bool sample_matches(const struct slow_trace *trace, const struct hs_sample *sample,
                           const struct slow_condition *condition)
{
    if (is(condition, "from"))
        return sample->time >= time_of(trace, condition, false);
    if (is(condition, "to"))
        return sample->time <= time_of(trace, condition, true);
    return !is(condition, "marker") || marker_at(trace, sample->time) == condition->number;
}

static bool where_matches_sample(const struct slow_where *where, const struct slow_trace *trace,
                                 const struct hs_sample *sample)
{
    switch (where->join) {
    case SLOW_PART:
        return slow_filter__matches_sample(&where->part, trace, sample);
    case SLOW_NOT:
        return !where_matches_sample(where->left, trace, sample);
    case SLOW_AND:
        return where_matches_sample(where->left, trace, sample) && where_matches_sample(where->right, trace, sample);
    default:
        return where_matches_sample(where->left, trace, sample) || where_matches_sample(where->right, trace, sample);
    }
}

bool slow_filter__matches_sample(const struct slow_filter *filter, const struct slow_trace *trace,
                                 const struct hs_sample *sample)
{
    bool thread_given = false, thread_found = false;
    if (!stack_matches_frames(filter, trace, sample->stack) ||
        (filter->where && !where_matches_sample(filter->where, trace, sample)))
        return false;
    for (unsigned i = 0; i < filter->count; i++) {
        const struct slow_condition *condition = &filter->condition[i];
        if (is(condition, "thread")) {
            thread_given = true;
            thread_found |= sample_thread_matches(trace, sample, condition->text);
        }
        if (!sample_matches(trace, sample, condition))
            return false;
    }
    return thread_found || !thread_given;
}
