// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The commands on heap dumps: what they say of the dumps in data/, that every format can be made of every other one,
// and what cannot be done.
#include "command.h"
#include "host/base/memory.h"
#include "host/dump/modules.h"
#include "host/report/frame_key.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char source[4096]; // the folder that the suite was started in

static void make_data(void)
{
    make_work();
    shell("cp '%s'/data/* .", source);
}

static void expect_output(const char *file, const char *arguments)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == 0, "heapsonde %s: status %d\n%s", arguments, outcome.status, outcome.errors);
    compare_with_file(text("%s/expected/%s", source, file), outcome.output, outcome.output_length);
    free_outcome(&outcome);
}

static void expect_part(const char *arguments, const char *part)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == 0, "heapsonde %s: status %d\n%s", arguments, outcome.status, outcome.errors);
    ck_assert_msg(strstr(outcome.output, part), "heapsonde %s: '%s' is not in:\n%s", arguments, part, outcome.output);
    free_outcome(&outcome);
}

static void expect_complaint(int status, const char *arguments, const char *part)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_msg(outcome.status == status, "heapsonde %s: status %d", arguments, outcome.status);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_msg(strstr(outcome.errors, part), "heapsonde %s: '%s' is not in: %s", arguments, part, outcome.errors);
    free_outcome(&outcome);
}

START_TEST(test_report)
{
    expect_output("report.txt", "report named.heap");
    expect_output("tree.txt", "report --tree --sort allocated named.heap");
    expect_output("modules.txt", "report --modules threads.heap");
    expect_output("report.json", "report --json named.heap");
    expect_part("report named.pb.gz", "dump          profile.proto, a sample every 512.0 KiB on average, aarch64");
    expect_part("report stacks.collapsed", "in use        4.00 MiB\n");
    expect_part("report --threads threads.heap",
                "         1    1.00 MiB    5.51 MiB          5,468  worker of sensors\n");
    expect_part("report older.heap", "in use        6.13 MiB in 1,158 blocks");
    expect_part("report exact.heap", "in use        2.00 KiB in 2 blocks\n");
    shell("sed '/^# trigger/a # rss: 16461824\\n# monotonic: 13290652060959' moved.heap > facts.heap");
    expect_part("report facts.heap", "trigger       manual\nresident      15.7 MiB\n\n");
    shell("sed '/^# trigger/a # rss: 1646 pages' moved.heap > facts.heap");
    expect_part("report facts.heap", "rss           1646 pages\n");
}
END_TEST

START_TEST(test_restrictions)
{
    // Two blocks of 1 KiB on average, one sampled in 512.
    expect_part("report --thread 1 named.heap", "in use        1.00 MiB in 1,025 blocks\n");
    expect_part("report --thread 'worker of sensors' named.heap", "only          thread worker of sensors\n");
    expect_part("report --thread 0 --thread 1 named.heap", "stacks        3 different ones\n");
    expect_part("report --function 'take_.*' named.heap", "in use        4.63 MiB in 5 blocks\n");
    expect_part("report --function 'take_.*' named.heap", "stacks        1\n");
    // They hold for what is written, too.
    shell("$HEAPSONDE export --format symbolized --function take_buffer named.heap -o part 2>/dev/null");
    expect_part("report part", "stacks        1\n");
    shell("$HEAPSONDE export --format pprof --thread 1 named.heap -o part 2>/dev/null");
    expect_part("report part", "in use        1.00 MiB in 1,025 blocks\n");
}
END_TEST

static void expect_no_difference(const char *first, const char *second)
{
    expect_part(text("diff %s %s", first, second), "\ndifference    none\n");
    struct outcome outcome = run("$HEAPSONDE diff --format collapsed %s %s 2>/dev/null", first, second);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_str_eq(outcome.output, "");
    free_outcome(&outcome);
}

START_TEST(test_formats)
{
    static const char *const files[] = {"threads.heap", "named.heap", "older.heap", "exact.heap", "named.pb.gz"};
    static const char *const formats[] = {"heap_v2", "heap_profile", "symbolized", "pprof"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        for (size_t k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
            shell("$HEAPSONDE export --format %s %s -o made 2>/dev/null", formats[k], files[i]);
            expect_no_difference(files[i], "made");
            expect_part("report made", "in use");
            // And on from there.
            shell("$HEAPSONDE export --format %s made -o again 2>/dev/null", formats[(k + 1) % 4]);
            expect_no_difference(files[i], "again");
        }
    }
    shell("$HEAPSONDE export --format collapsed named.heap -o made 2>/dev/null");
    expect_no_difference("named.heap", "made");
    shell("$HEAPSONDE export --format symbolized stacks.collapsed -o made");
    expect_no_difference("stacks.collapsed", "made");
    shell("$HEAPSONDE export --format pprof stacks.collapsed -o made");
    expect_no_difference("stacks.collapsed", "made");
    shell(
        "$HEAPSONDE export --format flamegraph named.heap -o graph.svg 2>/dev/null && grep -q take_buffer graph.svg && "
        "grep -q 'memory in use' graph.svg");
    expect_part("export --format json named.heap", "\"live_bytes\": 4850787");
    // What is read from a dump of samples is written as it was.
    shell(
        "$HEAPSONDE export --format heap_v2 threads.heap -o made && grep -E '^(heap_v2|@|  t)' threads.heap >wanted && "
        "grep -E '^(heap_v2|@|  t)' made | diff wanted -");
}
END_TEST

