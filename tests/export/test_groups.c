// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Groups of random stacks whose frames often read the same, against the lists of their frames.
#include "host/export/stack_groups.h"
#include "host/store/tables.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <stdlib.h>
#include <string.h>

#define NODES  2000
#define STACKS 600
#define CODES  6
#define DEEP   40 // nodes between one and its caller's number, at most

static struct hs_store *store;
static struct hs_subject subject;
static struct hs_stack_table table;

static void make_store(struct random_state *random)
{
    static struct hs_node nodes[NODES];
    for (uint32_t i = 1; i < NODES; i++) {
        uint32_t back = 1 + (uint32_t)random_below(random, DEEP);
        nodes[i] =
            (struct hs_node){.pc = 0x10000 + 16 * random_below(random, CODES), .parent = back < i ? i - back : 0};
    }
    const struct hs_store_tables tables = {.nodes = nodes, .node_count = NODES};
    ck_assert_int_eq(hs_store__of_tables(&tables, &store), 0);
}

// Some calls were inlined: nodes of two frames, of which one also stands alone.
static void inline_some(struct random_state *random)
{
    struct hs_frame frame[] = {{.function = "inner", .module = "", .inlined = true},
                               {.function = "outer", .module = ""}};
    struct hs_symbols *session = hs_trace_symbols__session(subject.symbols);
    const struct hs_frames *both = hs_symbols__named(session, &(struct hs_frames){frame, 2});
    const struct hs_frames *inner = hs_symbols__named(session, &(struct hs_frames){frame, 1});
    ck_assert(both && inner);
    for (uint32_t node = 1; node < NODES; node++) {
        uint64_t choice = random_below(random, 6);
        if (choice < 2)
            ck_assert_int_eq(hs_trace_symbols__set(subject.symbols, node, choice ? both : inner), 0);
    }
}

// By number, and the stack that is none is one of them.
static void choose_stacks(struct random_state *random)
{
    subject.totals.total = calloc(NODES, sizeof(*subject.totals.total));
    ck_assert_ptr_nonnull(subject.totals.total);
    for (uint32_t node = 0; node < NODES; node++) {
        if (!node || random_below(random, NODES) < STACKS)
            subject.totals.total[subject.totals.count++].stack = node;
    }
}

static void start(struct random_state *random)
{
    make_store(random);
    subject = (struct hs_subject){.store = store, .symbols = hs_trace_symbols__create(store, NULL)};
    ck_assert_ptr_nonnull(subject.symbols);
    inline_some(random);
    choose_stacks(random);
    ck_assert_int_eq(hs_stack_table__build(&table, &subject), 0);
}

static void finish(void)
{
    hs_stack_table__free(&table);
    hs_totals__free(&subject.totals);
    hs_trace_symbols__destroy(subject.symbols);
    hs_store__close(store);
}

struct frames {
    uint32_t number[2 * NODES];
    size_t count;
};

static void read_frames(struct frames *frames, uint32_t stack, uint32_t most)
{
    size_t count = hs_stack_table__stack(&table, stack, frames->number, 2 * (size_t)NODES);
    frames->count = count < most ? count : most;
}

static size_t shared_by(const struct frames *a, const struct frames *b)
{
    size_t shared = 0;
    while (shared < a->count && shared < b->count && a->number[shared] == b->number[shared])
        shared++;
    return shared;
}

static bool is_before(const struct frames *a, const struct frames *b)
{
    size_t shared = shared_by(a, b);
    return shared == a->count ? shared < b->count : shared < b->count && a->number[shared] < b->number[shared];
}

static void check_order(const struct hs_stack_groups *groups, uint32_t most)
{
    static struct frames before, here;
    for (size_t i = 0; i < groups->count; i++) {
        read_frames(&here, groups->group[i].stack, most);
        ck_assert(!i || is_before(&before, &here));
        ck_assert_uint_eq(groups->group[i].shared, i ? shared_by(&before, &here) : 0);
        before = here;
    }
}

static void check_stacks(const struct hs_stack_groups *groups, uint32_t most)
{
    static struct frames one, all;
    static bool seen[NODES];
    memset(seen, 0, sizeof(seen));
    ck_assert_uint_eq(groups->group[0].first, 0);
    ck_assert_uint_eq(groups->group[groups->count].first, subject.totals.count);
    for (size_t i = 0; i < groups->count; i++) {
        ck_assert_uint_lt(groups->group[i].first, groups->group[i + 1].first);
        read_frames(&all, groups->group[i].stack, most);
        for (size_t k = groups->group[i].first; k < groups->group[i + 1].first; k++) {
            uint32_t stack = subject.totals.total[groups->totals[k]].stack;
            read_frames(&one, stack, most);
            ck_assert(one.count == all.count && shared_by(&one, &all) == all.count);
            ck_assert_uint_eq(hs_stack_groups__of(groups, stack), i);
            ck_assert(!seen[stack]);
            seen[stack] = true;
        }
    }
}

START_TEST(groups_are_the_stacks_in_the_order_of_their_frames)
{
    static const uint32_t depths[] = {1, 2, 5, 30, UINT32_MAX};
    struct random_state random = {test_seed(__func__)};
    for (unsigned round = 0; round < 5; round++) {
        start(&random);
        for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
            struct hs_stack_groups groups;
            ck_assert_int_eq(hs_stack_groups__build(&groups, &table, &subject, depths[i]), 0);
            check_order(&groups, depths[i]);
            check_stacks(&groups, depths[i]);
            hs_stack_groups__free(&groups);
        }
        finish();
    }
}
END_TEST

START_TEST(no_stacks_are_no_groups)
{
    struct random_state random = {test_seed(__func__)};
    struct hs_stack_groups groups;
    start(&random);
    subject.totals.count = 0;
    ck_assert_int_eq(hs_stack_groups__build(&groups, &table, &subject, UINT32_MAX), 0);
    ck_assert_uint_eq(groups.count, 0);
    hs_stack_groups__free(&groups);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups");
    TCase *cases = tcase_create("groups");
    tcase_add_test(cases, groups_are_the_stacks_in_the_order_of_their_frames);
    tcase_add_test(cases, no_stacks_are_no_groups);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
