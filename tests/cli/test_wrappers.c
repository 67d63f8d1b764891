// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs that are started through others: it is they that are recorded.
#include "command.h"

#include "host/cli/wrappers.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char counting[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "int main(int count, char **words)\n"
    "{\n"
    "    for (int i = 0; i < 12345; i++)\n"
    "        free(malloc(10));\n"
    "    printf(\"%s|%s\\n\", count > 1 ? words[1] : \"\", getenv(\"A\") ? getenv(\"A\") : \"\");\n"
    "    return 7;\n"
    "}\n";

static void prepare(void)
{
    make_work();
    setenv("HEAPSONDE_LIBRARY", PATH_SHIM, 1);
    write_file(text("%s/program.c", work), counting, strlen(counting));
    shell("gcc -O0 -fno-builtin -o counting program.c && gcc -O0 -fno-builtin -static -o static program.c");
}

// ---- where the program stands --------------------------------------------------------------------------------------

static const struct {
    const char *line;
    size_t program;
    bool elsewhere;
} lines[] = {
    {"prog", 0, false},
    {"env", 0, false},
    {"env A=1", 0, false},
    {"env prog a=b", 1, false},
    {"/usr/bin/env prog", 1, false},
    {"./env prog", 0, false},
    {"build/bin/nice prog", 0, false},
    {"env -i prog", 2, true},
    {"env - prog", 2, false},
    {"env -u X prog", 3, true},
    {"env -uX A=1 B=2 prog", 4, true},
    {"env A=1 PATH=/x prog", 3, true},
    {"env -S prog", 0, false},
    {"env -vS prog", 0, false},
    {"env --split-string=prog", 0, false},
    {"env --unset=X --chdir / prog", 4, true},
    {"env -C / prog -C x", 3, true},
    {"env -- prog", 2, false},
    {"nice prog", 1, false},
    {"nice -n 5 prog -n", 3, false},
    {"nice -n5 prog", 2, false},
    {"nice -5 prog", 2, false},
    {"nice --adjustment 5 prog", 3, false},
    {"nice --adjustment=5 prog", 2, false},
    {"nice -n 5", 0, false},
    {"timeout 5 prog", 2, false},
    {"timeout -k 1 -s TERM 5 prog", 6, false},
    {"timeout --foreground --signal=9 5s prog", 4, false},
    {"timeout 5", 0, false},
    {"chrt -b 0 prog", 3, false},
    {"chrt -o prog", 2, false},
    {"chrt -p 12", 0, false},
    {"chrt -m", 0, false},
    {"chrt -d -T 1 --sched-period 2 0 prog", 7, false},
    {"setsid -fw prog", 2, false},
    {"nohup prog", 1, false},
    {"ionice -c2 -n 7 prog", 4, false},
    {"ionice -p 1", 0, false},
    {"taskset -c 0-3 prog", 3, false},
    {"taskset 0x1 prog", 2, false},
    {"taskset --pid 1", 0, false},
    {"time -v -o file prog", 4, false},
    {"stdbuf -o0 prog", 0, false},
    {"setpriv --no-new-privs --reuid 1 prog", 4, false},
    {"setpriv -d prog", 0, false},
    {"prlimit --nofile=100 -c=0 prog", 3, false},
    {"prlimit --pid 1 --nofile", 0, false},
    {"unshare -r -S 0 --fork prog", 5, false},
    {"unshare -R /x prog", 0, false},
    {"unshare --wd=/x prog", 0, false},
    {"choom -n 100 -- prog", 4, false},
    {"choom -p 1", 0, false},
    {"linux64 -R prog", 2, false},
    {"nice -n 1 env A=1 timeout 5 prog x", 7, false},
};

