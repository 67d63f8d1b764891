// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dumps of a made-up profiler: their bytes, their names, when they come, and what is left when something goes wrong.
#include "fake_profiler.h"

#include "runtime/clock.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/dump_addresses.h"
#include "runtime/prof/dump_facts.h"
#include "runtime/prof/dump_name.h"
#include "runtime/prof/dump_time.h"
#include "runtime/prof/options.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static void setup(void)
{
    strcpy(folder, "/tmp/heapsonde-dump-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    fake_profiler__reset();
}

static void for_each_file(void (*visit)(const char *name))
{
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; (entry = readdir(open_folder));)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            visit(entry->d_name);
    closedir(open_folder);
}

static void remove_file(const char *name)
{
    unlink(name);
}

static void teardown(void)
{
    for_each_file(remove_file);
    ck_assert_int_eq(chdir("/"), 0);
    rmdir(folder);
}

static int file_count;

static void count_file(const char *name)
{
    (void)name;
    file_count++;
}

static int count_files(void)
{
    file_count = 0;
    for_each_file(count_file);
    return file_count;
}

static char *read_file(const char *name)
{
    FILE *file = fopen(name, "r");
    ck_assert_msg(file != NULL, "%s is not there", name);
    char *text = calloc(1, 1 << 22);
    ck_assert_uint_gt(fread(text, 1, (1 << 22) - 1, file), 0);
    fclose(file);
    return text;
}

// A dump without what differs from run to run: its "# " lines and the map.
static char *body_of(const char *name)
{
    char *text = read_file(name), *to = text, *at = text;
    char *map = strstr(text, "\nMAPPED_LIBRARIES:\n");
    ck_assert_ptr_nonnull(map);
    while (at < map) {
        size_t length = strcspn(at, "\n") + 1;
        if (strncmp(at, "# ", 2) != 0)
            to = (char *)memmove(to, at, length) + length;
        at += length;
    }
    *to = 0;
    return text;
}

static const uintptr_t first_stack[] = {0x7f0000001005, 0x7f0000002000, 0};
static const uintptr_t second_stack[] = {0x401000, 0};

static void add_two_stacks(void)
{
    fake_profiler__add(1, 0, 3, 4096, first_stack);
    fake_profiler__add(1, 2, 1, 18446744073709551615u - 8192, first_stack);
    fake_profiler__add(2, 0, 10000000000u, 16, second_stack);
    fake_profiler__name_thread(2, "worker 2");
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

START_TEST(heap_v2_is_exact)
{
    add_two_stacks();
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    char *body = body_of("dump");
    ck_assert_str_eq(body, "heap_v2/1\n"
                           "  t*: 10000000004: 18446744073709547535 [0: 0]\n"
                           "  t0: 10000000003: 4112 [0: 0]\n"
                           "  t2: 1: 18446744073709543423 [0: 0] worker 2\n"
                           "@ 0x7f0000001004 0x7f0000002000\n"
                           "  t*: 4: 18446744073709547519 [0: 0]\n"
                           "  t0: 3: 4096 [0: 0]\n"
                           "  t2: 1: 18446744073709543423 [0: 0]\n"
                           "@ 0x400fff\n"
                           "  t*: 10000000000: 16 [0: 0]\n"
                           "  t0: 10000000000: 16 [0: 0]\n");
    free(body);
}
END_TEST

START_TEST(heap_v2_has_what_was_ever_allocated)
{
    hs_prof_options.accum = true;
    fake_profiler__add(1, 0, 3, 4096, first_stack);
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    char *body = body_of("dump");
    ck_assert_ptr_nonnull(strstr(body, "  t*: 3: 4096 [3: 4096]\n  t0: 3: 4096 [3: 4096]\n@"));
    free(body);
}
END_TEST

START_TEST(nothing_sampled)
{
    hs_sampler.sample_bytes = 524287;
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    char *body = body_of("dump");
    ck_assert_str_eq(body, "heap_v2/524287\n  t*: 0: 0 [0: 0]\n");
    free(body);
}
END_TEST

START_TEST(older_text_is_exact)
{
    add_two_stacks();
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_TEXT), 0);
    char *body = body_of("dump");
    ck_assert_str_eq(body, "heap profile: 10000000004: 18446744073709547535 [0: 0] @ heap_v2/1\n"
                           " 4: 18446744073709547519 [0: 0] @ 0x7f0000001004 0x7f0000002000\n"
                           " 10000000000: 16 [0: 0] @ 0x400fff\n");
    free(body);
}
END_TEST

