// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The modules without symbols: how much passes through each, and which are worth a line to a person.
#include "golden.h"

#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MODULES 130 // more than two words of 64
#define FIRST   0x10000000u
#define SPAN    0x100000u

static struct trace_writer writer;
static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
static struct hs_meta_writer meta;

static void begin(void)
{
    const struct hs_codec_target target = {HS_BYTE_ORDER_LITTLE, 8, 4};
    trace_writer__open_for(&writer, text("%s/trace.dat", work), EM_X86_64, &target);
    memset(bytes, 0, sizeof(bytes));
    hs_meta_begin(&meta, bytes, sizeof(bytes));
    hs_meta_clock(&meta, 0, 1000000000, 1700000000000000000);
    hs_meta_thread(&meta, 1, 4711, 0, "main", 4);
}

static void add_module(unsigned number, const char *path)
{
    uint64_t start = FIRST + (uint64_t)number * SPAN;
    ck_assert(hs_meta_module(&meta, 0, start, start + SPAN, start, NULL, 0, path, strlen(path)));
}

static void end(const struct hs_event *events, size_t count)
{
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__events(&writer, 1, events, count, false);
    trace_writer__close(&writer, true, 1000000000);
}

static struct hs_event allocation(uint32_t number, uint32_t size, uint32_t stack)
{
    return (struct hs_event){.kind = HS_EVENT_MALLOC,
                             .time = 1000 * (number + 1),
                             .address = 0x7f0000000000 + 4096 * (uint64_t)number,
                             .size = size,
                             .usable = hs_usable_model(size, 8),
                             .stack = stack};
}

