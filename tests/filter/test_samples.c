// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Samples, what was touched and what was resident over time, against implementations that look at every sample, every
// page and every nanosecond.
#include "host/filter/filter.h"
#include "host/import/import.h"
#include "host/query/event_totals.h"
#include "host/query/usage.h"
#include "tests/filter/conditions.h"
#include "tests/filter/random_trace.h"
#include "tests/format/check_random.h"
#include "tests/store/random_samples.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE        4096
#define SLACK_NS    20000
#define OWN_MAPPING (128 << 10)

static char folder[64];
static char path[256];

struct opened {
    struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    struct slow_trace *slow;
};

static const struct random_trace_options traces[] = {
    {.seed = 11, .events = 2000, .time_factor = 1, .allocator = RANDOM_GLIBC, .samples = 900},
    {.seed = 12, .events = 1500, .time_factor = 1000, .allocator = RANDOM_MUSL, .clock_is_set = true, .samples = 2000},
    {.seed = 13, .events = 1000, .time_factor = 30000, .allocator = RANDOM_GLIBC, .samples = 500},
};
#define TRACES (sizeof(traces) / sizeof(traces[0]))

static void open_random(struct opened *opened, const struct random_trace_options *options)
{
    struct hs_error error = {""};
    strcpy(folder, "/tmp/heapsonde-samples-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    random_trace__write(options, path);
    int result = hs_import__open(path, NULL, &opened->store, &error);
    ck_assert_msg(!result, "%s", error.message);
    opened->symbols = hs_trace_symbols__create(opened->store, NULL);
    random_trace__name(opened->store, opened->symbols, options->seed);
    opened->scope = hs_filter_scope__create(opened->store, opened->symbols, NULL);
    opened->slow = slow_trace__open(opened->store, opened->symbols);
}

static void close_opened(struct opened *opened)
{
    char command[128];
    slow_trace__close(opened->slow);
    hs_filter_scope__destroy(opened->scope);
    hs_trace_symbols__destroy(opened->symbols);
    hs_store__close(opened->store);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

// ---- filters -------------------------------------------------------------------------------------------------------

static void take(struct hs_filter_parameters *parameters, const struct slow_filter *filter)
{
    struct hs_error error = {""};
    hs_filter_parameters__init(parameters, HS_TIME_UNIT_AUTO);
    for (unsigned i = 0; i < filter->count; i++)
        ck_assert_msg(hs_filter_parameters__take(parameters, filter->condition[i].name, filter->condition[i].text,
                                                 &error) == HS_PARAMETER_TAKEN,
                      "%s", error.message);
}

static void resolve(const struct slow_filter *filter, struct opened *opened, struct hs_resolved_filter *resolved)
{
    struct hs_filter_parameters parameters;
    struct hs_error error = {""};
    take(&parameters, filter);
    ck_assert_ptr_null(hs_filter_parameters__not_of_samples(&parameters));
    int result = hs_filter_parameters__resolve(&parameters, opened->scope, NULL, resolved, &error);
    ck_assert_msg(!result, "%s", error.message);
    hs_filter_parameters__free(&parameters);
}

static bool is_listed(const struct hs_sample_list *list, const struct hs_sample *sample)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->sample[i] == sample)
            return true;
    }
    return false;
}

static uint32_t kind_of(enum hs_events events)
{
    return events == HS_EVENTS_CPU       ? HS_SAMPLE_CPU
           : events == HS_EVENTS_OFF_CPU ? HS_SAMPLE_OFF_CPU
                                         : HS_SAMPLE_FAULT_STACK;
}