START_TEST(test_diff)
{
    expect_output("diff.txt", "diff threads.heap moved.heap");
    expect_output("diff.json", "diff --format json threads.heap moved.heap");
    expect_output("diff.collapsed", "diff --format collapsed --cost allocated threads.heap moved.heap");
    expect_part("diff moved.heap threads.heap", "Call sites that shrank (-544.7 KiB)");
    expect_no_difference("threads.heap", "threads.heap");
    expect_no_difference("threads.heap", "named.heap");
    // Without build ids the name of the file decides.
    shell("sed '/build-id/d' moved.heap >plain.heap; sed '/build-id/d' threads.heap >before.heap");
    expect_part("diff before.heap plain.heap", "difference    +544.7 KiB in +9 blocks in use\n");
    shell("sed 's#/opt/bin/sensord#/usr/local/sensord#' plain.heap >elsewhere.heap");
    expect_part("diff before.heap elsewhere.heap", "difference    +544.7 KiB in +9 blocks in use\n");
    // Names without addresses are compared by name.
    expect_part("diff named.heap stacks.collapsed", "1.50 MiB before, 4.00 KiB after");
}
END_TEST

static void write_symbolized(const char *name, const char *function, unsigned bytes)
{
    static const char names[] = "--- symbol\nbinary=/opt/app\n0x401000 %s\n0x402fff main\n---\n--- heap\n";
    static const char heap[] = "heap_v2/1\n  t*: 1: %u [0: 0]\n@ 0x401000 0x403000\n  t*: 1: %u [0: 0]\n";
    FILE *file = fopen(text("%s/%s", work, name), "w");
    ck_assert_ptr_nonnull(file);
    if (function)
        fprintf(file, names, function);
    fprintf(file, heap, bytes, bytes);
    ck_assert_int_eq(fclose(file), 0);
}

// An address in no module is another function in another build.
START_TEST(test_diff_by_names)
{
    write_symbolized("one", "leak", 1000);
    write_symbolized("other", "other", 1700);
    expect_part("diff one other", "in +1 block; 0 B before, 1.66 KiB after\n        other\n        main\n");
    expect_part("diff one other", "in -1 block; 1000 B before, 0 B after\n        leak\n        main\n");
    write_symbolized("same", "leak", 1700);
    expect_part("diff one same", "1000 B before, 1.66 KiB after\n        leak\n        main\n");
    // Without names the address decides.
    write_symbolized("nameless", NULL, 1000);
    expect_no_difference("one", "nameless");
    expect_no_difference("nameless", "one");
}
END_TEST

// What changed in both directions is no more below its caller.
START_TEST(test_diff_tree)
{
    shell("printf 'main;a 1000\\nmain;b 3000\\nmain;c 5\\n' >before; printf 'main;a 3000\\nmain;b 1000\\nmain;c 5\\n' "
          ">after");
    expect_part("diff --tree before after", "        0 B   3.91 KiB   3.91 KiB       main\n"
                                            "  +1.95 KiB     1000 B   2.93 KiB       + a\n"
                                            "  -1.95 KiB   2.93 KiB     1000 B       + b\n");
    expect_part("diff --tree before before", "callees: no difference\n");
    expect_part("diff --tree --by line before after", "  +1.95 KiB     1000 B   2.93 KiB       + a\n");
}
END_TEST

static unsigned library_questions;

const char *__real_hs_frame_key_library(const char *module, const char *program);
const char *__wrap_hs_frame_key_library(const char *module, const char *program);

const char *__wrap_hs_frame_key_library(const char *module, const char *program)
{
    library_questions++;
    return __real_hs_frame_key_library(module, program);
}

enum { LIBRARIES = 200 };

