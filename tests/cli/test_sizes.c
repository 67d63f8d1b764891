// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How large files get: exports are told before they are huge, and a trace of nothing is small. With the recorder
// itself.
#include "command.h"

#include "host/export/export.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void prepare(void)
{
    make_work();
    setenv("HEAPSONDE_LIBRARY", PATH_SHIM, 1);
}

// So many blocks as its argument says, of changing sizes and times.
static const char allocating[] = "#include <stdlib.h>\n"
                                 "int main(int count, char **words)\n"
                                 "{\n"
                                 "    static void *kept[64];\n"
                                 "    int blocks = count > 1 ? atoi(words[1]) : 0;\n"
                                 "    for (int i = 0; i < blocks; i++) {\n"
                                 "        free(kept[i % 64]);\n"
                                 "        kept[i % 64] = malloc(16 + i % 1000);\n"
                                 "    }\n"
                                 "    return 0;\n"
                                 "}\n";

static void make_program(void)
{
    write_file(text("%s/program.c", work), allocating, strlen(allocating));
    shell("gcc -O1 -fno-builtin -o program program.c");
}

static uint64_t size_of(const char *name)
{
    struct stat status;
    ck_assert_msg(!stat(text("%s/%s", work, name), &status), "%s is not there", name);
    return (uint64_t)status.st_size;
}

START_TEST(test_a_huge_export_is_told_before)
{
    make_program();
    shell("$HEAPSONDE run -q -o t.dat -- ./program 1300000");
    // What cannot be written ends early.
    struct outcome outcome = run("$HEAPSONDE export --format jsonl t.dat >/dev/full");
    const char *told = strstr(outcome.errors, "1,300,000 blocks and stacks with ");
    const char *failed = strstr(outcome.errors, "No space left");
    ck_assert_msg(told && failed && told < failed && strstr(told, "pprof, speedscope, collapsed and flamegraph"), "%s",
                  outcome.errors);
    free_outcome(&outcome);
    static const char *const small[] = {"--format collapsed", "--format jsonl --max-size 16"};
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        outcome = run("$HEAPSONDE export %s t.dat -o small", small[i]);
        ck_assert_msg(outcome.status == 0 && !strstr(outcome.errors, "make about"), "%s: %s", small[i], outcome.errors);
        free_outcome(&outcome);
    }
}
END_TEST

// Neither the blocks nor the stacks are huge alone.
START_TEST(test_blocks_and_stacks_are_added_up)
{
    shell("{ printf 'v 10300 3\\nX ./p\\nI 1000 10\\ns 7 recurse\\ni 1000 0 1\\n'; "
          "awk 'BEGIN { for (i = 0; i < 3000; i++) { printf \"t 1 %%x\\na 8 %%x\\n\", i, i + 1; "
          "for (k = 0; k < 100; k++) printf \"+ %%x\\n\", i } }'; } >both");
    struct outcome outcome = run("$HEAPSONDE export --format jsonl both >/dev/full");
    ck_assert_msg(
        strstr(outcome.errors, "300,000 blocks and stacks with 4,501,500 frames in all make about 277.6 MiB "), "%s",
        outcome.errors);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE export --format csv both >/dev/full");
    ck_assert_msg(!strstr(outcome.errors, "make about"), "%s", outcome.errors);
    free_outcome(&outcome);
}
END_TEST

// Without many blocks: each of these stacks is one frame deeper than the one before.
START_TEST(test_a_huge_export_of_deep_stacks_is_told_before)
{
    shell("{ printf 'v 10300 3\\nX ./p\\nI 1000 10\\ns 7 recurse\\ni 1000 0 1\\n'; "
          "awk 'BEGIN { for (i = 0; i < 6000; i++) printf \"t 1 %%x\\na 8 %%x\\n+ %%x\\n\", i, i + 1, i }'; } >deep");
    struct outcome outcome = run("$HEAPSONDE export --format collapsed deep >/dev/full");
    const char *told =
        strstr(outcome.errors, "stacks with 18,003,000 frames in all make about 343.4 MiB of collapsed; ");
    const char *failed = strstr(outcome.errors, "No space left");
    ck_assert_msg(told && failed && told < failed, "%s", outcome.errors);
    free_outcome(&outcome);
    static const char *const small[] = {"--format heapprofile", "--format pprof", "--format json"};
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        outcome = run("$HEAPSONDE export %s deep >/dev/full", small[i]);
        ck_assert_msg(!strstr(outcome.errors, "make about"), "%s: %s", small[i], outcome.errors);
        free_outcome(&outcome);
    }
}
END_TEST