// Returns how many match.
static size_t compare_list(const struct slow_filter *filter, struct opened *opened, enum hs_events events,
                           const struct hs_filter *fast)
{
    struct hs_sample_list list;
    size_t count, expected = 0;
    uint32_t kind = kind_of(events);
    const struct hs_sample *sample = hs_store__samples(opened->store, &count);
    ck_assert_int_eq(hs_query__samples(opened->store, events, fast, &list, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        bool matches = sample[i].kind == kind && slow_filter__matches_sample(filter, opened->slow, &sample[i]);
        ck_assert_msg(is_listed(&list, &sample[i]) == matches, "sample %zu, %s=%s", i, filter->condition[0].name,
                      filter->condition[0].text);
        expected += matches;
    }
    ck_assert_uint_eq(list.count, expected);
    for (size_t i = 1; i < list.count; i++)
        ck_assert_uint_le(list.sample[i - 1]->time, list.sample[i]->time);
    hs_sample_list__free(&list);
    return expected;
}

static void compare_sums(const struct slow_filter *filter, struct opened *opened, enum hs_events events,
                         const struct hs_filter *fast)
{
    struct hs_totals totals;
    size_t count, stacks = 0;
    uint32_t kind = kind_of(events);
    const struct hs_sample *sample = hs_store__samples(opened->store, &count);
    uint64_t weight = 0, number = 0;
    ck_assert_int_eq(hs_query__event_totals(opened->store, events, fast, NULL, &totals, NULL), 0);
    for (size_t k = 0; k < totals.count; k++) {
        uint64_t own = 0, own_number = 0;
        for (size_t i = 0; i < count; i++) {
            if (sample[i].kind != kind || sample[i].stack != totals.total[k].stack ||
                !slow_filter__matches_sample(filter, opened->slow, &sample[i]))
                continue;
            own += sample[i].weight;
            own_number++;
        }
        ck_assert_uint_eq(totals.total[k].allocated_bytes, own);
        ck_assert_uint_eq(totals.total[k].allocated_count, own_number);
        weight += own;
        number += own_number;
        stacks += own_number > 0;
    }
    ck_assert_uint_eq(totals.sum.allocated_bytes, weight);
    ck_assert_uint_eq(totals.sum.allocated_count, number);
    ck_assert_uint_eq(totals.count, stacks);
    hs_totals__free(&totals);
}

static size_t compare_samples(const struct slow_filter *filter, struct opened *opened)
{
    struct hs_resolved_filter resolved;
    resolve(filter, opened, &resolved);
    size_t found = compare_list(filter, opened, HS_EVENTS_CPU, &resolved.filter);
    compare_list(filter, opened, HS_EVENTS_OFF_CPU, &resolved.filter);
    compare_list(filter, opened, HS_EVENTS_FAULTS, &resolved.filter);
    compare_sums(filter, opened, HS_EVENTS_CPU, &resolved.filter);
    compare_sums(filter, opened, HS_EVENTS_OFF_CPU, &resolved.filter);
    compare_sums(filter, opened, HS_EVENTS_FAULTS, &resolved.filter);
    hs_resolved_filter__free(&resolved);
    return found;
}

static void make_condition(struct slow_condition *condition, enum hs_parameter_id id, struct opened *opened,
                           struct random_state *random)
{
    size_t count;
    const struct hs_sample *sample = hs_store__samples(opened->store, &count);
    ck_assert(condition__make(condition, hs_parameters[id].name, opened->store, random));
    // Stacks and threads that only samples have.
    if (id == HS_PARAMETER_BACKTRACES && random_below(random, 4)) {
        condition->number = sample[random_below(random, count)].stack;
        snprintf(condition->text, sizeof(condition->text), "%llu", (unsigned long long)condition->number);
    }
    if (id == HS_PARAMETER_THREAD && !random_below(random, 3))
        strcpy(condition->text, "9001");
}

static bool is_of_samples(int id)
{
    return hs_parameter__is_of_samples((enum hs_parameter_id)id);
}

// Others say how values are read, or consist of these.
static bool restricts(int id)
{
    return id != HS_PARAMETER_ERA && id != HS_PARAMETER_TIME_UNIT && id != HS_PARAMETER_WHERE;
}

START_TEST(every_parameter_alone)
{
    struct random_state random = {test_seed("samples")};
    unsigned some[HS_PARAMETER_COUNT] = {0};
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        open_random(&opened, &traces[i]);
        size_t all = compare_samples(&(struct slow_filter){.count = 0}, &opened);
        ck_assert_uint_gt(all, 100);
        for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
            for (unsigned round = 0; is_of_samples(id) && restricts(id) && round < 12; round++) {
                struct slow_filter filter = {.count = 1};
                make_condition(&filter.condition[0], (enum hs_parameter_id)id, &opened, &random);
                size_t found = compare_samples(&filter, &opened);
                some[id] += found > 0 && found < all;
            }
        }
        close_opened(&opened);
    }
    for (int id = 0; id < HS_PARAMETER_COUNT; id++)
        ck_assert_msg(!is_of_samples(id) || !restricts(id) || some[id] > 1, "%s was not tested",
                      hs_parameters[id].name);
}
END_TEST

