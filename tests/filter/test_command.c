// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Filters as options, and conditions of continuous integration, on a recorded program.
#include "command.h"

#include "host/filter/condition.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void setup(void)
{
    make_work();
    shell("HEAPSONDE_OUTPUT=trace.dat LD_PRELOAD='" PATH_SHIM "' '" PATH_PROGRAM "' > /dev/null");
}

static void expect(int status, const char *arguments, const char *output, const char *errors)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == status, "%s: status %d\n%s", arguments, outcome.status, outcome.errors);
    ck_assert_msg(strstr(outcome.output, output), "%s: '%s' is not in:\n%s", arguments, output, outcome.output);
    ck_assert_msg(strstr(outcome.errors, errors), "%s: '%s' is not in:\n%s", arguments, errors, outcome.errors);
    free_outcome(&outcome);
}

// ---- options -------------------------------------------------------------------------------------------------------

START_TEST(options_have_both_spellings_and_old_names)
{
    static const char *const spellings[] = {"--size-min 1M", "--size_min 1M", "--size_min=1M",
                                            "--min-size 1M", "--min_size 1M", "--size-min 9 --size_min 1M"};
    struct outcome first = run("$HEAPSONDE export --format collapsed %s trace.dat", spellings[0]);
    ck_assert_int_eq(first.status, 0);
    ck_assert_ptr_nonnull(strstr(first.output, "take_large"));
    ck_assert_ptr_null(strstr(first.output, "keep_every_third"));
    for (size_t i = 1; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        struct outcome other = run("$HEAPSONDE export --format collapsed %s trace.dat", spellings[i]);
        ck_assert_msg(other.status == 0, "%s: %s", spellings[i], other.errors);
        ck_assert_str_eq(first.output, other.output);
        free_outcome(&other);
    }
    free_outcome(&first);
    expect(2, "report --size-m 1M trace.dat", "", "could be several");
}
END_TEST

START_TEST(headings_name_what_counts)
{
    expect(0, "report --size-min 9 --min-size 1M --size-max 8M trace.dat", "\nonly          min-size 1M, size-max 8M\n",
           "");
}
END_TEST

START_TEST(two_percent_of_small_groups_may_be_the_same)
{
    expect(0, "report --group-leaked-allocations-min 3% --group-leaked-allocations-max 0.5% trace.dat", "allocations",
           "");
    expect(1, "report --group-leaked-allocations-min 3 --group-leaked-allocations-max 2 trace.dat", "", "swap them");
}
END_TEST

START_TEST(what_changes_nothing_is_refused)
{
    expect(2, "report --tree --json trace.dat", "", "--tree has no effect with --json");
    expect(2, "report --bottom-up --top 3 trace.dat", "", "--top has no effect with --bottom-up");
    expect(2, "report --threads --modules trace.dat", "", "--modules has no effect with --threads");
    expect(2, "report --min-percent 5 trace.dat", "", "needs --tree or --bottom-up");
    expect(2, "report --html --annotate github trace.dat", "", "--annotate has no effect with --html");
    expect(2, "report --html --size-min 1 trace.dat", "", "leave out the filters");
    expect(0, "report --tree --min-percent 5 --sort peak trace.dat", "", "");
}
END_TEST

static void expect_lines(const char *arguments, unsigned lines)
{
    struct outcome outcome =
        run("$HEAPSONDE export --format collapsed --cost allocated --unit count %s trace.dat", arguments);
    unsigned long long sum = 0;
    ck_assert_msg(outcome.status == 0, "%s: %s", arguments, outcome.errors);
    for (char *line = strtok(outcome.output, "\n"); line; line = strtok(NULL, "\n"))
        sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
    ck_assert_msg(sum == lines, "%s: %llu blocks, not %u", arguments, sum, lines);
    free_outcome(&outcome);
}