static size_t split(char *line, char **words)
{
    size_t count = 0;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

START_TEST(test_programs_are_found)
{
    char line[128], *words[16];
    snprintf(line, sizeof(line), "%s", lines[_i].line);
    split(line, words);
    const struct hs_wrapped wrapped = hs_wrappers__look(words);
    ck_assert_msg(wrapped.program == lines[_i].program, "%s: %zu", lines[_i].line, wrapped.program);
    ck_assert_msg(wrapped.elsewhere == lines[_i].elsewhere || !wrapped.program, "%s", lines[_i].line);
}
END_TEST

static const struct {
    const char *line;
    size_t program;
} loader_lines[] = {
    {"ld.so", 0},
    {"ld.so --version", 0},
    {"ld.so prog --list", 1},
    {"ld.so --library-path /x --argv0 name prog", 5},
    {"ld.so --inhibit-cache --preload=a prog", 3},
    {"ld.so -- prog", 2},
};

START_TEST(test_programs_of_loaders_are_found)
{
    char line[128], *words[16];
    snprintf(line, sizeof(line), "%s", loader_lines[_i].line);
    split(line, words);
    ck_assert_uint_eq(hs_loader__program(words), loader_lines[_i].program);
}
END_TEST

// ---- recorded ------------------------------------------------------------------------------------------------------

static const struct {
    const char *start, *said;
} starts[] = {
    {"env A=1", "x|1\n"},
    {"env -i A=2", "x|2\n"},
    {"nice -n 1", "x|\n"},
    {"timeout 300", "x|\n"},
    {"timeout -s TERM 300 env A=3 nice", "x|3\n"},
    {"setsid -w", "x|\n"},
    {"nohup", "x|\n"},
    {"chrt -o 0", "x|\n"},
    {"taskset 0xffffffff", "x|\n"},
    {"setpriv --no-new-privs", "x|\n"},
    {"prlimit --nofile=100", "x|\n"},
    {"unshare", "x|\n"},
    {"unshare -r", "x|\n"},
    {"choom -n 100", "x|\n"},
    {"linux64 -R", "x|\n"},
    {"env A=4 $LOADER", "x|4\n"},
    {"$LOADER", "x|\n"},
    {"$LOADER --inhibit-cache --library-path /nowhere", "x|\n"},
};

static const char *find_loader(void)
{
    struct outcome outcome = run("ldd counting | sed -n 's/^[^/]*\\(\\/[^ ]*ld[^ ]*\\) .*/\\1/p' | tail -n 1");
    outcome.output[strcspn(outcome.output, "\n")] = 0;
    const char *loader = text("%s", outcome.output);
    free_outcome(&outcome);
    return loader;
}

START_TEST(test_the_program_is_recorded)
{
    setenv("LOADER", find_loader(), 1);
    struct outcome bare = run("%s ./counting x", starts[_i].start);
    bool works = bare.status == 7;
    free_outcome(&bare);
    if (!works) {
        printf("left out, it does not work here: %s\n", starts[_i].start);
        return;
    }
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- %s ./counting x", starts[_i].start);
    ck_assert_msg(outcome.status == 7, "%s: %d %s", starts[_i].start, outcome.status, outcome.errors);
    ck_assert_str_eq(outcome.output, starts[_i].said);
    ck_assert_msg(strstr(outcome.errors, " allocations within ") != NULL, "%s: %s", starts[_i].start, outcome.errors);
    ck_assert_msg(strstr(outcome.errors, " more by ") == NULL, "%s: %s", starts[_i].start, outcome.errors);
    free_outcome(&outcome);
    // A recording of the thing that starts it would have hardly a block.
    shell("$HEAPSONDE report --json --function main t.dat >said && grep -q '\"allocations\": 1234[56]' said");
    outcome = run("ls -d t.dat* | grep -vc store");
    ck_assert_msg(strcmp(outcome.output, "1\n") == 0, "%s: %s", starts[_i].start, outcome.output);
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_what_cannot_be_recorded_is_refused_behind_them)
{
    setenv("LOADER", find_loader(), 1);
    static const char *const cases[][2] = {
        {"nice ./static", "heapsonde cannot record ./static: it is statically linked"},
#if defined(__x86_64__) || defined(__aarch64__)
        {"nice ./static", "name it directly, not behind another program, or use --follow-children=trace"},
#endif
        {"env A=1 timeout 5 ./missing", "./missing was not found"},
        {"nice no-such-program-anywhere", "no-such-program-anywhere was not found in any folder of PATH"},
        {"$LOADER ./static", "heapsonde cannot record ./static: it is statically linked"},
        {"$LOADER", "is the dynamic loader; name a program after it"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcome = run("$HEAPSONDE run -o t.dat -- %s", cases[i][0]);
        ck_assert_msg(outcome.status == 126 || outcome.status == 127, "%s: %d", cases[i][0], outcome.status);
        ck_assert_msg(strstr(outcome.errors, cases[i][1]) != NULL, "%s: %s", cases[i][0], outcome.errors);
        free_outcome(&outcome);
    }
}
END_TEST

// env, and behind it the interpreter that env is to find.
START_TEST(test_scripts_behind_them_are_recorded)
{
    shell("printf '#!/usr/bin/env perl\\nmy @a = map { $_ x 100 } 1 .. 5000; print \"$0 $ARGV[0]\\\\n\"; exit 5;\\n' "
          ">script && chmod +x script");
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- nice ./script x");
    ck_assert_msg(outcome.status == 5, "%d %s", outcome.status, outcome.errors);
    ck_assert_str_eq(outcome.output, "./script x\n");
    free_outcome(&outcome);
    shell("$HEAPSONDE report --json t.dat >said && grep -q '\"command\": \"perl .*script' said");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_wrappers");
    TCase *tests = tcase_create("cli_wrappers");
    tcase_add_checked_fixture(tests, prepare, remove_work);
    tcase_add_loop_test(tests, test_the_program_is_recorded, 0, sizeof(starts) / sizeof(starts[0]));
    tcase_add_test(tests, test_what_cannot_be_recorded_is_refused_behind_them);
    tcase_add_test(tests, test_scripts_behind_them_are_recorded);
    TCase *words = tcase_create("words");
    tcase_add_loop_test(words, test_programs_are_found, 0, sizeof(lines) / sizeof(lines[0]));
    tcase_add_loop_test(words, test_programs_of_loaders_are_found, 0, sizeof(loader_lines) / sizeof(loader_lines[0]));
    suite_add_tcase(suite, words);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