START_TEST(stacks_are_cut_to_the_most_frames)
{
    hs_prof_options.max_frames = 1;
    fake_profiler__add(1, 0, 1, 1, first_stack);
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    char *body = body_of("dump");
    ck_assert_ptr_nonnull(strstr(body, "@ 0x7f0000001004\n"));
    free(body);
}
END_TEST

__attribute__((noinline)) uintptr_t a_function_with_a_name(void);
uintptr_t a_function_with_a_name(void)
{
    return (uintptr_t)__builtin_return_address(0);
}

START_TEST(symbols_are_named)
{
    uintptr_t frames[] = {(uintptr_t)a_function_with_a_name + 4, (uintptr_t)strlen + 1, 0x1234, 0};
    char wanted[128];
    fake_profiler__add(1, 0, 2, 64, frames);
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_SYMBOLIZED), 0);
    char *text = read_file("dump");
    ck_assert_int_eq(strncmp(text, "--- symbol\nbinary=/", 19), 0);
    snprintf(wanted, sizeof wanted, "\n0x%lx a_function_with_a_name\n", (unsigned long)frames[0] - 1);
    ck_assert_msg(strstr(text, wanted) != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\n0x1233 0x1233\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n---\n--- heap\nheap_v2/1\n"));
    free(text);
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_COLLAPSED), 0);
    text = read_file("dump");
    ck_assert_msg(strncmp(text, "0x1233;", 7) == 0 && strstr(text, ";a_function_with_a_name 64\n"), "%s", text);
    free(text);
}
END_TEST

static struct hs_dump_output *written_to_file(const char *name, void (*write)(struct hs_dump_output *))
{
    struct hs_dump_output *output = calloc(1, sizeof *output);
    output->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    output->pid = (uint32_t)getpid();
    write(output);
    hs_dump_output__flush(output);
    close(output->fd);
    return output;
}

enum { NUMBERS = 40000 };

static uint64_t nth_number(unsigned i)
{
    uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u;
    return i % 65 == 64 ? mixed : i % 3 == 0 ? 1ull << i % 64 : i % 3 == 1 ? (1ull << i % 64) - 1 : mixed >> i % 64;
}

static void write_numbers(struct hs_dump_output *output)
{
    for (unsigned i = 0; i < NUMBERS; i++) {
        hs_dump_output__number(output, nth_number(i));
        hs_dump_output__address(output, nth_number(i));
        hs_dump_output__text(output, " ");
        hs_dump_output__hex(output, nth_number(i));
        hs_dump_output__text(output, "\n");
    }
}

START_TEST(numbers_are_those_of_printf)
{
    struct hs_dump_output *output = written_to_file("numbers", write_numbers);
    ck_assert_int_eq(output->error, 0);
    char *text = read_file("numbers"), *at = text, line[128];
    ck_assert_uint_eq(output->written, strlen(text));
    for (unsigned i = 0; i < NUMBERS; i++) {
        unsigned long long number = nth_number(i);
        int length = snprintf(line, sizeof line, "%llu 0x%llx %llx\n", number, number, number);
        ck_assert_msg(strncmp(at, line, (size_t)length) == 0, "%.60s instead of %s", at, line);
        at += length;
    }
    free(text);
    free(output);
}
END_TEST

enum { STACKS = 3000, DEEPEST = 3 * HS_DUMP_TAIL_FRAMES };

