// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whole programs under the shim: what they see, and what their traces hold.
#include "format/chunk.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/heapsonde-shim-XXXXXX";

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(directory);
    rmdir(folder);
}

// `recorded`: this program itself is, not one that it executes.
static int run(bool recorded, char *const arguments[])
{
    pid_t child = fork();
    if (child == 0) {
        char pattern[PATH_MAX];
        snprintf(pattern, sizeof pattern, "%s/%%p.dat", folder);
        setenv("HEAPSONDE_OUTPUT", pattern, 1);
        if (recorded)
            setenv("LD_PRELOAD", SHIM, 1);
        execv(PROGRAMS, arguments);
        _exit(99);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

struct traces {
    unsigned count, forked;
    uint64_t events, events_of_forked, dropped;
};

static struct traces read_traces(void)
{
    struct traces traces = {0};
    DIR *directory = opendir(folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct hs_file_header header;
        uint8_t bytes[HS_FILE_HEADER_SIZE];
        int fd = openat(dirfd(directory), entry->d_name, O_RDONLY);
        bool whole = read(fd, bytes, sizeof bytes) == sizeof bytes;
        close(fd);
        if (!whole)
            continue;
        ck_assert_int_eq(hs_file_header_read(bytes, &header), HS_HEADER_GOOD);
        traces.count++;
        traces.forked += header.forked_at != 0;
        traces.events += header.live.events;
        traces.events_of_forked += header.forked_at ? header.live.events : 0;
        for (int i = 0; i < HS_DROP_COUNT; i++)
            traces.dropped += header.live.dropped[i];
    }
    closedir(directory);
    return traces;
}

START_TEST(what_fork_handlers_do_is_recorded)
{
    ck_assert_int_eq(run(true, (char *[]){PROGRAMS, "fork-handler", NULL}), 0);
    struct traces traces = read_traces();
    ck_assert_uint_eq(traces.count, 2);
    ck_assert_uint_eq(traces.forked, 1);
    ck_assert_uint_eq(traces.events_of_forked, 150);
    ck_assert_uint_eq(traces.dropped, 0);
}
END_TEST

START_TEST(operators_of_unloaded_libraries_are_not_called)
{
    ck_assert_int_eq(run(true, (char *[]){PROGRAMS, "plugins", PLUGIN_1, PLUGIN_2, NULL}), 0);
    ck_assert_uint_ge(read_traces().events, 12);
}
END_TEST

START_TEST(writer_keeps_no_descriptor_of_the_program)
{
    ck_assert_int_eq(run(false, (char *[]){PROGRAMS, "refuse-close-range", PROGRAMS, SHIM, NULL}), 0);
    ck_assert_uint_eq(read_traces().count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shim");
    TCase *programs = tcase_create("programs");
    tcase_add_checked_fixture(programs, setup, remove_folder);
    tcase_add_test(programs, what_fork_handlers_do_is_recorded);
    tcase_add_test(programs, operators_of_unloaded_libraries_are_not_called);
    tcase_add_test(programs, writer_keeps_no_descriptor_of_the_program);
    suite_add_tcase(suite, programs);
    return run_suite(suite);
}
