// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What top does with an answer that nobody needs any more, and with a trace that is being written.
#include "command.h"

#include "format/chunk.h"
#include "host/cli/top_asking.h"
#include "host/cli/top_model.h"
#include "host/convert/convert.h"
#include "host/import/running_sums.h"
#include "tests/store/growing_trace.h"

#include <check.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

// ---- what the linker puts in the place of the function --------------------------------------------------------------

static struct {
    atomic_bool waits; // until it is cancelled
    bool was_cancelled;
    sem_t begun;
} opening;

int __real_hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                            struct hs_error *error);
int __wrap_hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                            struct hs_error *error);

int __wrap_hs_foreign__open(const char *path, const struct hs_import_options *options, struct hs_store **store,
                            struct hs_error *error)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    if (!atomic_load(&opening.waits))
        return __real_hs_foreign__open(path, options, store, error);
    sem_post(&opening.begun);
    while (options->cancel && !__atomic_load_n(options->cancel, __ATOMIC_RELAXED))
        nanosleep(&pause, NULL);
    opening.was_cancelled = options->cancel != NULL;
    return hs_error__set(error, ECANCELED, "%s: cancelled", path);
}

// ---- a folder of two traces -----------------------------------------------------------------------------------------

static void write_trace(int number)
{
    struct trace_writer writer;
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    const struct hs_event event = {.kind = HS_EVENT_MALLOC, .time = 1000, .address = 0x10000, .size = 10};
    trace_writer__open(&writer, text("%s/folder/%d.dat", work, number), HS_BYTE_ORDER_LITTLE, 8);
    writer.header.trace_id[1] = (uint64_t)number;
    hs_file_header_seal(&writer.header, page);
    fseek(writer.file, 0, SEEK_SET);
    fwrite(page, 1, sizeof(page), writer.file);
    fseek(writer.file, 0, SEEK_END);
    trace_writer__events(&writer, 0, &event, 1, false);
    trace_writer__close(&writer, true, 2000);
}

static void set_up(void)
{
    make_work();
    ck_assert_int_eq(mkdir(text("%s/folder", work), 0700), 0);
    for (int i = 0; i < 2; i++)
        write_trace(i);
    sem_init(&opening.begun, 0, 0);
}

// ---- tests ----------------------------------------------------------------------------------------------------------

START_TEST(opening_the_next_trace_is_given_up)
{
    char folder[128];
    struct hs_error error = {""};
    const struct hs_symbols_options symbols = {0};
    struct hs_top_source source;
    snprintf(folder, sizeof(folder), "%s/folder", work);
    ck_assert_msg(!hs_top_source__open(&source, folder, NULL, &symbols, &error), "%s", error.message);
    const struct hs_rest *first = source.rest;
    struct hs_top_asking asking = {.source = &source, .by = "requester", .goes_on = true};
    atomic_store(&opening.waits, true);
    hs_top_asking__start(&asking);
    while (sem_wait(&opening.begun))
        continue;
    hs_top_asking__give_up(&asking); // false if this machine is slow
    hs_top_asking__end(&asking);
    ck_assert(opening.was_cancelled);
    ck_assert(!asking.has_gone_on);
    ck_assert_int_ne(asking.result, 0);
    ck_assert_ptr_eq(source.rest, first);
    free(asking.rows);
    hs_top_source__close(&source);
}
END_TEST

static struct hs_top_model model_of_whole(const char *path, const char *by)
{
    struct hs_error error = {""};
    const struct hs_symbols_options symbols = {0};
    struct hs_top_source source;
    struct hs_top_model model = {0};
    char *answer = NULL;
    ck_assert_msg(!hs_top_source__open(&source, path, NULL, &symbols, &error), "%s", error.message);
    ck_assert(!hs_top_source__ask(&source, text("totals?by=%s&count=20000", by), &answer, &error));
    ck_assert(!hs_top_model__take(&model, answer, 1));
    free(answer);
    hs_top_source__close(&source);
    return model;
}

