// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Imports that are killed: the next one goes on from what they left, and its store is that of an import in one go, byte
// for byte.
#include "host/import/import.h"
#include "tests/format/check_random.h"
#include "tests/store/growing_trace.h"
#include "tests/store/import_folder.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 30000 };

static struct recorder recorder;

// ---- killed at a system call ---------------------------------------------------------------------------------------

// Calls that write; at the last one of them the process kills itself. 0: never.
static long calls_left, renames_left;
static long *calls_made;

static void count_call(long *left)
{
    if (calls_made)
        __atomic_fetch_add(calls_made, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(left, __ATOMIC_RELAXED) && !__atomic_sub_fetch(left, 1, __ATOMIC_RELAXED))
        kill(getpid(), SIGKILL);
}

ssize_t write(int fd, const void *data, size_t size)
{
    count_call(&calls_left);
    return syscall(SYS_write, fd, data, size);
}

int fdatasync(int fd)
{
    (void)fd; // no machine loses its power here
    count_call(&calls_left);
    return 0;
}

int ftruncate(int fd, off_t size)
{
    count_call(&calls_left);
    return (int)syscall(SYS_ftruncate, fd, size);
}

// Where a store is being removed nothing of it is gone on from; what a kill leaves of it goes with the next import.
static _Thread_local bool removing;
void __real_hs_store__remove(const char *directory);
void __wrap_hs_store__remove(const char *directory);
void __wrap_hs_store__remove(const char *directory)
{
    removing = true;
    __real_hs_store__remove(directory);
    removing = false;
}

int unlinkat(int fd, const char *name, int flags)
{
    if (!removing)
        count_call(&calls_left);
    return (int)syscall(SYS_unlinkat, fd, name, flags);
}

int renameat(int old_fd, const char *old, int new_fd, const char *new)
{
    count_call(&calls_left);
    int failed = (int)syscall(SYS_renameat2, old_fd, old, new_fd, new, 0);
    count_call(&renames_left);
    return failed;
}

static int open_store(uint64_t every, struct hs_summary *summary)
{
    const struct hs_import_options options = {.partial_every = every};
    struct hs_store *store;
    int failed = hs_import__open(path, &options, &store, NULL);
    if (!failed && summary)
        *summary = *hs_store__summary(store);
    if (!failed)
        hs_store__close(store);
    return failed;
}

