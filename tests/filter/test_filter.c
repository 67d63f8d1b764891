// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters and what is asked with them, against an implementation that looks at every row and every frame.
#include "host/filter/filter.h"
#include "host/import/import.h"
#include "tests/filter/conditions.h"
#include "tests/filter/random_trace.h"
#include "tests/filter/slow.h"
#include "tests/format/check_random.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/heapsonde-filter-XXXXXX";
static char path[256];

static void make_folder(void)
{
    strcpy(folder, "/tmp/heapsonde-filter-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
}

static void remove_folder(void)
{
    char command[600];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

// A trace and all that is known of it.
struct opened {
    struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    struct slow_trace *slow;
    bool *expected;
};

static void open_file(struct opened *opened, const char *file)
{
    struct hs_error error = {""};
    int result = hs_import__open(file, NULL, &opened->store, &error);
    ck_assert_msg(!result, "%s", error.message);
    opened->symbols = hs_trace_symbols__create(opened->store, NULL);
    opened->scope = hs_filter_scope__create(opened->store, opened->symbols, NULL);
}

static void open_slow(struct opened *opened)
{
    opened->slow = slow_trace__open(opened->store, opened->symbols);
    opened->expected = calloc(hs_store__columns(opened->store)->rows + 1, sizeof(bool));
}

static void open_random(struct opened *opened, const struct random_trace_options *options)
{
    random_trace__write(options, path);
    open_file(opened, path);
    random_trace__name(opened->store, opened->symbols, options->seed);
    open_slow(opened);
}

static void close_opened(struct opened *opened)
{
    free(opened->expected);
    slow_trace__close(opened->slow);
    hs_filter_scope__destroy(opened->scope);
    hs_trace_symbols__destroy(opened->symbols);
    hs_store__close(opened->store);
}

// ---- one filter both ways ------------------------------------------------------------------------------------------

static const char *describe(const struct slow_filter *filter)
{
    static char text[4096];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < filter->count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s=%s&", filter->condition[i].name,
                                 filter->condition[i].text);
    return text;
}

static void resolve(const struct slow_filter *filter, struct opened *opened, struct hs_resolved_filter *resolved)
{
    struct hs_filter_parameters parameters;
    struct hs_error error = {""};
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    for (unsigned i = 0; i < filter->count; i++) {
        const struct slow_condition *condition = &filter->condition[i];
        enum hs_parameter_result result =
            hs_filter_parameters__take(&parameters, condition->name, condition->text, &error);
        ck_assert_msg(result == HS_PARAMETER_TAKEN, "%s: %s", describe(filter), error.message);
    }
    int result = hs_filter_parameters__resolve(&parameters, opened->scope, NULL, resolved, &error);
    ck_assert_msg(!result, "%s: %s", describe(filter), error.message);
    hs_filter_parameters__free(&parameters);
}

static void expect_rows(const struct slow_filter *filter, struct opened *opened,
                        const struct hs_resolved_filter *resolved, uint64_t count)
{
    struct hs_rows rows;
    uint64_t counted;
    ck_assert_int_eq(hs_query__count(opened->store, &resolved->filter, NULL, &counted, NULL), 0);
    ck_assert_msg(counted == count, "%s: %llu rows, not %llu", describe(filter), (unsigned long long)counted,
                  (unsigned long long)count);
    ck_assert_int_eq(
        hs_query__rows(opened->store, &resolved->filter, HS_ROW_BY_TIME, false, 0, UINT64_MAX, NULL, &rows, NULL), 0);
    ck_assert_uint_eq(rows.total, count);
    ck_assert_uint_eq(rows.count, count);
    for (size_t i = 0; i < rows.count; i++)
        ck_assert_msg(opened->expected[rows.row[i]], "%s: row %u", describe(filter), rows.row[i]);
    if (resolved->nothing)
        ck_assert_uint_eq(count, 0);
    hs_rows__free(&rows);
}

static uint64_t compare(const struct slow_filter *filter, struct opened *opened)
{
    struct hs_resolved_filter resolved;
    uint64_t count = slow_filter__run(filter, opened->slow, opened->expected);
    resolve(filter, opened, &resolved);
    expect_rows(filter, opened, &resolved, count);
    hs_resolved_filter__free(&resolved);
    return count;
}

// ---- every parameter -----------------------------------------------------------------------------------------------

static const struct random_trace_options traces[] = {
    {.seed = 1, .events = 3000, .time_factor = 1, .allocator = RANDOM_GLIBC},
    {.seed = 2, .events = 4000, .time_factor = 1000, .allocator = RANDOM_MUSL, .clock_is_set = true},
    {.seed = 3, .events = 2000, .time_factor = 100000, .allocator = RANDOM_JEMALLOC},
    {.seed = 4, .events = 5000, .time_factor = 30000, .allocator = RANDOM_GLIBC, .clock_is_set = true},
};
#define TRACES (sizeof(traces) / sizeof(traces[0]))

// How often both agreed on something between nothing and all: a parameter that never did was not tested.
struct coverage {
    unsigned some[HS_PARAMETER_COUNT];
};

static void compare_alone(struct opened *opened, struct random_state *random, struct coverage *coverage)
{
    uint64_t all = compare(&(struct slow_filter){.count = 0}, opened);
    ck_assert_uint_gt(all, 0);
    for (int id = 0; id < HS_PARAMETER_COUNT; id++) {
        for (unsigned round = 0; round < 12; round++) {
            struct slow_filter filter = {.count = 1};
            if (!condition__make(&filter.condition[0], hs_parameters[id].name, opened->store, random))
                continue;
            uint64_t count = compare(&filter, opened);
            coverage->some[id] += count && count < all;
        }
    }
}

// What cannot be told from these traces matches all or nothing; `where` has a suite of its own.
static bool is_all_or_nothing(int id)
{
    return id == HS_PARAMETER_JEMALLOC || id == HS_PARAMETER_CUSTOM_FILTER || id == HS_PARAMETER_ERA ||
           id == HS_PARAMETER_TIME_UNIT || id == HS_PARAMETER_WHERE;
}

START_TEST(every_parameter_alone)
{
    struct random_state random = {test_seed("filter")};
    struct coverage coverage = {{0}};
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        make_folder();
        open_random(&opened, &traces[i]);
        compare_alone(&opened, &random, &coverage);
        close_opened(&opened);
        remove_folder();
    }
    for (int id = 0; id < HS_PARAMETER_COUNT; id++)
        ck_assert_msg(coverage.some[id] > 1 || is_all_or_nothing(id), "%s was not tested", hs_parameters[id].name);
}
END_TEST

