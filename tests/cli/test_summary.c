// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What `heapsonde run` says at the end, of programs that start others, become others or go on in the background. With
// the recorder itself.
#include "command.h"

#include "format/chunk.h"
#include "host/cli/find_trace.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void prepare(void)
{
    make_work();
    setenv("HEAPSONDE_LIBRARY", PATH_SHIM, 1);
}

static void make_program(const char *name, const char *source)
{
    write_file(text("%s/program.c", work), source, strlen(source));
    shell("gcc -O0 -D_GNU_SOURCE -o %s program.c", name);
}

static void expect(const struct outcome *outcome, const char *word)
{
    ck_assert_msg(strstr(outcome->errors, word) != NULL, "no '%s' in: %s", word, outcome->errors);
}

static void expect_none(const struct outcome *outcome, const char *word)
{
    ck_assert_msg(!strstr(outcome->errors, word), "'%s' in: %s", word, outcome->errors);
}

// Becomes itself with one argument less each time, and at last allocates 12,345 blocks.
static const char becoming[] = "#include <stdlib.h>\n"
                               "#include <unistd.h>\n"
                               "int main(int count, char **words)\n"
                               "{\n"
                               "    if (count > 1) {\n"
                               "        words[count - 1] = NULL;\n"
                               "        return execv(words[0], words);\n"
                               "    }\n"
                               "    for (int i = 0; i < 12345; i++)\n"
                               "        free(malloc(10));\n"
                               "}\n";

START_TEST(test_the_last_program_of_a_process_is_summed_up)
{
    make_program("becoming", becoming);
    struct outcome outcome = run("$HEAPSONDE run --follow-children -o 't.%%p.dat' -- ./becoming a b c d e f");
    ck_assert_int_eq(outcome.status, 0);
    expect(&outcome, "12,345 allocations");
    expect(&outcome, "; 6 more of the programs before, which the same process executed;");
    expect_none(&outcome, "child process");
    expect_none(&outcome, "--follow-children records that");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o t.dat -- ./becoming a");
    expect(&outcome, "--follow-children records that, too");
    free_outcome(&outcome);
}
END_TEST

static const char starting[] = "#include <stdlib.h>\n"
                               "#include <sys/wait.h>\n"
                               "#include <unistd.h>\n"
                               "int main(int count, char **words)\n"
                               "{\n"
                               "    int busy = 0;\n"
                               "    for (int child = 0; child < atoi(words[1]); child++) {\n"
                               "        if (fork())\n"
                               "            continue;\n"
                               "        busy = child == 1 ? 300000 : 1;\n"
                               "        for (int i = 0; i < busy; i++)\n"
                               "            free(malloc(10 + (size_t)i));\n"
                               "        exit(0);\n"
                               "    }\n"
                               "    while (wait(NULL) > 0)\n"
                               "        ;\n"
                               "    return count != 2;\n"
                               "}\n";

START_TEST(test_the_largest_of_the_others_is_named)
{
    make_program("starting", starting);
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- ./starting 1");
    ck_assert_int_eq(outcome.status, 0);
    expect(&outcome, "; 1 more by a child process: ");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o u.dat -- ./starting 3; ls -S u.dat.* | grep -v store | head -1");
    expect(&outcome, "; 3 more by child processes, the largest ");
    outcome.output[strcspn(outcome.output, "\n")] = 0;
    expect(&outcome, text("%s/%s;", work, outcome.output));
    free_outcome(&outcome);
}
END_TEST

// A shell that starts the program is of no interest.
START_TEST(test_the_largest_is_summed_up)
{
    make_program("becoming", becoming);
    struct outcome outcome = run("$HEAPSONDE run --follow-children -o 't.%%p.dat' -- sh -c './becoming; exit 3'");
    ck_assert_int_eq(outcome.status, 3);
    expect(&outcome, "12,345 allocations");
    expect(&outcome, "; the largest of 2 traces, that of the process that was started is ");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run --follow-children -o 'u.%%p.dat' -- ./becoming");
    expect(&outcome, "12,345 allocations");
    expect_none(&outcome, "the largest");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_names_do_not_steer_the_terminal)
{
    make_program("becoming", becoming);
    struct outcome outcome =
        run("n=$(printf 'a\\033[31m\\007b') && cp becoming \"$n\" && $HEAPSONDE run -o \"$n.dat\" -- "
            "\"./$n\" && $HEAPSONDE doctor -- \"./$n\" >&2");
    expect(&outcome, "a?[31m?b ended with exit status 0");
    expect(&outcome, "a?[31m?b.dat");
    expect_none(&outcome, "\033");
    expect_none(&outcome, "\007");
    free_outcome(&outcome);
}
END_TEST

