// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Recordings of massif and DHAT: what the reader makes of each of their instants, what the commands say, and what is
// wrong.
#include "command.h"
#include "host/base/memory.h"
#include "host/dump/dump.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST (16u << 20)

static char source[4096]; // the folder that the suite was started in

static void make_data(void)
{
    make_work();
    shell("cp '%s'/valgrind/* .", source);
}

// "outermost;...;innermost BYTES", a line for each context; the rest of the counts where there are blocks.
static char *contexts_of(const struct hs_dump *dump)
{
    char *written = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&written, &length);
    for (size_t i = 0; i < dump->context_count; i++) {
        const struct hs_dump_context *context = &dump->context[i];
        for (uint32_t at = context->depth; at-- > 0;) {
            const struct hs_dump_location *location = &dump->location[dump->frames[context->first + at]];
            const struct hs_dump_line *line = &dump->line[location->first_line];
            fprintf(out, "%s", line->function);
            if (line->file)
                fprintf(out, "@%s:%u", line->file, line->line);
            if (location->mapping != HS_DUMP_NONE)
                fprintf(out, " in %s", dump->mapping[location->mapping].path);
            fputs(at ? ";" : "", out);
        }
        fprintf(out, " %llu", (unsigned long long)context->counts.live_bytes);
        if (dump->has_blocks)
            fprintf(out, "/%llu of %llu/%llu", (unsigned long long)context->counts.live_blocks,
                    (unsigned long long)context->counts.all_bytes, (unsigned long long)context->counts.all_blocks);
        putc('\n', out);
    }
    fclose(out);
    return written;
}

static void expect_contexts(const struct hs_dump *dump, const char *expected)
{
    char *contexts = contexts_of(dump);
    ck_assert_str_eq(contexts, expected);
    free(contexts);
}

static struct hs_dump *open_usual(const char *path)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert(hs_dump__recognise(path) && hs_dump__recognise_parts(path));
    ck_assert_msg(!hs_dump__open(path, &dump, &error), "%s", error.message);
    ck_assert_uint_eq(dump->warning_count, 0);
    return dump;
}

static struct hs_dump *open_part(const struct hs_dump *of, uint64_t part, uint64_t elapsed_ns, const char *expected)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_msg(!hs_dump__open_part(of, part, &dump, &error), "%s", error.message);
    ck_assert_uint_eq(dump->elapsed_ns, elapsed_ns);
    expect_contexts(dump, expected);
    return dump;
}

#define TAKE "take(char const*, int)@take.cpp:4"

START_TEST(test_massif)
{
    struct hs_dump *dump = open_usual("valgrind/massif.out.1");
    ck_assert_int_eq(dump->format, HS_DUMP_MASSIF);
    ck_assert_str_eq(dump->executable, "/opt/bin/sensord");
    ck_assert_str_eq(hs_dump__fact(dump, "snapshot"), "2");
    ck_assert_str_eq(hs_dump__fact(dump, "mem_stacks_B"), "432");
    ck_assert_ptr_null(hs_dump__fact(dump, "times"));
    ck_assert_ptr_null(dump->clock);
    // What the callers do not account for belongs to the frame itself.
    expect_contexts(dump, "main@sensord.c:20;" TAKE " 6000\nmain@sensord.c:31;" TAKE " 1500\n" TAKE " 500\n"
                          "CRYPTO_malloc in /usr/lib/libcrypto.so.3 900\n[below massif's threshold] 100\n");
    struct hs_dump *first = open_part(dump, HS_DUMP_FIRST, 1000000000,
                                      "main@sensord.c:20;" TAKE " 2000\n0x48C2D6A in /usr/lib/libcrypto.so.3 1000\n");
    ck_assert_uint_eq(first->next_part, dump->part);
    struct hs_dump *last = open_part(dump, dump->next_part, 20000000000, "main@sensord.c:20;" TAKE " 4000\n");
    ck_assert_uint_eq(last->next_part, 0);
    hs_dump__close(first);
    hs_dump__close(last);
    hs_dump__close(dump);
}
END_TEST

#define LEAF "leaf<\"a\\\xc3\xa4\">@p.c:4;malloc in /usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so"