static struct hs_dump *dump_of_libraries(const char *name, const char *folder)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {""};
    FILE *file = fopen(text("%s/%s", work, name), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "heap_v2/1\n");
    for (int i = 0; i < LIBRARIES; i++)
        fprintf(file, "# build-id: %s%04x /opt/%s/lib%d.so\n", folder, i, folder, i);
    fprintf(file, "  t*: 1: 1000 [0: 0]\n@");
    for (unsigned i = 0; i < LIBRARIES; i++)
        fprintf(file, " 0x%x", 0x40000010 + i * 0x10000);
    fprintf(file, "\n  t*: 1: 1000 [0: 0]\n\nMAPPED_LIBRARIES:\n");
    for (unsigned i = 0; i < LIBRARIES; i++)
        fprintf(file, "%x-%x r-xp 00000000 fe:01 4711 /opt/%s/lib%u.so\n", 0x40000000 + i * 0x10000,
                0x40001000 + i * 0x10000, folder, i);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(!hs_dump__open(text("%s/%s", work, name), &dump, &error), "%s", error.message);
    return dump;
}

// All libraries are other builds; that is found without comparing each with each.
START_TEST(test_rebuilt_libraries)
{
    struct hs_dump *dumps[] = {dump_of_libraries("one", "aa"), dump_of_libraries("other", "bb")};
    struct hs_dump_modules modules;
    library_questions = 0;
    ck_assert_int_eq(hs_dump_modules__find(&modules, (const struct hs_dump *const *)dumps, 2), 0);
    ck_assert_uint_eq(modules.count, 2 * LIBRARIES);
    for (size_t i = 0; i < LIBRARIES; i++)
        ck_assert(modules.rebuilt[0][i] && modules.rebuilt[1][i]);
    ck_assert_uint_le(library_questions, 10 * LIBRARIES);
    hs_dump_modules__free(&modules);
    hs_dump__close(dumps[0]);
    hs_dump__close(dumps[1]);
}
END_TEST

