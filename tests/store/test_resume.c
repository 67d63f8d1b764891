// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces that grow: an import goes on from the one before it, and its store is that of an import from the start, byte
// for byte.
#include "host/import/import.h"
#include "tests/format/check_random.h"
#include "tests/store/growing_trace.h"
#include "tests/store/import_folder.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- comparing -----------------------------------------------------------------------------------------------------

static void import(const struct hs_import_options *options, struct hs_summary *summary)
{
    struct hs_error error;
    struct hs_store *store;
    ck_assert_msg(!hs_import__open(path, options, &store, &error), "%s", error.message);
    if (summary)
        *summary = *hs_store__summary(store);
    hs_store__close(store);
}

static void expect_same_as_from_the_start(void)
{
    import(NULL, NULL);
    import_whole();
    // What is kept to go on from may lie otherwise: alignment leaves bytes that nobody wrote.
    run_shell("diff -r -x resume '%s.store' '%s'", path, whole_store);
}

static void grow(uint64_t seed, size_t events, uint8_t clock)
{
    static struct recorder recorder;
    begin_recording(&recorder, path, seed, events, clock);
    while (recorder.next < events) {
        size_t more = 1 + random_below(&recorder.random, 1 + events / 4);
        record_until(&recorder, recorder.next + more < events ? recorder.next + more : events);
        show(&recorder);
        expect_same_as_from_the_start();
    }
    end_recording(&recorder);
    expect_same_as_from_the_start();
    run_shell("! test -e '%s.store/resume' && rm -r '%s.store' '%s'", path, path, path);
}

START_TEST(stores_are_those_of_imports_from_the_start)
{
    uint64_t seed = test_seed("stores_are_those_of_imports_from_the_start");
    for (uint64_t i = 0; i < 6; i++)
        grow(seed + i, i < 4 ? 6000 : 60000, i & 1 ? HS_CLOCK_COUNTER : HS_CLOCK_MONOTONIC);
}
END_TEST

// ---- what is not read again ----------------------------------------------------------------------------------------

// Damages the first events of the file and returns whether an import of the grown trace sees that.
static bool sees_old_damage(struct recorder *recorder, size_t events)
{
    struct hs_summary summary;
    record_until(recorder, recorder->next + events);
    show(recorder);
    flip_first_events();
    import(NULL, &summary);
    flip_first_events();
    return summary.damaged_chunks != 0;
}

