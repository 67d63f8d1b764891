// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is added up look by look is what an import of the same file says.
#include "host/import/import.h"
#include "host/import/running_sums.h"
#include "tests/format/check_random.h"
#include "tests/store/growing_trace.h"
#include "tests/store/import_folder.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- comparing -----------------------------------------------------------------------------------------------------

// A stack by its addresses: tables number them as they like.
struct known_stack {
    uint64_t name;
    struct hs_running_sum sums;
};

static uint64_t name_of(const struct hs_node *nodes, uint32_t node)
{
    uint64_t name = 14695981039346656037u;
    for (; node; node = nodes[node].parent)
        name = (name ^ nodes[node].pc) * 1099511628211u;
    return name;
}

static int compare(const void *left, const void *right)
{
    const struct known_stack *a = left, *b = right;
    return (a->name > b->name) - (a->name < b->name);
}

// As many as have a sum.
static size_t sort(struct known_stack *stacks, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (stacks[i].sums.all_count)
            stacks[kept++] = stacks[i];
    qsort(stacks, kept, sizeof(*stacks), compare);
    return kept;
}

static size_t list_imported(struct known_stack **stacks, uint64_t *most, uint64_t *end)
{
    struct hs_error error;
    struct hs_store *store;
    size_t count;
    ck_assert_msg(!hs_import__open(path, NULL, &store, &error), "%s", error.message);
    const struct hs_node *nodes = hs_store__nodes(store, &count);
    const struct hs_columns *columns = hs_store__columns(store);
    *stacks = calloc(count, sizeof(**stacks));
    for (uint64_t row = 0; row < columns->rows; row++) {
        const uint32_t stack = hs_row__stack(columns, row);
        const uint64_t size = hs_row__size(columns, row);
        const bool live = hs_row__free_time(columns, row) == HS_NEVER;
        if (hs_kind_domain(hs_row__kind(columns, row)) != HS_DOMAIN_HEAP)
            continue;
        struct hs_running_sum *sums = &(*stacks)[stack].sums;
        (*stacks)[stack].name = name_of(nodes, stack);
        sums->live_bytes += live ? size : 0;
        sums->live_count += live;
        sums->all_bytes += size;
        sums->all_count++;
    }
    *most = hs_store__summary(store)->peak.bytes;
    *end = hs_store__summary(store)->end_time;
    hs_store__close(store);
    return sort(*stacks, count);
}

static size_t list_running(const struct hs_running_state *state, struct known_stack **stacks)
{
    *stacks = calloc(state->stacks + 1, sizeof(**stacks));
    for (size_t i = 0; i < state->stacks; i++)
        (*stacks)[i] = (struct known_stack){name_of(state->nodes, state->stack[i].node), state->stack[i].sums};
    return sort(*stacks, state->stacks);
}

static void expect_same(const struct hs_running_state *state)
{
    struct known_stack *imported, *running;
    uint64_t most, end;
    const size_t count = list_imported(&imported, &most, &end);
    ck_assert_uint_eq(list_running(state, &running), count);
    struct hs_running_sum sum = {0};
    for (size_t i = 0; i < count; i++) {
        ck_assert_mem_eq(&imported[i], &running[i], sizeof(*imported));
        sum.live_bytes += imported[i].sums.live_bytes;
        sum.live_count += imported[i].sums.live_count;
        sum.all_bytes += imported[i].sums.all_bytes;
        sum.all_count += imported[i].sums.all_count;
    }
    ck_assert_mem_eq(&sum, &state->sum, sizeof(sum));
    ck_assert_uint_eq(most, state->most_bytes);
    ck_assert_uint_eq(end, state->time_ns);
    free(imported);
    free(running);
}

struct last_look {
    uint64_t time_ns, live_bytes;
};

// What changed, added to what was before, is what is now. Of the first events no changes are listed.
static void expect_changes(const struct hs_running_state *state, struct last_look *last)
{
    if (!last->time_ns) {
        ck_assert_uint_eq(state->changes, 0);
        last->live_bytes = state->sum.live_bytes;
    }
    for (size_t i = 0; i < state->changes; i++)
        last->live_bytes += state->stack[state->change[i].stack].sums.live_bytes - state->change[i].before.live_bytes;
    ck_assert_uint_eq(last->live_bytes, state->sum.live_bytes);
    last->time_ns = state->time_ns;
}