START_TEST(every_command_filters)
{
    expect_lines("--function keep_every_third", 30);
    expect_lines("--function-regex drop_others", 60);
    expect_lines("--function-regex 'drop_others|keep_every' --negative-function-regex keep_every", 60);
    expect_lines("--function drop_others --lifetime only_leaked", 0);
    expect_lines("--function keep_every --lifetime only_whole_group_leaked", 30);
    expect_lines("--function keep_every --size-max 29", 4);
    expect_lines("--library filter_recorded --size-min 1M", 2);
    expect_lines("--function grow --chain-length-min 9 --position-in-chain-max 0", 5);
    expect_lines("--source-regex recorded.c --mmaped yes", 2);
    expect_lines("--function keep_every --group-leaked-allocations-min '100%'", 30);
    expect(0, "diff --function keep_every trace.dat trace.dat", "", "");
    expect(1, "report --thread nobody trace.dat", "", "no thread 'nobody'");
    expect(1, "report --from 2s --to 1s trace.dat", "", "--from is above --to");
    expect(2, "report --lifetime short trace.dat", "", "--lifetime does not know 'short'");
    expect(2, "report --function '(' trace.dat", "", "invalid '--function-regex'");
}
END_TEST

START_TEST(dumps_know_frames_alone)
{
    shell("$HEAPSONDE export --format symbolized trace.dat -o trace.heap 2>/dev/null");
    expect(1, "report --alive-at 1s trace.heap", "", "--alive-at: trace.heap is a heap dump");
    expect(0, "report --function-regex keep_every trace.heap", "keep_every_third", "");
    expect(0, "diff --function-regex keep_every trace.heap trace.dat", "", "");
    expect(3, "report --fail-if 'live_bytes(function=~keep_every) > 1' trace.heap", "", "1.86 KiB");
    expect(0, "report --fail-if 'live_bytes(function=~kepe_every) > 1' --fail-if-missing=ok trace.heap", "", "");
    expect(1, "report --fail-if 'live_bytes(function=~kepe_every) > 1' trace.heap", "",
           "no stack in trace.heap matches ");
    expect(1, "report --fail-if 'peak_bytes > 1' trace.heap", "", "does not contain peak_bytes");
    expect(1, "report --fail-if 'live_bytes(size_min=3) > 1' trace.heap", "", "size_min: trace.heap is a heap dump");
}
END_TEST

static size_t count_in_export(const char *arguments, const char *word)
{
    size_t count = 0, length = strlen(word);
    struct outcome outcome = run("$HEAPSONDE export --format perfetto %s", arguments);
    ck_assert_msg(outcome.status == 0, "%s: %s", arguments, outcome.errors);
    for (size_t i = 0; i + length <= outcome.output_length; i++)
        count += !memcmp(outcome.output + i, word, length);
    free_outcome(&outcome);
    return count;
}

START_TEST(sums_know_the_whole_over_time)
{
    static const char counter[] = "\004heap"; // with its length
    shell("HEAPSONDE_MODE=aggregate HEAPSONDE_OUTPUT=sums.dat LD_PRELOAD='" PATH_SHIM "' '" PATH_PROGRAM
          "' > /dev/null");
    ck_assert_uint_eq(count_in_export("trace.dat", counter), 1);
    ck_assert_uint_eq(count_in_export("--function keep_every trace.dat", counter), 1);
    ck_assert_uint_eq(count_in_export("sums.dat", counter), 1);
    ck_assert_uint_eq(count_in_export("sums.dat", "at the highest tick"), 1);
    ck_assert_uint_eq(count_in_export("--function keep_every sums.dat", counter), 0);
    ck_assert_uint_eq(count_in_export("--function keep_every sums.dat", "keep_every_third"), 1);
    expect(1, "strip -o small.dat sums.dat", "", "sums.dat contains sums per stack");
    shell("test ! -e small.dat");
}
END_TEST

// A text in memory that cannot be had for the heading must not turn a part into the whole.
START_TEST(without_memory_a_restriction_is_not_forgotten)
{
    shell("echo '#include <stdio.h>\nFILE *open_memstream(char **text, size_t *size) "
          "{ (void)text; (void)size; return NULL; }' | gcc -shared -fPIC -x c - -o no_streams.so");
    expect(0, "report trace.dat", "", ""); // which keeps the digest of everything
    struct outcome outcome = run("ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 LD_PRELOAD=./no_streams.so "
                                 "$HEAPSONDE report --function drop_others trace.dat");
    ck_assert_int_eq(outcome.status, 1);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_msg(strstr(outcome.errors, "trace.dat: out of memory"), "%s", outcome.errors);
    free_outcome(&outcome);
}
END_TEST