static bool is_given(const struct slow_filter *filter, const char *name)
{
    for (unsigned i = 0; i < filter->count; i++) {
        if (!strcmp(filter->condition[i].name, name))
            return true;
    }
    return false;
}

static void add_condition(struct slow_filter *filter, const char *name, const struct opened *opened,
                          struct random_state *random)
{
    const struct hs_parameter *parameter = hs_parameter__find(name);
    // Times are written in every unit: which is meant is found out, and no era may say otherwise.
    bool about_times = parameter == &hs_parameters[HS_PARAMETER_TIME_UNIT];
    if (about_times || (is_given(filter, name) && !parameter->repeatable))
        return;
    filter->count += condition__make(&filter->condition[filter->count], name, opened->store, random);
    if (parameter == &hs_parameters[HS_PARAMETER_ERA])
        filter->condition[filter->count++] = (struct slow_condition){.name = "time_unit", .text = "auto"};
}

static void make_filter(struct slow_filter *filter, const struct opened *opened, struct random_state *random)
{
    uint64_t wanted = 2 + random_below(random, 4);
    *filter = (struct slow_filter){.count = 0};
    for (uint64_t i = 0; i < wanted; i++)
        add_condition(filter, hs_parameters[random_below(random, HS_PARAMETER_COUNT)].name, opened, random);
}

