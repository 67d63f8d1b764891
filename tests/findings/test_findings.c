// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Each planted fault gives its finding and no other; the command and the server say the same; suppressions.
#include "command.h"
#include "host/findings/findings.h"
#include "host/findings/scene.h"
#include "host/findings/suppressions.h"
#include "planted.h"
#include "tests/suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *id, *confidence; // NULL: none
} expected[PLANTS] = {
    [PLANT_LEAK] = {"never_freed", "likely"}, [PLANT_CACHE] = {"bounded", "look"},
    [PLANT_SLOW_CACHE] = {"bounded", "look"}, [PLANT_FREED_AT_END] = {"freed_at_end", "likely"},
    [PLANT_ROUNDS] = {"rounds", "sure"},      [PLANT_PEAK] = {"high_peak", "look"},
    [PLANT_CHURN] = {"temporary", "look"},    [PLANT_REALLOC] = {"reallocated", "look"},
    [PLANT_TINY] = {"tiny", "look"},          [PLANT_ROUNDING] = {"rounding", "look"},
    [PLANT_HOLES] = {"holes", "look"},        [PLANT_UNTOUCHED] = {"untouched", "look"},
    [PLANT_DROPPED] = {"recording", "sure"},  [PLANT_RESIDENT] = {"resident", "look"},
    [PLANT_NOT_HEAP] = {"resident", "look"},
};

static void set_up(void)
{
    make_work();
    planted__build(text("%s/root", work));
}

static void plant(enum plant what)
{
    planted__write(text("%s/trace.dat", work), what, 1);
}

static json_t *parse(struct outcome *outcome)
{
    json_error_t error;
    ck_assert_msg(!outcome->status, "%s", outcome->errors);
    json_t *json = json_loads(outcome->output, 0, &error);
    ck_assert_msg(json != NULL, "%s: %s", error.text, outcome->output);
    free_outcome(outcome);
    return json;
}

static json_t *report(const char *options)
{
    struct outcome outcome = run("$HEAPSONDE report --sysroot root --findings --json %s trace.dat", options);
    return parse(&outcome);
}

static json_t *ask(const char *question)
{
    struct outcome outcome = run("$HEAPSONDE ask --sysroot root trace.dat '%s'", question);
    return parse(&outcome);
}

static const char *member(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    ck_assert_msg(value != NULL, "%s", name);
    return value;
}

// The line that a finding proposes suppresses it.
static void check_suppression(const json_t *finding)
{
    const char *line = json_string_value(json_object_get(finding, "suppression"));
    if (!line)
        return;
    write_file(text("%s/proposed", work), line, strlen(line));
    json_t *said = report("--suppressions proposed");
    ck_assert_uint_eq(json_array_size(json_object_get(said, "findings")), 0);
    json_decref(said);
}

// What a finding links to is there.
static void check_link(const json_t *finding)
{
    const char *query = member(finding, "query");
    json_t *groups = ask(text("allocation_groups?%s&count=1", strstr(query, "events=") ? "" : query));
    ck_assert_int_ge(json_integer_value(json_object_get(groups, "total_count")), 1);
    json_decref(groups);
}

// The command that the text names works.
static void check_shown(void)
{
    struct outcome outcome = run("$HEAPSONDE report --sysroot root --findings trace.dat | sed -n 's/^ *show "
                                 "*heapsonde/\"$HEAPSONDE\"/p' >show.sh; "
                                 "sh -e ./show.sh");
    ck_assert_msg(!outcome.status && !*outcome.errors, "%s", outcome.errors);
    free_outcome(&outcome);
}