// Stack number i: what it shares with the one before changes from none to all, and so does its depth, from 0 frames.
static uint32_t nth_stack(unsigned i, uintptr_t *frames)
{
    uint32_t depth = i % 17 == 0 ? i % (DEEPEST + 1) : i % 29;
    uint32_t shared = (uint32_t)(nth_number(i) % (depth + 1));
    for (uint32_t k = 0; k < depth; k++) {
        uint32_t outer = depth - 1 - k;
        frames[k] =
            0x10000 + (uintptr_t)outer * 0x1001 + (outer < shared ? 0 : (uintptr_t)(nth_number(i) & 0xffff) * 0x100);
        if (outer % 7 == 3)
            frames[k] = (uintptr_t)(frames[k] * 0x9e3779b97f4a7c15u);
    }
    return depth;
}

static void write_stacks(struct hs_dump_output *output)
{
    static uintptr_t frames[DEEPEST];
    for (unsigned i = 0; i < STACKS; i++) {
        hs_dump_output__stack(output, frames, nth_stack(i, frames));
        HS_DUMP_OUTPUT__LITERAL(output, "\n");
    }
}

START_TEST(stacks_are_their_addresses)
{
    static uintptr_t frames[DEEPEST];
    struct hs_dump_output *output = written_to_file("stacks", write_stacks);
    ck_assert_int_eq(output->error, 0);
    char *text = read_file("stacks"), *at = text, address[32];
    ck_assert_uint_eq(output->written, strlen(text));
    for (unsigned i = 0; i < STACKS; i++) {
        uint32_t depth = nth_stack(i, frames);
        for (uint32_t k = 0; k < depth; k++) {
            int length =
                snprintf(address, sizeof address, " 0x%llx", (unsigned long long)hs_dump__address(frames[k], k));
            ck_assert_msg(strncmp(at, address, (size_t)length) == 0, "stack %u: %.40s instead of %s", i, at, address);
            at += length;
        }
        ck_assert_int_eq(*at++, '\n');
    }
    ck_assert_int_eq(*at, 0);
    free(text);
    free(output);
}
END_TEST

START_TEST(times_are_those_of_gmtime)
{
    char buffer[64], wanted[64];
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t seconds = i < 2 ? i : (i * 0x9e3779b97f4a7c15u) >> 30;
        time_t time = (time_t)seconds;
        struct hs_text text;
        hs_text__start(&text, buffer, sizeof buffer);
        hs_dump_time__add(&text, seconds * 1000000000 + 1234999, HS_DUMP_TIME_ISO);
        strftime(wanted, sizeof wanted, "%Y-%m-%dT%H:%M:%S.001234Z", gmtime(&time));
        ck_assert_str_eq(buffer, wanted);
    }
}
END_TEST

START_TEST(addresses_are_numbered_and_sorted)
{
    struct hs_dump_addresses addresses = {0};
    bool is_new;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 20000; i++) {
            ck_assert_uint_eq(hs_dump_addresses__number(&addresses, (i + 1) * 0x9e3779b97f4a7c15u, &is_new), i + 1);
            ck_assert(is_new == (round == 0));
        }
    hs_dump_addresses__sort(&addresses);
    ck_assert_uint_eq(addresses.count, 20000);
    for (unsigned i = 1; i < addresses.count; i++)
        ck_assert(addresses.slots[i - 1].address < addresses.slots[i].address);
    hs_dump_addresses__free(&addresses);
}
END_TEST

START_TEST(large_maps_are_whole)
{
    enum { PAGES = 6000 };
    char *pages = mmap(NULL, PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < PAGES; i += 2)
        ck_assert_int_eq(mprotect(pages + i * 4096, 4096, PROT_READ), 0);
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    char *text = read_file("dump"), line[64];
    for (int i = 0; i < PAGES; i += 2) {
        snprintf(line, sizeof line, "\n%lx-%lx r--p", (unsigned long)pages + (unsigned long)i * 4096,
                 (unsigned long)pages + (unsigned long)(i + 1) * 4096);
        ck_assert_msg(i == 0 || strstr(text, line) != NULL, "page %d is missing", i);
    }
    ck_assert_ptr_nonnull(strstr(text, "[stack]"));
    free(text);
    munmap(pages, PAGES * 4096);
}
END_TEST