// Returns whether it was killed before its end.
static bool import_and_be_killed(uint64_t every, long calls, long renames)
{
    pid_t child = fork();
    if (!child) {
        calls_left = calls;
        renames_left = renames;
        _exit(open_store(every, NULL) != 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static long count_calls(uint64_t every)
{
    calls_made = mmap(NULL, sizeof *calls_made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(calls_made != MAP_FAILED);
    ck_assert(!import_and_be_killed(every, 0, 0));
    long calls = *calls_made;
    munmap(calls_made, sizeof *calls_made);
    calls_made = NULL;
    run_shell("rm -r '%s.store'", path);
    return calls;
}

// ---- comparing -----------------------------------------------------------------------------------------------------

static void record_trace(uint64_t seed, size_t events, uint8_t clock)
{
    begin_recording(&recorder, path, seed, events, clock);
    record_until(&recorder, events);
    end_recording(&recorder);
}

static void expect_whole(void)
{
    run_shell("diff -r '%s.store' '%s'", path, whole_store);
}

static bool is_there(const char *pattern)
{
    char full[200];
    glob_t found;
    snprintf(full, sizeof full, "%s%s", path, pattern);
    bool there = !glob(full, 0, NULL, &found);
    globfree(&found);
    return there;
}

static void finish_and_compare(uint64_t every)
{
    ck_assert_int_eq(open_store(every, NULL), 0);
    expect_whole();
    ck_assert_msg(!is_there(".store.*"), "something is left over");
}

static void be_killed_often(struct random_state *random, uint64_t every)
{
    const long calls = count_calls(every);
    import_whole();
    for (int round = 0; round < 6; round++) {
        for (int times = 1 + (int)random_below(random, 4); times--;) {
            import_and_be_killed(every, 1 + (long)random_below(random, (uint64_t)calls + 10), 0);
            // Whole or not there.
            if (is_there(".store"))
                expect_whole();
        }
        finish_and_compare(every);
        run_shell("rm -r '%s.store'", path);
    }
}

START_TEST(killed_anywhere_and_gone_on_from)
{
    uint64_t seed = test_seed("killed_anywhere_and_gone_on_from");
    struct random_state random = {seed};
    for (uint64_t i = 0; i < 4; i++) {
        record_trace(seed + i, EVENTS, i & 1 ? HS_CLOCK_COUNTER : HS_CLOCK_MONOTONIC);
        be_killed_often(&random, 500 + random_below(&random, 5000));
        run_shell("rm -r '%s' '%s'", path, whole_store);
    }
}
END_TEST

// A file that grows between imports that are killed and such that are not.
START_TEST(growing_traces_are_gone_on_from_the_furthest)
{
    uint64_t seed = test_seed("growing_traces_are_gone_on_from_the_furthest");
    begin_recording(&recorder, path, seed, EVENTS, HS_CLOCK_COUNTER);
    while (recorder.next < EVENTS) {
        record_until(&recorder, recorder.next + 1 + random_below(&recorder.random, 8000) < EVENTS
                                    ? recorder.next + 1 + random_below(&recorder.random, 8000)
                                    : EVENTS);
        show(&recorder);
        import_and_be_killed(700, 1 + (long)random_below(&recorder.random, 400), 0);
        if (random_below(&recorder.random, 2))
            continue;
        ck_assert_int_eq(open_store(700, NULL), 0);
        import_whole();
        run_shell("diff -r -x resume '%s.store' '%s'", path, whole_store);
    }
    end_recording(&recorder);
    import_whole();
    finish_and_compare(700);
}
END_TEST

// ---- what is not read again ----------------------------------------------------------------------------------------

// Whether an import that follows one which was killed reads what that one had read.
static bool reads_all_again(const char *change)
{
    struct hs_summary summary;
    ck_assert(import_and_be_killed(4000, 0, 2));
    ck_assert(is_there(".store.*/partial") && !is_there(".store"));
    if (*change)
        run_shell(change, path);
    flip_first_events();
    ck_assert_int_eq(open_store(0, &summary), 0);
    flip_first_events();
    ck_assert(!is_there(".store.*"));
    run_shell("rm -r '%s.store'", path);
    return summary.damaged_chunks != 0;
}

START_TEST(what_was_imported_is_not_read_again)
{
    record_trace(test_seed("what_was_imported_is_not_read_again"), EVENTS, HS_CLOCK_MONOTONIC);
    ck_assert(!reads_all_again(""));
    // Torn, cut off, without a column: from the start.
    ck_assert(reads_all_again("truncate -s -1 '%s'.store.*/partial"));
    ck_assert(reads_all_again("truncate -s 0 '%s'.store.*/partial"));
    ck_assert(reads_all_again("truncate -s 100 '%s'.store.*/time"));
    ck_assert(reads_all_again("truncate -s 100 '%s'.store.*/partial_free_time"));
    ck_assert(reads_all_again("rm '%s'.store.*/partial_state"));
    ck_assert(reads_all_again("printf x | dd of=$(echo '%s'.store.*/partial) bs=1 seek=1000 conv=notrunc status=none"));
    // Asked for.
    ck_assert(import_and_be_killed(4000, 0, 1));
    import_whole();
    const struct hs_import_options again = {.force = true};
    struct hs_store *store;
    ck_assert_int_eq(hs_import__open(path, &again, &store, NULL), 0);
    hs_store__close(store);
    finish_and_compare(0);
}
END_TEST

static void cancel_at_third(void *context, uint64_t done, uint64_t total)
{
    static int calls;
    (void)done, (void)total;
    if (++calls == 3)
        *(int *)context = 1;
}

START_TEST(a_cancelled_import_is_gone_on_from)
{
    int cancel = 0;
    struct hs_store *store;
    const struct hs_import_options options = {
        .cancel = &cancel, .progress = cancel_at_third, .context = &cancel, .partial_every = 4000};
    record_trace(test_seed("a_cancelled_import_is_gone_on_from"), 400000, HS_CLOCK_MONOTONIC);
    ck_assert_int_eq(hs_import__open(path, &options, &store, NULL), -ECANCELED);
    ck_assert(is_there(".store.*/partial") && !is_there(".store"));
    import_whole();
    finish_and_compare(0);
}
END_TEST

// ---- hostile -------------------------------------------------------------------------------------------------------

static uint8_t *read_bytes(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

// With a right checksum, but numbers that make no sense: whatever comes of it, nothing is touched that is not there.
START_TEST(hostile_files_do_no_harm)
{
    char name[200];
    size_t size;
    uint64_t seed = test_seed("hostile_files_do_no_harm");
    struct random_state random = {seed};
    record_trace(seed, EVENTS, HS_CLOCK_MONOTONIC);
    ck_assert(import_and_be_killed(4000, 0, 2));
    run_shell("mv '%s'.store.* '%s/first'", path, folder);
    snprintf(name, sizeof name, "%s/first/partial", folder);
    uint8_t *good = read_bytes(name, &size), *bad = malloc(size);
    for (int i = 0; i < 120; i++) {
        memcpy(bad, good, size);
        corrupt(&random, bad, size);
        run_shell("rm -rf '%s.store' && cp -r '%s/first' '%s.store.abcdef'", path, folder, path);
        snprintf(name, sizeof name, "%s.store.abcdef/partial", path);
        FILE *file = fopen(name, "wb");
        fwrite(bad, 1, size, file);
        fclose(file);
        ck_assert_int_eq(open_store(0, NULL), 0);
    }
    free(good);
    free(bad);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partial");
    TCase *tests = tcase_create("partial");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, killed_anywhere_and_gone_on_from);
    tcase_add_test(tests, growing_traces_are_gone_on_from_the_furthest);
    tcase_add_test(tests, what_was_imported_is_not_read_again);
    tcase_add_test(tests, a_cancelled_import_is_gone_on_from);
    tcase_add_test(tests, hostile_files_do_no_harm);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
