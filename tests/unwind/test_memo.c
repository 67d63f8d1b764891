// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The memo against the plain walk: random call trees, and stacks made by hand where one word makes the difference.
#include "shapes.h"
#include "support.h"

#include "unwind/rule_cache.h"
#include "unwind/walk_sites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern const char fake_plain[], fake_plain_too[], fake_framed[], fake_saving[], fake_root[], fake_root_too[],
    fake_unknown[], fake_planted[];

static struct hs_memo *memo;
static struct hs_sites sites;
static uintptr_t plain[FRAMES_MAX];
static uint64_t total_depth, total_kept, walks, recalled;

static struct hs_memo *make_memo(uint32_t capacity)
{
    void *memory = NULL;
    ck_assert_int_eq(posix_memalign(&memory, 64, hs_memo_size(capacity)), 0);
    memset(memory, 0, hs_memo_size(capacity));
    hs_sites_forget(&sites);
    return hs_memo_create(memory, capacity);
}

static uint32_t identity(uint32_t parent, uintptr_t pc)
{
    uint64_t mixed = (parent + UINT64_C(0x9e3779b97f4a7c15)) * ((pc ^ pc << 7) | 1);
    return (uint32_t)(mixed ^ mixed >> 32);
}

// A stack that is known by its site is the one that is there; the next one may be known by this.
static void check_sites(const struct hs_registers *start, uint32_t id)
{
    uint32_t known = hs_sites_recall(&sites, start);
    if (known) {
        ck_assert_int_eq(memo->end, HS_END_ROOT);
        ck_assert_uint_eq(known, id);
        recalled++;
    }
    if (id)
        hs_sites_learn(&sites, memo, start, id);
}

// The memo's frames are the plain walk's, and the ids that it says are unchanged are right.
static void check_memo(uint32_t kept, const struct hs_registers *start)
{
    enum hs_end end;
    uint32_t depth = hs_walk_plain(plain, memo->capacity, start, &end), parent = 0;
    ck_assert_uint_eq(memo->depth, depth);
    ck_assert_int_eq(memo->end, end);
    ck_assert_uint_le(kept, depth);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t id = identity(parent, memo->pcs[i]);
        ck_assert_uint_eq(memo->pcs[i], plain[depth - 1 - i]);
        if (i < kept)
            ck_assert_uint_eq(memo->ids[i], id);
        memo->ids[i] = parent = id;
    }
    check_sites(start, parent);
    total_depth += depth;
    total_kept += kept;
    walks++;
}

NOINLINE static void probe(void)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    uint32_t kept = hs_memo_walk(memo, &start);
    check_memo(kept, &start);
}

struct tree {
    uint64_t random;
    int depth;
    int budget;
    unsigned shapes; // bits: which shapes take part
};

static uint32_t draw(struct tree *tree, uint32_t below)
{
    tree->random = tree->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(tree->random >> 33) % below;
}

static unsigned draw_shape(struct tree *tree)
{
    unsigned shape;
    do
        shape = draw(tree, SHAPES);
    while (!(tree->shapes >> shape & 1));
    return shape;
}

NOINLINE static void grow(void *argument)
{
    struct tree *tree = argument;
    probe();
    tree->depth--;
    for (uint32_t children = draw(tree, 4); tree->depth > 0 && children > 0 && tree->budget > 0; children--) {
        tree->budget--;
        shape_call(draw_shape(tree), draw(tree, 128), grow, tree);
        probe();
    }
    tree->depth++;
    probe();
}

static void grow_trees(uint32_t capacity, unsigned shapes, int depth, int trees)
{
    memo = make_memo(capacity);
    for (int i = 0; i < trees; i++) {
        struct tree tree = {.random = (uint64_t)i * 77 + capacity, .depth = depth, .budget = 400, .shapes = shapes};
        for (int tries = 0; tries < 20; tries++)
            grow(&tree);
    }
    free(memo);
}

enum { ALL_SHAPES = (1 << SHAPES) - 1, STANDARD_SHAPES = 0x3f };

START_TEST(random_trees)
{
    grow_trees(1000, STANDARD_SHAPES, 30, 10);
    ck_assert_uint_gt(walks, 10000);
    ck_assert_uint_gt(total_kept * 10, total_depth * 5); // it does save work
    grow_trees(1000, ALL_SHAPES, 20, 10);
    grow_trees(1000, 1 << 6 | 1 << 5 | 1 << 1, 25, 5);
    grow_trees(1000, 1 << 7 | 1 << 4 | 1 << 0, 12, 5);
}
END_TEST