// ---- names ----------------------------------------------------------------------------------------------------------

static char *name_of(enum hs_dump_kind kind)
{
    static char name[HS_PROF_PATH];
    ck_assert_int_eq(hs_dump__automatic(kind, name), 0);
    ck_assert_int_eq(access(name, R_OK), 0);
    return name;
}

START_TEST(names_are_those_of_jemalloc)
{
    static const enum hs_dump_kind kinds[] = {HS_DUMP_MANUAL, HS_DUMP_INTERVAL, HS_DUMP_MANUAL, HS_DUMP_PEAK,
                                              HS_DUMP_FINAL,  HS_DUMP_INTERVAL, HS_DUMP_MANUAL};
    static const char *const ends[] = {"0.m0", "1.i0", "2.m1", "3.u0", "4.f", "5.i1", "6.m2"};
    for (int i = 0; i < 7; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "fake.%d.%s.heap", getpid(), ends[i]);
        ck_assert_str_eq(name_of(kinds[i]), wanted);
    }
    hs_dump__set_prefix("other");
    ck_assert_int_eq(strncmp(name_of(HS_DUMP_MANUAL), "other.", 6), 0);
    hs_dump__set_prefix("");
    ck_assert_int_eq(hs_dump__automatic(HS_DUMP_MANUAL, NULL), EFAULT);
}
END_TEST