// Stack i allocates 16 * i bytes in module i, which module 0 called.
START_TEST(test_many_modules)
{
    static struct hs_event events[MODULES];
    begin();
    for (unsigned i = 0; i < MODULES; i++) {
        add_module(i, text("/lib/number%u.so", i));
        hs_meta_node(&meta, i + 1, i ? 1 : 0, FIRST + (uint64_t)i * SPAN + 0x123);
        events[i] = allocation(i, 16 * i + 16, i + 1);
    }
    end(events, MODULES);
    json_t *report = output_as_json("report --json trace.dat");
    const json_t *missing = json_object_get(report, "missing_symbols");
    ck_assert_uint_eq(json_array_size(missing), MODULES);
    size_t index;
    json_t *entry;
    json_array_foreach(missing, index, entry)
    {
        unsigned number = (unsigned)atoi(json_string_value(json_object_get(entry, "module")) + strlen("/lib/number"));
        // By bytes, largest first: module 0, through which all stacks pass, then from the last on.
        ck_assert_uint_eq(number, index ? MODULES - index : 0);
        ck_assert_int_eq(integer(entry, "stacks"), number ? 1 : MODULES);
        ck_assert_int_eq(integer(entry, "frames"), 1);
        ck_assert_int_eq(integer(entry, "unnamed_frames"), 1);
        ck_assert_int_eq(integer(entry, "allocated_bytes"),
                         number ? 16 * number + 16 : 16 * MODULES * (MODULES + 1) / 2);
        ck_assert(json_is_null(json_object_get(entry, "build_id")));
    }
    json_decref(report);
    struct outcome outcome = run("$HEAPSONDE report trace.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "/lib/number126.so\n"));
    ck_assert_ptr_null(strstr(outcome.output, "/lib/number125.so\n"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "and 125 more: --modules lists all\n"));
    free_outcome(&outcome);
    // What the filter leaves out does not count.
    outcome = run("$HEAPSONDE report --max-size 32 trace.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "100.0 %          1 of 1  /lib/number0.so\n"));
    ck_assert_ptr_nonnull(strstr(outcome.output, " 66.7 %          1 of 1  /lib/number1.so\n"));
    ck_assert_ptr_null(strstr(outcome.output, "/lib/number2.so"));
    free_outcome(&outcome);
}
END_TEST

// A chain of unnamed frames in a file without symbols; `depth` of them.
static void write_chain(unsigned depth)
{
    struct hs_event event = allocation(0, 100, depth);
    begin();
    add_module(0, "/opt/bare.so");
    for (uint32_t i = 0; i < depth; i++)
        hs_meta_node(&meta, i + 1, i, FIRST + 0x1000 + 16 * i);
    end(&event, 1);
}

// A file without a build id that is newer than the trace says. It is the recorded one where the clock was wrong then
// and set ahead later.
START_TEST(test_old_clock)
{
    const uint64_t second = 1000000000, shown = 1700000000, set = shown + second;
    struct hs_event event = allocation(0, 100, 4);
    shell("echo 'int f(int x) { return x; }' >named.c && "
          "gcc -shared -nostdlib -fPIC -Wl,--build-id=none named.c -o named.so");
    begin();
    add_module(0, text("%s/named.so", work));
    for (uint32_t i = 0; i < 4; i++)
        hs_meta_node(&meta, i + 1, i, FIRST + 0x1000 + i);
    hs_meta_clock(&meta, second / 4, second + second / 4, (_i == 1 ? set : shown) * second);
    hs_meta_clock(&meta, second / 2, second + second / 2, (_i == 2 ? set : shown) * second);
    end(&event, 1);
    struct outcome outcome = run("$HEAPSONDE report trace.dat");
    ck_assert_msg(!strstr(outcome.output, "was written since") == (_i > 0), "%s", outcome.output);
    free_outcome(&outcome);
}
END_TEST

// The frames that start a thread are unnamed in every stripped libc: not worth a word.
START_TEST(test_starting_frames)
{
    shell("mkdir -p root/opt && echo 'static int f(int x) { return x; } int (*g)(int) = f;' >bare.c && "
          "gcc -shared -nostdlib -fPIC -fvisibility=hidden -Wl,--build-id=none bare.c -o root/opt/bare.so && "
          "strip root/opt/bare.so");
    write_chain(3);
    struct outcome outcome = run("$HEAPSONDE report --sysroot root trace.dat");
    ck_assert_ptr_null(strstr(outcome.output, "Modules without symbols"));
    free_outcome(&outcome);
    json_t *report = output_as_json("report --json --sysroot root trace.dat");
    const json_t *entry = json_array_get(json_object_get(report, "missing_symbols"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(entry, "reason")), "no_debug_information");
    ck_assert_int_eq(integer(entry, "unnamed_frames"), 3);
    json_decref(report);
    shell("rm -rf trace.dat*");
    write_chain(4);
    outcome = run("$HEAPSONDE report --sysroot root trace.dat");
    ck_assert_ptr_nonnull(strstr(outcome.output, "100.0 %          4 of 4  /opt/bare.so\n"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "wanted: the same build with debug information in its place\n"));
    free_outcome(&outcome);
}
END_TEST

// Stack 4 has a mark between its innermost frame and the callers; stack 2 are these callers.
START_TEST(test_guessed_caller)
{
    struct hs_event events[] = {allocation(0, 100, 4), allocation(1, 16, 2)};
    begin();
    add_module(0, "/opt/bare.so");
    hs_meta_node(&meta, 1, 0, FIRST + 0x1000);
    hs_meta_node(&meta, 2, 1, FIRST + 0x2000);
    hs_meta_node(&meta, 3, 2, HS_NODE_GUESSED);
    hs_meta_node(&meta, 4, 3, FIRST + 0x3000);
    end(events, 2);
    json_t *report = output_as_json("report --json trace.dat");
    const json_t *guessed = json_object_get(report, "guessed");
    ck_assert_int_eq(integer(guessed, "stacks"), 1);
    ck_assert_int_eq(integer(guessed, "allocations"), 1);
    ck_assert_int_eq(integer(guessed, "allocated_bytes"), 100);
    const json_t *site = json_array_get(json_object_get(report, "top"), 0);
    ck_assert(json_is_true(json_object_get(site, "guessed")));
    ck_assert_uint_eq(json_array_size(json_object_get(site, "frames")), 3);
    ck_assert_ptr_null(json_object_get(json_array_get(json_object_get(report, "top"), 1), "guessed"));
    json_decref(report);
    struct outcome outcome = run("$HEAPSONDE report trace.dat && $HEAPSONDE report --tree trace.dat && "
                                 "$HEAPSONDE export --format collapsed -o - trace.dat");
    ck_assert_msg(outcome.status == 0, "%s", outcome.output);
    ck_assert_ptr_nonnull(strstr(
        outcome.output, "1 stack, with 50.0 % of the allocations, contains a frame that is probable, not proven\n"));
    ck_assert_ptr_nonnull(strstr(outcome.output, "        [guessed caller]\n"));
    ck_assert_ptr_nonnull(strstr(outcome.output, ";[guessed caller];"));
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report_missing");
    TCase *tests = tcase_create("report_missing");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_many_modules);
    tcase_add_loop_test(tests, test_old_clock, 0, 3);
    tcase_add_test(tests, test_starting_frames);
    tcase_add_test(tests, test_guessed_caller);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