// ---- --fail-if -----------------------------------------------------------------------------------------------------

START_TEST(conditions_end_with_a_status_and_a_reason)
{
    expect(3, "report --fail-if 'live_bytes > 10M' trace.dat", "",
           "heapsonde report: trace.dat fails: live_bytes > 10M: 20.0 MiB, 10.0 MiB more than 10.0 MiB\n");
    expect(0, "report --fail-if 'live_bytes > 100M' trace.dat", "", "");
    expect(0, "report --fail-if 'live_bytes > 100MB or live_bytes > 100 M' trace.dat", "", "");
    expect(3, "report --fail-if 'live_bytes > 10 MB and live_bytes < 100 mib AND 20 M < live_bytes' trace.dat", "",
           "fails");
    expect(3, "report --fail-if 'live_count(function=~\"keep\") != 31' trace.dat", "", ": 30, 1 less than 31\n");
    expect(0, "report --fail-if 'live_count(function=~\"keep\") != 30' trace.dat", "", "");
    expect(3, "report --fail-if 'allocated_count(size>=1M) == 2' trace.dat", "", "== 2: 2\n");
    expect(3, "report --fail-if 'max_bytes(size>=1M) >= 30M and not live_bytes > 30M' trace.dat", "",
           "max_bytes(size>=1M) >= 30M: 30.0 MiB; not live_bytes > 30M: 20.0 MiB, ");
    expect(3, "report --fail-if 'live_bytes > 1G or 10M < live_bytes(size_min=1M)' trace.dat", "",
           "fails: 10M < live_bytes(size_min=1M): ");
    expect(3,
           "report --fail-if 'live_count(function=~keep or size>=1M and not lifetime=only_temporary) == 31' trace.dat",
           "", "== 31: 31");
    expect(3, "report --where 'function=~keep or size>=1M' --fail-if 'live_count != 30' trace.dat", "where function",
           ": 31, 1 more");
    expect(3, "report --fail-if 'live_bytes > 1G' --fail-if 'live_bytes(lifetime=all) < 1G' trace.dat", "",
           "less than");
    expect(0, "report --fail-if 'live_bytes(function=~keep) > live_bytes(function=~take_large)' trace.dat", "", "");
    expect(0, "report --function drop_others --fail-if 'live_bytes > 0' trace.dat", "", "");
    expect(3, "report --function drop_others --fail-if 'freed_count == 60' trace.dat", "only", "== 60: 60");
    // What a condition says of a parameter goes before what the options say of it, also where it takes several values.
    expect(
        0,
        "report --library filter_recorded --fail-if 'live_bytes(library=nowhere) > 0' --fail-if-missing=ok trace.dat",
        "", "");
    expect(3, "report --library nowhere --fail-if 'live_bytes(library=filter_recorded) > 10M' trace.dat", "",
           "20.0 MiB");
    expect(3, "report --fail-if 'live_bytes(library=nowhere, library=filter_recorded) > 10M' trace.dat", "",
           "20.0 MiB");
    expect(1, "report --fail-if 'live_bytes(thread=nobody) > 1' trace.dat", "", "no thread 'nobody'");
    expect(1, "report --fail-if 'live_bytes > 1' missing.dat", "", "missing.dat");
    // Names that are nowhere would pass for ever.
    expect(1, "report --fail-if 'live_bytes(function=~kepe_every) > 1' trace.dat", "",
           "no stack in trace.dat matches the filter of live_bytes(...)");
    expect(1,
           "report --fail-if-missing fail --fail-if 'live_bytes(function=~kepe_every) > 1' --fail-if 'live_count < 1' "
           "trace.dat",
           "", "or give --fail-if-missing=ok");
    expect(3, "report --fail-if 'live_bytes(function=~kepe_every) > 1 or live_count > 1' trace.dat", "", "fails");
    // What the options ask for the report itself shows.
    struct outcome outcome = run("$HEAPSONDE report --function kepe_every --fail-if 'live_bytes > 1' trace.dat");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_ptr_null(strstr(outcome.errors, "no stack in"));
    free_outcome(&outcome);
}
END_TEST

