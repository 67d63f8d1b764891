// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The queue of frees against a plain list, with limits that make it use files.
#include "host/query/pending.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>

#define ITEMS 5000

struct list {
    struct hs_pending_item item[ITEMS];
    size_t count;
};

static size_t first_of(const struct list *list)
{
    size_t first = 0;
    for (size_t i = 1; i < list->count; i++) {
        const struct hs_pending_item *a = &list->item[i], *b = &list->item[first];
        if (a->time < b->time || (a->time == b->time && a->row < b->row))
            first = i;
    }
    return first;
}

static void take_first(struct hs_pending *pending, struct list *list)
{
    struct hs_pending_item item;
    bool some = hs_pending__first(pending, &item);
    ck_assert_int_eq(some, list->count > 0);
    if (!some)
        return;
    size_t first = first_of(list);
    ck_assert_uint_eq(item.time, list->item[first].time);
    ck_assert_uint_eq(item.row, list->item[first].row);
    ck_assert_uint_eq(item.tag, list->item[first].tag);
    list->item[first] = list->item[--list->count];
    ck_assert_int_eq(hs_pending__drop_first(pending), 0);
}

static void compare(size_t limit, unsigned seed, unsigned times, unsigned adds_of_eight)
{
    static struct list list;
    struct hs_pending pending;
    list.count = 0;
    hs_pending__start(&pending, limit);
    for (uint32_t row = 0; row < ITEMS;) {
        bool add = (unsigned)rand_r(&seed) % 8 < adds_of_eight;
        struct hs_pending_item item = {(uint64_t)rand_r(&seed) % times, row, row * 3};
        if (!add) {
            take_first(&pending, &list);
            continue;
        }
        row++;
        list.item[list.count++] = item;
        ck_assert_int_eq(hs_pending__add(&pending, &item), 0);
        ck_assert_uint_le(pending.count, limit);
        ck_assert_uint_le(pending.room, limit);
    }
    while (list.count)
        take_first(&pending, &list);
    take_first(&pending, &list);
    hs_pending__free(&pending);
}

START_TEST(test_order)
{
    static const size_t limits[] = {2, 3, 8, 1000, HS_PENDING_LIMIT};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        compare(limits[i] < 8 ? 8 : limits[i], 1, 1000000, 4);
        compare(limits[i], 2, 10, 4);
    }
    compare(100, 3, 1000, 7); // it grows
    compare(100, 4, 1, 6);    // all at once
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pending");
    TCase *tests = tcase_create("pending");
    tcase_add_test(tests, test_order);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
