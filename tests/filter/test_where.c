// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters joined by AND, OR and NOT, against an implementation that combines the filters row by row.
#include "host/filter/filter.h"
#include "host/import/import.h"
#include "host/query/samples.h"
#include "tests/filter/conditions.h"
#include "tests/filter/random_trace.h"
#include "tests/format/check_random.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct opened {
    char folder[64], path[96];
    struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    struct slow_trace *slow;
    bool *expected;
};

static void open_random(struct opened *opened, const struct random_trace_options *options)
{
    struct hs_error error = {""};
    strcpy(opened->folder, "/tmp/heapsonde-where-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(opened->folder));
    snprintf(opened->path, sizeof(opened->path), "%s/trace.dat", opened->folder);
    random_trace__write(options, opened->path);
    ck_assert_msg(!hs_import__open(opened->path, NULL, &opened->store, &error), "%s", error.message);
    opened->symbols = hs_trace_symbols__create(opened->store, NULL);
    random_trace__name(opened->store, opened->symbols, options->seed);
    opened->scope = hs_filter_scope__create(opened->store, opened->symbols, NULL);
    opened->slow = slow_trace__open(opened->store, opened->symbols);
    opened->expected = calloc(hs_store__columns(opened->store)->rows + 1, sizeof(bool));
}

static void close_opened(struct opened *opened)
{
    char command[128];
    free(opened->expected);
    slow_trace__close(opened->slow);
    hs_filter_scope__destroy(opened->scope);
    hs_trace_symbols__destroy(opened->symbols);
    hs_store__close(opened->store);
    snprintf(command, sizeof(command), "rm -rf '%s'", opened->folder);
    ck_assert_int_eq(system(command), 0);
}

// ---- made up -------------------------------------------------------------------------------------------------------

struct maker {
    const struct opened *opened;
    struct random_state *random;
    const enum hs_parameter_id *ids; // of which conditions are made
    size_t id_count;
    const struct slow_filter *outer;
};

static bool is_given(const struct slow_filter *filter, const char *name)
{
    for (unsigned i = 0; i < filter->count; i++)
        if (!strcmp(filter->condition[i].name, name))
            return true;
    return false;
}

static void make_conditions(struct maker *maker, struct slow_filter *filter, unsigned wanted)
{
    while (filter->count < wanted) {
        const enum hs_parameter_id id = maker->ids[random_below(maker->random, maker->id_count)];
        const struct hs_parameter *parameter = &hs_parameters[id];
        if (is_given(filter, parameter->name) && !parameter->repeatable)
            continue;
        struct slow_condition *condition = &filter->condition[filter->count];
        filter->count += condition__make(condition, parameter->name, maker->opened->store, maker->random);
    }
}

static struct slow_where *make_where(struct maker *maker, unsigned depth)
{
    struct slow_where *where = calloc(1, sizeof(*where));
    where->join = depth ? random_below(maker->random, 4) : SLOW_PART;
    if (where->join == SLOW_PART) {
        where->part.outer = maker->outer;
        make_conditions(maker, &where->part, 1 + (unsigned)(random_below(maker->random, 4) == 0));
        return where;
    }
    where->left = make_where(maker, depth - 1);
    if (where->join != SLOW_NOT)
        where->right = make_where(maker, depth - 1);
    return where;
}

static void free_where(struct slow_where *where)
{
    if (!where)
        return;
    free_where(where->left);
    free_where(where->right);
    free(where);
}

static void write_part(FILE *out, const struct slow_filter *part)
{
    for (unsigned i = 0; i < part->count; i++) {
        const struct slow_condition *condition = &part->condition[i];
        const size_t length = strlen(condition->name);
        const bool is_least = length > 4 && !strcmp(condition->name + length - 4, "_min");
        fprintf(out, "%s%.*s%s\"%s\"", i ? ", " : "", (int)(is_least ? length - 4 : length), condition->name,
                is_least ? " >= " : "=", condition->text);
    }
}

static void write_where(FILE *out, const struct slow_where *where)
{
    if (where->join == SLOW_PART) {
        write_part(out, &where->part);
        return;
    }
    fputs(where->join == SLOW_NOT ? "NOT (" : "(", out);
    write_where(out, where->left);
    if (where->right) {
        fputs(where->join == SLOW_AND ? ") and (" : ") OR (", out);
        write_where(out, where->right);
    }
    fputs(")", out);
}

static char *text_of(const struct slow_where *where)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    write_where(out, where);
    fclose(out);
    return text;
}

// ---- both ways -----------------------------------------------------------------------------------------------------

