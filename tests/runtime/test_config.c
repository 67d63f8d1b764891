// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The environment as the recorder reads it, names of files, LD_PRELOAD, and the text functions below.
#include "runtime/config.h"
#include "runtime/text.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void setup(void)
{
    clearenv();
}

static void read_with(const char *name, const char *value)
{
    setenv(name, value, 1);
    hs_config__read(NULL);
}

START_TEST(defaults)
{
    hs_config__read(NULL);
    ck_assert_str_eq(hs_config.output, "memory-profiling_%e_%t_%p.dat");
    ck_assert_str_eq(hs_config.log_file, "");
    ck_assert_int_eq(hs_config.log_level, HS_LOG_OFF);
    ck_assert(!hs_config.disabled && !hs_config.free_stacks && !hs_config.zero_memory && !hs_config.track_children);
    ck_assert(!hs_config.cull && !hs_config.inline_writer && !hs_config.embed_binaries);
    ck_assert(hs_config.memo && hs_config.maps && hs_config.sigusr1 && hs_config.sigusr2);
    ck_assert_uint_eq(hs_config.cull_threshold_ms, 10000);
    ck_assert_int_eq(hs_config.chown_to, -1);
}
END_TEST

START_TEST(own_prefix_wins_in_any_order)
{
    setenv(_i ? "MEMORY_PROFILER_OUTPUT" : "HEAPSONDE_OUTPUT", _i ? "old" : "new", 1);
    setenv(_i ? "HEAPSONDE_OUTPUT" : "MEMORY_PROFILER_OUTPUT", _i ? "new" : "old", 1);
    setenv("MEMORY_PROFILER_ZERO_MEMORY", "1", 1);
    setenv("MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE", "1", 1);
    setenv("HEAPSONDE_GRAB_BACKTRACES_ON_FREE", "0", 1);
    hs_config__read(NULL);
    ck_assert_str_eq(hs_config.output, "new");
    ck_assert(hs_config.zero_memory);
    ck_assert(!hs_config.free_stacks);
}
END_TEST

START_TEST(booleans)
{
    static const struct {
        const char *text;
        bool value;
    } cases[] = {{"1", true}, {"true", true}, {"0", false}, {"false", false},
                 {"", false}, {"yes", false}, {"11", false}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_with("HEAPSONDE_DISABLE_BY_DEFAULT", cases[i].text);
        ck_assert_msg(hs_config.disabled == cases[i].value, "'%s'", cases[i].text);
    }
}
END_TEST

START_TEST(numbers)
{
    static const char *const wrong[] = {"", "abc", "12x", "-5", " 7", "0x10"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        read_with("HEAPSONDE_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", wrong[i]);
        ck_assert_msg(hs_config.cull_threshold_ms == 10000, "'%s'", wrong[i]);
    }
    read_with("HEAPSONDE_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD", "123");
    ck_assert_uint_eq(hs_config.cull_threshold_ms, 123);
    read_with("HEAPSONDE_MAX_DEPTH", "1");
    ck_assert_uint_eq(hs_config.max_depth, 16);
    read_with("HEAPSONDE_MAX_DEPTH", "1000000000");
    ck_assert_uint_eq(hs_config.max_depth, 65536);
    read_with("HEAPSONDE_CHOWN_OUTPUT_TO", "1000");
    ck_assert_int_eq(hs_config.chown_to, 1000);
}
END_TEST

START_TEST(names_match_whole)
{
    setenv("HEAPSONDE_OUTPUTS", "x", 1);
    setenv("HEAPSONDE_OUTPU", "x", 1);
    setenv("XHEAPSONDE_OUTPUT", "x", 1);
    hs_config__read(NULL);
    ck_assert_str_eq(hs_config.output, "memory-profiling_%e_%t_%p.dat");
    read_with("HEAPSONDE_WRITER", "inline");
    ck_assert(hs_config.inline_writer);
    read_with("HEAPSONDE_WRITER", "thread");
    ck_assert(!hs_config.inline_writer);
    read_with("HEAPSONDE_LOG", "warn");
    ck_assert_int_eq(hs_config.log_level, HS_LOG_WARN);
    read_with("HEAPSONDE_LOG", "trace");
    ck_assert_int_eq(hs_config.log_level, HS_LOG_DEBUG);
    read_with("HEAPSONDE_OUTPUT", "");
    ck_assert_str_eq(hs_config.output, "");
}
END_TEST

static char misread[20][64];
static unsigned misread_count;

static void note_misread(const char *entry)
{
    snprintf(misread[misread_count++], sizeof *misread, "%s", entry);
}

