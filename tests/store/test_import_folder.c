// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where an import puts its store, and what it leaves behind when it fails, is cancelled or killed.
#include "host/import/cache.h"
#include "host/import/import.h"
#include "host/import/row_ends.h"
#include "tests/store/import_folder.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// With the limits of the command.
static void make_usual_folder(void)
{
    const struct hs_row_ends_limits usual = hs_row_ends_limits;
    make_folder();
    hs_row_ends_limits = usual;
}

static struct hs_store *open_trace(const struct hs_import_options *options)
{
    struct hs_store *store;
    struct hs_error error = {""};
    int failed = hs_import__open(path, options, &store, &error);
    ck_assert_msg(!failed, "%s", error.message);
    return store;
}

START_TEST(a_store_is_made_once_and_again_when_the_trace_changes)
{
    struct random_program program;
    struct stat first, second;
    char head[300];
    snprintf(head, sizeof head, "%s.store/head", path);
    random_program__make(&program, 1, 500, 1, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    hs_store__close(open_trace(NULL));
    ck_assert_int_eq(stat(head, &first), 0);
    hs_store__close(open_trace(NULL));
    ck_assert_int_eq(stat(head, &second), 0);
    ck_assert(first.st_ino == second.st_ino && first.st_mtim.tv_nsec == second.st_mtim.tv_nsec);
    program.count = 400;
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    struct hs_store *store = open_trace(NULL);
    ck_assert_uint_eq(hs_store__summary(store)->events, 400);
    hs_store__close(store);
    random_program__free(&program);
}
END_TEST

START_TEST(two_at_once_see_whole_stores)
{
    struct random_program program;
    random_program__make(&program, 1, 3000, 2, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    for (int i = 0; i < 6; i++)
        if (!fork()) {
            struct hs_store *store;
            int failed = hs_import__open(path, NULL, &store, NULL);
            _exit(failed || hs_store__summary(store)->events != 3000);
        }
    for (int i = 0; i < 6; i++) {
        int status;
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    random_program__free(&program);
}
END_TEST

START_TEST(cancelling_stops_and_leaves_nothing)
{
    struct random_program program;
    struct hs_store *store;
    struct hs_error error;
    char directory[300];
    const int cancel = 1;
    const struct hs_import_options options = {.cancel = &cancel};
    random_program__make(&program, 1, 200000, 1, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    ck_assert_int_eq(hs_import__open(path, &options, &store, &error), -ECANCELED);
    snprintf(directory, sizeof directory, "%s.store", path);
    ck_assert_int_eq(access(directory, F_OK), -1);
    random_program__free(&program);
}
END_TEST

// ---- when the system says no ---------------------------------------------------------------------------------------

static int entries_in_folder(void)
{
    char command[600];
    snprintf(command, sizeof command, "test $(ls '%s' | wc -l) = 1", folder);
    return system(command);
}

// Imports in a child under a limit; the outcome is 0, or 1 for an error with a message.
static int import_limited(int resource, rlim_t limit)
{
    int status;
    if (!fork()) {
        const struct rlimit limits = {limit, limit};
        const struct hs_import_options options = {.temporary = true};
        struct hs_store *store;
        struct hs_error error = {""};
        setenv("TMPDIR", folder, 1);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(resource, &limits);
        int failed = hs_import__open(path, &options, &store, &error);
        if (!failed)
            hs_store__close(store);
        _exit(!failed ? 0 : error.message[0] ? 1 : 2);
    }
    wait(&status);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status);
}

START_TEST(failing_calls_are_errors)
{
    struct random_program program;
    random_program__make(&program, 1, 30000, 1, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
    // Each number of files that may be open: the n-th open fails.
    int good = 0;
    for (rlim_t files = 3; files < 40; files++)
        good += !import_limited(RLIMIT_NOFILE, files);
    ck_assert_int_gt(good, 0);
    ck_assert_int_lt(good, 37);
    // Each size a file may have: reserving space fails, as on a full disk.
    for (rlim_t size = 0; size < 1 << 20; size += 1 << 14)
        import_limited(RLIMIT_FSIZE, size);
    ck_assert_int_eq(entries_in_folder(), 0);
}
END_TEST

static void count_imports(void *context, uint64_t done, uint64_t total)
{
    static uint64_t last = UINT64_MAX;
    (void)total;
    *(int *)context += done < last;
    last = done;
}

// Its store has no room anywhere.
static void make_trace_without_room(void)
{
    struct random_program program;
    const struct rlimit limits = {1 << 19, 1 << 19};
    random_program__make(&program, 1, 200000, 1, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
    setenv("TMPDIR", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

// The message names only folders that were tried.
static void expect_refused(const struct hs_import_options *options, const char *said, const char *unsaid)
{
    struct hs_store *store;
    struct hs_error error = {""};
    ck_assert_int_ne(hs_import__open(path, options, &store, &error), 0);
    ck_assert_msg(strstr(error.message, said) != NULL, "%s", error.message);
    ck_assert_msg(!unsaid || !strstr(error.message, unsaid), "%s", error.message);
}

START_TEST(a_full_file_system_is_named)
{
    char named[4200];
    snprintf(named, sizeof named, "%s/named", folder);
    make_trace_without_room();
    expect_refused(&(struct hs_import_options){.store = named}, named, "TMPDIR");
    expect_refused(&(struct hs_import_options){.store = named}, "no room for the store", "cache");
    expect_refused(&(struct hs_import_options){.temporary = true}, "no room in the folder for temporary files",
                   "cache");
    expect_refused(NULL, "no room beside it, in the user's cache, and in the folder for temporary files", NULL);
    run_shell("rmdir '%s/heapsonde' && test $(ls '%s' | wc -l) = 1", folder, folder);
}
END_TEST

// What has no room beside the trace has none in another folder of the same file system.
START_TEST(a_full_file_system_is_not_tried_again)
{
    struct hs_store *store;
    struct hs_error error = {""};
    int imports = 0;
    const struct hs_import_options options = {.progress = count_imports, .context = &imports};
    make_trace_without_room();
    ck_assert_int_ne(hs_import__open(path, &options, &store, &error), 0);
    ck_assert_int_eq(imports, 1);
    run_shell("rmdir '%s/heapsonde' && test $(ls '%s' | wc -l) = 1", folder, folder);
}
END_TEST

// ---- the cache -----------------------------------------------------------------------------------------------------

static int make_cached_trace(int number, size_t events)
{
    struct random_program program;
    snprintf(path, sizeof path, "%s/trace%d.dat", folder, number);
    random_program__make(&program, (uint64_t)number, events, 1, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
    return open(path, O_RDONLY);
}

// No store can be made beside a descriptor.
static struct hs_store *open_cached(int trace)
{
    snprintf(path, sizeof path, "/proc/self/fd/%d", trace);
    return open_trace(NULL);
}

static void expect_cached(int trace, bool expected)
{
    struct stat status;
    ck_assert_int_eq(fstat(trace, &status), 0);
    run_shell("%s test -d '%s'/heapsonde/*-%llx.store", expected ? "" : "!", folder, (unsigned long long)status.st_ino);
}

static void set_use(int trace, long seconds)
{
    struct stat status;
    ck_assert_int_eq(fstat(trace, &status), 0);
    run_shell("touch -d @%ld '%s'/heapsonde/*-%llx.store", seconds, folder, (unsigned long long)status.st_ino);
}

START_TEST(the_cache_keeps_what_was_used_last)
{
    int trace[4];
    uint64_t bytes;
    setenv("XDG_CACHE_HOME", folder, 1);
    for (int i = 0; i < 3; i++) {
        trace[i] = make_cached_trace(i, 5000);
        hs_store__close(open_cached(trace[i]));
        set_use(trace[i], 1000 + i);
    }
    hs_store__close(open_cached(trace[0]));
    // There is room for the three. The fourth is smaller than any of them.
    snprintf(path, sizeof path, "%s/sizes", folder);
    run_shell("find '%s/heapsonde' -type f -printf '%%b\\n' | awk '{ n += 512 * $1 } END { print n }' >'%s'", folder,
              path);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%" SCNu64, &bytes), 1);
    fclose(file);
    hs_cache__limit(bytes);
    trace[3] = make_cached_trace(3, 100);
    hs_store__close(open_cached(trace[3]));
    for (int i = 0; i < 4; i++) {
        expect_cached(trace[i], i != 1);
        close(trace[i]);
    }
}
END_TEST

START_TEST(the_cache_keeps_what_is_open)
{
    int trace[3];
    struct hs_store *store[3];
    setenv("XDG_CACHE_HOME", folder, 1);
    hs_cache__limit(1);
    for (int i = 0; i < 3; i++) {
        trace[i] = make_cached_trace(i, 500);
        store[i] = open_cached(trace[i]);
        if (i == 1)
            hs_store__close(store[i]);
    }
    for (int i = 0; i < 3; i++) {
        expect_cached(trace[i], i != 1);
        close(trace[i]);
    }
    run_shell("test $(ls '%s/heapsonde' | wc -l) = 2", folder);
    hs_store__close(store[0]);
    hs_store__close(store[2]);
}
END_TEST

static int make_unfinished(const char *name)
{
    int parent = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(mkdirat(parent, name, 0700), 0);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY);
    close(openat(fd, "nodes", O_CREAT | O_WRONLY, 0600));
    close(openat(fd, "time", O_CREAT | O_WRONLY, 0600));
    close(parent);
    return fd;
}

static bool is_there(const char *name)
{
    char at[300];
    snprintf(at, sizeof at, "%s/%s", folder, name);
    return !access(at, F_OK);
}

// What a killed import left goes with the next one; what another one is still making stays, and so does what only looks
// like it.
START_TEST(what_killed_imports_left_is_removed)
{
    static const char *const others[] = {"trace.dat.store.abcde", "trace.dat.store.ab.def", "other.store.abcdef"};
    struct random_program program;
    random_program__make(&program, 1, 500, 1, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
    close(make_unfinished("trace.dat.store.abcdef"));
    int made = make_unfinished("trace.dat.store.ABC123");
    ck_assert_int_eq(flock(made, LOCK_EX), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        close(make_unfinished(others[i]));
    hs_store__close(open_trace(NULL));
    ck_assert(!is_there("trace.dat.store.abcdef"));
    ck_assert(is_there("trace.dat.store.ABC123"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert(is_there(others[i]));
    close(made);
    const struct hs_import_options again = {.force = true};
    hs_store__close(open_trace(&again));
    ck_assert(!is_there("trace.dat.store.ABC123"));
    ck_assert(is_there("trace.dat.store"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import_folder");
    TCase *tests = tcase_create("import_folder");
    tcase_add_checked_fixture(tests, make_usual_folder, remove_folder);
    tcase_add_test(tests, a_store_is_made_once_and_again_when_the_trace_changes);
    tcase_add_test(tests, what_killed_imports_left_is_removed);
    tcase_add_test(tests, two_at_once_see_whole_stores);
    tcase_add_test(tests, cancelling_stops_and_leaves_nothing);
    tcase_add_test(tests, failing_calls_are_errors);
    tcase_add_test(tests, a_full_file_system_is_not_tried_again);
    tcase_add_test(tests, a_full_file_system_is_named);
    tcase_add_test(tests, the_cache_keeps_what_was_used_last);
    tcase_add_test(tests, the_cache_keeps_what_is_open);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
