// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trie of stacks against what was put in: every id, taken apart through the journal, is the stack that got it,
// whatever the size of the window.
#include "patient_futex.h"
#include "random.h"

#include "arch/arch.h"
#include "format/trace_format.h"
#include "runtime/embed.h"
#include "runtime/journal.h"
#include "runtime/log.h"
#include "runtime/output.h"
#include "runtime/stacks.h"
#include "tests/rounds.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- the journal, kept in memory -----------------------------------------------------------------------------------

enum { NODES_MOST = 8 << 20, DEPTH_MOST = 512 };

static struct journalled {
    uint32_t parent;
    uintptr_t pc;
} * nodes;
static uint32_t node_count, refuse_after = UINT32_MAX;
static unsigned modules_seen, unloads_seen;

bool hs_journal__node(uint32_t id, uint32_t parent, uintptr_t pc)
{
    if (node_count >= refuse_after)
        return false;
    if (id != node_count + 1 || parent >= id || id >= NODES_MOST)
        ck_abort_msg("node %u below %u after %u nodes", id, parent, node_count);
    nodes[id] = (struct journalled){parent, pc};
    node_count = id;
    return true;
}

bool hs_journal__module(uint64_t time, uint64_t start, uint64_t end, uint64_t bias, const void *build_id,
                        size_t build_id_length, const char *path)
{
    (void)time;
    (void)start, (void)end, (void)bias, (void)build_id, (void)build_id_length, (void)path;
    modules_seen++;
    return true;
}

void hs_journal__code_ends(const struct hs_code_range *code, uint32_t count)
{
    (void)code, (void)count;
}

bool hs_journal__layout(uint32_t hash, uint64_t inode)
{
    (void)hash, (void)inode;
    return true;
}

bool hs_journal__unload(uint64_t start)
{
    (void)start;
    unloads_seen++;
    return true;
}

void hs_journal__flush_code(void)
{
}

void hs_log(enum hs_log_level level, const char *message, const char *detail, int error)
{
    (void)level, (void)detail, (void)error;
    ck_abort_msg("%s", message);
}

static struct hs_live live;

struct hs_live *hs_output__live(void)
{
    return &live;
}

void hs_embed__remember(const char *path)
{
    (void)path;
}

// 0: none.
static uint32_t guessed_frame;

bool hs_memo_guessed_from(const struct hs_memo *memo, uint32_t frame)
{
    (void)memo;
    return frame && frame == guessed_frame;
}

// ---- stacks by hand ------------------------------------------------------------------------------------------------

struct walker {
    struct hs_memo memo;
    uintptr_t pcs[DEPTH_MOST];
    uint32_t ids[DEPTH_MOST];
    uint32_t tid;
};

static struct walker *new_walker(uint32_t tid)
{
    struct walker *walker = calloc(1, sizeof *walker);
    walker->memo = (struct hs_memo){.pcs = walker->pcs, .ids = walker->ids, .capacity = DEPTH_MOST};
    walker->tid = tid;
    return walker;
}

static void free_walker(struct walker *walker)
{
    free(walker);
}

// Root first. Keeps as many frames as are the same as the last time, as a memo does.
static uint32_t identify(struct walker *walker, const uintptr_t *pcs, uint32_t depth, enum hs_end end)
{
    struct hs_memo *memo = &walker->memo;
    uint32_t kept = 0;
    if (memo->end == end)
        while (kept < depth && kept < memo->depth && memo->pcs[kept] == pcs[kept])
            kept++;
    memcpy(memo->pcs, pcs, depth * sizeof *pcs);
    memo->depth = depth;
    memo->end = end;
    return hs_stacks__identify(memo, kept, walker->tid);
}

// Check's assertions are system calls: too slow for millions.
static void expect_meaning(uint32_t id, const uintptr_t *pcs, uint32_t depth, uintptr_t marker)
{
    uint32_t stack = id;
    for (; depth && id && nodes[id].pc == pcs[depth - 1]; depth--)
        id = nodes[id].parent;
    if (!depth && marker && nodes[id].pc == marker)
        id = nodes[id].parent;
    if (depth || id)
        ck_abort_msg("stack %u is another one at frame %u", stack, depth);
}

// Return addresses lie in here: code that the recorder knows.
static uintptr_t code_start;
enum { CODE_LENGTH = 64 << 20 };