static void check_plant(enum plant what)
{
    plant(what);
    json_t *said = report(""), *findings = json_object_get(said, "findings");
    char *all = json_dumps(said, JSON_INDENT(1));
    ck_assert_msg(json_array_size(findings) == (expected[what].id != NULL), "%s", all);
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        ck_assert_str_eq(member(finding, "id"), expected[what].id);
        ck_assert_msg(!strcmp(member(finding, "confidence"), expected[what].confidence), "%s", all);
        ck_assert_ptr_null(strstr(member(finding, "text"), "leaked"));
        check_link(finding);
        check_suppression(finding);
    }
    json_t *asked = ask("findings");
    ck_assert_msg(json_equal(asked, said), "%s", all);
    check_shown();
    free(all);
    json_decref(asked);
    json_decref(said);
    shell("rm -rf trace.dat trace.dat.store");
}

START_TEST(each_plant_gives_its_finding)
{
    set_up();
    check_plant((enum plant)_i);
    remove_work();
}
END_TEST

START_TEST(short_recordings_are_worth_a_look_only)
{
    static const enum plant plants[] = {PLANT_LEAK, PLANT_FREED_AT_END};
    set_up();
    for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
        planted__write_short(text("%s/trace.dat", work), plants[i], 1);
        json_t *said = report("");
        const json_t *finding = json_array_get(json_object_get(said, "findings"), 0);
        ck_assert_str_eq(member(finding, "id"), expected[plants[i]].id);
        ck_assert_str_eq(member(finding, "confidence"), "look");
        ck_assert_ptr_nonnull(strstr(member(finding, "reason"), "The recording is short"));
        json_decref(said);
    }
    remove_work();
}
END_TEST

START_TEST(what_is_only_loaded_is_worth_a_look)
{
    set_up();
    plant(PLANT_LOADED);
    json_t *said = report("");
    const json_t *finding = json_array_get(json_object_get(said, "findings"), 0);
    ck_assert_str_eq(member(finding, "id"), "never_freed");
    ck_assert_str_eq(member(finding, "confidence"), "look");
    ck_assert_ptr_nonnull(strstr(member(finding, "reason"), "In the last quarter of the run there was hardly more."));
    json_decref(said);
    remove_work();
}
END_TEST

// The one of what the recording cannot tell.
static json_t *note_of(const char *options)
{
    json_t *said = report(options), *findings = json_object_get(said, "findings");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        json_t *finding = json_array_get(findings, i);
        if (strcmp(member(finding, "id"), "recording") != 0)
            continue;
        json_incref(finding);
        json_decref(said);
        return finding;
    }
    ck_abort_msg("%s", json_dumps(said, 0));
}

static void expect_words(const json_t *finding, const char *name, const char *words)
{
    ck_assert_msg(strstr(member(finding, name), words) != NULL, "%s: %s", words, member(finding, name));
}

// More memory for the recorder helps only where that was short.
START_TEST(advice_is_that_of_the_reason)
{
    static const struct {
        enum hs_drop reason;
        const char *text, *advice;
    } drops[] = {
        {HS_DROP_NESTED, "9 events are missing", "signal-safety(7)"},
        {HS_DROP_BUFFER, "Every number may be too low", "faster disk"},
        {HS_DROP_MEMORY, "Every number may be too low", "ulimit -v"},
        {HS_DROP_STOPPED, "Every number may be too low", "disk was full"},
        {HS_DROP_STACK_TABLE, "9 events are incomplete", "HEAPSONDE_MEMORY"},
        {HS_DROP_SMALL_STACK, "9 events are missing", "pthread_attr_setstacksize(3)"},
        {HS_DROP_LINK, "9 events are missing", "--stream-policy block"},
        {HS_DROP_BLOCK_TABLE, "count as freed at once", "HEAPSONDE_MEMORY"},
        {HS_DROP_SAMPLES, "the heap is not affected", "less busy"},
        {HS_DROP_UNLOADING, "the heap is not affected", "Usually nothing"},
        {HS_DROP_META, "9 chunks are missing", "--stream-buffer"},
        {HS_DROP_NO_REGISTERS, "the heap is not affected", "Usually nothing"},
        {HS_DROP_NO_ROOM, "9 events are incomplete", "sigaltstack(2)"},
        {HS_DROP_CHILDREN, "9 processes are missing", "absolute path"},
        {HS_DROP_MODULES, "9 pieces of code are missing", "HEAPSONDE_MEMORY"},
        {HS_DROP_FILES, "9 files are missing", "--sysroot"},
    };
    set_up();
    plant(PLANT_NOTHING);
    for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
        planted__say_dropped(text("%s/trace.dat", work), drops[i].reason, 9);
        json_t *note = note_of("");
        expect_words(note, "text", drops[i].text);
        expect_words(note, "advice", drops[i].advice);
        expect_words(note, "reason", " events were recorded.");
        ck_assert(!strstr(member(note, "advice"), "debug-dir"));
        json_decref(note);
        planted__say_dropped(text("%s/trace.dat", work), drops[i].reason, 0);
        shell("rm -rf trace.dat.store");
    }
    // The program's file, which has the names, is elsewhere.
    shell("mv root elsewhere && mkdir root");
    json_t *note = note_of("");
    expect_words(note, "text", "functions whose names are unknown");
    expect_words(note, "advice", "--debug-dir");
    ck_assert(!strstr(member(note, "advice"), "HEAPSONDE_MEMORY"));
    json_decref(note);
    remove_work();
}
END_TEST