START_TEST(parameters_together)
{
    struct random_state random = {test_seed("filter") + 1};
    unsigned some = 0;
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        make_folder();
        open_random(&opened, &traces[i]);
        for (unsigned round = 0; round < 250; round++) {
            struct slow_filter filter;
            make_filter(&filter, &opened, &random);
            some += compare(&filter, &opened) > 0;
        }
        close_opened(&opened);
        remove_folder();
    }
    ck_assert_uint_gt(some, 150);
}
END_TEST

// Several zones, which are skipped when they cannot match.
START_TEST(zones_are_skipped_rightly)
{
    static const char *const names[] = {"from",     "to",           "lifetime",     "size_min",
                                        "size_max", "address_min",  "address_max",  "alive_at",
                                        "marker",   "lifetime_min", "lifetime_max", "function_regex",
                                        "library",  "thread",       "backtraces"};
    const struct random_trace_options options = {
        .seed = 9, .events = 300000, .time_factor = 1000, .allocator = RANDOM_GLIBC};
    struct random_state random = {test_seed("filter") + 2};
    struct opened opened;
    size_t zones;
    make_folder();
    open_random(&opened, &options);
    hs_store__zones(opened.store, &zones);
    ck_assert_uint_gt(zones, 2);
    for (unsigned round = 0; round < 40; round++) {
        struct slow_filter filter = {.count = 0};
        for (unsigned i = 0; i < 2; i++)
            add_condition(&filter, names[random_below(&random, sizeof(names) / sizeof(names[0]))], &opened, &random);
        compare(&filter, &opened);
    }
    close_opened(&opened);
    remove_folder();
}
END_TEST

// ---- several threads -----------------------------------------------------------------------------------------------

#define ASKERS 6

struct asker {
    struct opened *opened;
    const char *name, *value;
    uint64_t expected, counted;
    pthread_t thread;
};

static void *ask_often(void *argument)
{
    struct asker *asker = argument;
    asker->counted = asker->expected;
    for (unsigned i = 0; i < 20 && asker->counted == asker->expected; i++) {
        struct hs_filter_parameters parameters;
        struct hs_resolved_filter resolved;
        hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
        asker->counted = UINT64_MAX;
        if (hs_filter_parameters__take(&parameters, asker->name, asker->value, NULL) == HS_PARAMETER_TAKEN &&
            !hs_filter_parameters__resolve(&parameters, asker->opened->scope, NULL, &resolved, NULL)) {
            hs_query__count(asker->opened->store, &resolved.filter, NULL, &asker->counted, NULL);
            hs_resolved_filter__free(&resolved);
        }
        hs_filter_parameters__free(&parameters);
    }
    return NULL;
}

START_TEST(threads_share_a_scope)
{
    static const char *const questions[ASKERS][2] = {{"function_regex", "parse_(header|body)"},
                                                     {"group_allocations_min", "9"},
                                                     {"group_max_total_usage_first_seen_min", "50%"},
                                                     {"negative_source_regex", "cache"},
                                                     {"library", "libparts.so.*"},
                                                     {"backtrace_depth_min", "4"}};
    struct asker askers[ASKERS];
    struct opened opened;
    make_folder();
    open_random(&opened, &traces[0]);
    for (unsigned i = 0; i < ASKERS; i++) {
        struct slow_filter filter = {.count = 1, .condition = {{.name = questions[i][0]}}};
        struct slow_condition *condition = &filter.condition[0];
        strcpy(condition->text, questions[i][1]);
        condition->number = strtoull(questions[i][1], NULL, 10) * (strchr(questions[i][1], '%') ? 1000 : 1);
        condition->form = strchr(questions[i][1], '%') ? SLOW_PERCENT : SLOW_NUMBER;
        askers[i] = (struct asker){.opened = &opened, .name = questions[i][0], .value = questions[i][1]};
        askers[i].expected = slow_filter__run(&filter, opened.slow, opened.expected);
        ck_assert_uint_gt(askers[i].expected, 0);
    }
    for (unsigned i = 0; i < ASKERS; i++)
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, ask_often, &askers[i]), 0);
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        ck_assert_msg(askers[i].counted == askers[i].expected, "%s: %llu, not %llu", askers[i].name,
                      (unsigned long long)askers[i].counted, (unsigned long long)askers[i].expected);
    }
    close_opened(&opened);
    remove_folder();
}
END_TEST