// The process in the background runs until the file `end` is there.
static const char background[] = "#include <fcntl.h>\n"
                                 "#include <stdlib.h>\n"
                                 "#include <unistd.h>\n"
                                 "int main(void)\n"
                                 "{\n"
                                 "    int ready[2];\n"
                                 "    char byte = 0;\n"
                                 "    free(malloc(10));\n"
                                 "    if (pipe(ready))\n"
                                 "        return 1;\n"
                                 "    if (fork()) {\n"
                                 "        close(ready[1]);\n"
                                 "        return read(ready[0], &byte, 1) == 1 ? _exit(0), 0 : 1;\n"
                                 "    }\n"
                                 "    free(malloc(10));\n"
                                 "    if (write(ready[1], &byte, 1) != 1)\n"
                                 "        return 1;\n"
                                 "    while (access(\"end\", F_OK))\n"
                                 "        usleep(1000);\n"
                                 "    return 0;\n"
                                 "}\n";

START_TEST(test_what_goes_on_in_the_background_is_told)
{
    make_program("background", background);
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- ./background 2>said; touch end; cat said >&2");
    expect(&outcome, "1 more by a child process, which still runs: ");
    free_outcome(&outcome);
}
END_TEST

// The daemon runs until the file `end` is there, and allocates nothing.
static const char leaving[] = "#include <stdlib.h>\n"
                              "#include <unistd.h>\n"
                              "int main(void)\n"
                              "{\n"
                              "    free(malloc(10));\n"
                              "    if (daemon(1, 1))\n"
                              "        return 1;\n"
                              "    while (access(\"end\", F_OK))\n"
                              "        usleep(1000);\n"
                              "    _exit(0);\n"
                              "}\n";

// As Go's runtime does: not by the function of that name which the recorder sees.
static const char calling[] = "#include <dlfcn.h>\n"
                              "#include <stdlib.h>\n"
                              "#include <sys/syscall.h>\n"
                              "int main(void)\n"
                              "{\n"
                              "    free(malloc(10));\n"
                              "    void *own = dlsym(dlopen(\"libc.so.6\", RTLD_NOW), \"syscall\");\n"
                              "    ((long (*)(long, int))own)(SYS_exit_group, 0);\n"
                              "}\n";

static void write_header(const char *name, uint32_t pid, uint64_t state)
{
    uint8_t page[HS_FILE_HEADER_SIZE] = {0};
    struct hs_file_header header = {.version_major = HS_FILE_VERSION_MAJOR,
                                    .byte_order = HS_BYTE_ORDER_LITTLE,
                                    .pointer_size = 8,
                                    .pid = pid,
                                    .header_size = HS_FILE_HEADER_SIZE};
    memcpy(header.magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH);
    hs_file_header_seal(&header, page);
    page[offsetof(struct hs_file_header, live) + offsetof(struct hs_live, state)] = (uint8_t)state;
    write_file(text("%s/%s", work, name), page, sizeof(page));
}

// Process 1 of a container, which was killed, has the number of a process that runs here.
START_TEST(test_a_number_of_another_namespace_is_no_running_process)
{
    const struct timespec since = {0, 0};
    struct hs_found_traces found;
    write_header("t.100.dat", 100, HS_STATE_CLOSED);
    write_header("t.1.dat", 1, HS_STATE_RECORDING);
    hs_find_traces(&found, text("%s/t.%%p.dat", work), 100, &since, false);
    ck_assert_uint_eq(found.others, 1);
    ck_assert(!found.unfinished);
    hs_found_traces__free(&found);

    int recorder = open(text("%s/t.1.dat", work), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(recorder, LOCK_EX), 0);
    hs_find_traces(&found, text("%s/t.%%p.dat", work), 100, &since, false);
    ck_assert(found.unfinished);
    hs_found_traces__free(&found);
    close(recorder);
}
END_TEST