// In the order of their names. Functions that only call others have no sums.
static void expect_same_rows(const struct hs_top_model *whole, const struct hs_top_model *known)
{
    size_t number = 0;
    ck_assert_mem_eq(&whole->sum, &known->sum, sizeof(whole->sum));
    for (size_t i = 0; i < whole->count; i++) {
        if (!whole->row[i].now.all_count)
            continue;
        ck_assert_uint_lt(number, known->count);
        ck_assert_str_eq(whole->row[i].name, known->row[number].name);
        ck_assert_mem_eq(&whole->row[i].now, &known->row[number].now, sizeof(whole->row[i].now));
        number++;
    }
    ck_assert_uint_eq(number, known->count);
}

static void ask(struct hs_top_asking *asking)
{
    free(asking->rows);
    hs_top_asking__start(asking);
    hs_top_asking__end(asking);
    ck_assert_msg(!asking->result, "%s", asking->error.message);
}

static void expect_known(struct hs_top_asking *asking, const char *path, const char *by)
{
    struct hs_top_model known = {0}, whole = model_of_whole(path, by);
    asking->by = by;
    asking->has_answer = false;
    ask(asking);
    ck_assert_ptr_null(asking->rows);
    ck_assert_ptr_nonnull(asking->known);
    ck_assert(!hs_top_model__take_known(&known, asking->known->row, asking->known->count, &asking->known->sum, 1));
    expect_same_rows(&whole, &known);
    hs_top_model__free(&known);
    hs_top_model__free(&whole);
}

START_TEST(a_growing_trace_is_not_read_again)
{
    static const char *const groups[] = {"requester", "site", "library", "requester"};
    static struct recorder recorder;
    char path[128];
    struct hs_error error = {""};
    const struct hs_symbols_options symbols = {0};
    struct hs_top_source source;
    snprintf(path, sizeof(path), "%s/growing.dat", work);
    hs_running_age = 0;
    begin_recording(&recorder, path, 1, 6000, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 2000);
    show(&recorder);
    ck_assert_msg(!hs_top_source__open(&source, path, NULL, &symbols, &error), "%s", error.message);
    struct hs_top_asking asking = {.source = &source, .by = "requester"};
    ask(&asking);
    ck_assert_ptr_nonnull(asking.rows); // as a whole, at first
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        record_until(&recorder, recorder.next + 800);
        show(&recorder);
        ask(&asking); // sees what the next one takes
        expect_known(&asking, path, groups[i]);
    }
    asking.has_answer = true;
    ask(&asking);
    ck_assert(!asking.rows && !asking.known); // nothing happened
    asking.by = "thread";
    asking.has_answer = false;
    ask(&asking);
    ck_assert_ptr_nonnull(asking.rows);
    end_recording(&recorder);
    asking.by = "requester";
    ask(&asking);
    ck_assert_ptr_nonnull(asking.rows);
    free(asking.rows);
    hs_top_source__close(&source);
}
END_TEST

// As in a stream: a thread's events come when others have done more.
static void record_late(struct recorder *recorder, uint64_t time)
{
    const struct hs_event event = {.kind = HS_EVENT_MALLOC, .time = time, .address = 0x70000000 + time, .size = 10};
    recorder->writer.sequence = recorder->sequence++;
    trace_writer__events(&recorder->writer, RECORDER_STREAMS, &event, 1, false);
    record_until(recorder, recorder->next + 100);
    show(recorder);
}

// After a while all of it is known.
static void expect_known_again(struct hs_top_asking *asking, const char *path)
{
    do
        ask(asking);
    while (!asking->known);
    asking->has_answer = false;
    ask(asking); // takes what the one before saw
    expect_known(asking, path, "requester");
}

// The sums are begun again as often as this happens.
START_TEST(a_slow_thread_of_a_stream_is_taken_in)
{
    static struct recorder recorder;
    char path[128];
    struct hs_error error = {""};
    const struct hs_symbols_options symbols = {0};
    struct hs_top_source source;
    snprintf(path, sizeof(path), "%s/late.dat", work);
    hs_running_age = 0;
    begin_recording(&recorder, path, 1, 6000, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 1000);
    show(&recorder);
    ck_assert_msg(!hs_top_source__open(&source, path, NULL, &symbols, &error), "%s", error.message);
    struct hs_top_asking asking = {.source = &source, .by = "requester"};
    ask(&asking);
    for (int times = 0; times < 4; times++) {
        const uint64_t time = recorder.last_time;
        record_until(&recorder, recorder.next + 100);
        show(&recorder);
        expect_known_again(&asking, path);
        record_late(&recorder, time);
        ask(&asking);
        asking.has_answer = false;
        ask(&asking); // it is too late for the sums
        ck_assert_ptr_null(asking.known);
    }
    expect_known_again(&asking, path);
    end_recording(&recorder);
    free(asking.rows);
    hs_top_source__close(&source);
}
END_TEST

