// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Differences of instants and traces of the planted programs, whose numbers are known.
#include "command.h"
#include "planted.h"
#include "tests/suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void set_up(void)
{
    make_work();
    planted__build(text("%s/root", work));
    planted__write(text("%s/one.dat", work), PLANT_LEAK, 1);
}

static json_t *diff(const char *options)
{
    json_error_t error;
    struct outcome outcome = run("$HEAPSONDE diff --sysroot root --format json %s", options);
    ck_assert_msg(!outcome.status, "%s", outcome.errors);
    json_t *json = json_loads(outcome.output, 0, &error);
    ck_assert_msg(json != NULL, "%s: %s", error.text, outcome.output);
    free_outcome(&outcome);
    return json;
}

static json_int_t number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static size_t sites(const json_t *object, const char *name)
{
    return json_array_size(json_object_get(object, name));
}

static void expect_site(const json_t *object, const char *name, json_int_t before, json_int_t after)
{
    const json_t *site = json_array_get(json_object_get(object, name), 0);
    const json_t *frame = json_array_get(json_object_get(site, "frames"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(frame, "function")), "planted");
    ck_assert_int_eq(number(site, "bytes_before"), before);
    ck_assert_int_eq(number(site, "bytes_after"), after);
}

START_TEST(instants_are_compared)
{
    set_up();
    json_t *said = diff("--base-at 50% --at 90% one.dat");
    ck_assert_int_eq(number(said, "blocks_before"), 500);
    ck_assert_int_eq(number(said, "blocks_after"), 900);
    ck_assert_uint_eq(sites(said, "shrunk"), 0);
    expect_site(said, "grown", 500000, 900000);
    json_decref(said);
    said = diff("--base-at 5s one.dat"); // to the end
    expect_site(said, "grown", 500000, 1000000);
    json_decref(said);
    said = diff("--base-at peak one.dat");
    ck_assert_int_ge(number(said, "bytes_before"), 1000000);
    json_decref(said);
    remove_work();
}
END_TEST

START_TEST(swapped_differences_are_negated)
{
    set_up();
    json_t *there = diff("--base-at 50% --at 90% one.dat"), *back = diff("--base-at 90% --at 50% one.dat");
    ck_assert_uint_eq(sites(back, "grown"), sites(there, "shrunk"));
    ck_assert_uint_eq(sites(back, "shrunk"), sites(there, "grown"));
    expect_site(back, "shrunk", 900000, 500000);
    json_decref(there);
    json_decref(back);
    there = diff("--base-at 50% --at 50% one.dat");
    ck_assert_uint_eq(sites(there, "grown") + sites(there, "shrunk"), 0);
    json_decref(there);
    there = diff("one.dat one.dat");
    ck_assert_uint_eq(sites(there, "grown") + sites(there, "shrunk"), 0);
    json_decref(there);
    remove_work();
}
END_TEST

// One block of 1,000 bytes every 10 ms, which stays.
static json_int_t leaked_until(json_int_t percent)
{
    return 10 * percent * 1000;
}

START_TEST(ranges_are_compared)
{
    set_up();
    json_t *said = diff("--base-from 10% --base-to 30% --from 30% --to 90% one.dat");
    expect_site(said, "grown", leaked_until(30) - leaked_until(10), leaked_until(90) - leaked_until(30));
    json_decref(said);
    said = diff("--base-from 30% --base-to 90% --from 10% --to 30% --cost allocated --function-regex planted one.dat");
    expect_site(said, "shrunk", leaked_until(90) - leaked_until(30), leaked_until(30) - leaked_until(10));
    json_decref(said);
    said = diff("--base-to 30% --to 90% one.dat"); // each from the start
    expect_site(said, "grown", leaked_until(30), leaked_until(90));
    json_decref(said);
    said = diff("--base-from 20% --base-to 70% --from 20% --to 70% one.dat");
    ck_assert_uint_eq(sites(said, "grown") + sites(said, "shrunk"), 0);
    json_decref(said);
    planted__write(text("%s/two.dat", work), PLANT_LEAK, 2);
    said = diff("--base-to 50% --from 50% one.dat two.dat");
    expect_site(said, "grown", leaked_until(50), 2 * leaked_until(50));
    json_decref(said);
    struct outcome outcome = run("$HEAPSONDE diff --sysroot root --base-to 30%% --from 60%% one.dat");
    ck_assert_msg(strstr(outcome.output, "one.dat from 0% to 30%: ") &&
                      strstr(outcome.output, "one.dat from 60% to 100%: "),
                  "%s", outcome.output);
    free_outcome(&outcome);
    remove_work();
}
END_TEST

