// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The parser of MALLOC_CONF by itself. Each test is a process of its own: options are read once.
#include "runtime/prof/options.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char said[65536];
static bool ended;

static void message(const char *text)
{
    strncat(said, text, sizeof said - strlen(said) - 1);
}

static void end(const char *text)
{
    if (!ended)
        message(text);
    ended = true; // the true one does not return
}

void (*hs_prof_options_message)(const char *text) = message;
void (*hs_prof_options_abort)(const char *text) = end;

static const char *program, *harder;
const char *const *hs_prof_options_program[2] = {&program, &harder};

static void read_options(const char *text)
{
    setenv("MALLOC_CONF", text, 1);
    hs_prof_options__begin();
}

// ---- messages -------------------------------------------------------------------------------------------------------

#define SAYS(text) "<jemalloc>: " text "\n"

static const struct {
    const char *text, *said;
} messages[] = {
    {"", ""},
    {"prof:true", ""},
    {"prof", SAYS("Conf string ends with key") SAYS("Conf string ends with key")},
    {"prof:true,", SAYS("Conf string ends with comma") SAYS("Conf string ends with comma")},
    {"prof =true", SAYS("Malformed conf string") SAYS("Malformed conf string")},
    {"prof:true,,prof:true", SAYS("Malformed conf string") SAYS("Malformed conf string")},
    {"profile:true", SAYS("Invalid conf pair: profile:true")},
    {"prof:yes", SAYS("Invalid conf value: prof:yes")},
    {"prof:true ", SAYS("Invalid conf value: prof:true ")},
    {"lg_prof_interval:64", SAYS("Out-of-range conf value: lg_prof_interval:64")},
    {"lg_prof_sample:12three", SAYS("Invalid conf value: lg_prof_sample:12three")},
    {"lg_prof_sample:-1", ""},
    {"experimental_hs_sample:x", SAYS("Invalid conf value: experimental_hs_sample:x")},
    {"experimental_hs_sample:0", SAYS("Out-of-range conf value: experimental_hs_sample:0")},
    {"experimental_hs_sample:-5", SAYS("Invalid conf value: experimental_hs_sample:-5")},
    {"experimental_hs_sample:k", SAYS("Invalid conf value: experimental_hs_sample:k")},
    {"experimental_hs_sample:17179869184g", SAYS("Invalid conf value: experimental_hs_sample:17179869184g")},
    {"experimental_hs_format:pdf", SAYS("Invalid conf value: experimental_hs_format:pdf")},
    {"experimental_hs_nothing:1", SAYS("Invalid conf pair: experimental_hs_nothing:1")},
    {"experimental_hs_peak_step:9999999999%", SAYS("Out-of-range conf value: experimental_hs_peak_step:9999999999%")},
    {"prof_leak_error:true", SAYS("prof_leak_error is set w/o prof_final.")},
    {"lg_chunk:20", SAYS("Invalid conf pair: lg_chunk:20")},
    {"narenas:4,tcache:false,xmalloc:true,utrace:false", ""},
};

START_TEST(test_message)
{
    read_options(messages[_i].text);
    ck_assert_str_eq(said, messages[_i].said);
    ck_assert(!ended);
}
END_TEST

// ---- values ---------------------------------------------------------------------------------------------------------

START_TEST(test_defaults)
{
    read_options("");
    ck_assert(!hs_prof_options.prof && hs_prof_options.active && hs_prof_options.thread_active_init);
    ck_assert(hs_prof_options.unbias && !hs_prof_options.control);
    ck_assert_uint_eq(hs_prof_options.sample_bytes, 1 << 19);
    ck_assert_uint_eq(hs_prof_options.interval_bytes, 0);
    ck_assert_int_eq(hs_prof_options.lg_interval, -1);
    ck_assert_str_eq(hs_prof_texts.prefix, "jeprof");
    ck_assert_int_eq(hs_prof_options.zero_realloc, HS_ZERO_REALLOC_NOT_GIVEN);
}
END_TEST