START_TEST(parameters_together)
{
    struct random_state random = {test_seed("samples") + 1};
    static const enum hs_parameter_id ids[] = {HS_PARAMETER_FROM,           HS_PARAMETER_TO,
                                               HS_PARAMETER_THREAD,         HS_PARAMETER_THREAD,
                                               HS_PARAMETER_FUNCTION_REGEX, HS_PARAMETER_NEGATIVE_SOURCE_REGEX,
                                               HS_PARAMETER_LIBRARY,        HS_PARAMETER_BACKTRACE_DEPTH_MIN};
    unsigned some = 0;
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        open_random(&opened, &traces[i]);
        for (unsigned round = 0; round < 60; round++) {
            struct slow_filter filter = {.count = 0};
            for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++) {
                if (!random_below(&random, 3))
                    make_condition(&filter.condition[filter.count++], ids[k], &opened, &random);
            }
            some += compare_samples(&filter, &opened) > 0;
        }
        close_opened(&opened);
    }
    ck_assert_uint_gt(some, 30);
}
END_TEST

// What says something of blocks is named.
START_TEST(what_samples_do_not_have)
{
    struct random_state random = {test_seed("samples") + 2};
    struct opened opened;
    open_random(&opened, &traces[0]);
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        struct slow_filter filter = {.count = 1};
        struct hs_filter_parameters parameters;
        bool says_how = id == HS_PARAMETER_CUSTOM_FILTER; // the empty one asks nothing
        if (is_of_samples(id))
            continue;
        ck_assert(condition__make(&filter.condition[0], hs_parameters[id].name, opened.store, &random));
        if (id == HS_PARAMETER_LIFETIME)
            strcpy(filter.condition[0].text, "only_leaked");
        take(&parameters, &filter);
        const char *name = hs_filter_parameters__not_of_samples(&parameters);
        if (says_how)
            ck_assert_ptr_null(name);
        else
            ck_assert_str_eq(name, hs_parameters[id].name);
        hs_filter_parameters__free(&parameters);
    }
    close_opened(&opened);
}
END_TEST

// ---- what is resident ----------------------------------------------------------------------------------------------

#define MOST_PAGES (1u << 20)
static bool resident[MOST_PAGES];

static uint64_t row_end(const struct hs_columns *columns, uint64_t row)
{
    return hs_row__address(columns, row) + hs_row__size(columns, row);
}

static bool has_own_mapping(const struct hs_columns *columns, uint64_t row)
{
    return hs_row__kind(columns, row) >= HS_KIND_MMAP ||
           (hs_row__size(columns, row) >= OWN_MAPPING && hs_row__address(columns, row) % PAGE <= 32);
}

// Whether a part of a mapping that stayed has the page when others end.
static bool stays(const struct hs_columns *columns, uint64_t time, uint64_t page)
{
    for (uint64_t row = 0; row < columns->rows; row++) {
        if (hs_row__flags(columns, row) & HS_ROW_SPLIT && hs_row__time(columns, row) == time &&
            page >= hs_row__address(columns, row) / PAGE && page * PAGE < row_end(columns, row))
            return true;
    }
    return false;
}

static void end_rows(const struct hs_columns *columns, uint64_t time)
{
    for (uint64_t row = 0; row < columns->rows; row++) {
        if (hs_row__free_time(columns, row) != time || !has_own_mapping(columns, row))
            continue;
        for (uint64_t page = hs_row__address(columns, row) / PAGE; page * PAGE < row_end(columns, row); page++)
            resident[page] = resident[page] && stays(columns, time, page);
    }
}

