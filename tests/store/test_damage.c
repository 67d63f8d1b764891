// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces that are cut, flipped, foreign or old: a clear error, or what can be read with the damage counted.
#include "format/chunk.h"
#include "host/import/import.h"
#include "host/store/seal.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/heapsonde-damage-XXXXXX";
static char path[256];
static uint8_t *bytes;
static size_t length;

static void put_file(const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void load_file(const char *name)
{
    struct stat status;
    FILE *file = fopen(name, "rb");
    ck_assert_msg(file != NULL, "%s", name);
    fstat(fileno(file), &status);
    length = (size_t)status.st_size;
    bytes = malloc(length);
    ck_assert_uint_eq(fread(bytes, 1, length, file), length);
    fclose(file);
}

static void write_small(bool live)
{
    struct random_program program;
    random_program__make(&program, 3, live ? 300 : 5000, 2, false, 8);
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, live, true);
    random_program__free(&program);
    load_file(path);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/heapsonde-damage-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.dat", folder);
}

static void remove_folder(void)
{
    char command[600];
    free(bytes);
    bytes = NULL;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static int count_event(void *context, uint32_t stream, const struct hs_event *event, int phase, uint64_t time)
{
    uint64_t *count = context;
    (void)stream, (void)event, (void)time;
    *count += phase == HS_PHASE_END;
    return 0;
}

struct outcome {
    int failed;
    uint64_t events, damage;
    struct hs_error error;
};

static struct outcome replay(void)
{
    struct outcome outcome = {0};
    struct hs_trace *trace;
    struct hs_replay_counts counts;
    outcome.failed = hs_trace__open(path, &trace, &outcome.error);
    if (outcome.failed)
        return outcome;
    ck_assert_int_eq(hs_trace__replay(trace, count_event, &outcome.events, &counts), 0);
    for (unsigned i = 0; i < HS_DAMAGE_COUNT; i++)
        outcome.damage += counts.damage[i] + hs_trace__info(trace)->damage[i];
    hs_trace__close(trace);
    return outcome;
}

START_TEST(every_length_is_read_or_refused)
{
    write_small(false);
    uint64_t last = 0;
    for (size_t cut = 0; cut < length; cut += cut < 600 || cut > length - 600 ? 1 : 13) {
        put_file(bytes, cut);
        struct outcome outcome = replay();
        if (cut < sizeof(struct hs_file_header)) {
            ck_assert_int_lt(outcome.failed, 0);
            ck_assert_ptr_nonnull(strstr(outcome.error.message, path));
            continue;
        }
        ck_assert_int_eq(outcome.failed, 0);
        // A longer file never tells less.
        ck_assert_uint_ge(outcome.events, last);
        last = outcome.events;
    }
    put_file(bytes, length);
    struct outcome whole = replay();
    ck_assert_uint_eq(whole.events, 5000);
    ck_assert_uint_eq(whole.damage, 0);
}
END_TEST

START_TEST(flipped_bits_are_noticed)
{
    struct random_state random = {test_seed("flipped_bits")};
    write_small(false);
    for (unsigned round = 0; round < 3000; round++) {
        size_t at = random_below(&random, length);
        uint8_t bit = (uint8_t)(1u << random_below(&random, 8));
        bytes[at] ^= bit;
        put_file(bytes, length);
        struct outcome outcome = replay();
        bytes[at] ^= bit;
        if (outcome.failed)
            ck_assert(outcome.error.message[0] && at < sizeof(struct hs_file_header));
        else if (outcome.events != 5000)
            ck_assert_uint_gt(outcome.damage, 0);
    }
}
END_TEST

START_TEST(flipped_bits_in_live_slots_do_no_harm)
{
    struct random_state random = {test_seed("flipped_bits_live")};
    write_small(true);
    for (unsigned round = 0; round < 1500; round++) {
        size_t at = sizeof(struct hs_file_header) + random_below(&random, length - sizeof(struct hs_file_header));
        bytes[at] ^= (uint8_t)(1u << random_below(&random, 8));
        put_file(bytes, length);
        replay();
    }
}
END_TEST

START_TEST(damaged_chunks_do_not_hide_the_others)
{
    struct hs_trace *trace;
    size_t count;
    write_small(false);
    ck_assert_int_eq(hs_trace__open(path, &trace, NULL), 0);
    ck_assert(hs_trace__info(trace)->from_footer);
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    size_t second = 0;
    for (size_t i = 0, seen = 0; i < count && !second; i++)
        if (chunks[i].kind == HS_CHUNK_EVENTS && ++seen == 2)
            second = i;
    uint64_t offset = chunks[second].offset, lost = chunks[second].count;
    hs_trace__close(trace);
    // Its payload, then its header, then the footer as well.
    bytes[offset + HS_CHUNK_HEADER_SIZE + 20] ^= 1;
    put_file(bytes, length);
    struct outcome outcome = replay();
    ck_assert_uint_eq(outcome.events, 5000 - lost);
    ck_assert_uint_eq(outcome.damage, 1);
    memset(bytes + offset, 0xee, HS_CHUNK_HEADER_SIZE);
    memset(bytes + length - 100, 0xee, 100);
    put_file(bytes, length);
    outcome = replay();
    ck_assert_uint_eq(outcome.events, 5000 - lost);
    ck_assert_uint_ge(outcome.damage, 2);
}
END_TEST

START_TEST(live_slots_count_once)
{
    struct trace_writer writer;
    struct random_program program;
    random_program__make(&program, 3, 100, 1, false, 8);
    trace_writer__open(&writer, path, HS_BYTE_ORDER_BIG, 4);
    trace_writer__events(&writer, 0, program.event, 100, false);
    // The same slot, sealed above, was not yet emptied.
    writer.sequence--;
    trace_writer__events(&writer, 0, program.event, 100, true);
    trace_writer__close(&writer, false, 0);
    ck_assert_uint_eq(replay().events, 100);
    random_program__free(&program);
}
END_TEST

static void expect_error(const char *text)
{
    struct outcome outcome = replay();
    char expected[400];
    snprintf(expected, sizeof expected, "%s: %s", path, text);
    ck_assert_int_lt(outcome.failed, 0);
    ck_assert_str_eq(outcome.error.message, expected);
}

START_TEST(errors_are_clear)
{
    expect_error("No such file or directory");
    put_file("", 0);
    expect_error("empty file");
    put_file("ELF or whatever", 15);
    expect_error("neither a heapsonde trace nor anything else that this command reads");
    put_file(HS_FILE_MAGIC, 8);
    expect_error("truncated at 8 bytes, within the file header");
    write_small(false);
    bytes[8] = 2;
    put_file(bytes, length);
    char newer[80];
    snprintf(newer, sizeof newer, "written by a newer heapsonde (format 2.%d, this reads 1.x)", HS_FILE_VERSION_MINOR);
    expect_error(newer);
    bytes[8] = 1;
    bytes[30] ^= 1;
    put_file(bytes, length);
    expect_error("the file header is damaged (wrong checksum)");
    strcpy(path, folder);
    expect_error("is a directory; give a file, or use 'heapsonde server' for a folder");
    strcpy(path, "/dev/null");
    expect_error("not a regular file");
}
END_TEST

// ---- golden files --------------------------------------------------------------------------------------------------

static void describe(const struct hs_store *store, char *text, size_t size)
{
    const struct hs_summary *s = hs_store__summary(store);
    const struct hs_columns *c = hs_store__columns(store);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < c->rows; i++)
        sum = sum * 31 + hs_row__time(c, i) + 3 * hs_row__free_time(c, i) + 5 * hs_row__address(c, i) +
              7 * hs_row__size(c, i) + 11 * hs_row__slack(c, i) + 13 * hs_row__stack(c, i) + 17 * hs_row__stream(c, i) +
              19 * hs_row__next(c, i) + 23 * hs_row__kind(c, i) + 29 * hs_row__flags(c, i);
    size_t nodes, modules;
    hs_store__nodes(store, &nodes);
    hs_store__modules(store, &modules);
    snprintf(text, size,
             "trace %s\nevents %llu\nrows %llu\nfrees %llu\nreallocations %llu\nallocated %llu\nusable %llu\n"
             "temporary %llu\npeak %llu at %llu\nlive %llu\nunknown %llu\nmissed %llu\nend %llu\nnodes %zu\n"
             "modules %zu\nexecutable %s\nchecksum %016llx\n",
             s->trace_id, (unsigned long long)s->events, (unsigned long long)c->rows, (unsigned long long)s->frees,
             (unsigned long long)s->reallocations, (unsigned long long)s->allocated_bytes,
             (unsigned long long)s->allocated_usable, (unsigned long long)s->temporary_count,
             (unsigned long long)s->peak.bytes, (unsigned long long)s->peak_time, (unsigned long long)s->live.bytes,
             (unsigned long long)s->unknown_frees, (unsigned long long)s->missed_frees, (unsigned long long)s->end_time,
             nodes, modules, hs_store__info(store, "executable"), (unsigned long long)sum);
}