START_TEST(random_trees_in_a_small_memo)
{
    static const uint32_t capacities[] = {1, 2, 3, 7, 12, 20, 33};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        grow_trees(capacities[i], STANDARD_SHAPES, 30, 2);
        grow_trees(capacities[i], ALL_SHAPES, 20, 2);
    }
}
END_TEST

// A stack made by hand.
static uintptr_t words[4096];

static void walk_fake(const char *pc, size_t sp, size_t fp)
{
    struct hs_registers start = {(uintptr_t)pc, (uintptr_t)&words[sp], (uintptr_t)&words[fp]};
    uint32_t kept = hs_memo_walk(memo, &start);
    check_memo(kept, &start);
}

static void check_root(const char *root)
{
    ck_assert_uint_eq(memo->pcs[0], (uintptr_t)root);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
}

static uintptr_t pc(const char *label)
{
    return (uintptr_t)label;
}

// By turns from sixteen places: from the third round on, most are known. (Which of them share a place in the table
// depends on where the program is loaded.)
START_TEST(sites_are_known_again)
{
    enum { PLACES = 16, ROUNDS = 6 };
    memo = make_memo(100);
    for (size_t i = 0; i < PLACES; i++)
        words[100 * i + 11] = words[100 * i + 13] = pc(fake_plain), words[100 * i + 15] = pc(fake_root);
    uint64_t before = recalled;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < PLACES; i++)
            walk_fake(fake_plain, 100 * i + 10, 0);
    ck_assert_uint_ge(recalled - before, PLACES * (ROUNDS - 2) / 4);
}
END_TEST

// The same return addresses at the same places, but rbp leads elsewhere.
START_TEST(only_the_frame_pointer_differs)
{
    memo = make_memo(100);
    words[11] = pc(fake_plain);
    words[13] = pc(fake_framed);
    words[20] = (uintptr_t)&words[30], words[21] = pc(fake_root);
    words[40] = (uintptr_t)&words[50], words[41] = pc(fake_root_too);
    walk_fake(fake_plain, 10, 20);
    check_root(fake_root);
    walk_fake(fake_plain, 10, 40);
    check_root(fake_root_too);
    walk_fake(fake_plain, 10, 40);
    check_root(fake_root_too);
    walk_fake(fake_plain, 10, 20);
    check_root(fake_root);
    ck_assert_uint_eq(memo->depth, 4);
}
END_TEST

// rbp comes out of memory, far from where it is used.
START_TEST(only_a_saved_frame_pointer_differs)
{
    memo = make_memo(100);
    words[11] = pc(fake_saving);
    words[13] = (uintptr_t)&words[20], words[14] = pc(fake_plain);
    words[16] = pc(fake_plain);
    words[18] = pc(fake_framed);
    words[20] = (uintptr_t)&words[30], words[21] = pc(fake_root);
    words[40] = (uintptr_t)&words[50], words[41] = pc(fake_root_too);
    walk_fake(fake_plain, 10, 0);
    check_root(fake_root);
    walk_fake(fake_plain, 10, 5);
    ck_assert_uint_eq(hs_memo_walk(memo, &(struct hs_registers){pc(fake_plain), (uintptr_t)&words[10], 0}), 6);
    check_root(fake_root);
    words[13] = (uintptr_t)&words[40];
    walk_fake(fake_plain, 10, 0);
    check_root(fake_root_too);
    words[13] = (uintptr_t)&words[20];
    walk_fake(fake_plain, 10, 0);
    check_root(fake_root);
}
END_TEST

// An rbp that nothing depended on changes first; then a frame appears that depends on it.
START_TEST(stale_frame_pointer)
{
    memo = make_memo(100);
    words[11] = pc(fake_saving);
    words[13] = (uintptr_t)&words[20], words[14] = pc(fake_plain);
    words[16] = pc(fake_plain_too);
    words[18] = pc(fake_root);
    words[20] = (uintptr_t)&words[30], words[21] = pc(fake_root);
    words[40] = (uintptr_t)&words[50], words[41] = pc(fake_root_too);
    walk_fake(fake_plain, 10, 0);
    words[13] = (uintptr_t)&words[40];
    walk_fake(fake_plain, 10, 0);
    words[18] = pc(fake_framed);
    walk_fake(fake_plain, 10, 0);
    check_root(fake_root_too);
    words[18] = pc(fake_root);
    walk_fake(fake_plain, 10, 0);
    check_root(fake_root);
}
END_TEST