// ---- orders --------------------------------------------------------------------------------------------------------

static const struct hs_store *sorted_store; // for compare_slowly
static enum hs_row_key sorted_key;

static uint64_t key_of(uint32_t row)
{
    const struct hs_columns *columns = hs_store__columns(sorted_store);
    uint64_t end = hs_row__free_time(columns, row);
    switch (sorted_key) {
    case HS_ROW_BY_ADDRESS:
        return hs_row__address(columns, row);
    case HS_ROW_BY_SIZE:
        return hs_row__size(columns, row);
    case HS_ROW_BY_LIFETIME:
        return (end == HS_NEVER ? hs_store__summary(sorted_store)->end_time : end) - hs_row__time(columns, row);
    default:
        return hs_row__time(columns, row);
    }
}

static int compare_slowly(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = key_of(a), y = key_of(b);
    return x != y ? (x < y ? -1 : 1) : (a > b) - (a < b);
}

static void expect_page(struct opened *opened, const struct hs_resolved_filter *resolved, const uint32_t *sorted,
                        size_t count, bool descending, uint64_t skip, uint64_t limit)
{
    struct hs_rows rows;
    ck_assert_int_eq(
        hs_query__rows(opened->store, &resolved->filter, sorted_key, descending, skip, limit, NULL, &rows, NULL), 0);
    uint64_t rest = skip < count ? count - skip : 0;
    ck_assert_uint_eq(rows.total, count);
    ck_assert_uint_eq(rows.count, rest < limit ? rest : limit);
    for (size_t i = 0; i < rows.count; i++)
        ck_assert_uint_eq(rows.row[i], sorted[descending ? count - 1 - skip - i : skip + i]);
    hs_rows__free(&rows);
}

static void expect_orders(const struct slow_filter *filter, struct opened *opened, struct random_state *random)
{
    uint64_t rows = hs_store__columns(opened->store)->rows;
    uint32_t *sorted = calloc(rows + 1, sizeof(*sorted));
    size_t count = 0;
    struct hs_resolved_filter resolved;
    resolve(filter, opened, &resolved);
    slow_filter__run(filter, opened->slow, opened->expected);
    for (uint32_t row = 0; row < rows; row++) {
        if (opened->expected[row])
            sorted[count++] = row;
    }
    sorted_store = opened->store;
    for (sorted_key = HS_ROW_BY_TIME; sorted_key <= HS_ROW_BY_LIFETIME; sorted_key++) {
        qsort(sorted, count, sizeof(*sorted), compare_slowly);
        for (int descending = 0; descending < 2; descending++) {
            expect_page(opened, &resolved, sorted, count, descending, 0, UINT64_MAX);
            expect_page(opened, &resolved, sorted, count, descending, random_below(random, count + 3),
                        random_below(random, 50));
        }
    }
    hs_resolved_filter__free(&resolved);
    free(sorted);
}

START_TEST(rows_in_every_order)
{
    struct random_state random = {test_seed("filter") + 3};
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        make_folder();
        open_random(&opened, &traces[i]);
        expect_orders(&(struct slow_filter){.count = 0}, &opened, &random);
        for (unsigned round = 0; round < 12; round++) {
            struct slow_filter filter;
            make_filter(&filter, &opened, &random);
            expect_orders(&filter, &opened, &random);
        }
        close_opened(&opened);
        remove_folder();
    }
}
END_TEST

