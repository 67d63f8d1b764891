// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs as every linker lays them out, recorded and sampled: each allocation has to get the name and the line of
// the function that made it. Functions of one name in two files stay apart.
#include "subject.h"

#include "host/symbols/candidates.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct layout {
    const char *name, *flags, *then;
} layouts[] = {
    {"bfd", "", ""},
    {"bfd_joined", "-Wl,-z,noseparate-code", ""},
    {"fixed", "-no-pie -fno-pie", ""},
    {"gold", "-fuse-ld=gold", ""},
    {"lld", "-fuse-ld=lld", ""},
    {"lld_fixed", "-fuse-ld=lld -no-pie -fno-pie", ""},
    {"mold", "-B/usr/libexec/mold", ""},
    {"patched", "-fuse-ld=lld", "patchelf --set-rpath $(printf '/folder%0999d' 7) "},
};

// Sizes that need no rounding.
static const struct {
    const char *name;
    unsigned line, size;
} functions[] = {
    {"parse_header", 3, 1000}, {"read_body", 4, 2008}, {"write_answer", 5, 3000}, {"close_session", 6, 4008}};

// Small programs end in the page that has their headers.
static void write_program(unsigned padding)
{
    FILE *file = fopen(text("%s/program.c", work), "w");
    fputs("#include <stdlib.h>\nvolatile int sink; void *keep[8];\n", file);
    for (unsigned i = 0; i < 4; i++) {
        fprintf(file, "__attribute__((noinline)) void %s(void) { keep[%u] = malloc(%u); ", functions[i].name, i,
                functions[i].size);
        for (unsigned k = 0; k < padding; k++)
            fprintf(file, "sink += %u; ", i + k);
        fputs("sink++; }\n", file);
    }
    fputs("int main(void) { parse_header(); read_body(); write_answer(); close_session(); return 0; }\n", file);
    fclose(file);
}

static void build(const struct layout *layout, unsigned padding)
{
    write_program(padding);
    shell("gcc -g -O1 -fno-builtin %s -o %s program.c", layout->flags, layout->name);
    if (*layout->then)
        shell("%s %s", layout->then, layout->name);
}

static void expect_names(const char *file, const char *options)
{
    struct outcome stacks = run("$HEAPSONDE export --format collapsed %s '%s' -o -", options, file);
    struct outcome report = run("$HEAPSONDE report '%s'", file);
    ck_assert_msg(!stacks.status && !report.status, "%s%s", stacks.errors, report.errors);
    for (unsigned i = 0; i < 4; i++) {
        const char *stack = text(";main;%s %u\n", functions[i].name, functions[i].size);
        ck_assert_msg(strstr(stacks.output, stack) != NULL, "%s: no %s in\n%s", file, stack, stacks.output);
        const char *line = text("%s (%s/program.c:%u)", functions[i].name, work, functions[i].line);
        ck_assert_msg(strstr(report.output, line) != NULL, "%s: no %s in\n%s", file, line, report.output);
    }
    free_outcome(&stacks);
    free_outcome(&report);
}

START_TEST(test_recorded)
{
    const struct layout *layout = &layouts[_i / 2];
    build(layout, _i % 2 ? 420 : 0);
    shell("HEAPSONDE_OUTPUT=trace.dat LD_PRELOAD='" PATH_TRACE "' ./%s", layout->name);
    expect_names("trace.dat", "-c allocated");
}
END_TEST

static void sample(const char *program, const char *format)
{
    shell("MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:dump,experimental_hs_format:%s "
          "LD_PRELOAD='" PATH_PROF "' './%s' && mv dump.*.f.heap* sampled.%s",
          format, program, format);
}

START_TEST(test_sampled)
{
    const struct layout *layout = &layouts[_i / 2];
    build(layout, _i % 2 ? 420 : 0);
    sample(layout->name, "proto");
    sample(layout->name, "heap_v2");
    expect_names("sampled.proto", "");
    expect_names("sampled.heap_v2", "");
    // The addresses of the code in both are the same when one dump has the maps of all of the file.
    struct outcome outcome = run("$HEAPSONDE diff sampled.heap_v2 sampled.proto");
    ck_assert_msg(outcome.status == 0 && !strstr(outcome.output, "parse_header"), "%s%s", outcome.output,
                  outcome.errors);
    free_outcome(&outcome);
    // The names that the program itself looked up.
    sample(layout->name, "symbolized");
    for (unsigned i = 0; i < 4; i++)
        shell("sed -n '/^--- symbol/,/^---$/p' sampled.symbolized | grep -q ' %s$'", functions[i].name);
}
END_TEST

