// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces that nobody uses are closed, and opened again by who asks.
#include "format/chunk.h"
#include "host/convert/convert.h"
#include "host/dump/series.h"
#include "host/rest/traces.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRACES = 10, OPEN = 3, THREADS = 3, ROUNDS = 10 };

static char folder[64];
static struct hs_cache *cache;
static struct hs_rest_traces *traces;

// ---- what the linker puts in the place of the functions -------------------------------------------------------------

static int large = -1; // the number of a trace whose indexes are large

uint64_t __real_hs_indexes__bytes(const struct hs_indexes *indexes);
uint64_t __wrap_hs_indexes__bytes(const struct hs_indexes *indexes);

uint64_t __wrap_hs_indexes__bytes(const struct hs_indexes *indexes)
{
    if (indexes && hs_store__summary(indexes->store)->allocations == (uint64_t)(large + 1))
        return (uint64_t)1 << 40;
    return __real_hs_indexes__bytes(indexes);
}

// While it is closed, reading a trace waits.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closed, reached;
    pthread_t asking; // the thread of the lists, which never has to wait
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void set_gate(bool closed)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = closed;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void pass_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    const bool waits_wrongly = gate.closed && pthread_equal(pthread_self(), gate.asking);
    gate.reached = true;
    gate.closed = gate.closed && !waits_wrongly;
    pthread_cond_broadcast(&gate.changed);
    while (gate.closed)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    ck_assert_msg(!waits_wrongly, "a list reads a trace");
}

int __real_hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                            struct hs_error *error);
int __wrap_hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                            struct hs_error *error);

int __wrap_hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                            struct hs_error *error)
{
    pass_gate();
    return __real_hs_foreign__open(path, options, store, error);
}

int __real_hs_dump_series__open(struct hs_dump_series *series, const char *path,
                                const struct hs_symbols_options *options, const int *cancel, struct hs_error *error);
int __wrap_hs_dump_series__open(struct hs_dump_series *series, const char *path,
                                const struct hs_symbols_options *options, const int *cancel, struct hs_error *error);

int __wrap_hs_dump_series__open(struct hs_dump_series *series, const char *path,
                                const struct hs_symbols_options *options, const int *cancel, struct hs_error *error)
{
    pass_gate();
    return __real_hs_dump_series__open(series, path, options, cancel, error);
}

// ---- traces ---------------------------------------------------------------------------------------------------------

static void name_file(char *path, size_t size, int number)
{
    snprintf(path, size, "%s/%d.dat", folder, number);
}

// Each has as many allocations as its number says, and one more.
static void write_trace(int number, bool clean)
{
    char path[128];
    struct trace_writer writer;
    struct hs_event event[TRACES + 1] = {{.kind = HS_EVENT_MALLOC}};
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    name_file(path, sizeof(path), number);
    for (int i = 0; i <= number; i++)
        event[i] = (struct hs_event){.kind = HS_EVENT_MALLOC,
                                     .time = 1000 * (uint64_t)(i + 1),
                                     .address = 0x10000 + 64 * (uint64_t)i,
                                     .size = 10};
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    writer.header.trace_id[1] = (uint64_t)number;
    hs_file_header_seal(&writer.header, page);
    fseek(writer.file, 0, SEEK_SET);
    fwrite(page, 1, sizeof(page), writer.file);
    fseek(writer.file, 0, SEEK_END);
    trace_writer__events(&writer, 0, event, (size_t)number + 1, false);
    trace_writer__close(&writer, clean, 1000 * TRACES);
}