START_TEST(a_planted_change_comes_first)
{
    set_up();
    planted__write(text("%s/two.dat", work), PLANT_LEAK, 2);
    json_t *said = diff("one.dat two.dat");
    expect_site(said, "grown", 1000000, 2000000);
    json_decref(said);
    said = diff("--base-at 50% --at 50% one.dat two.dat");
    expect_site(said, "grown", 500000, 1000000);
    json_decref(said);
    remove_work();
}
END_TEST

static json_t *ask(const char *question)
{
    struct outcome outcome = run("$HEAPSONDE ask --sysroot root one.dat %s", question);
    ck_assert_msg(!outcome.status, "%s: %s", question, outcome.errors);
    json_t *json = json_loads(outcome.output, 0, NULL);
    ck_assert_ptr_nonnull(json);
    free_outcome(&outcome);
    return json;
}

static void expect_node(const json_t *tree, size_t index, const char *key, const char *name, json_int_t parent,
                        json_int_t delta)
{
    const json_t *node = json_array_get(json_object_get(tree, "nodes"), index);
    char *all = json_dumps(tree, 0);
    ck_assert_msg(!strcmp(json_string_value(json_object_get(node, key)), name), "%s", all);
    ck_assert_msg(number(node, "parent") == parent && number(node, "size_delta") == delta, "%s", all);
    ck_assert_int_eq(number(json_object_get(node, "now"), "size") - number(json_object_get(node, "base"), "size"),
                     delta);
    free(all);
}

static void expect_own_change(const json_t *tree, size_t index, json_int_t delta)
{
    ck_assert_int_eq(number(json_array_get(json_object_get(tree, "nodes"), index), "self_delta"), delta);
}

START_TEST(the_server_has_trees_of_differences)
{
    set_up();
    json_t *tree = ask("diff_tree base_at=50% at=90%");
    ck_assert_uint_eq(sites(tree, "nodes"), 3);
    expect_node(tree, 1, "function", "main", 0, 400000);
    expect_node(tree, 2, "function", "planted", 1, 400000);
    expect_own_change(tree, 1, 0);
    expect_own_change(tree, 2, 400000);
    json_decref(tree);
    tree = ask("diff_tree base_at=90% at=50% inverted=true");
    expect_node(tree, 1, "function", "planted", 0, -400000);
    expect_node(tree, 2, "function", "main", 1, -400000);
    json_decref(tree);
    tree = ask("diff_tree base_at=50% at=90% by=library");
    ck_assert_uint_eq(sites(tree, "nodes"), 2);
    expect_node(tree, 1, "library", "program", 0, 400000);
    json_decref(tree);
    tree = ask("diff_tree base_at=50% at=90% nodes=2");
    ck_assert_uint_eq(sites(tree, "nodes"), 2);
    ck_assert_int_eq(number(tree, "left_out_nodes"), 1);
    expect_own_change(tree, 1, 0);
    json_decref(tree);
    tree = ask("diff_tree base_at=50% at=50%");
    ck_assert_uint_eq(sites(tree, "nodes"), 1);
    json_decref(tree);
    planted__write(text("%s/two.dat", work), PLANT_LEAK, 2);
    tree = ask("diff_tree base=two.dat");
    expect_node(tree, 2, "function", "planted", 1, -1000000);
    json_decref(tree);
    remove_work();
}
END_TEST