START_TEST(too_long_prefixes_make_no_file)
{
    memset(hs_prof_texts.prefix, 'x', HS_PROF_PATH - 1);
    hs_prof_texts.prefix[HS_PROF_PATH - 1] = 0;
    ck_assert_int_eq(hs_dump__automatic(HS_DUMP_MANUAL, NULL), EFAULT);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

START_TEST(oldest_files_go)
{
    char names[5][HS_PROF_PATH];
    hs_prof_options.max_files = 2;
    strcpy(names[0], name_of(HS_DUMP_MANUAL));
    for (int i = 1; i < 5; i++)
        strcpy(names[i], name_of(i % 2 ? HS_DUMP_INTERVAL : HS_DUMP_PEAK));
    ck_assert_int_eq(access(names[0], F_OK), 0); // manual: kept
    for (int i = 1; i < 5; i++)
        ck_assert_int_eq(access(names[i], F_OK), i < 3 ? -1 : 0);
    ck_assert_int_eq(count_files(), 3);
}
END_TEST

START_TEST(files_are_limited_by_their_size)
{
    struct stat status;
    ck_assert_int_eq(stat(name_of(HS_DUMP_INTERVAL), &status), 0);
    unlink(name_of(HS_DUMP_MANUAL));
    hs_prof_options.max_total = 3 * (uint64_t)status.st_size + (uint64_t)status.st_size / 2;
    for (int i = 0; i < 6; i++)
        name_of(HS_DUMP_INTERVAL);
    ck_assert_int_eq(count_files(), 1 + 3); // the first came before the limit
    hs_prof_options.max_total = 1;
    name_of(HS_DUMP_INTERVAL);
    ck_assert_int_eq(count_files(), 1 + 1);
}
END_TEST

START_TEST(children_remove_no_files_of_their_parent)
{
    hs_prof_options.max_files = 2;
    name_of(HS_DUMP_INTERVAL);
    name_of(HS_DUMP_INTERVAL);
    pid_t child = fork();
    if (child == 0) {
        hs_dump__after_fork(true, 0);
        name_of(HS_DUMP_INTERVAL);
        name_of(HS_DUMP_INTERVAL);
        name_of(HS_DUMP_INTERVAL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(count_files(), 4);
}
END_TEST

// ---- triggers -------------------------------------------------------------------------------------------------------

static int files_after(uint64_t allocated, uint64_t live)
{
    hs_dump__consider(allocated, live);
    return count_files();
}

START_TEST(intervals_coalesce)
{
    ck_assert(!hs_dump__watches());
    ck_assert_int_eq(files_after(1000, 0), 0);
    hs_prof_options.interval_bytes = 1000;
    ck_assert(hs_dump__watches());
    ck_assert_int_eq(files_after(999, 0), 0);
    ck_assert_int_eq(files_after(1, 0), 1);
    ck_assert_int_eq(files_after(999, 0), 1);
    ck_assert_int_eq(files_after(3500, 0), 2);
    ck_assert_int_eq(files_after(500, 0), 2); // 499 were left
    ck_assert_int_eq(files_after(1, 0), 3);
    ck_assert_str_eq(fake_profiler_messages, "");
}
END_TEST

START_TEST(intervals_keep_their_distance_in_time)
{
    hs_prof_options.interval_bytes = 1000;
    hs_prof_options.min_seconds = 1000000;
    ck_assert_int_eq(files_after(1000, 0), 1);
    ck_assert_int_eq(files_after(5000, 0), 1);
    hs_prof_options.min_seconds = 0;
    ck_assert_int_eq(files_after(0, 0), 2); // what was due is not forgotten
}
END_TEST

START_TEST(peaks_have_a_floor_and_steps)
{
    const uint64_t page = 4096;
    ck_assert_int_eq(files_after(0, 1000 * page), 0);
    hs_sampler.gdump = true;
    hs_prof_options.peak_floor = 10 * page;
    ck_assert_int_eq(files_after(0, 10 * page - 1), 0);
    ck_assert_int_eq(files_after(0, 10 * page), 1);
    ck_assert_int_eq(files_after(0, 11 * page - 1), 1); // not a whole page more
    ck_assert_int_eq(files_after(0, 11 * page), 2);
    ck_assert_int_eq(files_after(0, 5 * page), 2);
    ck_assert_int_eq(files_after(0, 11 * page), 2);
    hs_prof_options.peak_step = 9 * page;
    ck_assert_int_eq(files_after(0, 20 * page - 1), 2);
    ck_assert_int_eq(files_after(0, 20 * page), 3);
    hs_prof_options.peak_percent = 100; // the greater of the two counts
    ck_assert_int_eq(files_after(0, 39 * page), 3);
    ck_assert_int_eq(files_after(0, 40 * page), 4);
    hs_sampler.active = false;
    ck_assert_int_eq(files_after(0, 4000 * page), 4);
}
END_TEST

START_TEST(only_the_highest_peak_is_kept)
{
    hs_sampler.gdump = true;
    hs_prof_options.peak_keep_highest = true;
    for (uint64_t live = 1; live < 10; live++)
        ck_assert_int_eq(files_after(0, live << 20), 1);
    ck_assert_int_eq(access(name_of(HS_DUMP_INTERVAL), F_OK), 0);
    ck_assert_int_eq(count_files(), 2);
}
END_TEST

// ---- the end --------------------------------------------------------------------------------------------------------

START_TEST(leaks_are_reported)
{
    char wanted[256];
    hs_prof_options.final = hs_prof_options.leak = hs_prof_options.leak_error = true;
    fake_profiler__add(1, 0, 1, 1, first_stack);
    ck_assert_int_eq(hs_dump__final(), 1);
    snprintf(wanted, sizeof wanted,
             "<jemalloc>: Leak approximation summary: ~1 byte, ~1 object, >= 1 context\n"
             "<jemalloc>: Run jeprof on \"fake.%d.0.f.heap\" for leak detail\n"
             "<jemalloc>: Exiting with error code because memory leaks were detected\n",
             getpid());
    ck_assert_str_eq(fake_profiler_messages, wanted);
    ck_assert_int_eq(hs_dump__final(), 0); // once
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(no_leaks_no_report)
{
    hs_prof_options.final = hs_prof_options.leak = hs_prof_options.leak_error = true;
    ck_assert_int_eq(hs_dump__final(), 0);
    ck_assert_str_eq(fake_profiler_messages, "");
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(no_final_dump_without_the_option)
{
    hs_prof_options.leak = true;
    fake_profiler__add(1, 0, 1, 1, first_stack);
    ck_assert_int_eq(hs_dump__final(), 0);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

// ---- what goes wrong ------------------------------------------------------------------------------------------------

START_TEST(failures_leave_nothing)
{
    ck_assert_int_eq(hs_dump__to_file("no/such/file", HS_DUMP_HEAP_V2), ENOENT);
    ck_assert_int_eq(hs_dump__to_file("", HS_DUMP_HEAP_V2), ENOENT);
    fake_profiler_has_no_memory = true;
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), ENOMEM);
    ck_assert_int_eq(hs_dump__automatic(HS_DUMP_MANUAL, NULL), ENOMEM);
    fake_profiler_has_no_memory = false;
    fake_profiler_is_interrupted = true;
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), EAGAIN);
    ck_assert_int_eq(hs_dump__automatic(HS_DUMP_MANUAL, NULL), EAGAIN);
    fake_profiler_is_interrupted = false;
    ck_assert_int_eq(count_files(), 0);
    ck_assert_str_eq(fake_profiler_messages, "");
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
}
END_TEST

START_TEST(automatic_failures_are_said)
{
    char wanted[256];
    strcpy(hs_prof_texts.prefix, "no/such/fake");
    ck_assert_int_eq(hs_dump__automatic(HS_DUMP_INTERVAL, NULL), ENOENT);
    ck_assert_int_eq(hs_dump__automatic(HS_DUMP_MANUAL, NULL), ENOENT);
    snprintf(wanted, sizeof wanted, "<jemalloc>: failed to open \"no/such/fake.%d.0.i0.heap\"\n", getpid());
    ck_assert_str_eq(fake_profiler_messages, wanted);
}
END_TEST

// Check writes files, too: the limit is there for the dump alone.
static int dump_with_limit(rlim_t size, enum hs_dump_format format)
{
    struct rlimit limit = {size, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    int error = hs_dump__to_file("dump", format);
    setrlimit(RLIMIT_FSIZE, &none);
    return error;
}

// Every size at which a disk may be full: the former dump stays whole, and nothing else is left.
START_TEST(no_disk_is_too_small_for_what_was_complete)
{
    struct stat status;
    add_two_stacks();
    ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    ck_assert_int_eq(stat("dump", &status), 0);
    char *before = read_file("dump");
    for (enum hs_dump_format format = HS_DUMP_HEAP_V2; format <= HS_DUMP_COLLAPSED; format++)
        for (rlim_t size = 0; size < 60; size += 7) {
            int error = dump_with_limit(size, format);
            ck_assert_int_eq(error, EFBIG);
            ck_assert_int_eq(count_files(), 1);
        }
    char *after = read_file("dump");
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
}
END_TEST

START_TEST(pipes_without_reader_kill_nobody)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(hs_dump__to_descriptor(ends[1], HS_DUMP_HEAP_V2), EPIPE);
    close(ends[1]);
    sigset_t pending;
    sigpending(&pending);
    ck_assert(!sigismember(&pending, SIGPIPE));
}
END_TEST

static void write_as_child(struct hs_dump_output *output)
{
    output->pid++;
    hs_dump_output__text(output, "text");
}

START_TEST(forked_children_do_not_write_on)
{
    struct hs_dump_output *output = written_to_file("file", write_as_child);
    ck_assert_int_eq(output->error, ECANCELED);
    ck_assert_uint_eq(output->written, 0);
    free(output);
}
END_TEST

// ---- dumps meet -----------------------------------------------------------------------------------------------------

static int nested_error = -1;

static void dump_nested(void)
{
    fake_profiler_middle = NULL;
    nested_error = hs_dump__to_file("inner", HS_DUMP_HEAP_V2);
}

// As in a handler that interrupts a dump.
START_TEST(a_dump_interrupts_another)
{
    fake_profiler_middle = dump_nested;
    add_two_stacks();
    ck_assert_int_eq(hs_dump__to_file("outer", HS_DUMP_HEAP_V2), 0);
    ck_assert_int_eq(nested_error, 0);
    char *inner = body_of("inner"), *outer = body_of("outer");
    ck_assert_str_eq(inner, outer);
    free(inner);
    free(outer);
    ck_assert_int_eq(hs_dump__to_file("later", HS_DUMP_HEAP_V2), 0);
    ck_assert_int_eq(count_files(), 3);
}
END_TEST

static void *come_due(void *unused)
{
    hs_dump__consider(1000, 0);
    hs_dump__consider(1000, 0);
    ck_assert_int_eq(count_files(), 0);
    return unused;
}

static void come_due_elsewhere(void)
{
    pthread_t thread;
    fake_profiler_middle = NULL;
    pthread_create(&thread, NULL, come_due, NULL);
    pthread_join(thread, NULL);
}

START_TEST(what_comes_due_in_the_middle_is_served_afterwards)
{
    hs_prof_options.interval_bytes = 1000;
    fake_profiler_middle = come_due_elsewhere;
    ck_assert_int_eq(hs_dump__to_file("outer", HS_DUMP_HEAP_V2), 0);
    ck_assert_int_eq(count_files(), 2); // both intervals in one dump
}
END_TEST

static void end_thread(void)
{
    fake_profiler_middle = NULL;
    pthread_exit(NULL);
}

static void *dump_and_end(void *unused)
{
    fake_profiler_middle = end_thread;
    hs_dump__to_file("never", HS_DUMP_HEAP_V2);
    return unused;
}

START_TEST(a_thread_that_ends_in_the_middle_blocks_nobody)
{
    hs_prof_options.interval_bytes = 1000;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, dump_and_end, NULL);
        pthread_join(thread, NULL);
        if (i == 0)
            ck_assert_int_eq(files_after(1000, 0), 1);
        else
            ck_assert_int_eq(hs_dump__to_file("dump", HS_DUMP_HEAP_V2), 0);
    }
    ck_assert_int_eq(count_files(), 2);
}
END_TEST