// ---- servers of debug information -----------------------------------------------------------------------------------

static bool looks_for_debuginfod(const char *environment)
{
    struct outcome outcome = run("env %s LD_DEBUG=libs $HEAPSONDE report trace.dat", environment);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "libc.so.6")); // the loader tells what it looks for
    bool looks = strstr(outcome.errors, "find library=libdebuginfod") != NULL;
    free_outcome(&outcome);
    return looks;
}

// The library that asks them, and all that belongs to it, takes longer to load than a short report.
START_TEST(test_servers_are_asked_where_there_are_some)
{
    build(&layouts[0], 0);
    shell("strip bfd && HEAPSONDE_OUTPUT=trace.dat LD_PRELOAD='" PATH_TRACE "' ./bfd");
    ck_assert(!looks_for_debuginfod("-u DEBUGINFOD_URLS"));
    ck_assert(!looks_for_debuginfod("DEBUGINFOD_URLS="));
    ck_assert(looks_for_debuginfod("DEBUGINFOD_URLS=file:///nowhere DEBUGINFOD_CACHE_PATH=cache"));
}
END_TEST

// ---- functions of one name ------------------------------------------------------------------------------------------

static const char helper[] = "#include <stdlib.h>\n#include \"both.h\"\n"
                             "static __attribute__((noinline)) void *helper(void) { void *p = malloc(%d); "
                             "__asm__ volatile(\"\" ::: \"memory\"); return p; }\n"
                             "void *from_%s(void) { void *p = helper(); void *q = both(); "
                             "__asm__ volatile(\"\" ::\"r\"(q) : \"memory\"); return p; }\n";

static void write_text(const char *name, const char *contents)
{
    write_file(text("%s/%s", work, name), contents, strlen(contents));
}

START_TEST(test_same_name)
{
    char first[1024], second[1024];
    snprintf(first, sizeof(first), helper, 1000, "a");
    snprintf(second, sizeof(second), helper, 3000, "b");
    write_text("a.c", first);
    write_text("b.c", second);
    write_text("both.h", "static __attribute__((noinline)) void *both(void) { void *p = malloc(50); "
                         "__asm__ volatile(\"\" ::: \"memory\"); return p; }\n");
    write_text("main.c", "void *from_a(void), *from_b(void); int main(void) { from_a(); from_b(); return 0; }\n");
    // With debug information the files tell them apart, without it the libraries.
    shell(
        "gcc -O1 %s -fno-builtin -fPIC -shared -o liba.so a.c && gcc -O1 %s -fno-builtin -fPIC -shared -o libb.so b.c "
        "&& gcc -o program main.c ./liba.so ./libb.so",
        _i ? "" : "-g", _i ? "" : "-g");
    shell("HEAPSONDE_OUTPUT=trace.dat LD_PRELOAD='" PATH_TRACE "' ./program");
    struct outcome outcome = run("$HEAPSONDE report --bottom-up trace.dat");
    ck_assert_msg(!outcome.status, "%s", outcome.errors);
    unsigned helpers = 0, boths = 0;
    for (char *line = strtok(outcome.output, "\n"); line; line = strtok(NULL, "\n")) {
        size_t length = strlen(line);
        helpers += length > 7 && !strcmp(line + length - 7, " helper");
        boths += length > 5 && !strcmp(line + length - 5, " both");
    }
    ck_assert_uint_eq(helpers, 2);
    ck_assert_uint_eq(boths, _i ? 2 : 1);
    free_outcome(&outcome);
}
END_TEST

// ---- files that were written since ---------------------------------------------------------------------------------