static void touch_at(const struct hs_store *store, uint64_t time, uint64_t *bytes)
{
    size_t count;
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (sample[i].kind != HS_SAMPLE_FAULT || sample[i].time != time)
            continue;
        for (uint64_t page = 0; page < sample[i].weight / PAGE; page++)
            resident[sample[i].address / PAGE + page] = true;
        *bytes += sample[i].weight;
    }
}

static void return_at(const struct hs_store *store, uint64_t time)
{
    size_t count;
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (sample[i].kind == HS_SAMPLE_RETURNED && sample[i].time == time)
            memset(&resident[sample[i].address / PAGE], 0, sample[i].weight / PAGE);
    }
}

static uint64_t resident_bytes(void)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < MOST_PAGES; i++)
        pages += resident[i];
    return pages * PAGE;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// The times at which something changes.
static size_t list_times(const struct hs_store *store, uint64_t *time)
{
    const struct hs_columns *columns = hs_store__columns(store);
    size_t count, times = 0;
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (size_t i = 0; i < count; i++) {
        if (sample[i].kind == HS_SAMPLE_FAULT || sample[i].kind == HS_SAMPLE_RETURNED)
            time[times++] = sample[i].time;
    }
    for (uint64_t row = 0; row < columns->rows; row++) {
        if (has_own_mapping(columns, row) && hs_row__free_time(columns, row) != HS_NEVER)
            time[times++] = hs_row__free_time(columns, row);
    }
    qsort(time, times, sizeof(*time), compare_times);
    return times;
}

static void change_at(const struct hs_store *store, uint64_t time, uint64_t *faulted)
{
    end_rows(hs_store__columns(store), time);
    return_at(store, time);
    touch_at(store, time, faulted);
}

// At the end of the trace.
static void follow_all(const struct hs_store *store)
{
    size_t samples;
    hs_store__samples(store, &samples);
    uint64_t *time = calloc(samples + hs_store__columns(store)->rows + 1, sizeof(*time)), faulted = 0;
    size_t times = list_times(store, time);
    memset(resident, 0, sizeof(resident));
    for (size_t at = 0; at < times; at++) {
        if (!at || time[at] != time[at - 1])
            change_at(store, time[at], &faulted);
    }
    free(time);
}

// ---- touched -------------------------------------------------------------------------------------------------------

struct slow_block {
    uint64_t start, end, since, until;
};

static struct slow_block block_of(const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
    uint64_t time = hs_row__time(columns, row), end = hs_row__free_time(columns, row);
    struct slow_block block = {
        .start = address, .end = address + size, .until = end == HS_NEVER ? end : end + SLACK_NS};
    bool is_mapping = hs_row__kind(columns, row) >= HS_KIND_MMAP;
    for (uint64_t older = 0; is_mapping && older < row; older++) { // what is left of one is as old as it
        bool same = hs_row__kind(columns, older) == HS_KIND_MMAP &&
                    hs_row__detail(columns, older) == hs_row__detail(columns, row);
        if (same && hs_row__time(columns, older) < time)
            time = hs_row__time(columns, older);
    }
    if (is_mapping || (size >= OWN_MAPPING && address % PAGE <= 32))
        block.since = time > SLACK_NS ? time - SLACK_NS : 0;
    return block;
}

static bool covers(const struct hs_sample *fault, const struct slow_block *block, uint64_t page)
{
    uint64_t start = fault->address / PAGE, first = fault->time > fault->duration ? fault->time - fault->duration : 0;
    if (fault->kind != HS_SAMPLE_FAULT || page < start || page >= start + fault->weight / PAGE || first > block->until)
        return false;
    uint64_t own_page =
        fault->duration ? start + 1 : start + fault->weight / PAGE; // a single fault brings a single page
    bool in_own_page = page < own_page && block->start / PAGE >= start && block->start / PAGE < own_page;
    return fault->time >= block->since || in_own_page;
}