static void take(struct hs_filter_parameters *parameters, const char *name, const char *value)
{
    struct hs_error error = {""};
    ck_assert_msg(hs_filter_parameters__take(parameters, name, value, &error) == HS_PARAMETER_TAKEN, "%s=%s: %s", name,
                  value, error.message);
}

static void resolve(const struct slow_filter *filter, const char *where, const struct opened *opened,
                    struct hs_resolved_filter *resolved)
{
    struct hs_filter_parameters parameters;
    struct hs_error error = {""};
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    for (unsigned i = 0; i < filter->count; i++)
        take(&parameters, filter->condition[i].name, filter->condition[i].text);
    take(&parameters, "where", where);
    int result = hs_filter_parameters__resolve(&parameters, opened->scope, NULL, resolved, &error);
    ck_assert_msg(!result, "%s: %s", where, error.message);
    hs_filter_parameters__free(&parameters);
}

static uint64_t compare_rows(const struct slow_filter *filter, const char *text, const struct opened *opened,
                             const struct hs_filter *fast)
{
    uint64_t counted, count = slow_filter__run(filter, opened->slow, opened->expected);
    struct hs_rows rows;
    ck_assert_int_eq(hs_query__count(opened->store, fast, NULL, &counted, NULL), 0);
    ck_assert_msg(counted == count, "%s: %llu rows, not %llu", text, (unsigned long long)counted,
                  (unsigned long long)count);
    ck_assert_int_eq(hs_query__rows(opened->store, fast, HS_ROW_BY_SIZE, true, 0, UINT64_MAX, NULL, &rows, NULL), 0);
    ck_assert_uint_eq(rows.count, count);
    for (size_t i = 0; i < rows.count; i++)
        ck_assert_msg(opened->expected[rows.row[i]], "%s: row %u", text, rows.row[i]);
    for (uint64_t row = 0; row < hs_store__columns(opened->store)->rows; row++)
        ck_assert_msg(hs_filter__matches(fast, opened->store, row) == opened->expected[row], "%s: row %llu", text,
                      (unsigned long long)row);
    hs_rows__free(&rows);
    return count;
}

static uint64_t compare_samples(const struct slow_filter *filter, const char *text, const struct opened *opened,
                                const struct hs_filter *fast)
{
    size_t count, expected = 0;
    const struct hs_sample *sample = hs_store__samples(opened->store, &count);
    struct hs_sample_list list;
    ck_assert_int_eq(hs_query__samples(opened->store, HS_EVENTS_CPU, fast, &list, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        if (sample[i].kind != HS_SAMPLE_CPU || !slow_filter__matches_sample(filter, opened->slow, &sample[i]))
            continue;
        expected++;
        bool found = false;
        for (size_t k = 0; k < list.count && !found; k++)
            found = list.sample[k] == &sample[i];
        ck_assert_msg(found, "%s: sample %zu", text, i);
    }
    ck_assert_msg(list.count == expected, "%s: %zu samples, not %zu", text, list.count, expected);
    hs_sample_list__free(&list);
    return expected;
}

static uint64_t compare_one(struct maker *maker, unsigned depth,
                            uint64_t (*compare)(const struct slow_filter *, const char *, const struct opened *,
                                                const struct hs_filter *))
{
    struct slow_filter filter = {.count = 0};
    struct hs_resolved_filter resolved;
    maker->outer = &filter;
    make_conditions(maker, &filter, random_below(maker->random, 3) == 0);
    struct slow_where *where = make_where(maker, depth);
    filter.where = where;
    char *text = text_of(where);
    resolve(&filter, text, maker->opened, &resolved);
    const uint64_t count = compare(&filter, text, maker->opened, &resolved.filter);
    hs_resolved_filter__free(&resolved);
    free_where(where);
    free(text);
    return count;
}

// ---- the cases -----------------------------------------------------------------------------------------------------

#define ID(id, ...) HS_PARAMETER_##id,
static const enum hs_parameter_id all_ids[] = {HS_FILTER_PARAMETERS(ID)};
#undef ID

static size_t ids_of(enum hs_parameter_id *ids, bool of_samples)
{
    size_t count = 0;
    for (size_t i = 0; i < HS_PARAMETER_COUNT; i++) {
        const enum hs_parameter_id id = all_ids[i];
        // The unit of times is found out; an era would say otherwise.
        if (id != HS_PARAMETER_ERA && id != HS_PARAMETER_TIME_UNIT && id != HS_PARAMETER_WHERE &&
            (!of_samples || hs_parameter__is_of_samples(id)))
            ids[count++] = id;
    }
    return count;
}

static const struct random_trace_options traces[] = {
    {.seed = 21, .events = 1500, .time_factor = 1, .allocator = RANDOM_GLIBC, .samples = 600},
    {.seed = 22, .events = 1200, .time_factor = 30000, .allocator = RANDOM_MUSL, .clock_is_set = true, .samples = 400},
};

static void compare_many(bool of_samples, unsigned rounds)
{
    enum hs_parameter_id ids[HS_PARAMETER_COUNT];
    struct random_state random = {test_seed("where") + of_samples};
    unsigned some = 0;
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        struct opened opened;
        open_random(&opened, &traces[i]);
        struct maker maker = {&opened, &random, ids, ids_of(ids, of_samples), NULL};
        for (unsigned round = 0; round < rounds; round++)
            some += compare_one(&maker, round % 4, of_samples ? compare_samples : compare_rows) > 0;
        close_opened(&opened);
    }
    ck_assert_uint_gt(some, rounds / 2);
}