// ---- totals --------------------------------------------------------------------------------------------------------

static void add_slowly(struct hs_total *total, const struct hs_columns *columns, uint64_t row)
{
    uint64_t size = hs_row__size(columns, row), usable = size + hs_row__slack(columns, row);
    uint64_t time = hs_row__time(columns, row), end = hs_row__free_time(columns, row);
    bool leaked = end == HS_NEVER;
    if (!total->allocated_count || time < total->first_time)
        total->first_time = time;
    if (time > total->last_time)
        total->last_time = time;
    total->allocated_count++;
    total->allocated_bytes += size;
    total->allocated_usable += usable;
    total->live_count += leaked;
    total->live_bytes += leaked ? size : 0;
    total->live_usable += leaked ? usable : 0;
    total->freed_count += !leaked;
    total->freed_bytes += leaked ? 0 : size;
    if (hs_row__flags(columns, row) & HS_ROW_TEMPORARY) {
        total->temporary_count++;
        total->temporary_bytes += size;
    }
    if (hs_row__flags(columns, row) & HS_ROW_AT_PEAK) {
        total->peak_count++;
        total->peak_bytes += size;
        total->peak_usable += usable;
    }
}

static bool is_about_stacks(const struct slow_condition *condition)
{
    static const char *const words[] = {"function", "source", "library", "backtrace", "group_", "negative_"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!strncmp(condition->name, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

// What the recorder only summed up counts when nothing but stacks is asked about: the rest has to match every block.
static bool may_count_culled(const struct slow_filter *filter, const struct opened *opened)
{
    struct slow_filter rest = {.count = 0}, none = {.count = 0};
    bool *matches = calloc(hs_store__columns(opened->store)->rows + 1, sizeof(*matches));
    for (unsigned i = 0; i < filter->count; i++) {
        if (!is_about_stacks(&filter->condition[i]))
            rest.condition[rest.count++] = filter->condition[i];
    }
    bool all = slow_filter__run(&rest, opened->slow, matches) == slow_filter__run(&none, opened->slow, matches);
    free(matches);
    return all;
}

static void expect_total(const struct hs_total *total, const struct hs_total *slow, const char *what)
{
    const struct {
        uint64_t got, wanted;
    } pairs[] = {{total->allocated_count - total->culled_count, slow->allocated_count},
                 {total->allocated_bytes - total->culled_bytes, slow->allocated_bytes},
                 {total->live_count, slow->live_count},
                 {total->live_bytes, slow->live_bytes},
                 {total->live_usable, slow->live_usable},
                 {total->freed_count - total->culled_count, slow->freed_count},
                 {total->freed_bytes - total->culled_bytes, slow->freed_bytes},
                 {total->temporary_count, slow->temporary_count},
                 {total->temporary_bytes, slow->temporary_bytes},
                 {total->peak_count, slow->peak_count},
                 {total->peak_bytes, slow->peak_bytes},
                 {total->peak_usable, slow->peak_usable},
                 {slow->allocated_count ? total->first_time : 0, slow->first_time},
                 {slow->allocated_count ? total->last_time : 0, slow->last_time}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        ck_assert_msg(pairs[i].got == pairs[i].wanted, "%s: stack %u, number %zu: %llu, not %llu", what, total->stack,
                      i, (unsigned long long)pairs[i].got, (unsigned long long)pairs[i].wanted);
}

static void expect_sorted(struct hs_totals *totals)
{
    for (int key = HS_TOTAL_LIVE_BYTES; key <= HS_TOTAL_STACK; key++) {
        hs_totals__sort(totals, (enum hs_total_key)key);
        for (size_t i = 1; i < totals->count; i++) {
            const struct hs_total *a = &totals->total[i - 1], *b = &totals->total[i];
            uint64_t x = hs_total__value(a, (enum hs_total_key)key), y = hs_total__value(b, (enum hs_total_key)key);
            ck_assert(x > y || (x == y && a->stack < b->stack));
        }
    }
}

static void expect_totals(const struct slow_filter *filter, struct opened *opened)
{
    const struct hs_columns *columns = hs_store__columns(opened->store);
    struct hs_resolved_filter resolved;
    struct hs_totals totals;
    size_t stacks, used = 0, got = 0;
    hs_store__nodes(opened->store, &stacks);
    struct hs_total *slow = calloc(stacks, sizeof(*slow));
    resolve(filter, opened, &resolved);
    slow_filter__run(filter, opened->slow, opened->expected);
    for (uint64_t row = 0; row < columns->rows; row++) {
        if (opened->expected[row])
            add_slowly(&slow[hs_row__stack(columns, row)], columns, row);
    }
    ck_assert_int_eq(hs_query__totals(opened->store, &resolved.filter, NULL, &totals, NULL), 0);
    for (size_t i = 0; i < totals.count; i++) {
        const struct hs_total *total = &totals.total[i];
        expect_total(total, &slow[total->stack], describe(filter));
        ck_assert_msg(!total->culled_count || may_count_culled(filter, opened), "%s", describe(filter));
        got += total->allocated_count > total->culled_count;
    }
    for (size_t stack = 0; stack < stacks; stack++)
        used += slow[stack].allocated_count > 0;
    ck_assert_uint_eq(got, used);
    expect_sorted(&totals);
    hs_totals__free(&totals);
    hs_resolved_filter__free(&resolved);
    free(slow);
}

START_TEST(totals_and_their_orders)
{
    struct random_state random = {test_seed("filter") + 4};
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        make_folder();
        open_random(&opened, &traces[i]);
        expect_totals(&(struct slow_filter){.count = 0}, &opened);
        for (unsigned round = 0; round < 25; round++) {
            struct slow_filter filter;
            make_filter(&filter, &opened, &random);
            expect_totals(&filter, &opened);
        }
        close_opened(&opened);
        remove_folder();
    }
}
END_TEST

START_TEST(groups_know_their_peak)
{
    for (size_t i = 0; i < TRACES; i++) {
        struct opened opened;
        struct hs_group group;
        size_t stacks, groups = 0;
        make_folder();
        open_random(&opened, &traces[i]);
        ck_assert_int_eq(hs_filter_scope__prepare_groups(opened.scope, true, NULL, NULL), 0);
        hs_store__nodes(opened.store, &stacks);
        for (uint32_t stack = 0; stack < stacks; stack++) {
            if (!hs_filter_scope__group(opened.scope, stack, &group))
                continue;
            groups++;
            ck_assert_uint_eq(group.usage_max_time, slow_trace__peak_time(opened.slow, stack));
        }
        ck_assert_uint_gt(groups, 50);
        close_opened(&opened);
        remove_folder();
    }
}
END_TEST

// ---- a program of three allocations --------------------------------------------------------------------------------

#define SECOND 1000000000ull

// From 1000 s after 1970 on: 100 bytes from f, never freed; 50 from g, freed; 70 from f, freed; the end after 10 s.
static void write_three(void)
{
    static uint8_t bytes[4096];
    const struct hs_event events[] = {
        {.kind = HS_EVENT_MALLOC, .time = SECOND / 2, .address = 0x1000, .size = 100, .usable = 104, .stack = 2},
        {.kind = HS_EVENT_MALLOC, .time = SECOND, .address = 0x2000, .size = 50, .usable = 56, .stack = 3},
        {.kind = HS_EVENT_MALLOC, .time = 2 * SECOND, .address = 0x3000, .size = 70, .usable = 72, .stack = 2},
        {.kind = HS_EVENT_FREE, .time = 3 * SECOND, .address = 0x2000},
        {.kind = HS_EVENT_FREE, .time = 4 * SECOND, .address = 0x3000}};
    struct trace_writer writer;
    struct hs_meta_writer meta;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000, 1000 * SECOND);
    hs_meta_thread(&meta, 0, 1, 0, "main", 4);
    hs_meta_node(&meta, 1, 0, 0x400100);
    hs_meta_node(&meta, 2, 1, 0x400200);
    hs_meta_node(&meta, 3, 1, 0x400300);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 0, events, sizeof(events) / sizeof(events[0]), false);
    trace_writer__close(&writer, true, 10 * SECOND);
}

static void name_three(struct hs_trace_symbols *symbols)
{
    static const struct hs_frame frame[] = {{.function = "main", .file = "/src/x.c", .module = ""},
                                            {.function = "f", .file = "/src/y.c", .module = ""},
                                            {.function = "g", .file = "/src/y.c", .module = ""}};
    static const struct hs_frames frames[] = {{&frame[0], 1}, {&frame[1], 1}, {&frame[2], 1}};
    for (uint32_t node = 1; node <= 3; node++)
        hs_trace_symbols__set(symbols, node, &frames[node - 1]);
}

// The rows that match, as bits. `query`: name=value&name=value.
static unsigned rows_of(struct opened *opened, const char *query)
{
    struct slow_filter filter = {.count = 0};
    struct hs_resolved_filter resolved;
    struct hs_rows rows;
    char copy[512];
    unsigned bits = 0;
    strcpy(copy, query);
    for (char *pair = strtok(copy, "&"); pair; pair = strtok(NULL, "&")) {
        struct slow_condition *condition = &filter.condition[filter.count++];
        char *value = strchr(pair, '=');
        *value++ = '\0';
        condition->name = pair;
        strcpy(condition->text, value);
    }
    resolve(&filter, opened, &resolved);
    ck_assert_int_eq(
        hs_query__rows(opened->store, &resolved.filter, HS_ROW_BY_TIME, false, 0, UINT64_MAX, NULL, &rows, NULL), 0);
    for (size_t i = 0; i < rows.count; i++)
        bits |= 1u << rows.row[i];
    hs_rows__free(&rows);
    hs_resolved_filter__free(&resolved);
    return bits;
}

START_TEST(three_allocations)
{
    static const struct {
        const char *query;
        unsigned rows;
    } examples[] = {{"from=1001&to=1001", 2},
                    {"from=1001&to=1001&era=0.1", 2},
                    {"from=1001000&to=1001999", 2},
                    {"from=1001000&to=1001999&era=0.7", 2},
                    {"from=1001000&to=1001000&time_unit=ms", 2},
                    {"from=1001&era=0.7", 7},
                    {"from=1001000&time_unit=s", 0},
                    {"from=1&to=1&time_unit=start", 2},
                    {"from=1s&to=1.0s&era=0.1", 2},
                    {"from=15%", 4},
                    {"to=10%", 3},
                    {"to=9.999%", 1},
                    {"from=0", 7},
                    {"to=0", 0},
                    {"lifetime_min=2s&era=0.1", 7},
                    {"lifetime_max=2s&era=0.1", 6},
                    {"lifetime_max=2s", 6},
                    {"lifetime_max=20s&era=0.1", 6},
                    {"lifetime_max=20s", 7},
                    {"lifetime_min=9s&era=0.7", 1},
                    {"lifetime=only_leaked", 1},
                    {"lifetime=only_temporary", 6},
                    {"lifetime=only_whole_group_leaked", 0},
                    {"lifetime=only_not_deallocated_in_current_range&to=1003", 5},
                    {"lifetime=only_deallocated_in_current_range&to=1003", 2},
                    {"lifetime=only_deallocated_in_current_range", 6},
                    {"lifetime=only_not_deallocated_in_current_range", 1},
                    {"group_allocations_min=2", 5},
                    {"group_leaked_allocations_min=50%", 7},
                    {"group_leaked_allocations_min=51%", 7},
                    {"group_leaked_allocations_min=1", 5},
                    {"group_leaked_allocations_max=0", 2},
                    {"group_interval_min=1.5s", 5},
                    {"group_interval_min=15%", 5},
                    {"group_interval_max=14%", 2},
                    {"group_max_total_usage_first_seen_min=1002", 5},
                    {"group_max_total_usage_first_seen_max=1001", 2},
                    {"function_regex=^g$", 2},
                    {"function_regex=main&source_regex=x.c", 7},
                    {"function_regex=main&source_regex=y.c", 0},
                    {"negative_function_regex=^g$", 5},
                    {"alive_at=1001", 3},
                    {"alive_at=1003", 5},
                    {"alive_at=1001&alive_at_2=3.5s", 1},
                    {"backtrace_depth_min=2&backtrace_depth_max=2", 7},
                    {"backtrace_depth_min=3", 0},
                    {"marker=0", 7},
                    {"marker=1", 0},
                    {"arena=main", 0},
                    {"jemalloc=no", 7},
                    {"mmaped=no", 0},
                    {"address_min=8192&address_max=0x2000", 2}};
    struct opened opened;
    make_folder();
    write_three();
    open_file(&opened, path);
    name_three(opened.symbols);
    open_slow(&opened);
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        unsigned rows = rows_of(&opened, examples[i].query);
        ck_assert_msg(rows == examples[i].rows, "%s: %u, not %u", examples[i].query, rows, examples[i].rows);
    }
    close_opened(&opened);
    remove_folder();
}
END_TEST