static void set_up(void)
{
    char path[128];
    struct hs_error error = {""};
    gate.asking = pthread_self();
    strcpy(folder, "/tmp/heapsonde-traces-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    hs_rest_traces_limits = (struct hs_rest_traces_limits){.open = OPEN, .bytes = UINT64_MAX};
    cache = hs_cache__create(1 << 20);
    traces = hs_rest_traces__create(NULL, true, cache);
    for (int i = 0; i < TRACES; i++) {
        write_trace(i, true);
        name_file(path, sizeof(path), i);
        ck_assert_msg(!hs_rest_traces__add(traces, path, NULL, &error), "%s", error.message);
    }
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void tear_down(void)
{
    hs_rest_traces__stop(traces);
    hs_cache__destroy(cache);
    hs_rest_traces__destroy(traces);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const struct hs_rest_state *hold(int number)
{
    const struct hs_rest_state *state = NULL;
    struct hs_error error = {""};
    const int result = hs_rest_trace__hold(hs_rest_traces__at(traces, (size_t)number), &state, &error);
    ck_assert_msg(!result, "%s", error.message);
    ck_assert_uint_eq(hs_store__summary(state->store)->allocations, (uint64_t)number + 1);
    return state;
}

static void use(int number)
{
    hs_rest_state__release(hold(number));
}

// Of a list of its own.
static const struct hs_trace_facts *facts_of(int number, struct hs_error *error)
{
    struct hs_rest_wait_budget budget = hs_rest_wait_budget__of_list();
    return hs_rest_trace__facts(hs_rest_traces__at(traces, (size_t)number), &budget, error);
}

START_TEST(idle_ones_are_closed_and_opened_again)
{
    ck_assert_uint_eq(hs_rest_traces__open(traces), OPEN);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < TRACES; i++) {
            use(i);
            ck_assert_uint_eq(hs_rest_traces__open(traces), OPEN);
        }
}
END_TEST

START_TEST(what_is_held_stays_open)
{
    const struct hs_rest_state *held[TRACES];
    for (int i = 0; i < TRACES; i++)
        held[i] = hold(i);
    ck_assert_uint_eq(hs_rest_traces__open(traces), TRACES);
    for (int i = 0; i < TRACES; i++) {
        ck_assert_uint_eq(hs_store__summary(held[i]->store)->allocations, (uint64_t)i + 1);
        hs_rest_state__release(held[i]);
    }
    ck_assert_uint_eq(hs_rest_traces__open(traces), OPEN);
}
END_TEST

START_TEST(the_least_recently_used_one_is_closed)
{
    char before[64];
    use(0);
    const struct hs_rest_state *state = hold(1);
    snprintf(before, sizeof(before), "%s", state->key);
    hs_rest_state__release(state);
    use(2);
    use(1);
    use(3); // in the place of 0
    use(4); // of 2
    state = hold(1);
    ck_assert_str_eq(state->key, before);
    hs_rest_state__release(state);
}
END_TEST

START_TEST(the_bytes_are_limited_too)
{
    hs_rest_traces_limits = (struct hs_rest_traces_limits){.open = SIZE_MAX, .bytes = 0};
    for (int i = 0; i < TRACES; i++)
        use(i);
    ck_assert_uint_eq(hs_rest_traces__open(traces), 1);
    // The one that was used last stays, however large it is.
    const struct hs_rest_state *state = hold(TRACES - 1);
    hs_rest_state__release(state);
    ck_assert_uint_eq(hs_rest_traces__open(traces), 1);
}
END_TEST

START_TEST(a_trace_that_is_too_large_alone_closes_no_others)
{
    hs_rest_traces_limits = (struct hs_rest_traces_limits){.open = SIZE_MAX, .bytes = (uint64_t)1 << 30};
    use(0);
    const size_t open = hs_rest_traces__open(traces);
    large = 1;
    use(1);
    ck_assert_uint_eq(hs_rest_traces__open(traces), open + 1);
    const struct hs_rest_state *state = hold(1);
    use(2);
    ck_assert_uint_eq(hs_rest_traces__open(traces), open + 2);
    // It is the one that is closed, though another was not used for longer.
    hs_rest_state__release(state);
    ck_assert_uint_eq(hs_rest_traces__open(traces), open + 1);
    large = -1;
}
END_TEST

// Waits until there is an index, which a thread makes.
static uint64_t bytes_of_indexes(const struct hs_rest_state *state)
{
    uint64_t bytes;
    while (!(bytes = hs_indexes__bytes(state->indexes)))
        usleep(1000);
    return bytes;
}

START_TEST(indexes_are_counted_as_bytes)
{
    hs_rest_traces_limits = (struct hs_rest_traces_limits){.open = 1, .bytes = UINT64_MAX};
    use(0);
    hs_rest_traces_limits = (struct hs_rest_traces_limits){.open = SIZE_MAX, .bytes = UINT64_MAX};
    const struct hs_rest_state *one = hold(0), *other = hold(1);
    ck_assert_uint_eq(hs_rest_traces__open(traces), 2);
    hs_rest_traces_limits.bytes = hs_trace_symbols__bytes(one->symbols) + hs_trace_symbols__bytes(other->symbols);
    ck_assert_uint_gt(bytes_of_indexes(one), 0);
    hs_rest_state__release(one);
    hs_rest_state__release(other);
    ck_assert_uint_eq(hs_rest_traces__open(traces), 1);
}
END_TEST

static void set_up_without_room(void)
{
    hs_indexes_limits = (struct hs_indexes_limits){0, 1};
    set_up();
}

START_TEST(indexes_wait_for_room)
{
    hs_rest_traces_limits = (struct hs_rest_traces_limits){.open = SIZE_MAX, .bytes = UINT64_MAX};
    const struct hs_rest_state *held[TRACES];
    int with = 0, made = -1;
    for (int i = 0; i < TRACES; i++)
        held[i] = hold(i);
    for (; made < 0; usleep(1000))
        for (int i = 0; i < TRACES; i++)
            if (hs_index__load(held[i]->indexes->sorted_index[HS_ROW_BY_LIFETIME]))
                made = i;
    // It is the only one; the others would have had time for theirs.
    for (int i = 0; i < TRACES; i++)
        with += hs_indexes__bytes(held[i]->indexes) > 0;
    ck_assert_int_eq(with, 1);
    struct hs_indexes_progress progress;
    do
        progress = hs_rest_trace__indexes(hs_rest_traces__at(traces, (size_t)made));
    while (progress.done != progress.total && !usleep(1000));
    ck_assert_uint_gt(progress.total, 1);
    for (int i = 0; i < TRACES; i++)
        if (i != made) {
            progress = hs_rest_trace__indexes(hs_rest_traces__at(traces, (size_t)i));
            ck_assert_uint_lt(progress.done, progress.total);
        }
    // When all but one are closed, that one has its turn.
    hs_rest_traces_limits.open = 1;
    const struct hs_rest_state *state = hold(made ? 0 : 1);
    for (int i = 0; i < TRACES; i++)
        hs_rest_state__release(held[i]);
    ck_assert_uint_gt(bytes_of_indexes(state), 0);
    hs_rest_state__release(state);
}
END_TEST

static void put(const char *prefix, char *key, size_t size)
{
    snprintf(key, size, "%svalue", prefix);
    hs_cache__put(cache, key, malloc(1), 1, free);
}

static bool is_kept(const char *key)
{
    struct hs_cached *cached = hs_cache__find(cache, key);
    if (cached)
        hs_cache__release(cache, cached);
    return cached;
}

START_TEST(the_name_stays_and_what_refers_to_the_state_goes)
{
    char name[48], key[64], of_name[128], of_key[128];
    const struct hs_rest_state *state = hold(0);
    snprintf(name, sizeof(name), "%s", state->name);
    snprintf(key, sizeof(key), "%s", state->key);
    put(name, of_name, sizeof(of_name));
    put(key, of_key, sizeof(of_key));
    hs_rest_state__release(state);
    ck_assert(is_kept(of_name) && is_kept(of_key));
    for (int i = 1; i <= OPEN; i++)
        use(i);
    ck_assert(is_kept(of_name) && !is_kept(of_key));
    state = hold(0);
    ck_assert_str_eq(state->name, name);
    ck_assert_str_ne(state->key, key);
    hs_rest_state__release(state);
}
END_TEST

START_TEST(lists_open_nothing)
{
    const size_t open = hs_rest_traces__open(traces);
    for (size_t i = 0; i < TRACES; i++) {
        struct hs_error error = {""};
        const struct hs_trace_facts *facts = facts_of((int)i, &error);
        ck_assert_ptr_nonnull(facts);
        ck_assert_str_eq(error.message, "");
        ck_assert_uint_eq(facts->summary.allocations, i + 1);
        ck_assert_str_eq(facts->summary.trace_id, hs_rest_trace__id(hs_rest_traces__at(traces, i)));
        hs_trace_facts__release(facts);
    }
    ck_assert_uint_eq(hs_rest_traces__open(traces), open);
}
END_TEST

START_TEST(a_closed_one_that_is_gone_is_refused)
{
    char path[128];
    const struct hs_rest_state *state;
    struct hs_error error = {""};
    struct hs_rest_trace *trace = hs_rest_traces__at(traces, 0);
    name_file(path, sizeof(path), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(hs_rest_trace__hold(trace, &state, &error), -ESTALE);
    ck_assert_ptr_null(state);
    error.message[0] = 0;
    const struct hs_trace_facts *facts = facts_of(0, &error);
    ck_assert_ptr_nonnull(strstr(error.message, "the file is gone"));
    ck_assert_uint_eq(facts->summary.allocations, 1);
    hs_trace_facts__release(facts);
}
END_TEST

START_TEST(a_closed_one_that_grows_is_read_again)
{
    char path[128], name[48];
    struct hs_error error = {""};
    name_file(path, sizeof(path), TRACES);
    write_trace(TRACES, false);
    ck_assert_msg(!hs_rest_traces__add(traces, path, NULL, &error), "%s", error.message);
    const struct hs_rest_state *state = hold(TRACES);
    snprintf(name, sizeof(name), "%s", state->name);
    ck_assert(hs_rest_state__grows(state));
    hs_rest_state__release(state);
    for (int i = 0; i < OPEN; i++)
        use(i);
    write_trace(TRACES, true);
    state = hold(TRACES);
    ck_assert(!hs_rest_state__grows(state));
    ck_assert_str_ne(state->name, name);
    hs_rest_state__release(state);
}
END_TEST

static void *use_first(void *nothing)
{
    use(0);
    return nothing;
}

static void expect_facts(int number, const char *problem)
{
    struct hs_error error = {""};
    const struct hs_trace_facts *facts = facts_of(number, &error);
    ck_assert_ptr_nonnull(facts);
    ck_assert_uint_eq(facts->summary.allocations, (uint64_t)number + 1);
    ck_assert_msg(*problem ? strstr(error.message, problem) != NULL : !*error.message, "%s", error.message);
    hs_trace_facts__release(facts);
}

START_TEST(lists_do_not_wait_for_one_that_is_read_again)
{
    pthread_t thread;
    char path[128], other[140];
    name_file(path, sizeof(path), 0);
    snprintf(other, sizeof(other), "%s.away", path);
    gate.reached = false;
    set_gate(true);
    ck_assert_int_eq(pthread_create(&thread, NULL, use_first, NULL), 0);
    pthread_mutex_lock(&gate.lock);
    while (!gate.reached)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    expect_facts(0, "");
    ck_assert_int_eq(rename(path, other), 0);
    expect_facts(0, "the file is gone");
    ck_assert_int_eq(rename(other, path), 0);
    set_gate(false);
    pthread_join(thread, NULL);
    expect_facts(0, "");
}
END_TEST

static void add_growing_one(void)
{
    char path[128];
    struct hs_error error = {""};
    name_file(path, sizeof(path), TRACES);
    write_trace(TRACES, false);
    ck_assert_msg(!hs_rest_traces__add(traces, path, NULL, &error), "%s", error.message);
}

START_TEST(lists_do_not_wait_for_one_that_has_grown)
{
    add_growing_one();
    set_gate(true);
    write_trace(TRACES, true);
    struct hs_error error = {""};
    const struct hs_trace_facts *facts = facts_of(TRACES, &error);
    ck_assert_str_eq(error.message, "");
    ck_assert_int_eq(facts->summary.state, HS_STATE_RECORDING);
    hs_trace_facts__release(facts);
    set_gate(false);
    for (bool grows = true; grows; usleep(1000)) {
        facts = facts_of(TRACES, &error);
        ck_assert_str_eq(error.message, "");
        grows = facts->summary.state == HS_STATE_RECORDING;
        hs_trace_facts__release(facts);
    }
}
END_TEST

START_TEST(one_that_is_small_enough_is_read_for_the_list)
{
    add_growing_one();
    write_trace(TRACES, true);
    hs_rest_traces_limits.read = UINT64_MAX;
    struct hs_error error = {""};
    const struct hs_trace_facts *facts = facts_of(TRACES, &error);
    ck_assert_int_ne(facts->summary.state, HS_STATE_RECORDING);
    hs_trace_facts__release(facts);
}
END_TEST

static void write_dump(int number)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/dumps/%d", folder, number);
    FILE *dump = fopen(path, "we");
    ck_assert_ptr_nonnull(dump);
    fputs("main;f 10\n", dump);
    ck_assert_int_eq(fclose(dump), 0);
    // Clocks of file systems may be coarse.
    snprintf(path, sizeof(path), "%s/dumps", folder);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, (struct timespec[]){{number, 0}, {number, 0}}, 0), 0);
}