// Each single word of a stack changes and changes back.
START_TEST(every_word_matters)
{
    memo = make_memo(100);
    for (size_t i = 0; i < 60; i++)
        words[11 + 2 * i] = pc(i & 1 ? fake_plain : fake_plain_too);
    words[11 + 2 * 60] = pc(fake_root);
    walk_fake(fake_plain, 10, 0);
    ck_assert_uint_eq(memo->depth, 62);
    for (size_t i = 0; i < 60; i++) {
        uintptr_t before = words[11 + 2 * i];
        words[11 + 2 * i] = pc(fake_root_too);
        walk_fake(fake_plain, 10, 0);
        check_root(fake_root_too);
        ck_assert_uint_eq(memo->depth, i + 2);
        words[11 + 2 * i] = before;
        walk_fake(fake_plain, 10, 0);
        ck_assert_uint_eq(memo->depth, 62);
        words[11 + 2 * i] = pc(i & 1 ? fake_plain_too : fake_plain);
        walk_fake(fake_plain, 10, 0);
        ck_assert_uint_eq(memo->depth, 62);
        words[11 + 2 * i] = before;
    }
}
END_TEST

START_TEST(ends_found_in_memory)
{
    memo = make_memo(100);
    words[11] = pc(fake_plain);
    words[13] = 0;
    walk_fake(fake_plain, 10, 0);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert_uint_eq(memo->depth, 2);
    walk_fake(fake_plain, 10, 0);
    words[13] = pc(fake_root);
    walk_fake(fake_plain, 10, 0);
    ck_assert_uint_eq(memo->depth, 3);
    words[13] = 16; // no code
    walk_fake(fake_plain, 10, 0);
    ck_assert_int_eq(memo->end, HS_END_NO_RULE);
    words[13] = pc(fake_framed);
    walk_fake(fake_plain, 10, 2); // the chain leads downwards
    ck_assert_int_eq(memo->end, HS_END_BAD_STACK);
    walk_fake(fake_plain, 10, 2);
    words[20] = 0, words[21] = pc(fake_root);
    walk_fake(fake_plain, 10, 20);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
}
END_TEST

START_TEST(guessed_frames)
{
    memo = make_memo(100);
    words[11] = pc(fake_unknown);
    words[20] = (uintptr_t)&words[30], words[21] = pc(fake_plain);
    words[23] = pc(fake_root);
    words[40] = (uintptr_t)&words[50], words[41] = pc(fake_root_too);
    walk_fake(fake_plain, 10, 20);
    ck_assert(memo->guessed);
    ck_assert_uint_eq(memo->depth, 4);
    walk_fake(fake_plain, 10, 20);
    ck_assert(memo->guessed);
    walk_fake(fake_plain, 10, 40);
    check_root(fake_root_too);
    words[11] = pc(fake_root);
    walk_fake(fake_plain, 10, 40);
    ck_assert(!memo->guessed);
    words[11] = pc(fake_unknown);
    // Not code, and code that no call is before: the guess is not believed.
    for (int i = 0; i < 2; i++) {
        words[21] = i ? pc(fake_plain) + 1 : 12345;
        walk_fake(fake_plain, 10, 20);
        ck_assert(!memo->guessed);
        ck_assert_int_eq(memo->end, HS_END_NO_RULE);
    }
}
END_TEST

// A stack starts at a planted address, or goes on there, as rbp says, which comes out of memory. Where rbp is far off,
// this is known by the words that were read.
START_TEST(planted_address)
{
    memo = make_memo(100);
    words[11] = pc(fake_saving);
    words[14] = pc(fake_planted);
    words[20] = (uintptr_t)&words[30], words[21] = pc(fake_plain), words[23] = pc(fake_root);
    words[31] = pc(fake_plain);
    for (int round = 0; round < 3; round++) {
        uint64_t before = recalled;
        words[13] = (uintptr_t)&words[5];
        for (int i = 0; i < 20; i++) {
            walk_fake(fake_plain, 10, 0);
            check_root(fake_planted);
            ck_assert(!memo->guessed);
        }
        ck_assert_uint_gt(recalled, before);
        words[13] = (uintptr_t)&words[20];
        for (int i = 0; i < 4; i++) {
            words[31] = i % 2 ? pc(fake_plain) : 0;
            walk_fake(fake_plain, 10, 0);
            check_root(i % 2 ? fake_root : fake_planted);
            ck_assert_int_eq(memo->guessed, i % 2);
        }
    }
}
END_TEST