// A walk through an imagined program: each stack shares its outer frames with the one before.
static uint32_t next_stack(struct random_numbers *random, uintptr_t *pcs, uint32_t depth, uint32_t most, unsigned width)
{
    uint32_t keep = depth ? (uint32_t)random_below(random, depth + 1) : 0;
    uint32_t more = 1 + (uint32_t)random_below(random, 20);
    if (keep + more > most)
        keep = most - more;
    keep = keep > depth ? depth : keep;
    for (uint32_t i = 0; i < more; i++)
        pcs[keep + i] = code_start + 0x100000 + random_below(random, width) * 4 + 1;
    return keep + more;
}

static void setup(void)
{
    void *code = mmap(NULL, CODE_LENGTH, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(code, MAP_FAILED);
    code_start = (uintptr_t)code;
    nodes = mmap(NULL, NODES_MOST * sizeof *nodes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(nodes, MAP_FAILED);
    // All nodes stay: where code lies differs from run to run, and in a smaller table, one run in a hundred had a group
    // of lines with one of a million nodes too many.
    hs_stacks__set_window(sizeof(void *) == 8 ? (size_t)1 << 30 : 96 << 20);
    is_patient = true;
}

// ---- one thread ----------------------------------------------------------------------------------------------------

enum { WIDTHS = 4 };

// With a window in which all nodes stay, and with one that moves.
START_TEST(stack_gets_the_id_that_spells_it)
{
    struct random_numbers random = random_from(1 + (uint64_t)_i);
    static const unsigned widths[WIDTHS] = {2, 9, 40, 5000};
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[DEPTH_MOST];
    uint32_t depth = 0;
    int rounds = (int)test_rounds(30000);
    if (_i >= WIDTHS)
        hs_stacks__set_window(HS_STACKS_WINDOW_LEAST);
    for (int i = 0; i < rounds; i++) {
        depth = next_stack(&random, pcs, depth, 200, widths[_i % WIDTHS]);
        uint32_t id = identify(walker, pcs, depth, HS_END_ROOT);
        expect_meaning(id, pcs, depth, 0);
    }
    ck_assert_uint_eq(hs_stacks__count(), node_count);
    free_walker(walker);
}
END_TEST

START_TEST(guess_is_marked_between_a_frame_and_its_caller)
{
    struct walker *walker = new_walker((uint32_t)gettid());
    const uintptr_t pcs[] = {code_start + 11, code_start + 21, code_start + 31, code_start + 41};
    uint32_t proven = identify(walker, pcs, 4, HS_END_ROOT);
    walker->memo.depth = 0;
    walker->memo.guessed = true;
    guessed_frame = 2;
    uint32_t id = identify(walker, pcs, 4, HS_END_ROOT);
    walker->memo.depth = 0;
    ck_assert_uint_eq(identify(walker, pcs, 4, HS_END_ROOT), id);
    walker->memo.depth = 0;
    walker->memo.guessed = false;
    guessed_frame = 0;
    ck_assert_uint_eq(identify(walker, pcs, 4, HS_END_ROOT), proven);
    expect_meaning(proven, pcs, 4, 0);
    uint32_t mark = nodes[nodes[id].parent].parent;
    ck_assert_uint_eq(nodes[id].pc, pcs[3]);
    ck_assert_uint_eq(nodes[nodes[id].parent].pc, pcs[2]);
    ck_assert_uint_eq(nodes[mark].pc, HS_NODE_GUESSED);
    expect_meaning(nodes[mark].parent, pcs, 2, 0);
    free_walker(walker);
}
END_TEST

START_TEST(same_stack_gets_the_same_id_without_memo)
{
    struct random_numbers random = random_from(11);
    enum { STACKS = 3000 };
    static uintptr_t pcs[STACKS][64];
    static uint32_t depths[STACKS], ids[STACKS];
    struct walker *walker = new_walker((uint32_t)gettid());
    for (int i = 0; i < STACKS; i++) {
        if (i)
            memcpy(pcs[i], pcs[i - 1], sizeof pcs[i]);
        depths[i] = next_stack(&random, pcs[i], i ? depths[i - 1] : 0, 64, 30);
        ids[i] = identify(walker, pcs[i], depths[i], HS_END_ROOT);
    }
    uint32_t count = node_count;
    struct walker *other = new_walker((uint32_t)gettid());
    for (int i = STACKS; i-- > 0;) {
        other->memo.depth = 0;
        ck_assert_uint_eq(identify(other, pcs[i], depths[i], HS_END_ROOT), ids[i]);
    }
    ck_assert_uint_eq(node_count, count);
    free_walker(walker);
    free_walker(other);
}
END_TEST

// One parent with very many children, and children of those: the window grows.
START_TEST(parent_with_millions_of_children)
{
    const int children = (int)test_rounds(1000000);
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[3] = {code_start + 0x1001, 0, code_start + 0x3001};
    uint32_t *ids = malloc((size_t)children * sizeof *ids);
    for (int i = 0; i < children; i++) {
        pcs[1] = code_start + 0x1001 + (uintptr_t)i * 8;
        ids[i] = identify(walker, pcs, i % 5 ? 2 : 3, HS_END_ROOT);
        expect_meaning(ids[i], pcs, i % 5 ? 2 : 3, 0);
    }
    uint32_t count = node_count;
    for (int i = 0; i < children; i++) {
        pcs[1] = code_start + 0x1001 + (uintptr_t)i * 8;
        walker->memo.depth = 0;
        if (identify(walker, pcs, i % 5 ? 2 : 3, HS_END_ROOT) != ids[i])
            ck_abort_msg("child %d got another id", i);
    }
    ck_assert_uint_eq(node_count, count);
    free(ids);
    free_walker(walker);
}
END_TEST

// ---- a window that moves -------------------------------------------------------------------------------------------

START_TEST(node_that_left_the_window_gets_another_number)
{
    struct random_numbers random = random_from(21);
    struct walker *walker = new_walker((uint32_t)gettid());
    enum { STACKS = 400, DEPTH = 50 };
    static uintptr_t pcs[STACKS][DEPTH];
    static uint32_t ids[STACKS];
    uint32_t again = 0;
    hs_stacks__set_window(HS_STACKS_WINDOW_LEAST);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < STACKS; i++) {
            for (int frame = 0; frame < DEPTH && !round; frame++)
                pcs[i][frame] = code_start + 0x1000 + random_below(&random, 1 << 20) * 4 + 1;
            walker->memo.depth = 0;
            uint32_t id = identify(walker, pcs[i], DEPTH, HS_END_ROOT);
            expect_meaning(id, pcs[i], DEPTH, 0);
            again += round && id != ids[i];
            ids[i] = id;
        }
    ck_assert_uint_gt(again, 0);
    // Numbers that are remembered are good for parents for ever.
    for (int i = 0; i < STACKS; i++) {
        walker->memo.depth = DEPTH - 1;
        memcpy(walker->memo.pcs, pcs[i], sizeof pcs[i]);
        for (uint32_t frame = DEPTH, id = ids[i]; frame-- > 0; id = nodes[id].parent)
            walker->memo.ids[frame] = id;
        pcs[i][DEPTH - 1] += 2;
        expect_meaning(identify(walker, pcs[i], DEPTH, HS_END_ROOT), pcs[i], DEPTH, 0);
    }
    free_walker(walker);
}
END_TEST

// Few stacks that come all the time stay, while many that come once pass through.
START_TEST(nodes_in_use_stay_in_the_window)
{
    struct random_numbers random = random_from(22);
    struct walker *walker = new_walker((uint32_t)gettid()), *once = new_walker((uint32_t)gettid());
    uint32_t id = 0, changes = 0;
    const uintptr_t hot[] = {code_start + 0x1001, code_start + 0x2001, code_start + 0x3001};
    hs_stacks__set_window(HS_STACKS_WINDOW_LEAST);
    for (int i = 0; i < 100000; i++) {
        uintptr_t pcs[] = {code_start + 0x4001, code_start + 0x5001 + random_below(&random, 1 << 22) * 4};
        once->memo.depth = 0;
        expect_meaning(identify(once, pcs, 2, HS_END_ROOT), pcs, 2, 0);
        walker->memo.depth = 0;
        uint32_t now = identify(walker, hot, 3, HS_END_ROOT);
        changes += now != id;
        id = now;
    }
    ck_assert_uint_eq(changes, 1);
    free_walker(walker);
    free_walker(once);
}
END_TEST

// Its number would come into the same entry again. A lookup that saw the node leave and return, and another one in
// between, would take the number for that of the other one.
START_TEST(node_that_was_moved_leaves_the_window_for_good)
{
    enum { TRIES = 50, DEEP = 300, SIBLINGS = 200 };
    struct walker *walker = new_walker((uint32_t)gettid());
    unsigned left = 0;
    hs_stacks__set_window(HS_STACKS_WINDOW_LEAST);
    // The same addresses in each run, so that the same nodes meet.
    hs_stacks__made = (struct hs_made_range){0x10000, 1 << 20};
    for (unsigned try = 0; try < TRIES; try++) {
        uintptr_t first = 0x10001 + try * 8, deep[DEEP];
        for (uint32_t i = 0; i < DEEP; i++)
            deep[i] = 0x20001 + i * 8;
        uint32_t id = identify(walker, &first, 1, HS_END_ROOT);
        identify(walker, deep, DEEP, HS_END_ROOT);
        ck_assert_uint_eq(identify(walker, &first, 1, HS_END_ROOT), id);
        for (uintptr_t i = 0; i < 2 * SIBLINGS; i++) {
            uintptr_t sibling = 0x30001 + i / 2 * 8;
            walker->memo.depth = 0;
            expect_meaning(identify(walker, &sibling, 1, HS_END_ROOT), &sibling, 1, 0);
        }
        left += identify(walker, &first, 1, HS_END_ROOT) != id;
        hs_stacks__reset();
        node_count = 0;
        walker->memo.depth = 0;
    }
    ck_assert_uint_gt(left, 0);
    free_walker(walker);
}
END_TEST

// ---- cut stacks ----------------------------------------------------------------------------------------------------

START_TEST(cut_stack_hangs_below_its_marker)
{
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[] = {code_start + 0x1001, code_start + 0x2001, code_start + 0x3001};
    uint32_t ids[HS_END_COUNT];
    for (int round = 0; round < 2; round++)
        for (enum hs_end end = HS_END_ROOT; end < HS_END_COUNT; end++) {
            uint32_t id = identify(walker, pcs, 3, end);
            expect_meaning(id, pcs, 3, end);
            ck_assert(round == 0 || ids[end] == id);
            ids[end] = id;
        }
    ck_assert_uint_eq(node_count, 3 * HS_END_COUNT + HS_END_COUNT - 1);
    free_walker(walker);
}
END_TEST

START_TEST(too_deep_stack_keeps_its_innermost_frames)
{
    enum { KEPT = 128 };
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[DEPTH_MOST];
    for (uint32_t i = 0; i < DEPTH_MOST; i++)
        pcs[i] = code_start + 0x10001 + i % 3 * 0x100;
    uint32_t before = 0;
    for (uint32_t shift = 0; shift < 30; shift++) {
        pcs[DEPTH_MOST - 1] = code_start + 0x20001 + shift;
        uint32_t id = identify(walker, pcs, DEPTH_MOST, HS_END_TOO_DEEP);
        expect_meaning(id, pcs + DEPTH_MOST - KEPT, KEPT, HS_END_TOO_DEEP);
        ck_assert_uint_eq(walker->memo.depth, 0); // ids of the outer frames are not known
        ck_assert_uint_ne(id, before);
        before = id;
    }
    ck_assert_uint_eq(node_count, 1 + KEPT + 29);
    uint32_t whole = identify(walker, pcs, DEPTH_MOST, HS_END_ROOT);
    expect_meaning(whole, pcs, DEPTH_MOST, 0);
    free_walker(walker);
}
END_TEST

START_TEST(refused_node_leaves_no_trace)
{
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[] = {code_start + 0x1001, code_start + 0x2001, code_start + 0x3001, code_start + 0x4001};
    refuse_after = 2;
    ck_assert_uint_eq(identify(walker, pcs, 4, HS_END_ROOT), 0);
    ck_assert_uint_eq(walker->memo.depth, 0);
    ck_assert_uint_eq(hs_stacks__count(), 2);
    refuse_after = UINT32_MAX;
    expect_meaning(identify(walker, pcs, 4, HS_END_ROOT), pcs, 4, 0);
    ck_assert_uint_eq(node_count, 4);
    free_walker(walker);
}
END_TEST

// ---- code that goes ------------------------------------------------------------------------------------------------

enum { CODE_SIZE = 1 << 16 };

// Code without a file, at the same place each time.
static uintptr_t map_code(uintptr_t where)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED_NOREPLACE : 0);
    void *code = mmap((void *)where, CODE_SIZE, PROT_READ | PROT_EXEC, flags, -1, 0);
    ck_assert_ptr_ne(code, MAP_FAILED);
    return (uintptr_t)code;
}