START_TEST(test_profiling_options)
{
    read_options("prof:true,prof_active:false,prof_thread_active_init:false,prof_prefix:/tmp/p,lg_prof_sample:3,"
                 "lg_prof_interval:20,prof_gdump:true,prof_final:true,prof_accum:true,prof_bt_max:5,prof_log:true,"
                 "prof_recent_alloc_max:-1,prof_stats:true,prof_sys_thread_name:true,prof_time_resolution:high,"
                 "prof_unbias:false,prof_pid_namespace:true,zero_realloc:abort,abort:true,stats_print:true,"
                 "stats_print_opts:qJJgJ,stats_interval:77");
    ck_assert_str_eq(said, "");
    ck_assert(hs_prof_options.prof && !hs_prof_options.active && !hs_prof_options.thread_active_init);
    ck_assert_str_eq(hs_prof_texts.prefix, "/tmp/p");
    ck_assert_uint_eq(hs_prof_options.lg_sample, 3);
    ck_assert_uint_eq(hs_prof_options.sample_bytes, 8);
    ck_assert_uint_eq(hs_prof_options.interval_bytes, 1 << 20);
    ck_assert(hs_prof_options.gdump && hs_prof_options.final && hs_prof_options.accum && hs_prof_options.log);
    ck_assert_uint_eq(hs_prof_options.max_frames, 5);
    ck_assert_int_eq(hs_prof_options.recent_max, -1);
    ck_assert(hs_prof_options.stats && hs_prof_options.sys_thread_name && hs_prof_options.time_high);
    ck_assert(!hs_prof_options.unbias && hs_prof_options.pid_namespace && hs_prof_options.abort);
    ck_assert_int_eq(hs_prof_options.zero_realloc, HS_ZERO_REALLOC_ABORT);
    ck_assert(hs_prof_options.stats_print);
    ck_assert_str_eq(hs_prof_options.stats_print_letters, "Jg");
    ck_assert_int_eq(hs_prof_options.stats_interval, 77);
    ck_assert(hs_prof_options.control);
}
END_TEST

START_TEST(test_own_options)
{
    read_options("experimental_hs_sample:100000,lg_prof_sample:3,experimental_hs_interval:3M,lg_prof_interval:4,"
                 "experimental_hs_size_model:jemalloc,experimental_hs_format:collapsed,experimental_hs_seed:0x10,"
                 "experimental_hs_name:%p.heap,experimental_hs_peak_floor:1g,experimental_hs_peak_step:7k,"
                 "experimental_hs_peak_keep:true,experimental_hs_max_files:5,experimental_hs_max_bytes:2t,"
                 "experimental_hs_min_seconds:9,experimental_hs_final_always:true,experimental_hs_control:true,"
                 "experimental_hs_control_path:/run/x");
    ck_assert_str_eq(said, "");
    ck_assert_uint_eq(hs_prof_options.sample_bytes, 100000);
    ck_assert_uint_eq(hs_prof_options.interval_bytes, 3 << 20);
    ck_assert_int_eq(hs_prof_options.size_model, HS_SIZE_JEMALLOC);
    ck_assert_int_eq(hs_prof_options.dump_format, HS_DUMP_COLLAPSED);
    ck_assert_uint_eq(hs_prof_options.seed, 16);
    ck_assert_str_eq(hs_prof_texts.name_template, "%p.heap");
    ck_assert_uint_eq(hs_prof_options.peak_floor, 1 << 30);
    ck_assert_uint_eq(hs_prof_options.peak_step, 7 << 10);
    ck_assert_uint_eq(hs_prof_options.peak_percent, 0);
    ck_assert(hs_prof_options.peak_keep_highest && hs_prof_options.dump_on_exit_paths && hs_prof_options.control);
    ck_assert_uint_eq(hs_prof_options.max_files, 5);
    ck_assert_uint_eq(hs_prof_options.max_total, UINT64_C(2) << 40);
    ck_assert_uint_eq(hs_prof_options.min_seconds, 9);
    ck_assert_str_eq(hs_prof_texts.control_path, "/run/x");
    ck_assert(!hs_prof_options.prof);
}
END_TEST