// Although churn has more bytes, as it also does by what they count.
START_TEST(growth_comes_before_churn)
{
    set_up();
    plant(PLANT_LEAK_AND_CHURN);
    json_t *said = report(""), *findings = json_object_get(said, "findings");
    ck_assert_uint_eq(json_array_size(findings), 2);
    const json_t *first = json_array_get(findings, 0), *second = json_array_get(findings, 1);
    ck_assert_str_eq(member(first, "id"), "never_freed");
    ck_assert_str_eq(member(second, "id"), "temporary");
    ck_assert_int_gt(json_integer_value(json_object_get(second, "bytes")),
                     2 * json_integer_value(json_object_get(first, "bytes")));
    json_t *asked = ask("findings");
    ck_assert(json_equal(asked, said));
    json_decref(asked);
    json_decref(said);
    struct outcome outcome = run("$HEAPSONDE report --sysroot root --findings trace.dat");
    const char *growth = strstr(outcome.output, "[never_freed, likely]"),
               *churn = strstr(outcome.output, "[temporary, look]");
    ck_assert_msg(growth && churn && growth < churn, "%s", outcome.output);
    free_outcome(&outcome);
    remove_work();
}
END_TEST

static void expect_order(const char *first, const char *second)
{
    json_t *said = report(""), *asked = ask("findings"), *findings = json_object_get(said, "findings");
    ck_assert(json_equal(asked, said));
    ck_assert_uint_eq(json_array_size(findings), 2);
    ck_assert_str_eq(member(json_array_get(findings, 0), "id"), first);
    ck_assert_str_eq(member(json_array_get(findings, 1), "id"), second);
    json_decref(asked);
    json_decref(said);
}

// Missing events spoil the numbers of a leak, missing names do not, and neither do stacks without a call site.
START_TEST(only_what_spoils_findings_precedes_a_leak)
{
    const uint64_t most = 1000000000;
    set_up();
    plant(PLANT_LEAK);
    planted__say_dropped(text("%s/trace.dat", work), HS_DROP_BUFFER, most);
    expect_order("recording", "never_freed");
    planted__say_dropped(text("%s/trace.dat", work), HS_DROP_BUFFER, 0);
    planted__say_dropped(text("%s/trace.dat", work), HS_DROP_STACK_TABLE, most);
    shell("rm -rf trace.dat.store");
    expect_order("never_freed", "recording");
    planted__say_dropped(text("%s/trace.dat", work), HS_DROP_STACK_TABLE, 0);
    shell("rm -rf trace.dat.store && mv root elsewhere && mkdir root");
    expect_order("never_freed", "recording");
    remove_work();
}
END_TEST

