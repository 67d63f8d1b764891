// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The parts of resident memory: exactly those of a planted program, and together what the timeline says.
#include "command.h"
#include "host/import/import.h"
#include "host/report/budget.h"
#include "planted.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
#define HEAP (301 * PAGE) // in which nothing is live

static const char *const parts[] = {"live_touched", "allocator", "freed", "mapped", "code", "rest"};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

struct expected {
    json_int_t part[PARTS], live, untouched;
};

static const struct expected at_peak = {.part = {3000 * 1000 + 700 * PAGE - 32, 3000 * 8 + 32,
                                                 HEAP + 739 * PAGE - 3000 * 1008, 100 * PAGE, 15 * PAGE, 11 * PAGE},
                                        .live = 3000 * 1000 + 800 * PAGE - 32,
                                        .untouched = 100 * PAGE};
static const struct expected at_end = {.part = {100 * 1000 + 300 * PAGE - 16, 100 * 8 + 16,
                                                HEAP + 739 * PAGE - 100 * 1008, 100 * PAGE, 15 * PAGE, 11 * PAGE},
                                       .live = 100 * 1000 + 400 * PAGE - 16,
                                       .untouched = 100 * PAGE};

static json_t *asked(const char *command)
{
    json_error_t error;
    struct outcome outcome = run("$HEAPSONDE %s", command);
    ck_assert_msg(!outcome.status, "%s: %s", command, outcome.errors);
    json_t *json = json_loads(outcome.output, 0, &error);
    ck_assert_msg(json != NULL, "%s: %s", error.text, outcome.output);
    free_outcome(&outcome);
    return json;
}

static json_int_t number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static json_int_t largest(const json_t *list)
{
    json_int_t most = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_int_t value = json_integer_value(json_array_get(list, i));
        most = value > most ? value : most;
    }
    return most;
}

static void check_budget(const json_t *budget, const struct expected *expected, json_int_t resident)
{
    const json_t *list = json_object_get(budget, "parts");
    json_int_t sum = 0;
    ck_assert_uint_eq(json_array_size(list), PARTS);
    for (size_t i = 0; i < PARTS; i++) {
        const json_t *part = json_array_get(list, i);
        ck_assert_str_eq(json_string_value(json_object_get(part, "id")), parts[i]);
        ck_assert_msg(number(part, "bytes") == expected->part[i], "%s: %" JSON_INTEGER_FORMAT, parts[i],
                      number(part, "bytes"));
        sum += number(part, "bytes");
    }
    ck_assert_int_eq(sum, resident);
    ck_assert_int_eq(number(budget, "resident_bytes"), resident);
    ck_assert_int_eq(number(budget, "live_bytes"), expected->live);
    ck_assert_int_eq(number(budget, "live_untouched_bytes"), expected->untouched);
    ck_assert_int_eq(expected->live, expected->part[0] + expected->untouched);
}

START_TEST(the_parts_add_up)
{
    make_work();
    planted__write(text("%s/trace.dat", work), PLANT_RESIDENT, 1);
    json_t *said = asked("report --json trace.dat"), *answer = asked("ask trace.dat resident");
    json_t *usage = asked("ask trace.dat timeline_usage"), *resident = json_object_get(usage, "resident_size");
    ck_assert(json_equal(json_object_get(said, "resident"), answer));
    ck_assert_int_eq(number(said, "live_bytes"), at_end.live);
    check_budget(json_object_get(answer, "peak"), &at_peak, largest(resident));
    check_budget(json_object_get(answer, "end"), &at_end,
                 json_integer_value(json_array_get(resident, json_array_size(resident) - 1)));
    json_decref(said);
    json_decref(answer);
    json_decref(usage);
    remove_work();
}
END_TEST

// Another part has the pages of stacks, and other words.
START_TEST(stacks_of_threads_belong_to_code)
{
    struct expected peak = at_peak, end = at_end;
    make_work();
    planted__write(text("%s/trace.dat", work), PLANT_STACKS, 1);
    json_t *answer = asked("ask trace.dat resident"), *usage = asked("ask trace.dat timeline_usage");
    json_t *resident = json_object_get(usage, "resident_size");
    peak.part[4] = end.part[4] = (15 + 8) * PAGE;
    peak.part[5] = end.part[5] = 3 * PAGE;
    check_budget(json_object_get(answer, "peak"), &peak, largest(resident));
    check_budget(json_object_get(answer, "end"), &end,
                 json_integer_value(json_array_get(resident, json_array_size(resident) - 1)));
    struct outcome outcome = run("$HEAPSONDE report trace.dat");
    ck_assert_msg(strstr(outcome.output, "\n  code and stacks              92.0 KiB     92.0 KiB\n") != NULL, "%s",
                  outcome.output);
    free_outcome(&outcome);
    json_decref(answer);
    json_decref(usage);
    remove_work();
}
END_TEST