// The first look learns how far the second one may go.
static void look_at_all(struct hs_running_sums *running, struct last_look *last)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hs_running_sums__look(running, NULL), 0);
        expect_changes(hs_running_sums__state(running), last);
    }
}

// ---- tests ---------------------------------------------------------------------------------------------------------

static void grow(uint64_t seed, size_t events)
{
    static struct recorder recorder;
    struct last_look last = {0};
    begin_recording(&recorder, path, seed, events, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 10);
    show(&recorder);
    struct hs_running_sums *running = hs_running_sums__create(path);
    ck_assert_ptr_nonnull(running);
    while (recorder.next < events) {
        const size_t more = 1 + random_below(&recorder.random, 1 + events / 4);
        record_until(&recorder, recorder.next + more < events ? recorder.next + more : events);
        show(&recorder);
        look_at_all(running, &last);
        expect_same(hs_running_sums__state(running));
    }
    end_recording(&recorder);
    ck_assert_int_eq(hs_running_sums__look(running, NULL), -ESTALE); // it has ended
    hs_running_sums__free(running);
    ck_assert_ptr_null(hs_running_sums__create(path));
    run_shell("rm -r '%s.store' '%s'", path, path);
}

START_TEST(sums_are_those_of_imports)
{
    const uint64_t seed = test_seed("sums_are_those_of_imports");
    for (uint64_t i = 0; i < 4; i++)
        grow(seed + i, i < 3 ? 3000 : 12000);
}
END_TEST

// As recorders write them: in chunks without a sequence. The counter's rate is another one after each point.
START_TEST(all_clock_points_count)
{
    struct trace_writer writer;
    struct hs_running_sums *running = NULL;
    struct last_look last = {0};
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    trace_writer__set_clock(&writer, HS_CLOCK_COUNTER);
    fseek(writer.file, 0, SEEK_END);
    for (uint64_t i = 1; i <= 4; i++) {
        const struct hs_event event = {
            .kind = HS_EVENT_MALLOC, .time = 1000000 * i + 100000, .address = 0x10000 * i, .size = 10};
        uint8_t bytes[64] = {0};
        struct hs_meta_writer meta;
        hs_meta_begin(&meta, bytes, sizeof(bytes));
        hs_meta_clock(&meta, 1000000 * i, 1000000000 + 1000000 * i * i, 1700000000000000000);
        struct hs_chunk_header chunk = {.kind = HS_CHUNK_META,
                                        .stored_length = (uint32_t)(meta.at - bytes),
                                        .plain_length = (uint32_t)(meta.at - bytes)};
        trace_writer__chunk(&writer, &chunk, bytes);
        trace_writer__events(&writer, 1, &event, 1, false);
        fflush(writer.file);
        running = running ? running : hs_running_sums__create(path);
        ck_assert_ptr_nonnull(running);
        look_at_all(running, &last);
        expect_same(hs_running_sums__state(running));
    }
    trace_writer__close(&writer, false, 0);
    hs_running_sums__free(running);
}
END_TEST

static struct hs_running_sums *begin(struct recorder *recorder, const char *name)
{
    begin_recording(recorder, path, test_seed(name), 6000, HS_CLOCK_MONOTONIC);
    record_until(recorder, 2000);
    show(recorder);
    struct hs_running_sums *running = hs_running_sums__create(path);
    ck_assert_ptr_nonnull(running);
    ck_assert_int_eq(hs_running_sums__look(running, NULL), 0);
    return running;
}

START_TEST(other_files_end_it)
{
    static const char *const changes[] = {"truncate -s 5000 '%s'", "cp '%s' %s.new && mv %s.new '%s'", "rm '%s'"};
    static struct recorder recorder;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct hs_running_sums *running = begin(&recorder, "other_files_end_it");
        run_shell(changes[i], path, path, path, path);
        ck_assert_int_ne(hs_running_sums__look(running, NULL), 0);
        hs_running_sums__free(running);
        end_recording(&recorder);
    }
}
END_TEST