// ---- a recorded program --------------------------------------------------------------------------------------------

static void record(void)
{
    char command[2048];
    snprintf(command, sizeof(command), "HEAPSONDE_OUTPUT='%s' LD_PRELOAD='%s' '%s' > /dev/null", path, PATH_SHIM,
             PATH_PROGRAM);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(a_recorded_program)
{
    struct random_state random = {test_seed("filter") + 5};
    struct opened opened;
    make_folder();
    record();
    open_file(&opened, path);
    open_slow(&opened);
    struct slow_filter known = {.count = 1, .condition = {{.name = "function_regex", .text = "^keep_every_third$"}}};
    ck_assert_uint_eq(compare(&known, &opened), 30);
    known = (struct slow_filter){.count = 1, .condition = {{.name = "source_regex", .text = "recorded[.]c$"}}};
    ck_assert_uint_gt(compare(&known, &opened), 100);
    known = (struct slow_filter){
        .count = 2,
        .condition = {{.name = "source_regex", .text = "recorded[.]c$"}, {.name = "mmaped", .text = "yes"}}};
    ck_assert_uint_eq(compare(&known, &opened), 2);
    for (unsigned round = 0; round < 300; round++) {
        struct slow_filter filter;
        make_filter(&filter, &opened, &random);
        bool foreign_thread = is_given(&filter, "thread"); // it has no worker
        if (!foreign_thread)
            compare(&filter, &opened);
    }
    close_opened(&opened);
    remove_folder();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter");
    TCase *cases = tcase_create("filter");
    tcase_add_test(cases, every_parameter_alone);
    tcase_add_test(cases, parameters_together);
    tcase_add_test(cases, zones_are_skipped_rightly);
    tcase_add_test(cases, rows_in_every_order);
    tcase_add_test(cases, totals_and_their_orders);
    tcase_add_test(cases, groups_know_their_peak);
    tcase_add_test(cases, three_allocations);
    tcase_add_test(cases, a_recorded_program);
    suite_add_tcase(suite, cases);
    TCase *threads = tcase_create("threads");
    tcase_add_test(threads, threads_share_a_scope);
    suite_add_tcase(suite, threads);
    return run_suite(suite);
}