// Who asks for samples is cancelled then, if it is the last to do so.
static int times_asked, cancelled_at, cancel;

const struct hs_sample *__real_hs_store__samples(const struct hs_store *store, size_t *count);
const struct hs_sample *__wrap_hs_store__samples(const struct hs_store *store, size_t *count);

const struct hs_sample *__wrap_hs_store__samples(const struct hs_store *store, size_t *count)
{
    cancel = ++times_asked == cancelled_at;
    return __real_hs_store__samples(store, count);
}

START_TEST(looking_for_stacks_can_be_cancelled)
{
    const struct hs_query_control control = {.cancel = &cancel};
    const struct hs_import_options options = {.temporary = true};
    struct hs_error error = {""};
    struct hs_store *store;
    struct hs_budget budget;
    make_work();
    const char *path = text("%s/trace.dat", work);
    planted__write(path, PLANT_STACKS, 1);
    ck_assert_msg(!hs_import__open(path, &options, &store, &error), "%s", error.message);
    times_asked = 0;
    const uint64_t end = hs_store__summary(store)->end_time;
    ck_assert_int_eq(hs_budget__make(&budget, store, end, &control, &error), 0);
    ck_assert(budget.has_stacks);
    cancelled_at = times_asked;
    times_asked = 0;
    ck_assert_int_eq(hs_budget__make(&budget, store, end, &control, &error), -ECANCELED);
    ck_assert_str_eq(error.message, "cancelled");
    hs_store__close(store);
    remove_work();
}
END_TEST

static void expect_line(const char *output, const char *line)
{
    ck_assert_msg(strstr(output, line) != NULL, "%s: %s", line, output);
}

START_TEST(the_report_shows_them)
{
    make_work();
    planted__write(text("%s/trace.dat", work), PLANT_RESIDENT, 1);
    struct outcome outcome = run("$HEAPSONDE report trace.dat");
    expect_line(outcome.output, "\nWhy resident memory is what it is (largest after 450 ms)\n");
    expect_line(outcome.output, "\n  live blocks, touched         5.60 MiB     1.27 MiB\n");
    expect_line(outcome.output, "\n  mapped by the program       400.0 KiB    400.0 KiB\n");
    expect_line(outcome.output, "\n  all that is resident         7.29 MiB     5.73 MiB\n");
    free_outcome(&outcome);
    remove_work();
}
END_TEST

// Older blocks are not known: what they have is not called freed without a word about it.
START_TEST(attached_traces_say_what_is_unknown)
{
    static const char said[] = "\n  Only pages that became resident after the recording had begun are known.";
    make_work();
    planted__write(text("%s/attached.dat", work), PLANT_ATTACHED, 1);
    planted__write(text("%s/trace.dat", work), PLANT_RESIDENT, 1);
    struct outcome outcome = run("$HEAPSONDE report attached.dat");
    expect_line(outcome.output, said);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report trace.dat");
    expect_line(outcome.output, "Why resident");
    ck_assert_ptr_null(strstr(outcome.output, said));
    free_outcome(&outcome);
    remove_work();
}
END_TEST

// With a filter, and without page faults.
START_TEST(the_parts_are_those_of_the_whole_process)
{
    make_work();
    planted__write(text("%s/trace.dat", work), PLANT_RESIDENT, 1);
    planted__write(text("%s/none.dat", work), PLANT_LEAK, 1);
    json_t *said = asked("report --json --size-min 1 trace.dat");
    ck_assert(json_is_null(json_object_get(said, "resident")));
    json_decref(said);
    said = asked("report --json none.dat");
    ck_assert_ptr_null(json_object_get(said, "resident"));
    json_decref(said);
    struct outcome outcome = run("$HEAPSONDE report --size-min 1 trace.dat");
    ck_assert_ptr_null(strstr(outcome.output, "Why resident"));
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE ask none.dat resident");
    ck_assert_int_ne(outcome.status, 0);
    expect_line(outcome.errors, "record with --events heap,faults");
    free_outcome(&outcome);
    remove_work();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("resident");
    tcase_add_test(cases, the_parts_add_up);
    tcase_add_test(cases, stacks_of_threads_belong_to_code);
    tcase_add_test(cases, looking_for_stacks_can_be_cancelled);
    tcase_add_test(cases, the_report_shows_them);
    tcase_add_test(cases, attached_traces_say_what_is_unknown);
    tcase_add_test(cases, the_parts_are_those_of_the_whole_process);
    return run_cases("resident", cases);
}