static const char *const golden[] = {"../format/golden-1.0", "../format/golden-1.0-killed"};

static void expect_golden(const char *name)
{
    struct hs_store *store;
    struct hs_error error = {""};
    const struct hs_import_options options = {.temporary = true};
    char trace[100], summary[100], text[2000], expected[2000] = "";
    snprintf(trace, sizeof trace, "%s.dat", name);
    snprintf(summary, sizeof summary, "%s.txt", name);
    int failed = hs_import__open(trace, &options, &store, &error);
    ck_assert_msg(!failed, "%s", error.message);
    describe(store, text, sizeof text);
    hs_store__close(store);
    FILE *file = fopen(summary, getenv("HEAPSONDE_WRITE_GOLDEN") ? "wb+" : "rb");
    ck_assert_ptr_nonnull(file);
    if (getenv("HEAPSONDE_WRITE_GOLDEN")) {
        fputs(text, file);
        rewind(file);
    }
    ck_assert_uint_gt(fread(expected, 1, sizeof expected - 1, file), 0);
    fclose(file);
    ck_assert_str_eq(text, expected);
}

START_TEST(old_files_are_read)
{
    expect_golden(golden[_i]);
}
END_TEST

// ---- the store -----------------------------------------------------------------------------------------------------

enum harm { CUT, EMPTIED, ZEROED, FLIPPED, REMOVED, FIFO };