START_TEST(test_dhat)
{
    struct hs_dump *dump = open_usual("valgrind/dhat.out.1");
    ck_assert_int_eq(dump->format, HS_DUMP_DHAT);
    ck_assert(dump->has_all && dump->has_blocks && !dump->next_part);
    ck_assert_str_eq(hs_dump__fact(dump, "largest"), "1,499,500 bytes in 1,000 blocks at 778,912 instrs");
    ck_assert_str_eq(hs_dump__fact(dump, "lifetime"), "156,066 instrs");
    ck_assert_str_eq(hs_dump__fact(dump, "written"), "1,627,500 bytes");
    ck_assert_str_eq(hs_dump__fact(dump, "times"), "1 ns stands for one instruction");
    ck_assert_str_eq(dump->clock, "instructions");
    expect_contexts(dump, "main@p.c:7;cache@p.c:5;" LEAF " 194950/100 of 1499500/1000\n"
                          "main@p.c:9;churn@p.c:6;" LEAF " 0/0 of 128000/2000\n");
    struct hs_dump *peak =
        open_part(dump, HS_DUMP_FIRST, 778912, "main@p.c:7;cache@p.c:5;" LEAF " 1499500/1000 of 0/0\n");
    ck_assert_uint_eq(peak->next_part, dump->part);
    hs_dump__close(peak);
    hs_dump__close(dump);
}
END_TEST

// ---- what is wrong -------------------------------------------------------------------------------------------------

static void expect_error(const char *bytes, const char *message)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    ck_assert_msg(hs_dump__parse("x", bytes, strlen(bytes), LARGEST, &dump, &error) < 0, "no error: %s", bytes);
    ck_assert_msg(strstr(error.message, message), "'%s' is not in: %s", message, error.message);
}

#define HEAD  "desc: x\ncmd: x\ntime_unit: i\n"
#define PEAK  "snapshot=1\ntime=1\nmem_heap_B=1\nheap_tree=peak\n"
#define JSON  "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"bklt\":true,\"tu\":\"ns\",\"te\":2,\"tg\":1,\"pps\":["
#define TABLE "],\"ftbl\":[\"[root]\",\"0x1: f (f.c:1)\"]}"