// The size of the folder itself is small.
START_TEST(lists_do_not_wait_for_a_folder_of_dumps)
{
    char path[128];
    struct hs_error error = {""};
    snprintf(path, sizeof(path), "%s/dumps", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    write_dump(1);
    ck_assert_msg(!hs_rest_traces__add(traces, path, NULL, &error), "%s", error.message);
    hs_rest_traces_limits.read = UINT64_MAX;
    set_gate(true);
    write_dump(2);
    const struct hs_trace_facts *facts = facts_of(TRACES, &error);
    ck_assert_uint_eq(facts->summary.aggregate_ticks, 1);
    hs_trace_facts__release(facts);
    set_gate(false);
    for (uint64_t dumps = 1; dumps == 1; usleep(1000)) {
        facts = facts_of(TRACES, &error);
        dumps = facts->summary.aggregate_ticks;
        hs_trace_facts__release(facts);
    }
    ck_assert_str_eq(error.message, "");
}
END_TEST

START_TEST(a_later_list_says_what_was_wrong)
{
    char path[128], other[128];
    add_growing_one();
    name_file(path, sizeof(path), TRACES);
    name_file(other, sizeof(other), 0);
    ck_assert_int_eq(rename(other, path), 0);
    for (struct hs_error error = {""}; !strstr(error.message, "another trace has replaced it"); usleep(1000))
        hs_trace_facts__release(facts_of(TRACES, &error));
}
END_TEST

static void *ask_at_random(void *argument)
{
    struct random_state random = {*(const uint64_t *)argument};
    for (int round = 0; round < ROUNDS; round++) {
        const int number = (int)random_below(&random, TRACES);
        const struct hs_rest_state *state = hold(number);
        const struct hs_rest_state *other = hold((number + 1) % TRACES);
        ck_assert_uint_eq(hs_store__summary(state->store)->allocations, (uint64_t)number + 1);
        hs_rest_state__release(state);
        hs_rest_state__release(other);
        struct hs_error error = {""};
        hs_trace_facts__release(facts_of(number, &error));
    }
    return NULL;
}

START_TEST(threads_ask_while_others_are_closed)
{
    pthread_t thread[THREADS];
    uint64_t seed[THREADS];
    for (int i = 0; i < THREADS; i++) {
        seed[i] = (uint64_t)i + 1;
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask_at_random, &seed[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    use(0); // a thread may have found a lock taken
    ck_assert_uint_eq(hs_rest_traces__open(traces), OPEN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("traces");
    TCase *cases = tcase_create("traces");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, idle_ones_are_closed_and_opened_again);
    tcase_add_test(cases, what_is_held_stays_open);
    tcase_add_test(cases, the_least_recently_used_one_is_closed);
    tcase_add_test(cases, the_bytes_are_limited_too);
    tcase_add_test(cases, a_trace_that_is_too_large_alone_closes_no_others);
    tcase_add_test(cases, the_name_stays_and_what_refers_to_the_state_goes);
    tcase_add_test(cases, lists_open_nothing);
    tcase_add_test(cases, lists_do_not_wait_for_one_that_is_read_again);
    tcase_add_test(cases, lists_do_not_wait_for_one_that_has_grown);
    tcase_add_test(cases, one_that_is_small_enough_is_read_for_the_list);
    tcase_add_test(cases, lists_do_not_wait_for_a_folder_of_dumps);
    tcase_add_test(cases, a_later_list_says_what_was_wrong);
    tcase_add_test(cases, a_closed_one_that_is_gone_is_refused);
    tcase_add_test(cases, a_closed_one_that_grows_is_read_again);
    tcase_add_test(cases, threads_ask_while_others_are_closed);
    suite_add_tcase(suite, cases);
    cases = tcase_create("bytes");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, indexes_are_counted_as_bytes);
    suite_add_tcase(suite, cases);
    cases = tcase_create("indexes");
    tcase_add_checked_fixture(cases, set_up_without_room, tear_down);
    tcase_add_test(cases, indexes_wait_for_room);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