// By every way in which a file or lines of one are given.
START_TEST(files_with_wrong_lines_are_refused)
{
    static const char *const ways[] = {"report --findings", "report --fail-if 'findings > 0'", "server --port 0"};
    set_up();
    plant(PLANT_LEAK);
    shell("printf 'leak:good\nbad\n' >wrong");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE %s --suppressions wrong trace.dat", ways[i]);
        ck_assert_msg(outcome.status == 2, "%s: %d", ways[i], outcome.status);
        ck_assert_msg(strstr(outcome.errors, "wrong:2: 'bad' has no ':'; a line is leak:PATTERN or KIND:PATTERN") !=
                          NULL,
                      "%s", outcome.errors);
        ck_assert_str_eq(outcome.output, "");
        free_outcome(&outcome);
    }
    struct outcome outcome = run("$HEAPSONDE ask trace.dat 'findings?suppress=leak:good%%0Abad'");
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_msg(strstr(outcome.errors, "suppress:2: 'bad' has no ':'") != NULL, "%s", outcome.errors);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --findings --suppressions nowhere trace.dat");
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_msg(strstr(outcome.errors, "nowhere") != NULL, "%s", outcome.errors);
    free_outcome(&outcome);
    remove_work();
}
END_TEST

static void expect_status(int status, const char *options)
{
    struct outcome outcome = run("$HEAPSONDE report --sysroot root %s trace.dat", options);
    ck_assert_msg(outcome.status == status, "%s: %d, %s", options, outcome.status, outcome.errors);
    free_outcome(&outcome);
}

START_TEST(conditions_count_findings)
{
    set_up();
    plant(PLANT_LEAK);
    expect_status(3, "--fail-if 'findings(never_freed) > 0'");
    expect_status(0, ""); // a digest is kept, and used from now on
    expect_status(3, "--fail-if 'findings > 0 and live_bytes > 1K'");
    expect_status(3, "--fail-if 'findings(holes, never_freed,likely) == 1'");
    expect_status(0, "--fail-if 'findings(never_freed, sure) > 0'");
    expect_status(0, "--fail-if 'findings(holes, look) > 0'");
    expect_status(2, "--fail-if 'findings(nothing) > 0'");
    expect_status(2, "--fail-if 'findings(never_freed > 0'");
    expect_status(2, "--fail-if 'findings > 4K'");
    write_file(text("%s/known", work), "leak:^planted$\n", 15);
    expect_status(0, "--fail-if 'findings(never_freed) > 0' --suppressions known");
    remove_work();
}
END_TEST

START_TEST(suppressed_findings_are_counted)
{
    static const char *const suppressing[] = {"leak:planted", "leak:program$", "never_freed:pl*ed", "leak:^main$"};
    set_up();
    plant(PLANT_LEAK);
    for (size_t i = 0; i < sizeof(suppressing) / sizeof(suppressing[0]); i++) {
        shell("printf '# known\\n\\n  %s  \\r\\n' >known", suppressing[i]);
        json_t *said = report("--suppressions known");
        ck_assert_uint_eq(json_array_size(json_object_get(said, "findings")), 0);
        ck_assert_int_eq(json_integer_value(json_object_get(said, "suppressed_bytes")), 1000000);
        json_decref(said);
    }
    json_t *asked = ask("findings?suppress=holes:planted%0Aleak:^plan$");
    ck_assert_uint_eq(json_array_size(json_object_get(asked, "findings")), 1);
    json_decref(asked);
    remove_work();
}
END_TEST

START_TEST(filters_restrict_findings)
{
    set_up();
    plant(PLANT_LEAK);
    json_t *said = report("--function '^work$'");
    ck_assert_uint_eq(json_array_size(json_object_get(said, "findings")), 0);
    json_decref(said);
    remove_work();
}
END_TEST