// A frame pointer that leads to a stack below is followed, if a call is there, but not for ever.
START_TEST(stacks_below)
{
    memo = make_memo(1000);
    words[91] = pc(fake_framed), words[93] = pc(fake_root_too);
    words[20] = (uintptr_t)&words[30], words[21] = pc(fake_plain), words[23] = pc(fake_root);
    for (int i = 0; i < 2; i++) {
        walk_fake(fake_plain, 90, 20);
        check_root(fake_root);
        ck_assert_uint_eq(memo->depth, 4);
        ck_assert(!memo->guessed);
    }
    words[21] = pc(fake_plain) + 1;
    walk_fake(fake_plain, 90, 20);
    ck_assert_int_eq(memo->end, HS_END_BAD_STACK);
    words[20] = (uintptr_t)&words[40], words[21] = pc(fake_framed);
    words[40] = (uintptr_t)&words[20], words[41] = pc(fake_framed);
    walk_fake(fake_plain, 90, 20);
    ck_assert_int_eq(memo->end, HS_END_BAD_STACK);
    ck_assert_uint_lt(memo->depth, 100);
}
END_TEST

START_TEST(forgetting_starts_afresh)
{
    memo = make_memo(100);
    words[11] = pc(fake_root);
    walk_fake(fake_plain, 10, 0);
    struct hs_registers start = {pc(fake_plain), (uintptr_t)&words[10], 0};
    ck_assert_uint_eq(hs_memo_walk(memo, &start), 2);
    hs_unwind_forget_rules();
    ck_assert_uint_eq(hs_rule_cache_find(pc(fake_plain)), HS_RULE_NONE);
    ck_assert_uint_eq(hs_memo_walk(memo, &start), 0);
    ck_assert_uint_ne(hs_rule_cache_find(pc(fake_plain)), HS_RULE_NONE);
    ck_assert_uint_eq(hs_memo_walk(memo, &start), 2);
}
END_TEST

// Whatever the stack holds: no fault, an end, and the memo agrees with the plain walk.
START_TEST(garbage_on_the_stack)
{
    enum { PAGES = 3, PAGE = 4096 };
    static const char *const labels[] = {fake_plain,   fake_framed,    fake_saving, fake_root,
                                         fake_unknown, fake_plain_too, fake_planted};
    char *pages = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_int_eq(mprotect(pages + PAGE, PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
    uintptr_t *stack = (uintptr_t *)(pages + PAGE);
    struct tree random = {.random = 5};
    size_t count = PAGES * PAGE / sizeof *stack;
    memo = make_memo(300);
    for (int round = 0; round < 3000; round++) {
        for (size_t i = 0; i < count; i += 1 + draw(&random, round ? 40 : 1)) {
            uint32_t kind = draw(&random, 10);
            stack[i] = kind < 5   ? pc(labels[draw(&random, 7)])
                       : kind < 8 ? (uintptr_t)(stack + draw(&random, (uint32_t)count * 2)) - count * 4
                       : kind < 9 ? (uintptr_t)malloc + draw(&random, 1 << 18)
                                  : (uintptr_t)draw(&random, ~0u) << draw(&random, 40);
        }
        for (int i = 0; i < 20; i++) {
            struct hs_registers start = {pc(labels[draw(&random, 7)]), (uintptr_t)&stack[draw(&random, 300)],
                                         (uintptr_t)&stack[draw(&random, 1000)]};
            uint32_t kept = hs_memo_walk(memo, &start);
            check_memo(kept, &start);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memo");
    TCase *cases = tcase_create("memo");
    tcase_add_test(cases, random_trees);
    tcase_add_test(cases, random_trees_in_a_small_memo);
    tcase_add_test(cases, sites_are_known_again);
    tcase_add_test(cases, only_the_frame_pointer_differs);
    tcase_add_test(cases, only_a_saved_frame_pointer_differs);
    tcase_add_test(cases, stale_frame_pointer);
    tcase_add_test(cases, every_word_matters);
    tcase_add_test(cases, ends_found_in_memory);
    tcase_add_test(cases, guessed_frames);
    tcase_add_test(cases, planted_address);
    tcase_add_test(cases, stacks_below);
    tcase_add_test(cases, forgetting_starts_afresh);
    tcase_add_test(cases, garbage_on_the_stack);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