START_TEST(rows)
{
    compare_many(false, 200);
}
END_TEST

START_TEST(samples)
{
    compare_many(true, 150);
}
END_TEST

START_TEST(zones_are_skipped_rightly)
{
    static const enum hs_parameter_id ids[] = {HS_PARAMETER_FROM,     HS_PARAMETER_TO,         HS_PARAMETER_LIFETIME,
                                               HS_PARAMETER_SIZE_MIN, HS_PARAMETER_MARKER,     HS_PARAMETER_ALIVE_AT,
                                               HS_PARAMETER_LIBRARY,  HS_PARAMETER_ADDRESS_MAX};
    const struct random_trace_options options = {
        .seed = 23, .events = 150000, .time_factor = 1000, .allocator = RANDOM_GLIBC};
    struct random_state random = {test_seed("where") + 2};
    struct opened opened;
    size_t zones;
    open_random(&opened, &options);
    hs_store__zones(opened.store, &zones);
    ck_assert_uint_gt(zones, 1);
    struct maker maker = {&opened, &random, ids, sizeof(ids) / sizeof(ids[0]), NULL};
    for (unsigned round = 0; round < 12; round++)
        compare_one(&maker, 1 + round % 3, compare_rows);
    close_opened(&opened);
}
END_TEST

// What says something of stacks alone leaves all that is worked out beforehand of use.
START_TEST(stacks_become_a_set)
{
    struct slow_filter none = {.count = 0};
    struct hs_resolved_filter resolved;
    struct opened opened;
    open_random(&opened, &traces[0]);
    resolve(&none, "function=~main or not library=libparts*", &opened, &resolved);
    ck_assert_ptr_null(resolved.filter.where);
    ck_assert_ptr_nonnull(resolved.filter.stacks.words);
    hs_resolved_filter__free(&resolved);
    resolve(&none, "size>=10 and lifetime=only_leaked and not source=~parser", &opened, &resolved);
    ck_assert_ptr_null(resolved.filter.where);
    ck_assert_uint_eq(resolved.filter.size_min, 10);
    ck_assert(resolved.filter.never_freed_only);
    hs_resolved_filter__free(&resolved);
    resolve(&none, "size>=10 or not source=~parser", &opened, &resolved);
    ck_assert_ptr_nonnull(resolved.filter.where);
    hs_resolved_filter__free(&resolved);
    close_opened(&opened);
}
END_TEST

// A part has what an era or a unit of times around it says, unless it says something itself.
START_TEST(parts_are_read_as_what_is_around_them)
{
    struct hs_filter_parameters parameters;
    struct hs_resolved_filter resolved;
    struct opened opened;
    open_random(&opened, &traces[0]);
    hs_filter_parameters__init(&parameters, HS_TIME_UNIT_AUTO);
    take(&parameters, "time_unit", "start");
    take(&parameters, "where", "from=2 and (to=3s, lifetime=only_not_deallocated_in_current_range)");
    ck_assert_int_eq(hs_filter_parameters__resolve(&parameters, opened.scope, NULL, &resolved, NULL), 0);
    ck_assert_uint_eq(resolved.filter.time_min, 2000000000);
    ck_assert_uint_eq(resolved.filter.free_min, 3000000001);
    hs_resolved_filter__free(&resolved);
    hs_filter_parameters__free(&parameters);
    close_opened(&opened);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("where");
    TCase *cases = tcase_create("where");
    tcase_add_test(cases, rows);
    tcase_add_test(cases, samples);
    tcase_add_test(cases, zones_are_skipped_rightly);
    tcase_add_test(cases, stacks_become_a_set);
    tcase_add_test(cases, parts_are_read_as_what_is_around_them);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