START_TEST(test_a_daemon_that_has_not_allocated_is_told)
{
    make_program("leaving", leaving);
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- ./leaving 2>said; s=$?; touch end; cat said >&2; exit $s");
    ck_assert_int_eq(outcome.status, 0);
    expect(&outcome, "; it continues in the background: ");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o u.dat -- sh -c 'kill -KILL $$'");
    expect_none(&outcome, "background");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_who_ends_by_the_system_call_does_not_go_on)
{
    make_program("calling", calling);
    struct outcome outcome = run("$HEAPSONDE run -o t.dat -- ./calling");
    ck_assert_int_eq(outcome.status, 0);
    expect_none(&outcome, "background");
    expect(&outcome, "; it ended by calling the kernel directly; the trace is complete;");
    free_outcome(&outcome);
    // With the sampler, which does not see the end either.
    outcome =
        run("LD_PRELOAD=" PATH_SAMPLER " MALLOC_CONF=prof:true,prof_final:false,prof_final:true $HEAPSONDE run -o "
            "u.dat -- ./calling");
    expect(&outcome, "the trace is complete, but no final dump (prof_final) was written;");
    free_outcome(&outcome);
    outcome =
        run("LD_PRELOAD=" PATH_SAMPLER " MALLOC_CONF=prof:true,prof_final:true,prof_final:false $HEAPSONDE run -o "
            "v.dat -- ./calling");
    expect_none(&outcome, "prof_final");
    free_outcome(&outcome);
}
END_TEST

// Never gives anything back, and is never asked by a library before main().
static const char allocating[] = "#include <stdlib.h>\n"
                                 "#include <dlfcn.h>\n"
                                 "static char room[1 << 20];\n"
                                 "static size_t used;\n"
                                 "void *OWN(size_t size)\n"
                                 "{\n"
                                 "    used += (size + 15) / 16 * 16;\n"
                                 "    void *(*next)(size_t) = NEXT;\n"
                                 "    return next ? next(size) : room + used - (size + 15) / 16 * 16;\n"
                                 "}\n"
                                 "int main(void)\n"
                                 "{\n"
                                 "    volatile char *block = OWN(100);\n"
                                 "    return *block = 0;\n"
                                 "}\n";