START_TEST(what_is_not_understood_is_handed_over)
{
    static const char *const wrong[][2] = {
        {"HEAPSONDE_MODE", "agregate"},      {"HEAPSONDE_EVENTS", "heap,rss"},  {"HEAPSONDE_WRITER", "inlin"},
        {"HEAPSONDE_STREAM_POLICY", "wait"}, {"HEAPSONDE_STACKS", "foo"},       {"HEAPSONDE_CPU_CLOCK", "cycle"},
        {"HEAPSONDE_MAX_DEPTH", "many"},     {"HEAPSONDE_UNWINDER", "kernel:"}, {"HEAPSONDE_ZERO_MEMORY", "yes"},
        {"HEAPSONDE_LOG", "wran"},           {"HEAPSONDE_OUTPT", "x"},          {"HEAPSONDE_CHOWN_OUTPUT_TO", "me"},
    };
    static const char *const right[][2] = {
        {"HEAPSONDE_GATHER_MAPS", ""},       {"HEAPSONDE_CALL_CHAINS", "true"},
        {"HEAPSONDE_LIBRARY", "x"},          {"HEAPSONDE_TOKEN", "x"},
        {"HEAPSONDE_TEST_SEED", "1"},        {"MEMORY_PROFILER_PRECISE_TIMESTAMPS", "1"},
        {"HEAPSONDE_OUTPUT", "wherever %p"}, {"HEAPSONDE_FAULT_STACKS", "3"},
        {"HEAPSONDE_INSECURE", "false"},
    };
    const unsigned count = sizeof wrong / sizeof *wrong;
    for (unsigned i = 0; i < sizeof right / sizeof *right; i++)
        setenv(right[i][0], right[i][1], 1);
    hs_config__read(note_misread);
    ck_assert_uint_eq(misread_count, 0);
    ck_assert(hs_config.says_obstacles);
    for (unsigned i = 0; i < count; i++)
        setenv(wrong[i][0], wrong[i][1], 1);
    hs_config__read(note_misread);
    ck_assert_uint_eq(misread_count, count);
    for (unsigned i = 0; i < count; i++) {
        char entry[64];
        bool found = false;
        snprintf(entry, sizeof entry, "%s=%s", wrong[i][0], wrong[i][1]);
        for (unsigned k = 0; k < count; k++)
            found = found || strcmp(misread[k], entry) == 0;
        ck_assert_msg(found, "%s", entry);
    }
    ck_assert(hs_config.says_obstacles);
    setenv("HEAPSONDE_LOG", "off", 1);
    hs_config__read(note_misread);
    ck_assert(!hs_config.says_obstacles);
}
END_TEST

START_TEST(long_values_are_ignored)
{
    char value[3000];
    memset(value, 'x', sizeof value);
    for (size_t length = 1000; length < 1100; length++) {
        value[length] = 0;
        read_with("HEAPSONDE_OUTPUT", value);
        ck_assert(hs_text__length(hs_config.output) == length || hs_config.output[0] == 'm');
        ck_assert(length < 1024 || hs_config.output[0] == 'm');
        value[length] = 'x';
    }
    value[2999] = 0;
    read_with("HEAPSONDE_LOGFILE", value);
    ck_assert_str_eq(hs_config.log_file, "");
}
END_TEST

// ---- patterns ------------------------------------------------------------------------------------------------------

static const char *expand(const char *pattern, size_t size)
{
    static char path[256];
    memset(path, '#', sizeof path);
    hs_config__expand(pattern, 42, path, size);
    ck_assert_uint_lt(strlen(path), size);
    ck_assert_int_eq(path[size], '#');
    return path;
}

START_TEST(patterns)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "a/%d-42.test_runtime_config%%x%%q%%", getpid());
    ck_assert_str_eq(expand("a/%p-%n.%e%%x%q%", 200), wanted);
    struct timespec before, after; // time() reads a coarse clock, which is late at the end of a second
    clock_gettime(CLOCK_REALTIME, &before);
    long when = atol(expand("%t", 200));
    clock_gettime(CLOCK_REALTIME, &after);
    ck_assert(when >= before.tv_sec && when <= after.tv_sec);
    for (size_t size = 1; size < 60; size++)
        ck_assert_int_eq(strncmp(expand("a/%p-%n.%e%%x%q%", size), wanted, size - 1), 0);
}
END_TEST

// ---- LD_PRELOAD ----------------------------------------------------------------------------------------------------

