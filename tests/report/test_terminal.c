// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a trace says of itself reaches no terminal as commands.
#include "command.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define CLEAR "\033[2J"
#define C1    "\302\233"     // U+009B, the same as ESC [
#define TURN  "\342\200\256" // U+202E
#define BROKE "\377"
#define WORD  "x" CLEAR C1 TURN BROKE "\xc3\xa4"
#define SHOWN "x?[2J???\xc3\xa4"

static void info(struct hs_meta_writer *meta, const char *key, const char *value)
{
    ck_assert(hs_meta_info(meta, key, strlen(key), value, strlen(value)));
}

static void write_trace(void)
{
    static uint8_t bytes[8192];
    static const char file[] = "/opt/" WORD "\0contents";
    struct trace_writer writer;
    struct hs_meta_writer meta;
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_FILE, .stored_length = sizeof(file) - 1, .plain_length = sizeof(file) - 1};
    const struct hs_event event = {
        .kind = HS_EVENT_MALLOC, .time = 1000, .address = 0x10000, .size = 24, .usable = 24, .stack = 1};
    trace_writer__open(&writer, text("%s/trace.dat", work), HS_BYTE_ORDER_LITTLE, 8);
    memset(bytes, 0, sizeof(bytes));
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    info(&meta, "command", WORD);
    info(&meta, "perf", WORD);
    info(&meta, "incomplete", WORD);
    info(&meta, "ignored-variables", WORD);
    hs_meta_thread(&meta, 1, 4711, 0, WORD, strlen(WORD));
    hs_meta_node(&meta, 1, 0, 0x401000);
    const struct hs_bytes word = {(const uint8_t *)WORD, strlen(WORD)};
    ck_assert(hs_meta_code(
        &meta, &(struct hs_meta_code){
                   .start = 0x401000, .end = 0x401100, .first_line = 1, .kind = 1, .function = word, .file = word}));
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__chunk(&writer, &chunk, file);
    trace_writer__events(&writer, 1, &event, 1, false);
    trace_writer__close(&writer, true, 2000);
}

static void expect_harmless(const char *command, const char *output)
{
    for (const char *steers = "\033\302\377"; *steers; steers++)
        ck_assert_msg(!strchr(output, *steers), "%s: byte %x", command, (unsigned char)*steers);
}

static void expect_shown(const char *command, unsigned times)
{
    struct outcome outcome = run("$HEAPSONDE %s trace.dat", command);
    ck_assert_msg(outcome.status == 0, "%s: %s", command, outcome.errors);
    expect_harmless(command, outcome.output);
    ck_assert_msg(!strstr(outcome.output, TURN), "%s", command);
    const char *at = outcome.output;
    for (unsigned i = 0; i < times; i++) {
        at = strstr(at, SHOWN);
        ck_assert_msg(at != NULL, "%s: %u times in:\n%s", command, i, outcome.output);
        at++;
    }
    free_outcome(&outcome);
}

START_TEST(test_what_a_trace_says_does_not_steer_the_terminal)
{
    write_trace();
    expect_shown("report", 3);
    expect_shown("report --threads", 1);
    expect_shown("extract -o files", 2);
}
END_TEST

// Names of functions, where a condition holds and in what goes to standard output by default.
START_TEST(test_names_of_functions_do_not_steer_the_terminal)
{
    write_trace();
    struct outcome outcome = run("$HEAPSONDE report --fail-if 'live_bytes > 0' --annotate github trace.dat");
    ck_assert_int_eq(outcome.status, 3);
    ck_assert_msg(strstr(outcome.errors, "most of it by x?[2J?") != NULL, "%s", outcome.errors);
    expect_harmless("--fail-if", outcome.errors);
    free_outcome(&outcome);
    static const char *const formats[] = {"collapsed", "csv", "massif", "json", "jsonl", "speedscope"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        outcome = run("$HEAPSONDE export --format %s trace.dat | tr -d '\\240-\\376'", formats[i]);
        ck_assert_msg(!outcome.status && (strstr(outcome.output, "[2J") || i == 2), "%s: %s%s", formats[i],
                      outcome.output, outcome.errors);
        expect_harmless(formats[i], outcome.output);
        ck_assert_msg(!strchr(outcome.output, C1[1]), "%s: %s", formats[i], outcome.output);
        free_outcome(&outcome);
    }
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("terminal");
    tcase_add_checked_fixture(cases, make_work, remove_work);
    tcase_add_test(cases, test_what_a_trace_says_does_not_steer_the_terminal);
    tcase_add_test(cases, test_names_of_functions_do_not_steer_the_terminal);
    return run_cases("report_terminal", cases);
}