// `said`: in the text; `function`: in the JSON. NULL: nothing.
static void expect_report(const char *trace, const char *said, const char *function)
{
    struct outcome outcome = run("$HEAPSONDE report %s", trace);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_msg(said ? strstr(outcome.output, said) != NULL : !strstr(outcome.output, "unseen"), "%s: %s", trace,
                  outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --json %s | tr -d ' \\n'", trace);
    ck_assert_msg(strstr(outcome.output, function ? text("\"function\":\"%s\"}]", function) : "\"unseen\":[]") != NULL,
                  "%s: %s", trace, outcome.output);
    free_outcome(&outcome);
}

static void make_allocating(const char *name, const char *own, const char *next)
{
    write_file(text("%s/program.c", work), allocating, strlen(allocating));
    shell("gcc -O0 -fno-builtin -D_GNU_SOURCE -rdynamic '-DOWN=%s' '-DNEXT=%s' -o %s program.c", own, next, name);
}

START_TEST(test_an_allocator_of_its_own_is_told)
{
    make_allocating("own", "malloc", "NULL");
    make_allocating("other", "je_malloc", "malloc");
    make_allocating("passing", "malloc", "(void *(*)(size_t))dlsym(RTLD_NEXT, \"malloc\")");
    struct outcome outcome = run("$HEAPSONDE run -o own.dat -- ./own");
    expect(&outcome, "./own has its own allocator (malloc)");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o other.dat -- ./other");
    expect(&outcome, "./other has its own allocator (je_malloc)");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o passing.dat -- ./passing");
    expect_none(&outcome, "of its own");
    free_outcome(&outcome);
    expect_report("own.dat", "/own has its own malloc: blocks that it does not take from the next malloc", "malloc");
    expect_report("other.dat", "/other has its own allocator (je_malloc), whose blocks are not recorded", "je_malloc");
    expect_report("passing.dat", NULL, NULL);
    outcome = run("$HEAPSONDE doctor -- ./own; $HEAPSONDE doctor -- ./other");
    ck_assert_msg(strstr(outcome.output, "so-so  program        ./own has its own allocator (malloc)") &&
                      strstr(outcome.output, "so-so  program        ./other has its own allocator (je_malloc)"),
                  "%s", outcome.output);
    free_outcome(&outcome);
}
END_TEST

// Takes memory from the kernel: by mmap, by the system call, or none, but a large variable.
static const char mapping[] =
    "#define _GNU_SOURCE\n"
    "#include <string.h>\n"
    "#include <sys/mman.h>\n"
    "#include <sys/syscall.h>\n"
    "#include <unistd.h>\n"
    "enum { SIZE = 64 << 20, RIGHTS = PROT_READ | PROT_WRITE, HOW = MAP_PRIVATE | MAP_ANONYMOUS };\n"
    "#ifdef LARGE\n"
    "static char room[SIZE];\n"
    "#endif\n"
    "int main(void)\n"
    "{\n"
    "    char *block = BLOCK;\n"
    "    memset(block, 1, SIZE);\n"
    "    return *(volatile char *)block - 1;\n"
    "}\n";

static void expect_unseen_bytes(const char *trace, bool some)
{
    struct outcome outcome = run("$HEAPSONDE report %s", trace);
    ck_assert_msg(!strstr(outcome.output, "that no recorded allocation explains") == !some, "%s", outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE report --json %s | grep unseen_bytes", trace);
    ck_assert_msg(!strstr(outcome.output, "\"unseen_bytes\": 0,") == some, "%s", outcome.output);
    free_outcome(&outcome);
}

START_TEST(test_memory_that_no_allocation_explains_is_told)
{
    static const char explained[] = " that no recorded allocation explains: it may have its own allocator; ";
    write_file(text("%s/mapping.c", work), mapping, strlen(mapping));
    shell("gcc '-DBLOCK=mmap(0, SIZE, RIGHTS, HOW, -1, 0)' -o mapping mapping.c");
    shell("gcc '-DBLOCK=(char *)syscall(SYS_mmap, 0, SIZE, RIGHTS, HOW, -1, 0)' -o bare mapping.c");
    shell("gcc -DLARGE -DBLOCK=room -o large mapping.c");
    struct outcome outcome = run("$HEAPSONDE run -o mapping.dat -- ./mapping");
    expect(&outcome, explained);
    expect(&outcome, "the mappings that it made are in the trace");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o bare.dat -- ./bare");
    expect(&outcome, explained);
    expect(&outcome, "record it with --allocator-symbols or --allocator-at");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -o large.dat -- ./large; $HEAPSONDE run -o true.dat -- true");
    expect_none(&outcome, explained);
    free_outcome(&outcome);
    expect_unseen_bytes("mapping.dat", true);
    expect_unseen_bytes("bare.dat", true);
    expect_unseen_bytes("large.dat", false);
    expect_unseen_bytes("true.dat", false);
    outcome = run("$HEAPSONDE doctor -- ./mapping");
    ck_assert_msg(strstr(outcome.output,
                         "so-so  program        ./mapping calls mmap, but no malloc: it may have its own "
                         "allocator") != NULL,
                  "%s", outcome.output);
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE doctor -- ./large; $HEAPSONDE doctor -- true");
    ck_assert_msg(!strstr(outcome.output, "it may have its own allocator"), "%s", outcome.output);
    free_outcome(&outcome);
}
END_TEST

// Needs much memory that other memory than its own allocator's explains, or that the recording cannot explain.
static const char explained_programs[] =
    "#define _GNU_SOURCE\n"
    "#include <fcntl.h>\n"
    "#include <signal.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <sys/mman.h>\n"
    "#include <sys/wait.h>\n"
    "#include <unistd.h>\n"
    "enum { SIZE = 64 << 20, RIGHTS = PROT_READ | PROT_WRITE };\n"
    "#ifdef LARGE\n"
    "static char room[SIZE];\n"
    "#else\n"
    "static char *room;\n"
    "#endif\n"
    "static char *map(int how, int fd) { return mmap(0, SIZE, RIGHTS, how, fd, 0); }\n"
    "static void use(char *block) { memset(block, 1, SIZE); }\n"
    "int main(int count, char **words)\n"
    "{\n"
    "    char *volatile block = malloc(count);\n"
    "    int fd = open(\"mapped\", O_RDWR | O_CREAT, 0600);\n"
    "    switch (words[1][0]) {\n"
    "    case 'v': use(room); break;\n"
    "    case 'f': ftruncate(fd, SIZE); use(map(MAP_SHARED, fd)); break;\n"
    "    case 'a': use(map(MAP_PRIVATE | MAP_ANONYMOUS, fd)); break;\n"
    "    case 'p':\n"
    "        raise(SIGUSR1);\n"
    "        block = malloc(1);\n"
    "        use(malloc(SIZE));\n"
    "        raise(SIGUSR1);\n"
    "        break;\n"
    "    case 'c':\n"
    "        block = map(MAP_SHARED | MAP_ANONYMOUS, -1);\n"
    "        if (!fork()) {\n"
    "            free(malloc(1));\n"
    "            use(block);\n"
    "            return 0;\n"
    "        }\n"
    "        wait(0);\n"
    "    }\n"
    "    block = malloc(1);\n"
    "    return 0;\n"
    "}\n";

START_TEST(test_memory_that_something_else_explains_is_not_told)
{
    make_program("explained", explained_programs);
    shell("gcc -DLARGE -o variable program.c && $HEAPSONDE run -q -o v.dat -- ./variable v");
    shell("$HEAPSONDE run -q -o f.dat -- ./explained f");
    shell("$HEAPSONDE run -q -o a.dat -- ./explained a");
    shell("$HEAPSONDE run -q -o p.dat -- ./explained p");
    shell("HEAPSONDE_GATHER_MAPS=0 $HEAPSONDE run -q -o n.dat -- ./explained f");
    shell("mkdir children && $HEAPSONDE run -q --follow-children -o children/%%p.dat -- ./explained c");
    expect_unseen_bytes("v.dat", false);
    expect_unseen_bytes("f.dat", false);
    expect_unseen_bytes("a.dat", true);
    expect_unseen_bytes("p.dat", false);
    expect_unseen_bytes("n.dat", false);
    // The parent uses nothing of what it maps for its child.
    shell("cd children && for file in *.dat; do $HEAPSONDE report --json $file | grep unseen_bytes; done > bytes && "
          "test $(grep -c '\"unseen_bytes\": 0,' bytes) = 2");
}
END_TEST

// A large heap, of which the end of the file is missing.
START_TEST(test_memory_is_not_told_of_a_part_of_a_trace)
{
    static const char taking[] = "#include <stdlib.h>\n"
                                 "#include <string.h>\n"
                                 "int main(void)\n"
                                 "{\n"
                                 "    for (int i = 0; i < 30000; i++)\n"
                                 "        memset(malloc(4096), 1, 4096);\n"
                                 "    return 0;\n"
                                 "}\n";
    make_program("taking", taking);
    shell("$HEAPSONDE run -q -o whole.dat -- ./taking && head -c 70000 whole.dat > part.dat");
    struct outcome outcome = run("$HEAPSONDE report part.dat");
    ck_assert_msg(strstr(outcome.output, "incomplete") != NULL, "%s", outcome.output);
    free_outcome(&outcome);
    expect_unseen_bytes("part.dat", false);
}
END_TEST

// A library whose operator new has a pool of its own, and one whose operator calls malloc.
static const char pooling[] = "#include <stddef.h>\n"
                              "#include <stdlib.h>\n"
                              "static char room[1 << 20];\n"
                              "static size_t used;\n"
                              "void *_Znwm(size_t size)\n"
                              "{\n"
                              "    char *block = POOL ? room + (used += 128) : malloc(size);\n"
                              "    *(volatile char *)block = 0;\n"
                              "    return block;\n"
                              "}\n";

static const char making[] = "#include <stdlib.h>\n"
                             "void *_Znwm(size_t size);\n"
                             "int main(void)\n"
                             "{\n"
                             "    return !malloc(10) || !_Znwm(100);\n"
                             "}\n";

START_TEST(test_operators_with_a_pool_are_told)
{
    write_file(text("%s/pool.c", work), pooling, strlen(pooling));
    write_file(text("%s/making.c", work), making, strlen(making));
    shell(
        "gcc -O0 -fPIC -shared -Wl,--build-id -DPOOL=1 -o libpool.so pool.c &&"
        "gcc -O0 -fPIC -shared -Wl,--build-id -DPOOL=0 -o libcalls.so pool.c &&"
        "gcc -o with_pool making.c -Wl,-rpath,. ./libpool.so && gcc -o with_calls making.c -Wl,-rpath,. ./libcalls.so");
    for (int pool = 0; pool < 2; pool++) {
        struct outcome outcome = run("$HEAPSONDE run -q -o t%d.dat -- ./with_%s", pool, pool ? "pool" : "calls");
        ck_assert_msg(outcome.status == 0, "%s", outcome.errors);
        free_outcome(&outcome);
    }
    expect_report("t1.dat", "/libpool.so has its own operator new: blocks that it does not take from", "operatornew");
    expect_report("t0.dat", NULL, NULL);
}
END_TEST

// Makes 50,000 blocks that live shortly, and becomes another program.
static const char ending_early[] = "#include <stdlib.h>\n"
                                   "#include <unistd.h>\n"
                                   "int main(void)\n"
                                   "{\n"
                                   "    for (int i = 0; i < 50000; i++)\n"
                                   "        free(malloc(10));\n"
                                   "    return execl(\"/bin/true\", \"true\", (char *)0);\n"
                                   "}\n";

// Goes on with that for half a second, and is killed.
static const char killed[] = "#include <signal.h>\n"
                             "#include <stdlib.h>\n"
                             "#include <time.h>\n"
                             "int main(void)\n"
                             "{\n"
                             "    while (clock() < CLOCKS_PER_SEC / 2)\n"
                             "        for (int i = 0; i < 1000; i++)\n"
                             "            free(malloc(10));\n"
                             "    return raise(SIGKILL);\n"
                             "}\n";

START_TEST(test_what_was_left_out_is_told_now_and_then)
{
    make_program("killed", killed);
    struct outcome outcome =
        run("$HEAPSONDE run -q --cull 1000 -o killed.dat -- ./killed; $HEAPSONDE report killed.dat");
    ck_assert_msg(strstr(outcome.output, "\nculled "), "%s%s", outcome.output, outcome.errors);
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_what_was_left_out_is_told_before_an_exec)
{
    make_program("ending", ending_early);
    struct outcome sums = run("$HEAPSONDE run --aggregate 10 -o sums.dat -- ./ending");
    ck_assert_msg(strstr(sums.errors, "heapsonde: highest tick "), "%s", sums.errors);
    free_outcome(&sums);
    sums = run("$HEAPSONDE report --growth sums.dat");
    ck_assert_int_eq(sums.status, 1);
    ck_assert_msg(strstr(sums.errors, "a trace of sums has no times of blocks"), "%s", sums.errors);
    free_outcome(&sums);
    struct outcome outcome = run("$HEAPSONDE run --cull 1000 -o ending.dat -- ./ending; $HEAPSONDE report ending.dat");
    ck_assert_msg(strstr(outcome.errors, " in 50,000 allocations within "), "%s", outcome.errors);
    ck_assert_msg(strstr(outcome.output, "allocations   50,000 ("), "%s%s", outcome.output, outcome.errors);
    ck_assert_ptr_nonnull(strstr(outcome.output, "\nculled "));
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_summary");
    TCase *tests = tcase_create("cli_summary");
    tcase_add_checked_fixture(tests, prepare, remove_work);
    tcase_add_test(tests, test_the_last_program_of_a_process_is_summed_up);
    tcase_add_test(tests, test_the_largest_of_the_others_is_named);
    tcase_add_test(tests, test_the_largest_is_summed_up);
    tcase_add_test(tests, test_names_do_not_steer_the_terminal);
    tcase_add_test(tests, test_what_goes_on_in_the_background_is_told);
    tcase_add_test(tests, test_a_number_of_another_namespace_is_no_running_process);
    tcase_add_test(tests, test_a_daemon_that_has_not_allocated_is_told);
    tcase_add_test(tests, test_who_ends_by_the_system_call_does_not_go_on);
    tcase_add_test(tests, test_an_allocator_of_its_own_is_told);
    tcase_add_test(tests, test_memory_that_no_allocation_explains_is_told);
    tcase_add_test(tests, test_memory_that_something_else_explains_is_not_told);
    tcase_add_test(tests, test_memory_is_not_told_of_a_part_of_a_trace);
    tcase_add_test(tests, test_operators_with_a_pool_are_told);
    tcase_add_test(tests, test_what_was_left_out_is_told_before_an_exec);
    tcase_add_test(tests, test_what_was_left_out_is_told_now_and_then);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