// What is in memory at the end, of which follow_all knows; what is no part of another block was touched in this one.
static uint64_t slow_resident(const struct hs_store *store, uint64_t row, uint64_t faulted)
{
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t address = hs_row__address(columns, row), end = row_end(columns, row), bytes = 0;
    uint8_t kind = hs_row__kind(columns, row);
    if (hs_row__free_time(columns, row) != HS_NEVER)
        return 0;
    for (uint64_t page = address / PAGE; page * PAGE < end; page++) {
        uint64_t from = page * PAGE > address ? page * PAGE : address;
        bytes += resident[page] ? ((page + 1) * PAGE < end ? (page + 1) * PAGE : end) - from : 0;
    }
    bool has_others = kind == HS_KIND_MREMAP || kind == HS_KIND_REALLOC || hs_row__flags(columns, row) & HS_ROW_SPLIT;
    return (has_others && has_own_mapping(columns, row)) || bytes < faulted ? bytes : faulted;
}

static uint64_t slow_touched(const struct hs_store *store, uint64_t row)
{
    size_t count;
    uint64_t bytes = 0;
    struct slow_block block = block_of(store, row);
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (uint64_t page = block.start / PAGE; page * PAGE < block.end; page++) {
        uint64_t from = page * PAGE > block.start ? page * PAGE : block.start;
        uint64_t to = (page + 1) * PAGE < block.end ? (page + 1) * PAGE : block.end;
        bool found = false;
        for (size_t i = 0; i < count && !found; i++)
            found = covers(&sample[i], &block, page);
        bytes += found ? to - from : 0;
    }
    return bytes;
}

struct sums {
    uint64_t touched, size, count, live_touched, live_size, live_count;
};

static void expect_touched(struct opened *opened, enum hs_events events, const struct slow_filter *filter,
                           const uint64_t *touched, const uint64_t *stays_touched)
{
    const struct hs_columns *columns = hs_store__columns(opened->store);
    enum hs_domain domain = events == HS_EVENTS_TOUCHED ? HS_DOMAIN_HEAP : HS_DOMAIN_MAP;
    struct hs_resolved_filter resolved;
    struct hs_totals totals;
    struct sums sums = {0};
    bool *matches = calloc(columns->rows + 1, sizeof(*matches));
    resolve(filter, opened, &resolved);
    slow_filter__run(filter, opened->slow, matches);
    ck_assert_int_eq(hs_query__event_totals(opened->store, events, &resolved.filter, NULL, &totals, NULL), 0);
    for (uint64_t row = 0; row < columns->rows; row++) {
        // The slow filter is of the heap alone; no filter is asked of mappings here.
        if (hs_kind_domain(hs_row__kind(columns, row)) != domain || (domain == HS_DOMAIN_HEAP && !matches[row]))
            continue;
        bool is_rest = hs_row__flags(columns, row) & HS_ROW_SPLIT,
             is_live = hs_row__free_time(columns, row) == HS_NEVER;
        sums.touched += is_rest ? 0 : touched[row];
        sums.size += is_rest ? 0 : hs_row__size(columns, row);
        sums.count += !is_rest;
        sums.live_touched += is_live ? stays_touched[row] : 0;
        sums.live_size += is_live ? hs_row__size(columns, row) : 0;
        sums.live_count += is_live;
    }
    ck_assert_uint_eq(totals.sum.allocated_bytes, sums.touched);
    ck_assert_uint_eq(totals.sum.allocated_usable, sums.size);
    ck_assert_uint_eq(totals.sum.allocated_count, sums.count);
    ck_assert_uint_eq(totals.sum.live_bytes, sums.live_touched);
    ck_assert_uint_eq(totals.sum.live_usable, sums.live_size);
    ck_assert_uint_eq(totals.sum.live_count, sums.live_count);
    hs_totals__free(&totals);
    hs_resolved_filter__free(&resolved);
    free(matches);
}