START_TEST(conditions_are_asked_of_differences)
{
    static const struct {
        const char *options;
        int status;
    } cases[] = {
        {"--fail-if 'grown_bytes > 399999' --base-at 50% --at 90% one.dat", 3},
        {"--fail-if 'grown_bytes > 400000' --base-at 50% --at 90% one.dat", 0},
        {"--fail-if 'grown_bytes(function=~\"^planted$\") == 400000' --base-at 50% --at 90% one.dat", 3},
        {"--fail-if 'grown_count > 0 or shrunk_count != 400' --base-at 90% --at 50% one.dat", 0},
        {"--fail-if 'grown_bytes > 0' one.dat one.dat", 0},
        {"--fail-if 'grown_bytes(size>=4) > 0' one.dat one.dat", 1},
        {"--fail-if 'grown_bytes(function=~nobody) > 0' one.dat one.dat", 1},
        {"--fail-if 'live_bytes > 0' one.dat one.dat", 1},
        {"--fail-if 'grown_bytes >' one.dat one.dat", 2},
    };
    set_up();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE diff --sysroot root %s", cases[i].options);
        ck_assert_msg(outcome.status == cases[i].status, "%s: %d, %s", cases[i].options, outcome.status,
                      outcome.errors);
        free_outcome(&outcome);
    }
    struct outcome outcome = run("$HEAPSONDE report --fail-if 'grown_bytes > 0' one.dat");
    ck_assert_int_eq(outcome.status, 1);
    free_outcome(&outcome);
    remove_work();
}
END_TEST