// As many as a large program has; every stack is another one.
START_TEST(test_many_contexts)
{
    FILE *file = fopen(text("%s/large.heap", work), "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "heap_v2/1\n  t*: 65536: 67108864 [0: 0]\n");
    for (unsigned i = 0; i < 65536; i++) {
        putc('@', file);
        for (unsigned bit = 0; bit < 16; bit++)
            fprintf(file, " 0x%x", 0x40000000 + bit * 256 + (i >> bit & 1) * 16);
        fprintf(file, "\n  t*: 1: 1024 [0: 0]\n");
    }
    fprintf(file, "\nMAPPED_LIBRARIES:\n40000000-41000000 r-xp 00000000 00:00 0 /opt/large\n");
    ck_assert_int_eq(fclose(file), 0);
    expect_part("report large.heap", "in use        64.0 MiB in 65,536 blocks\n");
    expect_part("report large.heap", "stacks        65,536 different ones\n");
    shell("$HEAPSONDE export --format pprof large.heap -o made");
    expect_no_difference("large.heap", "made");
}
END_TEST

// A profile that knows what was allocated and nothing else shows that.
START_TEST(test_allocated_alone)
{
    shell(
        "printf "
        "'\\012\\004\\010\\001\\020\\002\\022\\006\\012\\001\\001\\022\\001\\144\\042\\006\\010\\001\\042\\002\\010\\00"
        "1' >all.pb && "
        "printf '\\052\\004\\010\\001\\020\\003\\062\\000\\062\\013alloc_space\\062\\005bytes\\062\\004make' >>all.pb");
    expect_part("export --format collapsed all.pb", "make 100\n");
    expect_part("report all.pb", "allocated     100 B since the start\n");
    expect_part("report --json all.pb", "\"allocated_bytes\": 100");
    expect_part("diff all.pb all.pb", "all.pb: 100 B allocated (profile.proto)");
    expect_complaint(2, "export --format collapsed --cost live all.pb",
                     "does not contain 'live'; --cost takes allocated");
    expect_complaint(2, "diff --cost live all.pb all.pb", "all.pb does not contain memory in use");
    struct outcome outcome =
        run("$HEAPSONDE export --format pprof all.pb -o again.pb && $HEAPSONDE report --json again.pb");
    ck_assert_msg(strstr(outcome.output, "null,\n  \"allocated_bytes\": 100"), "%s%s", outcome.output, outcome.errors);
    free_outcome(&outcome);
}
END_TEST

static void expect_note(const char *arguments, const char *part)
{
    struct outcome outcome = run("$HEAPSONDE %s", arguments);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_msg(part ? strstr(outcome.errors, part) != NULL : !*outcome.errors, "heapsonde %s: %s", arguments,
                  outcome.errors);
    free_outcome(&outcome);
}

// An empty result looks like an answer.
START_TEST(test_empty_results)
{
    shell(
        "printf 'heap profile: 0: 0 [2: 128] @ heapprofile\\n 0: 0 [2: 128] @ 0x1\\nMAPPED_LIBRARIES:\\n' >gone.heap");
    expect_note("export --format collapsed gone.heap",
                "gone.heap: the result is empty: nothing is in use; choose another");
    expect_note("export --format collapsed --cost allocated gone.heap", NULL);
    expect_note("export --format json gone.heap", NULL);
    expect_note("export --format collapsed --function '^nobody$' named.heap",
                "no record of memory that matches the filter");
    shell("printf 'heap_v2/1\\n t*: 0: 0 [0: 0]\\nMAPPED_LIBRARIES:\\n' >none.heap");
    expect_note("export --format pprof none.heap -o none.pb", "the result is empty: there is no record of memory\n");
}
END_TEST

START_TEST(test_complaints)
{
    expect_complaint(2, "report --sort peak threads.heap", "--sort takes live and allocated");
    expect_complaint(2, "export --format collapsed --cost temporary threads.heap", "--cost takes live and allocated");
    expect_complaint(2, "report --sort allocated stacks.collapsed", "prof_accum:true");
    expect_complaint(2, "diff --cost allocated threads.heap stacks.collapsed", "prof_accum:true");
    expect_complaint(1, "report --min-size 4K threads.heap", "does not contain single blocks");
    expect_complaint(1, "report --thread nobody threads.heap", "no thread 'nobody'");
    expect_complaint(1, "export --format heap_v2 stacks.collapsed", "names without addresses");
    expect_complaint(2, "symbolize threads.heap -o threads.heap", "input itself");
    expect_complaint(2, "diff moved.heap threads.heap -o threads.heap", "input itself");
    expect_complaint(2, "diff threads.heap moved.heap -o ./threads.heap", "input itself");
    expect_complaint(2, "diff threads.heap", "BEFORE AFTER");
    expect_complaint(1, "diff threads.heap missing.heap", "missing.heap: No such file");
    shell("sed 's/^@ 0x5500001253/@ zz/' threads.heap >wrong.heap");
    expect_complaint(1, "report wrong.heap", "wrong.heap:14: '@' should be followed by addresses");
    expect_complaint(1, "symbolize wrong.heap", "wrong.heap:14: ");
    expect_complaint(1, "diff threads.heap wrong.heap", "wrong.heap:14: ");
    shell("head -c 700 threads.heap >cut.heap");
    expect_part("report cut.heap", "\nwarning       ");
    expect_part("report --json cut.heap", "\"warnings\":");
}
END_TEST

// A profile of some kilobytes with a string, or a stack, of 60 million bytes.
START_TEST(test_bombs)
{
    shell("types='\\012\\004\\010\\001\\020\\002\\062\\000\\062\\013inuse_space\\062\\005bytes' && "
          "(printf \"$types\"'\\062\\200\\216\\316\\034'; head -c 60000000 /dev/zero) | gzip >string.pb.gz && "
          "(printf \"$types\"'\\022\\207\\216\\316\\034\\012\\200\\216\\316\\034'; "
          "head -c 60000000 /dev/zero | tr '\\0' '\\1'; printf '\\020\\005') | gzip >stack.pb.gz");
    static const char *const files[] = {"string.pb.gz", "stack.pb.gz"};
    for (size_t i = 0; i < 2; i++)
        expect_complaint(1, text("report %s", files[i]),
                         "unpacks to 57 MiB, far more than files of its size do; --memory 11584M is enough");
    // Stacks repeat each other.
    shell("yes 'main;parse;load 1' | head -n 600000 | gzip >stacks.gz && $HEAPSONDE report stacks.gz");
    shell("$HEAPSONDE report --memory 512M string.pb.gz");
    if (HS_MEMORY_IS_LIMITED)
        expect_complaint(1, "report --memory 512M stack.pb.gz",
                         "stack.pb.gz: out of memory; heapsonde takes 512 MiB at most, --memory SIZE allows more");
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    setenv("DEBUGINFOD_URLS", "", 1);
    TCase *tests = tcase_create("dump_commands");
    tcase_add_checked_fixture(tests, make_data, remove_work);
    tcase_add_test(tests, test_report);
    tcase_add_test(tests, test_restrictions);
    tcase_add_test(tests, test_formats);
    tcase_add_test(tests, test_diff);
    tcase_add_test(tests, test_diff_by_names);
    tcase_add_test(tests, test_diff_tree);
    tcase_add_test(tests, test_rebuilt_libraries);
    tcase_add_test(tests, test_many_contexts);
    tcase_add_test(tests, test_allocated_alone);
    tcase_add_test(tests, test_empty_results);
    tcase_add_test(tests, test_complaints);
    tcase_add_test(tests, test_bombs);
    return run_cases("dump_commands", tests);
}