static void harm(const char *file, enum harm how)
{
    struct stat status;
    int fd = open(file, O_RDWR);
    ck_assert(fd >= 0 && !fstat(fd, &status));
    const off_t size = status.st_size;
    uint8_t byte = 0;
    if (how == CUT || how == EMPTIED)
        ck_assert_int_eq(ftruncate(fd, how == CUT ? size / 2 : 0), 0);
    if (how == ZEROED)
        ck_assert(!ftruncate(fd, 0) && !ftruncate(fd, size));
    if (how == FLIPPED && size) {
        ck_assert_int_eq(pread(fd, &byte, 1, size / 3), 1);
        byte ^= 4;
        ck_assert_int_eq(pwrite(fd, &byte, 1, size / 3), 1);
    }
    if (how == REMOVED || how == FIFO)
        unlink(file);
    if (how == FIFO) // which must not be waited for
        ck_assert_int_eq(mkfifo(file, 0600), 0);
    close(fd);
}

static void expect_store(const char *expected, const char *file, int how)
{
    struct hs_store *store;
    struct hs_error error = {""};
    char text[2000];
    int failed = hs_import__open(path, NULL, &store, &error);
    ck_assert_msg(!failed, "%s, %d: %s", file, how, error.message);
    describe(store, text, sizeof text);
    hs_store__close(store);
    ck_assert_msg(!strcmp(text, expected), "%s, %d: %s", file, how, text);
}

// Whatever happened to a file of a store: the next command makes the store again.
START_TEST(a_damaged_store_is_made_again)
{
    struct hs_store *store;
    char expected[2000], directory[300], file[600], names[64][32];
    size_t count = 0;
    write_small(false);
    ck_assert_int_eq(hs_import__open(path, NULL, &store, NULL), 0);
    describe(store, expected, sizeof expected);
    hs_store__close(store);
    snprintf(directory, sizeof directory, "%s.store", path);
    DIR *listed = opendir(directory);
    for (const struct dirent *entry; (entry = readdir(listed));)
        if (entry->d_name[0] != '.' && count < 64)
            snprintf(names[count++], sizeof names[0], "%s", entry->d_name);
    closedir(listed);
    ck_assert_uint_gt(count, 20);
    for (size_t i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", directory, names[i]);
        for (size_t k = 0; k < 3; k++) { // what is not tried with one file is with the next
            enum harm how = (enum harm)((3 * i + k) % FIFO);
            harm(file, how);
            expect_store(expected, names[i], (int)how);
        }
    }
    snprintf(file, sizeof file, "%s/head", directory); // the first to be opened
    harm(file, FIFO);
    expect_store(expected, "head", FIFO);
    // Not only this time: what is there now is whole.
    ck_assert_int_eq(hs_store__open(directory, &store, NULL), 0);
    hs_store__close(store);
}
END_TEST

// One that did not reach the disk before the machine stopped holds only until then.
START_TEST(an_unflushed_seal_is_of_this_boot)
{
    char file[300];
    write_small(false);
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(hs_seal__write(fd, false), 0);
    ck_assert_int_eq(hs_seal__check(fd), 0);
    snprintf(file, sizeof file, "%s/" HS_SEAL_FILE, folder);
    harm(file, FLIPPED);
    ck_assert_int_eq(hs_seal__check(fd), -EBADMSG);
    ck_assert_int_eq(hs_seal__write(fd, true), 0);
    ck_assert_int_eq(hs_seal__check(fd), 0);
    harm(path, CUT);
    ck_assert_int_eq(hs_seal__check(fd), -EBADMSG);
    close(fd);
}
END_TEST

// Run with HEAPSONDE_WRITE_GOLDEN=1 once for each version of the format, and never again for a released one.
static void write_golden(void)
{
    struct random_program program;
    random_program__make(&program, 42, 8000, 3, true, 8);
    random_program__write(&program, "../format/golden-1.0.dat", HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
    random_program__make(&program, 43, 2500, 1, true, 4);
    random_program__write(&program, "../format/golden-1.0-killed.dat", HS_BYTE_ORDER_BIG, 4, true, false);
    random_program__free(&program);
}

int main(void)
{
    if (getenv("HEAPSONDE_WRITE_GOLDEN"))
        write_golden();
    Suite *suite = suite_create("damage");
    TCase *tests = tcase_create("damage");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, every_length_is_read_or_refused);
    tcase_add_test(tests, flipped_bits_are_noticed);
    tcase_add_test(tests, flipped_bits_in_live_slots_do_no_harm);
    tcase_add_test(tests, damaged_chunks_do_not_hide_the_others);
    tcase_add_test(tests, live_slots_count_once);
    tcase_add_test(tests, errors_are_clear);
    tcase_add_test(tests, a_damaged_store_is_made_again);
    tcase_add_test(tests, an_unflushed_seal_is_of_this_boot);
    tcase_add_loop_test(tests, old_files_are_read, 0, sizeof golden / sizeof *golden);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