// The estimate is of the right order, and no format that grows is without one.
START_TEST(test_estimates)
{
    enum { FEW = 10000, MANY = 60000 };
    make_program();
    shell("for n in %d %d; do $HEAPSONDE run -q -o $n.dat -- ./program $n || exit; done", FEW, MANY);
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++) {
        shell("for n in %d %d; do $HEAPSONDE export --format %s $n.dat -o $n || exit; done", FEW, MANY, format->name);
        uint64_t few = size_of(text("%d", FEW)), many = size_of(text("%d", MANY));
        uint64_t growth = many > few ? many - few : 0, told = hs_export_format__bytes(format, MANY - FEW);
        ck_assert_msg(growth <= 2 * told + 65536 && growth >= told / 3, "%s: grows by %llu, told %llu", format->name,
                      (unsigned long long)growth, (unsigned long long)told);
    }
}
END_TEST

// Also one that was read while the process ran.
START_TEST(test_a_trace_of_nothing_is_small)
{
    static const char waiting[] = "#include <unistd.h>\n"
                                  "int main(void)\n"
                                  "{\n"
                                  "    char byte;\n"
                                  "    return write(1, \"\", 1) - 1 + (int)read(0, &byte, 1);\n"
                                  "}\n";
    write_file(text("%s/program.c", work), waiting, strlen(waiting));
    shell("gcc -O1 -o program program.c && mkfifo in out");
    shell(":; $HEAPSONDE run -q -o t.dat -- ./program <in >out & exec 3>in 4<out && head -c 1 <&4 >begun && "
          "$HEAPSONDE report t.dat >before && exec 3>&- && wait && $HEAPSONDE report t.dat >after");
    shell("grep -q 'allocations   0 ' before && grep -q 'allocations   0 ' after && ! grep warning after");
    ck_assert_uint_le(size_of("t.dat"), 8192);
}
END_TEST

static void expect_ending(const char *ending, const char *format)
{
    shell("$HEAPSONDE export -o by%s t.dat && $HEAPSONDE export --format %s -o named t.dat && cmp by%s named", ending,
          format, ending);
    shell("$HEAPSONDE export --help | tr -s ' \\n' ' ' | grep -qF ' %s ' || "
          "$HEAPSONDE export --help | tr -s ' \\n' ' ' | grep -qF ' %s;'",
          ending, ending);
}

START_TEST(test_the_ending_of_the_name_says_the_format)
{
    make_program();
    shell("$HEAPSONDE run -q -o t.dat -- ./program 100");
    for (const struct hs_export_format *format = hs_export_formats; format->name; format++)
        expect_ending(format->suffix, format->name);
    expect_ending(".folded", "collapsed");
    expect_ending(".pb.gz", "pprof");
    expect_ending(".html", "html");
    struct outcome outcome = run("$HEAPSONDE export -o t.other t.dat");
    ck_assert_int_eq(outcome.status, 2);
    ck_assert_msg(strstr(outcome.errors, ".collapsed ") && strstr(outcome.errors, ".folded "), "%s", outcome.errors);
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_sizes");
    TCase *tests = tcase_create("cli_sizes");
    tcase_add_checked_fixture(tests, prepare, remove_work);
    tcase_add_test(tests, test_a_huge_export_is_told_before);
    tcase_add_test(tests, test_blocks_and_stacks_are_added_up);
    tcase_add_test(tests, test_a_huge_export_of_deep_stacks_is_told_before);
    tcase_add_test(tests, test_estimates);
    tcase_add_test(tests, test_a_trace_of_nothing_is_small);
    tcase_add_test(tests, test_the_ending_of_the_name_says_the_format);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