START_TEST(test_peak_percent)
{
    read_options("experimental_hs_peak_step:7k,experimental_hs_peak_step:25%");
    ck_assert_uint_eq(hs_prof_options.peak_step, 0);
    ck_assert_uint_eq(hs_prof_options.peak_percent, 25);
}
END_TEST

START_TEST(test_no_control_though_profiling)
{
    read_options("prof:true,experimental_hs_control:false");
    ck_assert(!hs_prof_options.control);
}
END_TEST

START_TEST(test_broken_tail_keeps_what_was_read)
{
    read_options("prof:true,lg_prof_interval:20,lg_prof_sample:18,prof_log:true,log=.");
    ck_assert_str_eq(said, SAYS("Malformed conf string") SAYS("Malformed conf string"));
    ck_assert(hs_prof_options.prof && hs_prof_options.log);
    ck_assert_uint_eq(hs_prof_options.sample_bytes, 1 << 18);
    ck_assert_uint_eq(hs_prof_options.interval_bytes, 1 << 20);
}
END_TEST

START_TEST(test_leak_alone_turns_profiling_on)
{
    read_options("prof_leak:true,lg_prof_interval:20,prof_gdump:true");
    ck_assert(hs_prof_options.prof && hs_prof_options.leak && !hs_prof_options.gdump);
    ck_assert_uint_eq(hs_prof_options.interval_bytes, 0);
}
END_TEST