START_TEST(what_grows_is_ranked)
{
    set_up();
    struct outcome outcome = run("$HEAPSONDE report --sysroot root --growth --json one.dat");
    ck_assert_msg(!outcome.status, "%s", outcome.errors);
    json_t *said = json_loads(outcome.output, 0, NULL);
    const json_t *site = json_array_get(json_object_get(said, "growing"), 0);
    ck_assert_uint_eq(sites(said, "growing"), 1);
    ck_assert_str_eq(json_string_value(json_object_get(site, "site")), "planted, called by main");
    ck_assert_int_eq(number(site, "growing_parts"), number(site, "parts"));
    // 1000 bytes in each of 100 rounds a second
    ck_assert_double_eq_tol(json_number_value(json_object_get(site, "bytes_per_second")), 100000, 1);
    json_decref(said);
    free_outcome(&outcome);
    planted__write(text("%s/small.dat", work), PLANT_SMALL_LEAK, 1);
    outcome = run("$HEAPSONDE report --sysroot root --growth small.dat");
    ck_assert_msg(strstr(outcome.output, "   1. 3.91 KiB per second; "), "%s", outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --sysroot root --findings small.dat");
    ck_assert_str_eq(outcome.output, "Nothing large was found that looks wrong.\n\n"
                                     "Not listed: 1 small one, of 39.1 KiB together.\n");
    free_outcome(&outcome);
    planted__write(text("%s/cache.dat", work), PLANT_CACHE, 1);
    outcome = run("$HEAPSONDE report --sysroot root --growth cache.dat");
    ck_assert_str_eq(outcome.output, "Nothing grows from 3.00 s to 9.50 s.\n");
    free_outcome(&outcome);
    remove_work();
}
END_TEST

static void expect_tree(const char *options, const char *expected)
{
    struct outcome outcome = run("$HEAPSONDE diff --sysroot root --tree %s", options);
    ck_assert_msg(!outcome.status, "%s", outcome.errors);
    const char *body = strchr(outcome.output, '\n');
    ck_assert_msg(body && !strcmp(body + 1, expected), "%s", outcome.output);
    free_outcome(&outcome);
}

START_TEST(trees_show_changes)
{
    set_up();
    planted__write(text("%s/none.dat", work), PLANT_NOTHING, 1);
    expect_tree("--base-at 50% --at 90% one.dat", "     change     before      after\n"
                                                  " +390.6 KiB  488.3 KiB  878.9 KiB       main\n"
                                                  " +390.6 KiB  488.3 KiB  878.9 KiB       planted\n");
    expect_tree("none.dat one.dat", "     change     before      after\n"
                                    " +976.6 KiB        0 B  976.6 KiB  new  main\n"
                                    " +976.6 KiB        0 B  976.6 KiB  new  planted\n");
    expect_tree("one.dat none.dat", "     change     before      after\n"
                                    " -976.6 KiB  976.6 KiB        0 B  gone main\n"
                                    " -976.6 KiB  976.6 KiB        0 B  gone planted\n");
    expect_tree("one.dat one.dat", "");
    remove_work();
}
END_TEST

// ---- builds --------------------------------------------------------------------------------------------------------

// Of which build, with how much of the leak, and where its program lies.
static void write_build(const char *name, enum planted_build build, unsigned more)
{
    planted__choose(build);
    planted__build(text("%s/%s.root", work, name));
    planted__write(text("%s/%s.dat", work, name), PLANT_LEAK, more);
    planted__choose(BUILD_WITHOUT_ID);
}

static void set_up_builds(void)
{
    make_work();
    shell("mkdir root");
    write_build("first", BUILD_FIRST, 1);
    write_build("second", BUILD_SECOND, 2);
    write_build("renamed", BUILD_RENAMED, 2);
}

#define BOTH_ROOTS "--sysroot first.root --sysroot second.root --sysroot renamed.root "

static void expect_change(const char *before, const char *after, json_int_t change)
{
    const bool grows = change > 0;
    const json_int_t less = 1000000, more = 2000000;
    json_t *said = diff(text(BOTH_ROOTS "%s %s", before, after));
    ck_assert_uint_eq(sites(said, "grown"), grows);
    ck_assert_uint_eq(sites(said, "shrunk"), !grows);
    expect_site(said, grows ? "grown" : "shrunk", grows ? less : more, grows ? more : less);
    json_decref(said);
    // What both allocate alike is no difference, either.
    said = diff(text(BOTH_ROOTS "--cost allocated --full-stacks %s %s", before, after));
    ck_assert_uint_eq(sites(said, "grown") + sites(said, "shrunk"), 1);
    json_decref(said);
    const char *row = grows ? " +976.6 KiB  976.6 KiB   1.91 MiB       " : " -976.6 KiB   1.91 MiB  976.6 KiB       ";
    expect_tree(text(BOTH_ROOTS "%s %s", before, after),
                text("     change     before      after\n%smain\n%splanted\n", row, row));
}

static json_t *ask_builds(const char *of, const char *question)
{
    struct outcome outcome = run("$HEAPSONDE ask " BOTH_ROOTS "%s %s", of, question);
    ck_assert_msg(!outcome.status, "%s: %s", question, outcome.errors);
    json_t *json = json_loads(outcome.output, 0, NULL);
    free_outcome(&outcome);
    ck_assert_ptr_nonnull(json);
    return json;
}

static void expect_served(const char *before, const char *after, json_int_t change)
{
    static const struct {
        const char *options, *key, *name;
        size_t nodes, index; // the row of what is changed
    } shapes[] = {{"", "function", "planted", 3, 2},
                  {"inverted=true", "function", "planted", 3, 1},
                  {"by=library", "library", NULL, 2, 1}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        json_t *tree = ask_builds(after, text("diff_tree base=%s %s", before, shapes[i].options));
        const char *library = strstr(after, "renamed") ? "renamed" : "program";
        ck_assert_uint_eq(sites(tree, "nodes"), shapes[i].nodes);
        expect_node(tree, shapes[i].index, shapes[i].key, shapes[i].name ? shapes[i].name : library,
                    (json_int_t)shapes[i].index - 1, change);
        json_decref(tree);
    }
    json_t *stacks = ask_builds(after, text("diff base=%s", before));
    const json_t *row = json_array_get(json_object_get(stacks, "stacks"), 0);
    ck_assert_uint_eq(sites(stacks, "stacks"), 1);
    ck_assert_int_eq(number(row, "size_delta"), change);
    ck_assert(json_is_false(json_object_get(row, "only_in_base")));
    json_decref(stacks);
}

START_TEST(a_change_between_two_builds_comes_first)
{
    static const char *const after[] = {"second.dat", "renamed.dat"};
    set_up_builds();
    for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
        expect_change("first.dat", after[i], 1000000);
        expect_change(after[i], "first.dat", -1000000);
        expect_served("first.dat", after[i], 1000000);
        expect_served(after[i], "first.dat", -1000000);
    }
    expect_tree(BOTH_ROOTS "second.dat renamed.dat", "");
    struct outcome outcome =
        run("$HEAPSONDE diff " BOTH_ROOTS "--fail-if 'grown_bytes == 1000000 and shrunk_bytes == 0' "
            "first.dat second.dat");
    ck_assert_msg(outcome.status == 3, "%d: %s", outcome.status, outcome.errors);
    free_outcome(&outcome);
    remove_work();
}
END_TEST