// The second one, in a chunk without a sequence as the first one is.
static void expect_refused(const struct hs_meta_writer *meta, const uint8_t *bytes)
{
    static struct recorder recorder;
    struct hs_running_sums *running = begin(&recorder, "only_imports_add_up_some_records");
    write_records(&recorder, bytes, (size_t)(meta->at - bytes));
    show(&recorder);
    ck_assert_int_eq(hs_running_sums__look(running, NULL), -ENOTSUP);
    hs_running_sums__free(running);
    ck_assert_ptr_null(hs_running_sums__create(path));
    end_recording(&recorder);
}

START_TEST(only_imports_add_up_some_records)
{
    uint8_t bytes[64] = {0};
    struct hs_meta_writer meta;
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    if (_i == 0)
        hs_meta_culled(&meta, 1, 2, 30, 32, 1000);
    else if (_i == 1)
        hs_meta_unload(&meta, 1000, 0x400000);
    else
        hs_meta_info(&meta, "cull", 4, "10000", 5);
    expect_refused(&meta, bytes);
}
END_TEST

START_TEST(it_is_cancelled)
{
    static struct recorder recorder;
    const int cancel = 1;
    struct hs_running_sums *running = begin(&recorder, "it_is_cancelled");
    record_until(&recorder, 4000);
    show(&recorder);
    ck_assert_int_eq(hs_running_sums__look(running, NULL), 0);
    ck_assert_int_eq(hs_running_sums__look(running, &cancel), -ECANCELED);
    hs_running_sums__free(running);
    end_recording(&recorder);
}
END_TEST

// Threads may not have written yet what is older than the newest event.
START_TEST(young_looks_are_no_ends)
{
    static struct recorder recorder;
    hs_running_age = UINT64_MAX;
    struct hs_running_sums *running = begin(&recorder, "young_looks_are_no_ends");
    ck_assert_uint_eq(hs_running_sums__state(running)->time_ns, 0);
    hs_running_age = 0;
    ck_assert_int_eq(hs_running_sums__look(running, NULL), 0);
    ck_assert_uint_ne(hs_running_sums__state(running)->time_ns, 0);
    hs_running_sums__free(running);
    end_recording(&recorder);
}
END_TEST

// So many that looking for them one after the other would not end.
START_TEST(parents_may_come_after_their_children)
{
    enum { NODES = 100000 };
    const struct hs_event event = {
        .kind = HS_EVENT_MALLOC, .time = 1000, .address = 0x10000, .size = 10, .stack = NODES};
    static uint8_t bytes[32 * NODES];
    struct trace_writer writer;
    struct hs_meta_writer meta;
    uint32_t depth = 0;
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    for (uint32_t node = NODES; node; node--)
        hs_meta_node(&meta, node, node - 1, 0x400000 + node);
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 0, &event, 1, false);
    trace_writer__close(&writer, false, 0);
    struct hs_running_sums *running = hs_running_sums__create(path);
    ck_assert_ptr_nonnull(running);
    ck_assert_int_eq(hs_running_sums__look(running, NULL), 0);
    const struct hs_running_state *state = hs_running_sums__state(running);
    ck_assert_uint_eq(state->stacks, 1);
    for (uint32_t node = state->stack[0].node; node; node = state->nodes[node].parent)
        depth++;
    ck_assert_uint_eq(depth, NODES);
    hs_running_sums__free(running);
}
END_TEST

static void set_up(void)
{
    make_folder();
    hs_running_age = 0;
}

int main(void)
{
    Suite *suite = suite_create("running_sums");
    TCase *tests = tcase_create("running_sums");
    tcase_add_checked_fixture(tests, set_up, remove_folder);
    tcase_add_test(tests, sums_are_those_of_imports);
    tcase_add_test(tests, all_clock_points_count);
    tcase_add_test(tests, other_files_end_it);
    tcase_add_loop_test(tests, only_imports_add_up_some_records, 0, 3);
    tcase_add_test(tests, it_is_cancelled);
    tcase_add_test(tests, young_looks_are_no_ends);
    tcase_add_test(tests, parents_may_come_after_their_children);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