static void change_resume(long at, int mask)
{
    char name[160];
    snprintf(name, sizeof name, "%s.store/resume", path);
    FILE *file = fopen(name, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    int byte = getc(file);
    fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    putc(byte ^ mask, file);
    fclose(file);
}

START_TEST(what_was_imported_is_not_read_again)
{
    static struct recorder recorder;
    begin_recording(&recorder, path, test_seed("what_was_imported_is_not_read_again"), 60000, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 8000);
    show(&recorder);
    import(NULL, NULL);
    ck_assert(!sees_old_damage(&recorder, 4000));
    ck_assert(!sees_old_damage(&recorder, 4000));
    // Damaged, cut off, of another version, not there: from the start.
    change_resume(-5000, 1);
    ck_assert(sees_old_damage(&recorder, 4000));
    record_until(&recorder, recorder.next + 10);
    show(&recorder);
    const struct hs_import_options again = {.force = true};
    import(&again, NULL);
    run_shell("truncate -s -1 '%s.store/resume'", path);
    ck_assert(sees_old_damage(&recorder, 4000));
    import(&again, NULL);
    change_resume(8, 1);
    ck_assert(sees_old_damage(&recorder, 4000));
    import(&again, NULL);
    run_shell("rm '%s.store/resume'", path);
    ck_assert(sees_old_damage(&recorder, 4000));
    import(&again, NULL);
    ck_assert(!sees_old_damage(&recorder, 4000));
    end_recording(&recorder);
    expect_same_as_from_the_start();
}
END_TEST

// Where no store can be made beside the trace.
START_TEST(stores_in_the_cache_are_gone_on_from)
{
    static struct recorder recorder;
    begin_recording(&recorder, path, test_seed("stores_in_the_cache_are_gone_on_from"), 20000, HS_CLOCK_MONOTONIC);
    int fd = open(path, O_RDONLY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("XDG_CACHE_HOME", folder, 1);
    record_until(&recorder, 8000);
    show(&recorder);
    import(NULL, NULL);
    ck_assert(!sees_old_damage(&recorder, 4000));
    ck_assert(!sees_old_damage(&recorder, 4000));
    run_shell("test $(ls '%s/heapsonde' | wc -l) = 1", folder);
    end_recording(&recorder);
    close(fd);
}
END_TEST

// A chunk with events from before the last import's end, as of a thread that was held up.
START_TEST(events_that_come_late_are_not_lost)
{
    static struct recorder recorder;
    uint64_t seed = test_seed("events_that_come_late_are_not_lost");
    begin_recording(&recorder, path, seed, 20000, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 5000);
    struct hs_event late = {.kind = HS_EVENT_MALLOC, .time = recorder.last_time / 2, .address = 0x123450, .size = 7};
    show(&recorder);
    import(NULL, NULL);
    recorder.writer.sequence = recorder.sequence++;
    trace_writer__events(&recorder.writer, 9, &late, 1, false);
    record_until(&recorder, 9000);
    show(&recorder);
    expect_same_as_from_the_start();
    end_recording(&recorder);
    expect_same_as_from_the_start();
}
END_TEST

// ---- killed, and hostile -------------------------------------------------------------------------------------------

// Killed where a file becomes longer than a random size.
static void import_and_be_killed(struct random_state *random)
{
    pid_t child = fork();
    if (!child) {
        const struct rlimit none = {0, 0}, size = {random_below(random, 1 << 18), 1 << 30};
        struct hs_store *store;
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_FSIZE, &size);
        _exit(hs_import__open(path, NULL, &store, NULL) != 0);
    }
    int status;
    random_next(random);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
}

START_TEST(killed_imports_leave_what_can_be_gone_on_from)
{
    static struct recorder recorder;
    uint64_t seed = test_seed("killed_imports_leave_what_can_be_gone_on_from");
    begin_recording(&recorder, path, seed, 40000, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 5000);
    show(&recorder);
    import(NULL, NULL);
    for (int i = 0; i < 8; i++) {
        record_until(&recorder, recorder.next + 2000);
        show(&recorder);
        for (int k = 0; k < 4; k++)
            import_and_be_killed(&recorder.random);
        ck_assert(!sees_old_damage(&recorder, 1));
        expect_same_as_from_the_start();
    }
    end_recording(&recorder);
}
END_TEST

// With a right checksum, but numbers that make no sense: whatever comes of it, nothing is touched that is not there.
START_TEST(hostile_files_do_no_harm)
{
    static struct recorder recorder;
    uint64_t seed = test_seed("hostile_files_do_no_harm");
    begin_recording(&recorder, path, seed, 3000, HS_CLOCK_MONOTONIC);
    record_until(&recorder, 2000);
    show(&recorder);
    import(NULL, NULL);
    run_shell("cp -r '%s.store' '%s/first'", path, folder);
    record_until(&recorder, 3000);
    end_recording(&recorder);
    char name[160];
    snprintf(name, sizeof name, "%s/first/resume", folder);
    FILE *file = fopen(name, "rb");
    struct stat status;
    ck_assert_int_eq(fstat(fileno(file), &status), 0);
    size_t size = (size_t)status.st_size;
    uint8_t *good = malloc(size), *bad = malloc(size);
    ck_assert_uint_eq(fread(good, 1, size, file), size);
    fclose(file);
    for (int i = 0; i < 120; i++) {
        memcpy(bad, good, size);
        corrupt(&recorder.random, bad, size);
        run_shell("rm -rf '%s.store' && cp -r '%s/first' '%s.store'", path, folder, path);
        snprintf(name, sizeof name, "%s.store/resume", path);
        file = fopen(name, "wb");
        fwrite(bad, 1, size, file);
        fclose(file);
        import(NULL, NULL);
    }
    free(good);
    free(bad);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resume");
    TCase *tests = tcase_create("resume");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, stores_are_those_of_imports_from_the_start);
    tcase_add_test(tests, what_was_imported_is_not_read_again);
    tcase_add_test(tests, stores_in_the_cache_are_gone_on_from);
    tcase_add_test(tests, events_that_come_late_are_not_lost);
    tcase_add_test(tests, killed_imports_leave_what_can_be_gone_on_from);
    tcase_add_test(tests, hostile_files_do_no_harm);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