// Offsets mean nothing in another build.
START_TEST(frames_without_names_are_of_one_build)
{
    static const char *const pairs[][2] = {
        {"first.dat", "second.dat"}, {"second.dat", "renamed.dat"}, {"second.dat", "patched.dat"}};
    set_up_builds();
    write_build("patched", BUILD_PATCHED, 2);
    write_build("again", BUILD_FIRST, 2);
    shell("rm -r *.root/opt");
    json_t *said = diff("first.dat again.dat");
    ck_assert_uint_eq(sites(said, "grown"), 1);
    ck_assert_uint_eq(sites(said, "shrunk"), 0);
    json_decref(said);
    said = ask_builds("again.dat", "diff base=first.dat");
    ck_assert_uint_eq(sites(said, "stacks"), 1);
    json_decref(said);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        said = diff(text("--cost allocated %s %s", pairs[i][0], pairs[i][1]));
        ck_assert_uint_eq(sites(said, "grown"), 2);
        ck_assert_uint_eq(sites(said, "shrunk"), 2);
        json_decref(said);
        said = ask_builds(pairs[i][1], text("diff base=%s", pairs[i][0]));
        ck_assert_uint_eq(sites(said, "stacks"), 4);
        json_decref(said);
    }
    remove_work();
}
END_TEST

START_TEST(wrong_options_are_refused)
{
    static const char *const wrong[] = {"one.dat",
                                        "--at never one.dat",
                                        "--at 5s --cost allocated one.dat",
                                        "--at 5s --alive-at 1s one.dat",
                                        "--tree --format json one.dat one.dat",
                                        "--tree --top 3 one.dat one.dat",
                                        "--min-percent 1 one.dat one.dat",
                                        "--base-at 1s dump.heap one.dat",
                                        "--base-from 1x one.dat",
                                        "--base-to 50% dump.heap one.dat",
                                        "--base-to 50% --at 5s --cost allocated one.dat"};
    set_up();
    shell("printf 'heap_v2/524288\\n' >dump.heap");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE diff %s", wrong[i]);
        ck_assert_msg(outcome.status == 2, "%s: %d %s", wrong[i], outcome.status, outcome.errors);
        ck_assert_ptr_eq(strchr(outcome.errors, '\n'), outcome.errors + strlen(outcome.errors) - 1);
        free_outcome(&outcome);
    }
    remove_work();
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("differences");
    tcase_add_test(cases, instants_are_compared);
    tcase_add_test(cases, swapped_differences_are_negated);
    tcase_add_test(cases, ranges_are_compared);
    tcase_add_test(cases, a_planted_change_comes_first);
    tcase_add_test(cases, the_server_has_trees_of_differences);
    tcase_add_test(cases, conditions_are_asked_of_differences);
    tcase_add_test(cases, what_grows_is_ranked);
    tcase_add_test(cases, trees_show_changes);
    tcase_add_test(cases, a_change_between_two_builds_comes_first);
    tcase_add_test(cases, frames_without_names_are_of_one_build);
    tcase_add_test(cases, wrong_options_are_refused);
    return run_cases("differences", cases);
}