static const char *hooked;

static void note_hook(const char *name)
{
    hooked = name;
}

START_TEST(hooks_get_the_pointer)
{
    static const char name[] = "dump", bad[] = "no/such/file";
    hs_dump_hook = note_hook;
    hs_dump__to_file(name, HS_DUMP_HEAP_V2);
    ck_assert_ptr_eq(hooked, name);
    hs_dump__to_file(bad, HS_DUMP_HEAP_V2);
    ck_assert_ptr_eq(hooked, bad);
    hs_dump_hook = NULL;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prof_dump");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    const TTest *tests[] = {heap_v2_is_exact,
                            heap_v2_has_what_was_ever_allocated,
                            nothing_sampled,
                            older_text_is_exact,
                            stacks_are_cut_to_the_most_frames,
                            symbols_are_named,
                            numbers_are_those_of_printf,
                            stacks_are_their_addresses,
                            times_are_those_of_gmtime,
                            addresses_are_numbered_and_sorted,
                            large_maps_are_whole,
                            names_are_those_of_jemalloc,
                            too_long_prefixes_make_no_file,
                            oldest_files_go,
                            files_are_limited_by_their_size,
                            children_remove_no_files_of_their_parent,
                            intervals_coalesce,
                            intervals_keep_their_distance_in_time,
                            peaks_have_a_floor_and_steps,
                            only_the_highest_peak_is_kept,
                            leaks_are_reported,
                            no_leaks_no_report,
                            no_final_dump_without_the_option,
                            failures_leave_nothing,
                            automatic_failures_are_said,
                            no_disk_is_too_small_for_what_was_complete,
                            pipes_without_reader_kill_nobody,
                            forked_children_do_not_write_on,
                            a_dump_interrupts_another,
                            what_comes_due_in_the_middle_is_served_afterwards,
                            a_thread_that_ends_in_the_middle_blocks_nobody,
                            hooks_get_the_pointer};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
