// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Columns that are left while they are read say the same as before.
#include "host/query/drop_pages.h"
#include "host/query/events.h"
#include "tests/format/check_random.h"
#include "tests/query/random_store.h"
#include "tests/suite.h"

#include <check.h>

struct walk {
    struct random_state random;
    bool leaves;
    uint64_t events, hash;
};

static void note(struct walk *walk, uint64_t value)
{
    walk->hash = (walk->hash ^ value) * 0x9e3779b97f4a7c15u;
    walk->hash ^= walk->hash >> 29;
}

static int visit(void *context, const struct hs_store *of, struct hs_row_event *event)
{
    struct walk *walk = context;
    (void)of;
    walk->events++;
    note(walk, event->row);
    note(walk, event->time);
    note(walk, event->is_free);
    note(walk, hs_row__free_time(columns, event->row));
    note(walk, hs_row__address(columns, event->row));
    note(walk, hs_row__size(columns, event->row));
    note(walk, hs_row__slack(columns, event->row));
    note(walk, hs_row__stack(columns, event->row));
    note(walk, hs_row__free_stack(columns, event->row));
    note(walk, hs_row__free_stream(columns, event->row));
    note(walk, hs_row__detail(columns, event->row));
    note(walk, hs_row__flags(columns, event->row));
    if (walk->leaves && !random_below(&walk->random, 500))
        hs_columns__drop_pages(columns, random_below(&walk->random, rows / HS_PACKED_BLOCK + 3));
    return 0;
}

static void check_events(const struct hs_filter *filter, struct random_state *random)
{
    const struct hs_query_control control = {.drops_pages = true};
    struct walk staying = {.random = *random}, leaving = {.random = *random, .leaves = true};
    ck_assert_int_eq(hs_query__events(store, filter, NULL, visit, &staying, NULL), 0);
    ck_assert_int_eq(hs_query__events(store, filter, &control, visit, &leaving, NULL), 0);
    ck_assert_uint_eq(leaving.events, staying.events);
    ck_assert_uint_eq(leaving.hash, staying.hash);
}

START_TEST(events_are_the_same_when_columns_are_left)
{
    struct random_state random = {test_seed(__func__)};
    struct hs_filter filter;
    open_trace(random_next(&random), 1000);
    check_events(NULL, &random);
    for (unsigned round = 0; round < 5; round++) {
        choose_filter(&filter, &random);
        check_events(&filter, &random);
    }
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leaving");
    TCase *cases = tcase_create("leaving");
    tcase_add_test(cases, events_are_the_same_when_columns_are_left);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