START_TEST(touched_pages)
{
    struct random_state random = {test_seed("samples") + 3};
    uint64_t some = 0;
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        open_random(&opened, &traces[i]);
        uint64_t rows = hs_store__columns(opened.store)->rows;
        uint64_t *touched = calloc(rows + 1, sizeof(*touched)), *left = calloc(rows + 1, sizeof(*left));
        struct hs_touching *touching = hs_touching__create(opened.store);
        follow_all(opened.store);
        for (uint64_t row = 0; row < rows; row++) {
            touched[row] = slow_touched(opened.store, row);
            left[row] = slow_resident(opened.store, row, touched[row]);
            touched[row] = left[row] > touched[row] ? left[row] : touched[row];
            ck_assert_uint_eq(hs_touching__resident(touching, row), left[row]);
            ck_assert_uint_eq(hs_touching__bytes(touching, row), touched[row]);
            some += touched[row] > 0 && touched[row] < hs_row__size(hs_store__columns(opened.store), row);
        }
        hs_touching__destroy(touching);
        expect_touched(&opened, HS_EVENTS_TOUCHED_MAPPINGS, &(struct slow_filter){.count = 0}, touched, left);
        for (unsigned round = 0; round < 20; round++) {
            struct slow_filter filter = {.count = round > 0};
            make_condition(&filter.condition[0], round % 2 ? HS_PARAMETER_THREAD : HS_PARAMETER_FROM, &opened, &random);
            if (strcmp(filter.condition[0].text, "9001"))
                expect_touched(&opened, HS_EVENTS_TOUCHED, &filter, touched, left);
        }
        free(touched);
        free(left);
        close_opened(&opened);
    }
    ck_assert_uint_gt(some, 100);
}
END_TEST

// ---- over time -----------------------------------------------------------------------------------------------------

static uint64_t overlap(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
    uint64_t from = a > b ? a : b, to = a_end < b_end ? a_end : b_end;
    return to > from ? to - from : 0;
}

static uint64_t slow_cpu(const struct hs_store *store, uint64_t from, uint64_t to)
{
    size_t count;
    uint64_t ns = 0;
    const struct hs_sample *sample = hs_store__samples(store, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t end = sample[i].time + 1;
        if (sample[i].kind == HS_SAMPLE_CPU)
            ns += overlap(end - sample[i].weight, end, from, to);
    }
    return ns;
}

static void expect_usage(struct opened *opened, uint64_t from, uint64_t width, size_t points)
{
    const struct hs_columns *columns = hs_store__columns(opened->store);
    size_t samples, at = 0;
    struct hs_usage usage;
    hs_store__samples(opened->store, &samples);
    uint64_t *time = calloc(samples + columns->rows + 1, sizeof(*time));
    size_t times = list_times(opened->store, time);
    memset(resident, 0, sizeof(resident));
    ck_assert_int_eq(hs_query__usage(opened->store, NULL, from, width, points, NULL, &usage, NULL), 0);
    for (size_t i = 0; i <= points; i++) { // the first: all before `from`
        uint64_t end = from + i * width, most = resident_bytes(), faulted = 0;
        for (; at < times && time[at] < end; at++) {
            if (at && time[at] == time[at - 1])
                continue;
            change_at(opened->store, time[at], &faulted);
            most = resident_bytes() > most ? resident_bytes() : most;
        }
        if (!i)
            continue;
        const struct hs_usage_point *point = &usage.point[i - 1];
        ck_assert_uint_eq(point->resident_bytes_end, resident_bytes());
        ck_assert_uint_eq(point->resident_bytes_max, most);
        ck_assert_uint_eq(point->faulted_bytes, faulted);
        ck_assert_uint_eq(point->cpu_ns, slow_cpu(opened->store, end - width, end));
    }
    hs_usage__free(&usage);
    free(time);
}

START_TEST(usage_over_time)
{
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        open_random(&opened, &traces[i]);
        uint64_t end = hs_store__summary(opened.store)->end_time;
        expect_usage(&opened, 0, end / 30 + 1, 30);
        expect_usage(&opened, end / 3, end / 100 + 1, 20);
        expect_usage(&opened, 0, end + 1, 1);
        close_opened(&opened);
    }
}
END_TEST

// ---- mappings that are cut and moved, and a large block that grows -------------------------------------------------