START_TEST(wrong_conditions_are_refused_with_their_place)
{
    static const struct {
        const char *text, *complaint;
    } wrong[] = {{"", "position 1: a total such as live_bytes"},
                 {"live_bytes", "position 11: > or >="},
                 {"live_bytes >", "position 13: a total"},
                 {"live_byte > 1", "position 1: no such total"},
                 {"live_bytes > 1 2", "position 16: and, or"},
                 {"live_bytes > 1Q", "not a size"},
                 {"live_bytes > 1 Q", "position 16: no such unit"},
                 {"live_bytes > -5M", "position 14: a total is never negative"},
                 {"live_count > 1K", "not a whole number"},
                 {"1 > 2", "one side has to be a total"},
                 {"live_bytes > live_count", "bytes are compared"},
                 {"(live_bytes > 1", ") is missing"},
                 {"live_bytes(", "position 12: the name of a filter"},
                 {"live_bytes(size_min=1", ", or ) is missing"},
                 {"live_bytes(size_min) > 1", "position 20: = or =~"},
                 {"live_bytes(size_min=x) > 1", "position 12: size_min cannot use 'x'"},
                 {"live_bytes(size_min=1, size>=2) > 1", "position 24: size_min is given twice"},
                 {"live_bytes(colour=red) > 1", "position 12: no such filter"},
                 {"live_bytes(function=~\"a) > 1", "quote"},
                 {"live_bytes(function=~\"(\") > 1", "invalid 'function_regex'"},
                 {"live_bytes > 1 and", "position 19"},
                 {"not", "position 4"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct hs_error error = {""};
        ck_assert_msg(!hs_condition__parse(wrong[i].text, &error), "%s", wrong[i].text);
        ck_assert_msg(strstr(error.message, wrong[i].complaint), "%s: %s", wrong[i].text, error.message);
    }
    expect(2, "report --fail-if 'live_bytes > ' trace.dat", "", "--fail-if at position");
}
END_TEST

START_TEST(deep_and_long_conditions_are_refused)
{
    static char text[3 * HS_CONDITION_LONGEST];
    struct hs_error error = {""};
    memset(text, '(', HS_CONDITION_DEEPEST + 1);
    ck_assert_ptr_null(hs_condition__parse(text, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "too deep"));
    text[0] = '\0';
    for (int i = 0; i < 300; i++)
        strcat(text, i ? " or 1<live_bytes" : "1<live_bytes");
    ck_assert_ptr_null(hs_condition__parse(text, &error));
    memset(text, ' ', sizeof(text) - 1);
    ck_assert_ptr_null(hs_condition__parse(text, &error));
    ck_assert_ptr_nonnull(strstr(error.message, "too long"));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("filter_command");
    tcase_add_checked_fixture(cases, setup, remove_work);
    tcase_add_test(cases, options_have_both_spellings_and_old_names);
    tcase_add_test(cases, headings_name_what_counts);
    tcase_add_test(cases, two_percent_of_small_groups_may_be_the_same);
    tcase_add_test(cases, what_changes_nothing_is_refused);
    tcase_add_test(cases, every_command_filters);
    tcase_add_test(cases, dumps_know_frames_alone);
    tcase_add_test(cases, sums_know_the_whole_over_time);
    tcase_add_test(cases, without_memory_a_restriction_is_not_forgotten);
    tcase_add_test(cases, conditions_end_with_a_status_and_a_reason);
    tcase_add_test(cases, wrong_conditions_are_refused_with_their_place);
    tcase_add_test(cases, deep_and_long_conditions_are_refused);
    return run_cases("filter_command", cases);
}