START_TEST(test_leak_error_means_leak)
{
    read_options("prof_leak_error:true,prof_final:true");
    ck_assert(hs_prof_options.prof && hs_prof_options.leak && hs_prof_options.leak_error);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(test_later_sources_win)
{
    program = "lg_prof_sample:1,prof:true,prof_accum:true";
    harder = "lg_prof_sample:3";
    read_options("lg_prof_sample:2,prof_accum:false");
    ck_assert(hs_prof_options.prof && !hs_prof_options.accum);
    ck_assert_uint_eq(hs_prof_options.lg_sample, 3);
}
END_TEST

START_TEST(test_a_broken_source_leaves_the_others)
{
    program = "prof;true";
    harder = "prof_accum:true";
    read_options("prof_final:true");
    ck_assert(!hs_prof_options.prof && hs_prof_options.final && hs_prof_options.accum);
}
END_TEST

START_TEST(test_abort_conf)
{
    read_options("abort_conf:true,nothing:1");
    ck_assert(ended);
    ck_assert_str_eq(said, SAYS("Invalid conf pair: nothing:1")
                               SAYS("Abort (abort_conf:true) on invalid conf value (see above)."));
}
END_TEST

START_TEST(test_abort_conf_forgives_experiments)
{
    read_options("abort_conf:true,experimental_nothing:1,experimental_hs_seed:x");
    ck_assert(!ended);
}
END_TEST

START_TEST(test_confirm_conf)
{
    program = "narenas:7";
    read_options("prof:false,x:1,confirm_conf:true");
    ck_assert_str_eq(
        said,
        SAYS("malloc_conf #1 (string specified via --with-malloc-conf): \"\"") SAYS(
            "malloc_conf #2 (string pointed to by the global variable malloc_conf): \"narenas:7\"")
            SAYS("-- Set conf value: narenas:7 (not applicable: the program's own allocator is in use)") SAYS(
                "malloc_conf #3 (\"name\" of the file referenced by the symbolic link named /etc/malloc.conf): \"\"")
                SAYS("malloc_conf #4 (value of the environment variable MALLOC_CONF): "
                     "\"prof:false,x:1,confirm_conf:true\"") SAYS("-- Set conf value: prof:false")
                    SAYS("Invalid conf pair: x:1") SAYS("-- Set conf value: confirm_conf:true") SAYS(
                        "malloc_conf #5 (string pointed to by the global variable malloc_conf_2_conf_harder): \"\""));
}
END_TEST

START_TEST(test_options_of_the_allocator_are_remembered)
{
    read_options("narenas:7,tcache_max:99999999999,dss:primary,thp:sometimes,hpa_dirty_mult:0.5,bin_shards:1-2:3");
    ck_assert_str_eq(hs_prof_options__text("narenas"), "7");
    ck_assert_str_eq(hs_prof_options__text("tcache_max"), "8388608");
    ck_assert_str_eq(hs_prof_options__text("dss"), "primary");
    ck_assert_str_eq(hs_prof_options__text("thp"), "default");
    ck_assert_str_eq(hs_prof_options__text("hpa_dirty_mult"), "0.5");
    ck_assert_str_eq(hs_prof_options__text("bin_shards"), "1-2:3");
    ck_assert_str_eq(hs_prof_options__text("muzzy_decay_ms"), "0");
    ck_assert_ptr_null(hs_prof_options__text("prof"));
    ck_assert_ptr_null(hs_prof_options__text("nothing"));
    ck_assert_str_eq(said, SAYS("Invalid conf value: thp:sometimes"));
}
END_TEST

START_TEST(test_long_values)
{
    static char text[200000] = "prof_prefix:";
    memset(text + strlen(text), 'p', 100000);
    strcat(text, ",tcache_ncached_max:");
    memset(text + strlen(text), 's', 50000);
    strcat(text, ",prof:true,");
    memset(text + strlen(text), 'x', 5000);
    strcat(text, ":1");
    read_options(text);
    ck_assert_uint_eq(strlen(hs_prof_texts.prefix), HS_PROF_PATH - 1);
    ck_assert_uint_eq(strlen(hs_prof_options__text("tcache_ncached_max")), 50000);
    ck_assert(hs_prof_options.prof);
    ck_assert_uint_lt(strlen(said), 4200);
}
END_TEST

START_TEST(test_numbers)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t number;
    } cases[] = {{"0", true, 0},
                 {" 7", true, 7},
                 {"\t+7", true, 7},
                 {"-1", true, UINT64_MAX},
                 {"0x1F", true, 31},
                 {"017", true, 15},
                 {"08", false, 0},
                 {"0x", false, 0},
                 {"", false, 0},
                 {"-", false, 0},
                 {"7 ", false, 0},
                 {"18446744073709551615", true, UINT64_MAX},
                 {"18446744073709551616", false, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t number = 1;
        bool negative,
            good = hs_prof_options__number(cases[i].text, cases[i].text + strlen(cases[i].text), &number, &negative);
        ck_assert_msg(good == cases[i].good, "%s", cases[i].text);
        if (good)
            ck_assert_uint_eq(number, cases[i].number);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("options");
    tcase_add_loop_test(tests, test_message, 0, sizeof messages / sizeof *messages);
    tcase_add_test(tests, test_defaults);
    tcase_add_test(tests, test_profiling_options);
    tcase_add_test(tests, test_own_options);
    tcase_add_test(tests, test_peak_percent);
    tcase_add_test(tests, test_no_control_though_profiling);
    tcase_add_test(tests, test_broken_tail_keeps_what_was_read);
    tcase_add_test(tests, test_leak_alone_turns_profiling_on);
    tcase_add_test(tests, test_leak_error_means_leak);
    tcase_add_test(tests, test_later_sources_win);
    tcase_add_test(tests, test_a_broken_source_leaves_the_others);
    tcase_add_test(tests, test_abort_conf);
    tcase_add_test(tests, test_abort_conf_forgives_experiments);
    tcase_add_test(tests, test_confirm_conf);
    tcase_add_test(tests, test_options_of_the_allocator_are_remembered);
    tcase_add_test(tests, test_long_values);
    tcase_add_test(tests, test_numbers);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