#define MS    1000000ull
#define MAP   0x10000000ull
#define MOVED 0x20000000ull
#define BLOCK 0x30000010ull
#define GROWN 0x40000010ull

static struct hs_event fault(uint64_t time, uint64_t address, uint64_t pages)
{
    return (struct hs_event){.kind = HS_EVENT_SAMPLE,
                             .sampled = HS_SAMPLE_FAULT,
                             .time = time,
                             .tid = RANDOM_FIRST_TID,
                             .address = address,
                             .size = pages * PAGE};
}

static struct hs_store *import_events(const struct hs_event *events, size_t count)
{
    static uint8_t bytes[4096];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    struct hs_store *store;
    strcpy(folder, "/tmp/heapsonde-samples-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000, 1000 * MS);
    hs_meta_thread(&meta, 0, RANDOM_FIRST_TID, 0, "main", 4);
    hs_meta_node(&meta, 1, 0, 0x400100);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 0, events, count, false);
    trace_writer__close(&writer, true, 10 * MS);
    ck_assert_int_eq(hs_import__open(path, NULL, &store, NULL), 0);
    return store;
}

static void close_imported(struct hs_store *store)
{
    char command[128];
    hs_store__close(store);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct hs_store *import_mappings(void)
{
    const struct hs_event events[] = {
        {.kind = HS_EVENT_MMAP, .time = 1 * MS, .address = MAP, .size = 16 * PAGE, .stack = 1, .fd = -1},
        fault(2 * MS, MAP, 8),
        {.kind = HS_EVENT_MUNMAP, .time = 3 * MS, .address = MAP + 2 * PAGE, .size = 2 * PAGE},
        {.kind = HS_EVENT_MREMAP,
         .time = 4 * MS,
         .old_address = MAP + 4 * PAGE,
         .old_size = 12 * PAGE,
         .address = MOVED,
         .size = 20 * PAGE,
         .stack = 1},
        fault(5 * MS, MOVED + 3 * PAGE, 4), // the first of them is there already
        {.kind = HS_EVENT_MUNMAP, .time = 6 * MS, .address = MAP, .size = 2 * PAGE},
        {.kind = HS_EVENT_MALLOC, .time = 7 * MS, .address = BLOCK, .size = 300000, .usable = 300016, .stack = 1},
        fault(7 * MS + 1, BLOCK, 10),
        {.kind = HS_EVENT_REALLOC,
         .time = 8 * MS,
         .begin_time = 8 * MS - 1,
         .address = GROWN,
         .old_address = BLOCK,
         .size = 600000,
         .usable = 600016,
         .stack = 1},
        {.kind = HS_EVENT_FREE, .time = 9 * MS, .address = GROWN}};
    return import_events(events, sizeof(events) / sizeof(events[0]));
}

START_TEST(mappings_that_change)
{
    static const uint64_t pages[] = {0, 0, 8, 6, 6, 9, 7, 17, 17, 7}; // at the end of each millisecond
    struct hs_usage usage;
    struct hs_totals totals;
    struct hs_store *store = import_mappings();
    ck_assert_int_eq(hs_query__usage(store, NULL, 0, MS, 10, NULL, &usage, NULL), 0);
    for (size_t i = 0; i < 10; i++)
        ck_assert_msg(usage.point[i].resident_bytes_end == pages[i] * PAGE, "%zu: %llu pages, not %llu", i,
                      (unsigned long long)usage.point[i].resident_bytes_end / PAGE, (unsigned long long)pages[i]);
    // What is left of the mapping was touched with it, and what was touched elsewhere before the move has moved, too.
    ck_assert_int_eq(hs_query__event_totals(store, HS_EVENTS_TOUCHED_MAPPINGS, NULL, NULL, &totals, NULL), 0);
    ck_assert_uint_eq(totals.sum.allocated_bytes, (8 + 7) * PAGE);
    ck_assert_uint_eq(totals.sum.allocated_count, 2);
    ck_assert_uint_eq(totals.sum.live_bytes, 7 * PAGE);
    struct hs_touching *touching = hs_touching__create(store);
    uint64_t rests = 0;
    for (uint64_t row = 0; row < hs_store__columns(store)->rows; row++) {
        if (hs_row__flags(hs_store__columns(store), row) & HS_ROW_SPLIT)
            rests += hs_touching__bytes(touching, row) / PAGE;
    }
    ck_assert_uint_eq(rests, 2 + 4);
    hs_touching__destroy(touching);
    hs_totals__free(&totals);
    hs_usage__free(&usage);
    close_imported(store);
}
END_TEST

#define HUGE_PAGE (512 * PAGE)
#define ALIGNED   (2 * HUGE_PAGE)

START_TEST(what_the_header_brings)
{
    const struct hs_event events[] = {
        fault(1 * MS, ALIGNED, 512), // the allocator writes its header: a single fault, a huge page
        {.kind = HS_EVENT_MALLOC,
         .time = 2 * MS,
         .address = ALIGNED + 16,
         .size = 2 * HUGE_PAGE,
         .usable = 2 * HUGE_PAGE},
        fault(3 * MS, ALIGNED + HUGE_PAGE, 3)};
    struct hs_store *store = import_events(events, sizeof(events) / sizeof(events[0]));
    struct hs_touching *touching = hs_touching__create(store);
    ck_assert_uint_eq(hs_store__columns(store)->rows, 1);
    ck_assert_uint_eq(hs_touching__bytes(touching, 0), HUGE_PAGE + 3 * PAGE - 16);
    hs_touching__destroy(touching);
    close_imported(store);
}
END_TEST

// ---- samples that say anything -------------------------------------------------------------------------------------

START_TEST(senseless_samples)
{
    static const uint64_t numbers[] = {0, 1, 4095, 4096, MS, 1ull << 40, 1ull << 63, UINT64_MAX - 4096, UINT64_MAX};
    enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };
    static struct hs_event events[NUMBERS * NUMBERS * 9];
    static uint8_t bytes[4096];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    struct hs_store *store;
    size_t count = 0;
    for (uint32_t kind = 0; kind < 9; kind++) {
        for (size_t i = 0; i < NUMBERS * NUMBERS; i++) {
            events[count] = (struct hs_event){.kind = HS_EVENT_SAMPLE,
                                              .sampled = kind,
                                              .time = (count + 1) * 1000,
                                              .tid = (uint32_t)numbers[i % NUMBERS],
                                              .stack = kind == HS_SAMPLE_CPU ? 77 : 0,
                                              .duration = UINT32_MAX,
                                              .age = numbers[(i + 3) % NUMBERS],
                                              .size = numbers[i / NUMBERS],
                                              .address = numbers[i % NUMBERS]};
            count++;
        }
    }
    strcpy(folder, "/tmp/heapsonde-samples-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000, 1000 * MS);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 0, events, count, false);
    trace_writer__close(&writer, true, 10 * MS);
    ck_assert_int_eq(hs_import__open(path, NULL, &store, NULL), 0);
    for (int of = HS_EVENTS_CPU; of < HS_EVENTS_COUNT; of++) {
        struct hs_totals totals;
        ck_assert_int_eq(hs_query__event_totals(store, (enum hs_events)of, NULL, NULL, &totals, NULL), 0);
        hs_totals__free(&totals);
    }
    for (uint64_t width = 1; width < UINT64_MAX / 64; width *= 1000) {
        struct hs_usage usage;
        ck_assert_int_eq(hs_query__usage(store, NULL, width, width, 60, NULL, &usage, NULL), 0);
        hs_usage__free(&usage);
    }
    hs_store__close(store);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter_samples");
    TCase *cases = tcase_create("samples");
    tcase_add_test(cases, every_parameter_alone);
    tcase_add_test(cases, parameters_together);
    tcase_add_test(cases, what_samples_do_not_have);
    tcase_add_test(cases, touched_pages);
    tcase_add_test(cases, usage_over_time);
    tcase_add_test(cases, mappings_that_change);
    tcase_add_test(cases, what_the_header_brings);
    tcase_add_test(cases, senseless_samples);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
