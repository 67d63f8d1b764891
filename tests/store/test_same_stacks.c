// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which nodes of a trace mean the same stack, against a comparison of all of them, frame by frame.
#include "host/import/same_stacks.h"
#include "host/store/layout.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>

enum { NODES = 3000, EPOCHS = 6, MODULES = 4 };

static struct hs_node nodes[NODES], as_recorded[NODES];
static uint32_t epoch_of[NODES], epoch_as_recorded[NODES];
static const uint64_t epochs[EPOCHS] = {0, 10, 20, 30, 40, 50};
static struct hs_stored_module module[MODULES];
static const struct hs_array modules = {.data = module, .count = MODULES};

static void set_module(int number, uint64_t start, uint64_t end, uint64_t unloaded)
{
    module[number] = (struct hs_stored_module){.start = start, .end = end, .unload_time = unloaded};
}

static void setup(void)
{
    set_module(0, 1000, 2000, HS_NEVER);
    set_module(1, 2100, 2200, 20);
    set_module(2, 2100, 2300, 40);
    set_module(3, 2250, 2400, 45); // is not over before the next epoch
}

static uint64_t lives_of(uint32_t node)
{
    const uint64_t pc = as_recorded[node].pc;
    uint64_t lives = 0;
    for (int i = 0; i < MODULES; i++)
        lives +=
            module[i].start <= pc && pc <= module[i].end && module[i].unload_time <= epochs[epoch_as_recorded[node]];
    return lives;
}

static bool mean_the_same(uint32_t left, uint32_t right)
{
    for (; left && right; left = as_recorded[left].parent, right = as_recorded[right].parent)
        if (as_recorded[left].pc != as_recorded[right].pc || lives_of(left) != lives_of(right))
            return false;
    return left == right;
}

static uint32_t first_by_comparison(uint32_t node)
{
    for (uint32_t other = 1; other < node; other++)
        if (mean_the_same(other, node))
            return other;
    return node;
}

static void find(struct hs_same_stacks *same, uint32_t count)
{
    for (uint32_t node = 0; node < count; node++) {
        as_recorded[node] = nodes[node];
        epoch_as_recorded[node] = epoch_of[node];
    }
    ck_assert_int_eq(hs_same_stacks__find(same, nodes, count, epoch_of, epochs, &modules), 0);
}

START_TEST(first_nodes_are_those_of_a_comparison)
{
    struct hs_same_stacks same = {0};
    uint64_t merged = 0;
    srand(1 + (unsigned)_i);
    for (uint32_t node = 1; node < NODES; node++) {
        epoch_of[node] = node * EPOCHS / NODES;
        // Few addresses and short chains, so that many are the same.
        nodes[node].parent = rand() % 3 ? (uint32_t)rand() % node : 0;
        nodes[node].pc = 1900 + (uint64_t)(rand() % 6) * 97;
    }
    find(&same, NODES);
    for (uint32_t node = 1; node < NODES; node++) {
        uint32_t first = first_by_comparison(node), number = hs_same_stacks__number(&same, node);
        ck_assert_uint_eq(number, first == node ? node - merged : hs_same_stacks__number(&same, first));
        ck_assert_uint_eq(nodes[number].pc, as_recorded[first].pc);
        ck_assert_uint_eq(nodes[number].parent, hs_same_stacks__number(&same, as_recorded[first].parent));
        ck_assert_uint_eq(epoch_of[number], epoch_as_recorded[first]);
        merged += first != node;
    }
    ck_assert_uint_gt(merged, 0);
    ck_assert_uint_eq(same.merged, merged);
    hs_same_stacks__free(&same);
}
END_TEST

START_TEST(nodes_that_differ_take_no_memory)
{
    struct hs_same_stacks same = {0};
    for (uint32_t node = 1; node < 100; node++) {
        epoch_of[node] = 0;
        nodes[node] = (struct hs_node){.pc = 1000 + node, .parent = node - 1};
    }
    find(&same, 100);
    ck_assert_ptr_null(same.numbers.data);
    ck_assert_uint_eq(same.merged, 0);
    ck_assert_uint_eq(hs_same_stacks__number(&same, 7), 7);
    ck_assert_uint_eq(hs_same_stacks__number(&same, 7000), 7000);
}
END_TEST

// Nodes that were lost (without an address), and parents behind their children.
START_TEST(damage_merges_nothing)
{
    struct hs_same_stacks same = {0};
    for (uint32_t node = 1; node < 100; node++)
        nodes[node] = (struct hs_node){.pc = node % 2 ? 0 : 5000 + node, .parent = node % 3 ? 0 : node + (node % 5)};
    find(&same, 100);
    ck_assert_uint_eq(same.merged, 0);
    for (uint32_t node = 1; node < 100; node++)
        ck_assert_uint_eq(nodes[node].parent, as_recorded[node].parent);
    hs_same_stacks__free(&same);
}
END_TEST

// As many loads of one module as are too long to search: the result is careful, and soon there.
START_TEST(module_that_came_very_often)
{
    enum { LOADS = 20000 };
    struct hs_stored_module *loads = calloc(LOADS, sizeof *loads);
    const struct hs_array many = {.data = loads, .count = LOADS};
    struct hs_same_stacks same = {0};
    for (uint32_t i = 0; i < LOADS; i++)
        loads[i] = (struct hs_stored_module){.start = 1000, .end = 2000, .unload_time = i / (LOADS / 50)};
    for (uint32_t node = 1; node < NODES; node++) {
        epoch_of[node] = node * EPOCHS / NODES;
        nodes[node] = (struct hs_node){.pc = 1500, .parent = 0};
    }
    ck_assert_int_eq(hs_same_stacks__find(&same, nodes, NODES, epoch_of, epochs, &many), 0);
    for (uint32_t node = 1; node < NODES; node++)
        ck_assert_uint_eq(epoch_of[hs_same_stacks__number(&same, node)], node * EPOCHS / NODES);
    ck_assert_uint_eq(same.merged, NODES - 1 - EPOCHS);
    hs_same_stacks__free(&same);
    free(loads);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("same stacks");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, NULL);
    tcase_add_loop_test(all, first_nodes_are_those_of_a_comparison, 0, 10);
    tcase_add_test(all, nodes_that_differ_take_no_memory);
    tcase_add_test(all, damage_merges_nothing);
    tcase_add_test(all, module_that_came_very_often);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