// ---- traces that are to be asked as a whole -------------------------------------------------------------------------

START_TEST(another_trace_in_its_place_is_told)
{
    static struct recorder first, other;
    char path[128], moved[128];
    struct hs_error error = {""};
    const struct hs_symbols_options symbols = {0};
    struct hs_top_source source;
    snprintf(path, sizeof(path), "%s/replaced.dat", work);
    snprintf(moved, sizeof(moved), "%s.new", path);
    hs_running_age = 0;
    begin_recording(&first, path, 1, 2000, HS_CLOCK_MONOTONIC);
    begin_recording(&other, moved, 2, 2000, HS_CLOCK_MONOTONIC);
    record_until(&first, 1000);
    record_until(&other, 1000);
    show(&first);
    show(&other);
    ck_assert_msg(!hs_top_source__open(&source, path, NULL, &symbols, &error), "%s", error.message);
    struct hs_top_asking asking = {.source = &source, .by = "requester"};
    ask(&asking);
    ck_assert_int_eq(rename(moved, path), 0);
    // A file is not read again at once. From when it is, each answer says what happened.
    for (int told = 0; told < 4;) {
        free(asking.rows);
        hs_top_asking__start(&asking);
        hs_top_asking__end(&asking);
        ck_assert_ptr_null(asking.known);
        ck_assert(asking.result || !told);
        told += asking.result != 0;
    }
    ck_assert_ptr_nonnull(strstr(asking.error.message, "another trace"));
    end_recording(&first);
    end_recording(&other);
    free(asking.rows);
    hs_top_source__close(&source);
}
END_TEST

// A module with a stack and a block of it, in the place of the one before.
static void write_module(struct trace_writer *writer, uint32_t number)
{
    enum { START = 0x400000, END = 0x410000 };
    uint8_t bytes[256] = {0};
    struct hs_meta_writer meta;
    const char *name = text("/lib/%u.so", number);
    const uint64_t time = 1000 * number;
    const struct hs_event event = {
        .kind = HS_EVENT_MALLOC, .time = time + 1, .address = 0x10000 * number, .size = number, .stack = number};
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    if (number > 1)
        hs_meta_unload(&meta, time, START);
    hs_meta_module(&meta, time, START, END, START, (const uint8_t *)"", 0, name, strlen(name));
    hs_meta_node(&meta, number, 0, START + 0x100);
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(writer, 1, &event, 1, false);
}

START_TEST(modules_that_were_unloaded_are_told_apart)
{
    char path[128];
    struct trace_writer writer;
    struct hs_error error = {""};
    const struct hs_symbols_options symbols = {0};
    struct hs_top_source source;
    snprintf(path, sizeof(path), "%s/unloaded.dat", work);
    hs_running_age = 0;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    write_module(&writer, 1);
    write_module(&writer, 2);
    fflush(writer.file);
    ck_assert_msg(!hs_top_source__open(&source, path, NULL, &symbols, &error), "%s", error.message);
    struct hs_top_asking asking = {.source = &source, .by = "library"};
    for (int i = 0; i < 3; i++) {
        ask(&asking);
        ck_assert_ptr_nonnull(asking.rows);
        ck_assert_ptr_nonnull(strstr(asking.rows, "1.so"));
        ck_assert_ptr_nonnull(strstr(asking.rows, "2.so"));
    }
    trace_writer__close(&writer, false, 0);
    free(asking.rows);
    hs_top_source__close(&source);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cli_top_asking");
    tcase_add_checked_fixture(tests, set_up, remove_work);
    tcase_add_test(tests, opening_the_next_trace_is_given_up);
    tcase_add_test(tests, a_growing_trace_is_not_read_again);
    tcase_add_test(tests, a_slow_thread_of_a_stream_is_taken_in);
    tcase_add_test(tests, another_trace_in_its_place_is_told);
    tcase_add_test(tests, modules_that_were_unloaded_are_told_apart);
    return run_cases("cli_top_asking", tests);
}