START_TEST(patterns_match)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"b", "abc", true},        {"^b", "abc", false},     {"^a", "abc", true},
        {"c$", "abc", true},       {"b$", "abc", false},     {"^abc$", "abc", true},
        {"^ab$", "abc", false},    {"a*c", "xabbcx", true},  {"^a*c$", "abcbc", true},
        {"^a*b$", "abcbc", false}, {"*", "", true},          {"^$", "", true},
        {"^$", "a", false},        {"a*", "a", true},        {"ab*bc", "abc", false},
        {"*b*", "abc", true},      {"^*c$", "abc", true},    {"cc$", "c", false},
        {"a$b", "a$b", true},      {"^aab$", "aaab", false}, {"operator()", "f::operator()(int)", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(hs_suppression__pattern_matches(cases[i].pattern, cases[i].text) == cases[i].matches, "%s %s",
                      cases[i].pattern, cases[i].text);
}
END_TEST

START_TEST(wrong_lines_are_named)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"leak:a\nfoo\n", "f:2: 'foo' has no ':'; a line is leak:PATTERN or KIND:PATTERN"},
        {"race:a\n", "f:1: 'race' is neither 'leak' nor a kind of finding"},
        {"#\n\nholes:\n", "f:3: the pattern after 'holes:' is missing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_error error = {.message = ""};
        ck_assert_ptr_null(hs_suppressions__parse(cases[i].text, strlen(cases[i].text), "f", &error));
        ck_assert_str_eq(error.message, cases[i].message);
    }
    struct hs_error error = {.message = ""};
    ck_assert_ptr_null(hs_suppressions__parse("leak:a\0b", 8, "f", &error));
    ck_assert_str_eq(error.message, "f:1: the line contains a NUL character");
}
END_TEST

// Below 64 KiB, or below 1 % of the whole.
START_TEST(small_ones_are_counted_only)
{
    static const struct {
        uint64_t bytes, whole;
        bool small;
    } cases[] = {
        {65535, 100000, true},
        {65536, 100000, false},
        {99999, 10000000, true},
        {100000, 10000000, false},
        {100000000, 10000, false},
        {65535, 6553500, true},
        {0, 1, true},
        {1, 0, false}, // not a part of anything
    };
    struct hs_error error = {.message = ""};
    struct hs_findings findings = {0};
    const struct hs_findings_question question = {.suppressions = NULL};
    struct hs_findings_scene scene = {
        .question = &question, .findings = &findings, .error = &error, .kind = hs_finding_kind__find("never_freed")};
    uint64_t listed = 0, small = 0, small_bytes = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct hs_finding finding = {.text = strdup("text"),
                                           .reason = strdup("reason"),
                                           .query = strdup(""),
                                           .bytes = cases[i].bytes,
                                           .whole_bytes = cases[i].whole};
        ck_assert_int_eq(hs_findings_scene__add(&scene, finding), 0);
        listed += !cases[i].small;
        small += cases[i].small;
        small_bytes += cases[i].small ? cases[i].bytes : 0;
        ck_assert_uint_eq(findings.count, listed);
        ck_assert_uint_eq(findings.small_count, small);
        ck_assert_uint_eq(findings.small_bytes, small_bytes);
    }
    hs_findings__free(&findings);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("findings");
    tcase_add_loop_test(cases, each_plant_gives_its_finding, PLANT_NOTHING, PLANTS);
    tcase_add_test(cases, short_recordings_are_worth_a_look_only);
    tcase_add_test(cases, what_is_only_loaded_is_worth_a_look);
    tcase_add_test(cases, advice_is_that_of_the_reason);
    tcase_add_test(cases, growth_comes_before_churn);
    tcase_add_test(cases, only_what_spoils_findings_precedes_a_leak);
    tcase_add_test(cases, files_with_wrong_lines_are_refused);
    tcase_add_test(cases, conditions_count_findings);
    tcase_add_test(cases, suppressed_findings_are_counted);
    tcase_add_test(cases, filters_restrict_findings);
    tcase_add_test(cases, small_ones_are_counted_only);
    tcase_add_test(cases, patterns_match);
    tcase_add_test(cases, wrong_lines_are_named);
    return run_cases("findings", cases);
}