START_TEST(test_errors)
{
    expect_error("desc: x\ncmd: x\n", "should begin with desc:, cmd: and time_unit:");
    expect_error("desc: x\ncmd: x\ntime_unit: weeks\n", "x:3: time_unit is 'weeks'; massif knows i, ms and B");
    expect_error(HEAD, "x: no snapshot has a tree; record with");
    expect_error(HEAD "snapshot=1\ntime=99999999999999999999\n", "x:5: a number of 64 bits");
    expect_error(HEAD PEAK "n1: 1 heap\n  n0: 1 0x1: f (f.c:1)\n", "x:9: this line of a tree belongs to none");
    expect_error(HEAD PEAK "n0: 1 heap\nn0: 1 heap\n", "x:9: this line of a tree belongs to none");
    expect_error(HEAD PEAK "n1: -1 heap\n", "x:8: a line of a tree should read");
    expect_error("{\"dhatFileVersion\":1,\"tu\":\"ns\",\"pps\":[",
                 "x: a DHAT file of version 1; heapsonde reads version 2");
    expect_error("{\"dhatFileVersion\":2,\"mode\":\"copy\",\"bklt\":false,\"pps\":[],\"ftbl\":[]}",
                 "of mode 'copy', which does not show the heap");
    expect_error("{\"dhatFileVersion\":2,\"bklt\":true,\"pps\":[]}", "x: a DHAT file without \"ftbl\"");
    expect_error("{\"dhatFileVersion\":2,\"bklt\":true,\"tu\":\"weeks\",\"pps\":[],\"ftbl\":[]}",
                 "times are in 'weeks'");
    expect_error(JSON "{\"tb\":1,\"tbk\":1,\"fs\":[2]}" TABLE, "x:1: the table of frames has no frame of this number");
    expect_error(JSON "{\"tb\":-1}" TABLE, "x:1: a whole number of 64 bits should be here");
    expect_error(JSON "{\"tb\":1e9}" TABLE, "x:1: a whole number of 64 bits should be here");
    expect_error(JSON "{\"eb\":18446744073709551615}" TABLE, "8 EiB or more in all");
    expect_error(JSON "{\"eb\":1}", "the file ends too early");
    expect_error(JSON "nothing" TABLE, "x:1: an object should be here");
    expect_error("{\"dhatFileVersion\":2,\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                 "x:1: this is not JSON of DHAT");
}
END_TEST

// Whatever a file is cut to is an error, or it gives what is there and says what is not.
START_TEST(test_cut)
{
    static const char *const files[] = {"valgrind/massif.out.1", "valgrind/dhat.out.1"};
    for (size_t i = 0; i < 2; i++) {
        size_t length, opened = 0;
        char *bytes = read_file(files[i], &length);
        for (size_t cut = 1; cut < length; cut++) {
            struct hs_dump *dump = NULL;
            struct hs_error error = {.message = ""};
            char *copy = malloc(cut); // of that very size, for tools that watch over memory
            memcpy(copy, bytes, cut);
            const int result = hs_dump__parse("x", copy, cut, LARGEST, &dump, &error);
            ck_assert(result ? error.message[0] : dump->context_count || dump->warning_count);
            opened += !result;
            hs_dump__close(dump);
            free(copy);
        }
        free(bytes);
        // Of the JSON only the last line feed may be missing.
        ck_assert(i ? opened == 1 : opened > 1);
    }
    struct hs_dump *dump = NULL;
    static const char half[] = HEAD PEAK "n2: 9 heap\n n0: 3 0x1: f (f.c:1)\n";
    ck_assert_int_eq(hs_dump__parse("x", half, strlen(half), LARGEST, &dump, NULL), 0);
    expect_contexts(dump, "f@f.c:1 3\n[unknown] 6\n");
    ck_assert(dump->warning_count && strstr(dump->warning[0], "the tree of this snapshot is not complete"));
    hs_dump__close(dump);
    static const char tiny[] = HEAD "snapshot=7\ntime=1\nmem_heap_B=9\nheap_tree=peak\nn0: 3 heap\n#-\n";
    ck_assert_int_eq(hs_dump__parse("x", tiny, strlen(tiny), LARGEST, &dump, NULL), 0);
    ck_assert_str_eq(dump->warning[0], "snapshot 7 counts 9 bytes, the stacks only 3: the file may have been cut");
    hs_dump__close(dump);
}
END_TEST

// Each instant of a compressed file that was cut says so.
START_TEST(test_cut_when_compressed)
{
    struct hs_dump *dump = NULL, *first = NULL;
    char path[80];
    shell("gzip -c massif.out.1 | head -c -8 >cut.gz");
    snprintf(path, sizeof(path), "%s/cut.gz", work);
    ck_assert_int_eq(hs_dump__open(path, &dump, NULL), 0);
    ck_assert_int_eq(hs_dump__open_part(dump, HS_DUMP_FIRST, &first, NULL), 0);
    ck_assert_uint_eq(first->warning_count, 1);
    ck_assert_str_eq(first->warning[0], dump->warning[0]);
    hs_dump__close(first);
    hs_dump__close(dump);
}
END_TEST

START_TEST(test_modules_with_parentheses)
{
    static const char odd[] = HEAD "snapshot=1\ntime=1\nmem_heap_B=1\nheap_tree=peak\n"
                                   "n1: 1 heap\n n0: 1 0x1: f(int) (in /opt/x (old)/lib.so)\n#-\n";
    struct hs_dump *dump = NULL;
    ck_assert_int_eq(hs_dump__parse("x", odd, strlen(odd), LARGEST, &dump, NULL), 0);
    expect_contexts(dump, "f(int) in /opt/x (old)/lib.so 1\n");
    hs_dump__close(dump);
}
END_TEST

// ---- the commands --------------------------------------------------------------------------------------------------

static void expect(int status, const char *arguments, const char *part)
{
    struct outcome outcome = run("$HEAPSONDE %s 2>&1", arguments);
    ck_assert_msg(outcome.status == status, "heapsonde %s: status %d\n%s", arguments, outcome.status, outcome.output);
    ck_assert_msg(strstr(outcome.output, part), "heapsonde %s: '%s' is not in:\n%s", arguments, part, outcome.output);
    free_outcome(&outcome);
}

START_TEST(test_commands)
{
    expect(0, "report massif.out.1", "in use        8.79 KiB\nstacks        5 different ones\nsnapshot      2\n");
    expect(0, "report --tree massif.out.1", "take(char const*, int)");
    expect(0, "report dhat.out.1", "in use        190.4 KiB in 100 blocks\nallocated     1.55 MiB in 3,000 blocks");
    expect(0, "diff --base-at peak --at 100% massif.out.1",
           "from          massif.out.1 at peak: 8.79 KiB in use (massif)\n"
           "to            massif.out.1 at 100%: 3.91 KiB in use");
    expect(0, "diff --base-at 0s --at 3s massif.out.1", "difference    none");
    expect(0, "diff --base-at peak dhat.out.1", "difference    -1.24 MiB in -900 blocks in use");
    expect(0, "diff massif.out.1 dhat.out.1", "from          massif.out.1: 8.79 KiB in use (massif)");
    expect(0, "export --format collapsed --function take massif.out.1", "main;take(char const*, int) 7500\n");
    expect(0, "export --format pprof dhat.out.1 -o dhat.pb.gz", "");
    expect(0, "report dhat.pb.gz", "in use        190.4 KiB in 100 blocks\nallocated     1.55 MiB in 3,000 blocks");
    expect(0, "ask massif.out.1 'summary?at=peak'", "\"live_bytes\":9000,");
    expect(0, "ask --text massif.out.1 summary", "duration_ns             20.00 s\n");
    shell("sed 's/^time_unit: ms/time_unit: i/' massif.out.1 >instructions");
    expect(0, "ask --text instructions summary", "duration_ns             20,000 instructions\n");
    shell("sed 's/^time_unit: ms/time_unit: B/' massif.out.1 >bytes");
    expect(0, "ask --text bytes summary", "duration_ns             19.5 KiB allocated or freed\n");
    expect(1, "import -o x.dat dhat.out.1", "heap dumps need no import");
    shell("gzip -k massif.out.1");
    expect(0, "diff --base-at 0s --at peak massif.out.1.gz", "difference    +5.86 KiB");
}
END_TEST

#define SNAPSHOTS " '#-\nsnapshot=%%.0f\ntime=%%.0f\nmem_heap_B=%%.0f\nheap_tree=%%s\nn0: %%.0f heap\n' "

// Times count from the start of the program, at which there is no tree, and are those of the file: instants that claim
// one time are no further apart than needed.
START_TEST(test_times)
{
    shell("(sed 3q massif.out.1; printf" SNAPSHOTS "1 10000 100 detailed 100 2 15000 500 peak 500) >late");
    expect(0, "ask late summary", "\"duration_ns\":15000000000,");
    expect(0, "ask late summary", "\"peak_time_ns\":15000000000,");
    expect(0, "ask late 'summary?at=12s'", "\"live_bytes\":100,");
    expect(0, "diff --base-at 12s --at 15s late", "difference    +400 B");
    expect(0, "diff --base-at 0s --at 9s late", "difference    none");
    expect(0, "ask late 'timeline?width=3'", "\"end_size\":[100,100,500,500]");
    expect(0, "ask dhat.out.1 summary", "\"peak_time_ns\":778912,");
    expect(0, "ask dhat.out.1 summary", "\"duration_ns\":811543,");
    shell("(printf 'desc: x\ncmd: x\ntime_unit: i\n'; printf" SNAPSHOTS
          "1 1000 1 detailed 1 2 2000 2 peak 2 3 2000 2 detailed 2 4 3000 1 detailed 1 5 9000 1 detailed 1) >equal");
    expect(0, "ask equal summary", "\"duration_ns\":9000,");
    expect(0, "ask equal summary", "\"peak_time_ns\":2000,");
}
END_TEST

// The largest heap, wherever it is asked for. The mark of the file decides between equals.
START_TEST(test_peak)
{
    shell("(sed 3q massif.out.1; printf" SNAPSHOTS "1 1 100 peak 100 2 2 101 detailed 101) >unmarked");
    expect(0, "report unmarked", "in use        101 B\nstacks        1\nsnapshot      2\n");
    expect(0, "ask unmarked summary", "\"peak_time_ns\":2000000,");
    shell("(sed 3q massif.out.1; printf" SNAPSHOTS
          "1 1 100 detailed 100 2 2 100 peak 100 3 3 100 detailed 100) >equals");
    expect(0, "report equals", "snapshot      2\n");
    expect(0, "ask equals summary", "\"peak_time_ns\":2000000,");
}
END_TEST

// Many small snapshots, and a tree that says it has more than there is memory.
START_TEST(test_large)
{
    shell(
        "(sed 3q massif.out.1; seq -f '#-\nsnapshot=%%.0f\ntime=1\nmem_heap_B=1\nheap_tree=detailed\nn0: 1 heap' 1001)"
        " >many; head -n -6 many >most");
    expect(0, "report many", "stacks        1\n");
    expect(1, "ask many summary", "many: more than 1000 instants, which massif itself never writes");
    expect(0, "ask most summary", "\"dumps\":\"1000\"");
    shell("(sed 3q massif.out.1; printf 'snapshot=1\ntime=1\nheap_tree=peak\nn99999999: 5 heap\n';"
          " seq -f ' n0: 1 0x1: f%%.0f (f.c:1)' 1000000) >wide");
    if (HS_MEMORY_IS_LIMITED)
        expect(1, "report --memory 64M wide", "wide: out of memory; heapsonde takes 64 MiB at most");
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    TCase *tests = tcase_create("dump_valgrind");
    tcase_add_checked_fixture(tests, make_data, remove_work);
    tcase_add_test(tests, test_massif);
    tcase_add_test(tests, test_dhat);
    tcase_add_test(tests, test_errors);
    tcase_add_test(tests, test_cut);
    tcase_add_test(tests, test_cut_when_compressed);
    tcase_add_test(tests, test_modules_with_parentheses);
    tcase_add_test(tests, test_commands);
    tcase_add_test(tests, test_times);
    tcase_add_test(tests, test_peak);
    tcase_add_test(tests, test_large);
    return run_cases("dump_valgrind", tests);
}