static void expect_unknown(const char *trace, const char *reason, const char *why)
{
    struct outcome outcome = run("$HEAPSONDE report --modules %s", trace);
    ck_assert_msg(strstr(outcome.output, why) != NULL, "%s", outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --json %s", trace);
    ck_assert_msg(strstr(outcome.output, text("\"reason\": \"%s\",\"why\": \"%s", reason, why)) != NULL, "%s",
                  outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report %s", trace);
    ck_assert_msg(!strstr(outcome.output, "parse_header"), "%s", outcome.output);
    free_outcome(&outcome);
}

static bool inodes_last(const char *path)
{
    int fd = open(text("%s/%s", work, path), O_RDONLY | O_CLOEXEC);
    bool last = hs_has_lasting_inodes(fd);
    close(fd);
    return last;
}

START_TEST(test_replaced)
{
    write_program(2);
    shell("mkdir here other && gcc -g -O1 -fno-builtin -Wl,--build-id=none -o here/program program.c && "
          "cp --preserve=timestamps here/program other && "
          "HEAPSONDE_OUTPUT=trace.dat LD_PRELOAD='" PATH_TRACE "' here/program && cp here/program kept");
    expect_names("trace.dat", "-c allocated");
    shell("rm -rf trace.dat.*");
    // Other code in the same places.
    if (_i == 0)
        shell("cp kept here/program && touch -d '+1 hour' here/program");
    // Another build, which is older.
    if (_i == 1) {
        write_program(300);
        shell("gcc -g -O1 -fno-builtin -Wl,--build-id=none -o here/program program.c && touch -r other/program "
              "here/program");
    }
    // Other code in the same places, with the time of the last write put back.
    if (_i == 2)
        shell("cp kept here/program && touch -r other/program here/program");
    // Another file that is older than the recording: only the inode tells.
    if (_i == 3 && !inodes_last("here/program"))
        return;
    if (_i == 3)
        shell("mv here gone && mv other here");
    // Nothing but its mode, which looks the same as bytes with the old time put back.
    if (_i == 4)
        shell("chmod g-x here/program");
    if (_i < 2)
        expect_unknown("trace.dat", "other_build", "is not the file that was recorded, or was written since");
    else
        expect_unknown("trace.dat", "changed",
                       "may be another file: it was written or replaced, or its mode, owner or links changed since; "
                       "--sysroot / uses it as it is");
    // A copy of the files may be of any age, and stripped files have the same segments.
    shell("mkdir -p root%s/here && cp kept root%s/here/program", work, work);
    if (_i) {
        struct outcome outcome = run("$HEAPSONDE report --sysroot %s trace.dat", _i == 1 ? "root" : "/");
        ck_assert_msg(strstr(outcome.output, "parse_header") != NULL, "%s", outcome.output);
        free_outcome(&outcome);
    }
}
END_TEST

// ---- paths ---------------------------------------------------------------------------------------------------------

START_TEST(test_path)
{
    static const char *const formats[] = {"proto", "heap_v2"};
    char path[3000] = "";
    if (_i == 0)
        strcpy(path, "two\nlines/");
    else
        for (int i = 0; i < 12; i++)
            snprintf(path + strlen(path), sizeof(path) - strlen(path), "%0150d/", i);
    write_program(2);
    shell("mkdir -p '%s' && gcc -g -O1 -fno-builtin -o '%s/program' program.c", path, path);
    shell("HEAPSONDE_OUTPUT=trace.dat LD_PRELOAD='" PATH_TRACE "' './%s/program'", path);
    expect_names("trace.dat", "-c allocated");
    for (size_t i = 0; i < 2; i++) {
        sample(text("%s/program", path), formats[i]);
        expect_names(text("sampled.%s", formats[i]), "");
    }
    // Nothing that is told takes two lines, or is cut.
    shell("mv '%s/program' moved", path);
    struct outcome outcome = run("$HEAPSONDE report --modules trace.dat");
    ck_assert_msg(!outcome.status && !strstr(outcome.output, "\nlines/program") &&
                      strstr(outcome.output, "no file found"),
                  "%s%s", outcome.output, outcome.errors);
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    const int count = 2 * sizeof(layouts) / sizeof(layouts[0]);
    TCase *cases = tcase_create("layouts");
    tcase_add_checked_fixture(cases, make_work, remove_work);
    tcase_add_loop_test(cases, test_recorded, 0, count);
    tcase_add_loop_test(cases, test_sampled, 0, count);
    tcase_add_test(cases, test_servers_are_asked_where_there_are_some);
    tcase_add_loop_test(cases, test_same_name, 0, 2);
    tcase_add_loop_test(cases, test_replaced, 0, 5);
    tcase_add_loop_test(cases, test_path, 0, 2);
    return run_cases("layouts", cases);
}