START_TEST(preload_without_us)
{
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"libheapsonde-trace.so", NULL},
        {"/usr/lib/libheapsonde-trace.so", NULL},
        {"/a/libheapsonde-trace.so:", NULL},
        {"x.so:/a/libheapsonde-trace.so", "x.so"},
        {"/a/libheapsonde-trace.so:x.so", "x.so"},
        {"/a/libheapsonde-trace.so x.so:/b/y.so", "x.so:/b/y.so"},
        {"x.so:/a/libheapsonde-trace.so:y.so", "x.so:y.so"},
        {"x.so::y.so", "x.so:y.so"},
        {"/a/libheapsonde-trace.so:/b/libheapsonde-trace.so", NULL},
        {"/a/libheapsonde-trace.so.bak", "/a/libheapsonde-trace.so.bak"},
        {"x.so", "x.so"},
    };
    setenv("LD_PRELOAD", cases[_i].before, 1);
    setenv("AFTER", "stays", 1);
    setenv("LD_PRELOADED", "libheapsonde-trace.so", 1);
    hs_config__hide_preload();
    const char *now = getenv("LD_PRELOAD");
    if (cases[_i].after)
        ck_assert_str_eq(now, cases[_i].after);
    else
        ck_assert_ptr_null(now);
    ck_assert_str_eq(getenv("AFTER"), "stays");
    ck_assert_str_eq(getenv("LD_PRELOADED"), "libheapsonde-trace.so");
}
END_TEST

START_TEST(no_preload_at_all)
{
    hs_config__hide_preload();
    setenv("A", "b", 1);
    hs_config__hide_preload();
    ck_assert_str_eq(getenv("A"), "b");
}
END_TEST

// ---- text ----------------------------------------------------------------------------------------------------------

START_TEST(text_is_cut_and_terminated)
{
    char buffer[9];
    for (size_t size = 1; size < sizeof buffer; size++) {
        memset(buffer, '#', sizeof buffer);
        struct hs_text text;
        hs_text__start(&text, buffer, size);
        hs_text__add(&text, "ab");
        hs_text__add_number(&text, 0);
        hs_text__add_number(&text, 1234);
        hs_text__add_character(&text, '!');
        ck_assert_int_eq(strncmp(buffer, "ab01234!", size - 1), 0);
        ck_assert_uint_eq(strlen(buffer), size - 1);
        ck_assert_int_eq(buffer[size], '#');
    }
}
END_TEST

START_TEST(text_functions)
{
    char number[32];
    struct hs_text text;
    hs_text__start(&text, number, sizeof number);
    hs_text__add_number(&text, UINT64_MAX);
    ck_assert_str_eq(number, "18446744073709551615");
    const char *at = "7fFf-z";
    ck_assert_uint_eq(hs_text__parse(&at, 16), 0x7fff);
    ck_assert_str_eq(at, "-z");
    ck_assert_uint_eq(hs_text__parse(&at, 10), 0);
    ck_assert_str_eq(at, "-z");
    ck_assert(hs_text__equal("", "") && !hs_text__equal("a", "") && !hs_text__equal("", "a"));
    ck_assert(hs_text__starts_with("abc", "ab") && hs_text__starts_with("a", "") && !hs_text__starts_with("a", "ab"));
    ck_assert_str_eq(hs_text__base_name("/a/b"), "b");
    ck_assert_str_eq(hs_text__base_name("/a/"), "");
    ck_assert_str_eq(hs_text__base_name("x"), "x");
}
END_TEST

START_TEST(small_files)
{
    char buffer[5] = "####";
    ck_assert_uint_eq(hs_text__read_file("/nowhere", buffer, sizeof buffer), 0);
    ck_assert_str_eq(buffer, "");
    ck_assert_uint_eq(hs_text__read_file("/proc/self/status", buffer, sizeof buffer), 4);
    ck_assert_str_eq(buffer, "Name");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *config = tcase_create("config");
    tcase_add_checked_fixture(config, setup, NULL);
    tcase_add_test(config, defaults);
    tcase_add_loop_test(config, own_prefix_wins_in_any_order, 0, 2);
    tcase_add_test(config, booleans);
    tcase_add_test(config, numbers);
    tcase_add_test(config, names_match_whole);
    tcase_add_test(config, long_values_are_ignored);
    tcase_add_test(config, what_is_not_understood_is_handed_over);
    tcase_add_test(config, patterns);
    tcase_add_loop_test(config, preload_without_us, 0, 11);
    tcase_add_test(config, no_preload_at_all);
    tcase_add_test(config, text_is_cut_and_terminated);
    tcase_add_test(config, text_functions);
    tcase_add_test(config, small_files);
    suite_add_tcase(suite, config);
    return run_suite(suite);
}