// `children` return addresses in code that is unloaded and comes again, `others` in code that stays, below one parent.
START_TEST(id_of_unloaded_code_is_never_found_again)
{
    struct random_numbers random = random_from(31 + (uint64_t)_i);
    struct walker *walker = new_walker((uint32_t)gettid());
    // Unreadable pages around it, so that it is a mapping of its own.
    char *room = mmap(NULL, 3 * CODE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(room, MAP_FAILED);
    uintptr_t code = (uintptr_t)room + CODE_SIZE;
    ck_assert_int_eq(munmap((void *)code, CODE_SIZE), 0);
    uint32_t last_of_old_life = 0;
    uint32_t children = 1 + (uint32_t)_i / 2, stable_id = 0;
    uintptr_t pcs[2] = {(uintptr_t)setup + 1, 0}, stable[2] = {pcs[0], (uintptr_t)identify + 1};
    for (int life = 0; life < 6; life++) {
        ck_assert_uint_eq(map_code(code), code);
        for (int round = 0; round < 2; round++)
            for (uint32_t i = 0; i < children; i++) {
                pcs[1] = i == children - 1 ? code + CODE_SIZE : code + HS_ARCH_CALL_SIZE(code) + i * 16;
                uint32_t id = identify(walker, pcs, 2, HS_END_ROOT);
                expect_meaning(id, pcs, 2, 0);
                ck_assert_msg(id > last_of_old_life, "life %d, child %u of %u: id %u of an earlier life", life, i,
                              children, id);
            }
        for (uint64_t i = _i % 2 ? random_below(&random, 4) : 0; i > 0; i--) {
            uintptr_t other[2] = {pcs[0], (uintptr_t)setup + 100 + random_below(&random, 8)};
            expect_meaning(identify(walker, other, 2, HS_END_ROOT), other, 2, 0);
        }
        uint32_t id = identify(walker, stable, 2, HS_END_ROOT);
        ck_assert(!stable_id || stable_id == id);
        stable_id = id;
        ck_assert_int_eq(munmap((void *)code, CODE_SIZE), 0);
        walker->memo.depth = 0; // as hs_unwind_forget_rules() does
        unsigned unloads = unloads_seen;
        hs_stacks__forget_unloaded(walker->tid);
        ck_assert_uint_eq(unloads_seen, unloads + 1);
        last_of_old_life = node_count;
    }
    free_walker(walker);
}
END_TEST

START_TEST(modules_are_announced_once)
{
    struct walker *walker = new_walker((uint32_t)gettid());
    for (uintptr_t i = 0; i < 100; i++) {
        uintptr_t pcs[2] = {(uintptr_t)setup + i, (uintptr_t)memcpy + i};
        identify(walker, pcs, 2, HS_END_ROOT);
    }
    unsigned seen = modules_seen;
    ck_assert_uint_ge(seen, 2);
    for (uintptr_t i = 100; i < 200; i++) {
        uintptr_t pcs[2] = {(uintptr_t)setup + i, (uintptr_t)pthread_create + i};
        identify(walker, pcs, 2, HS_END_ROOT);
    }
    ck_assert_uint_eq(modules_seen, seen);
    free_walker(walker);
}
END_TEST

// ---- many threads --------------------------------------------------------------------------------------------------

enum { THREADS = 6, MOST_ROUNDS = 5000 };

struct worker {
    pthread_t thread;
    uint32_t *ids;
    unsigned refused;
    uint64_t seed;
};

static void *same_stacks(void *argument)
{
    struct worker *worker = argument;
    struct random_numbers random = {worker->seed};
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[DEPTH_MOST];
    uint32_t depth = 0;
    const int rounds = (int)test_rounds(MOST_ROUNDS);
    for (int i = 0; i < rounds; i++) {
        depth = next_stack(&random, pcs, depth, 60, 200);
        worker->ids[i] = identify(walker, pcs, depth, HS_END_ROOT);
        worker->refused += worker->ids[i] == 0;
    }
    free_walker(walker);
    return NULL;
}

START_TEST(threads_agree_on_ids)
{
    struct worker workers[THREADS] = {0};
    struct random_numbers random = random_from(41);
    uint64_t seed = random.state;
    const int rounds = (int)test_rounds(MOST_ROUNDS);
    for (int t = 0; t < THREADS; t++) {
        workers[t].ids = calloc(MOST_ROUNDS, sizeof(uint32_t));
        workers[t].seed = seed;
        ck_assert_int_eq(pthread_create(&workers[t].thread, NULL, same_stacks, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(workers[t].thread, NULL), 0);
    uintptr_t pcs[DEPTH_MOST];
    uint32_t depth = 0;
    for (int i = 0; i < rounds; i++) {
        depth = next_stack(&random, pcs, depth, 60, 200);
        for (int t = 0; t < THREADS; t++)
            expect_meaning(workers[t].ids[i], pcs, depth, 0);
        for (int t = 1; t < THREADS; t++)
            ck_assert_uint_eq(workers[t].ids[i], workers[0].ids[i]);
    }
    for (int t = 0; t < THREADS; t++)
        free(workers[t].ids);
}
END_TEST

static void *forget_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++) {
        uintptr_t code = map_code(0);
        struct walker *walker = new_walker((uint32_t)gettid());
        uintptr_t pcs[2] = {(uintptr_t)setup + 1, code + 1};
        identify(walker, pcs, 2, HS_END_ROOT);
        munmap((void *)code, CODE_SIZE);
        hs_stacks__forget_unloaded(walker->tid);
        free_walker(walker);
    }
    return NULL;
}

START_TEST(threads_go_on_while_code_is_forgotten)
{
    struct worker workers[THREADS] = {0};
    pthread_t forgetter;
    struct random_numbers random = random_from(51);
    if (_i)
        hs_stacks__set_window(HS_STACKS_WINDOW_LEAST); // and while the window moves
    const int rounds = (int)test_rounds(MOST_ROUNDS);
    ck_assert_int_eq(pthread_create(&forgetter, NULL, forget_often, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        workers[t].ids = calloc(MOST_ROUNDS, sizeof(uint32_t));
        workers[t].seed = random_next(&random);
        ck_assert_int_eq(pthread_create(&workers[t].thread, NULL, same_stacks, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(workers[t].thread, NULL), 0);
    ck_assert_int_eq(pthread_join(forgetter, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        uintptr_t pcs[DEPTH_MOST];
        uint32_t depth = 0;
        struct random_numbers again = {workers[t].seed};
        for (int i = 0; i < rounds; i++) {
            depth = next_stack(&again, pcs, depth, 60, 200);
            expect_meaning(workers[t].ids[i], pcs, depth, 0);
        }
        free(workers[t].ids);
    }
}
END_TEST

START_TEST(reset_starts_from_nothing)
{
    struct walker *walker = new_walker((uint32_t)gettid());
    uintptr_t pcs[] = {code_start + 0x1001, code_start + 0x2001};
    const uintptr_t children = test_rounds(300000);
    for (uintptr_t i = 0; i < children; i++) {
        pcs[1] = code_start + 0x2001 + i * 4;
        identify(walker, pcs, 2, HS_END_ROOT);
    }
    hs_stacks__reset();
    node_count = 0;
    walker->memo.depth = 0;
    expect_meaning(identify(walker, pcs, 2, HS_END_ROOT), pcs, 2, 0);
    ck_assert_uint_eq(hs_stacks__count(), 2);
    free_walker(walker);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stacks");
    TCase *one = tcase_create("one thread");
    tcase_add_checked_fixture(one, setup, NULL);
    tcase_add_loop_test(one, stack_gets_the_id_that_spells_it, 0, 2 * WIDTHS);
    tcase_add_test(one, guess_is_marked_between_a_frame_and_its_caller);
    tcase_add_test(one, same_stack_gets_the_same_id_without_memo);
    tcase_add_test(one, parent_with_millions_of_children);
    tcase_add_test(one, node_that_left_the_window_gets_another_number);
    tcase_add_test(one, nodes_in_use_stay_in_the_window);
    tcase_add_test(one, node_that_was_moved_leaves_the_window_for_good);
    tcase_add_test(one, cut_stack_hangs_below_its_marker);
    tcase_add_test(one, too_deep_stack_keeps_its_innermost_frames);
    tcase_add_test(one, refused_node_leaves_no_trace);
    tcase_add_loop_test(one, id_of_unloaded_code_is_never_found_again, 0, 40);
    tcase_add_test(one, modules_are_announced_once);
    tcase_add_test(one, reset_starts_from_nothing);
    suite_add_tcase(suite, one);
    TCase *many = tcase_create("many threads");
    tcase_add_checked_fixture(many, setup, NULL);
    tcase_add_test(many, threads_agree_on_ids);
    tcase_add_loop_test(many, threads_go_on_while_code_is_forgotten, 0, 2);
    suite_add_tcase(suite, many);
    return run_suite(suite);
}
