// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is announced of a program that maps code by the thousand, and how often its maps are read for it.
#include "runtime/clock.h"
#include "runtime/embed.h"
#include "runtime/image.h"
#include "runtime/journal.h"
#include "runtime/log.h"
#include "runtime/modules.h"
#include "runtime/output.h"
#include "runtime/tables.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECES = 6000, PAGE = 4096 };

static unsigned scans, announced, unloaded, gone;
static char marker[64]; // a file that is mapped and holds no code: each scan asks for its headers

static uint64_t now_ns, scan_ns; // a scan takes no time unless a test says so

// ---- what modules.c uses --------------------------------------------------------------------------------------------

uint64_t hs_image__reach(const struct hs_maps_line *mapping, const char *path, bool *has_code)
{
    (void)mapping, (void)has_code;
    bool is_marker = !strcmp(path, marker);
    scans += is_marker;
    now_ns += is_marker * scan_ns;
    return 0;
}

void hs_image__read(struct hs_image *image, const struct hs_mapped *mapped, const char *path)
{
    (void)path;
    *image = (struct hs_image){.bias = mapped->start};
}

bool hs_image__has(const struct hs_mapped *mapped, const struct hs_maps_line *mapping, bool same_file, const char *path)
{
    (void)mapped, (void)mapping, (void)same_file, (void)path;
    return false;
}

bool hs_image__is_file(const char *path)
{
    return access(path, F_OK) == 0;
}

static struct {
    uint64_t time, start, end;
    char path[4200];
} last;

bool hs_journal__module(uint64_t time, uint64_t start, uint64_t end, uint64_t bias, const void *build_id,
                        size_t build_id_length, const char *path)
{
    last.time = time;
    (void)bias, (void)build_id, (void)build_id_length;
    announced++;
    last.start = start;
    last.end = end;
    strcpy(last.path, path);
    return true;
}

bool hs_journal__layout(uint32_t hash, uint64_t inode)
{
    (void)hash, (void)inode;
    return true;
}

bool hs_journal__unload(uint64_t start)
{
    (void)start;
    unloaded++;
    return true;
}

static struct hs_live live;

struct hs_live *hs_output__live(void)
{
    return &live;
}

struct hs_clock hs_clock;

uint64_t hs_clock__raw_slowly(void)
{
    return now_ns;
}

uint64_t hs_clock__monotonic_ns(void)
{
    return now_ns;
}

void hs_embed__remember(const char *path)
{
    (void)path;
}

void hs_tables__note(uintptr_t start, uintptr_t end)
{
    (void)start, (void)end;
}

void hs_log(enum hs_log_level level, const char *message, const char *detail, int error)
{
    (void)level, (void)detail, (void)error;
    ck_abort_msg("%s", message);
}

// ---- code -----------------------------------------------------------------------------------------------------------

static void *new_file(char *name, size_t size, int rights)
{
    strcpy(name, "/tmp/heapsonde-modules-XXXXXX");
    int fd = mkstemp(name);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
    void *memory = mmap(NULL, size, rights, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    close(fd);
    return memory;
}

static char *pieces;

static uintptr_t piece(int number)
{
    return (uintptr_t)pieces + (uintptr_t)number * 2 * PAGE;
}

static void make_piece(int number)
{
    ck_assert_int_eq(mprotect((void *)piece(number), PAGE, PROT_READ | PROT_EXEC), 0);
}

static void setup(void)
{
    new_file(marker, PAGE, PROT_READ);
    pieces = mmap(NULL, (size_t)PIECES * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(pieces, MAP_FAILED);
    scans = announced = unloaded = gone = 0;
    scan_ns = 0;
}

static void teardown(void)
{
    unlink(marker);
    hs_modules__reset();
    hs_modules__set_limit(SIZE_MAX);
}

START_TEST(test_names_behind_thousands)
{
    char name[64];
    for (int i = 0; i < PIECES; i++)
        make_piece(i);
    char *code = new_file(name, PAGE, PROT_READ | PROT_EXEC);
    hs_modules__see((uintptr_t)code + 100);
    unlink(name);
    hs_modules__settle();
    for (int i = 0; i < PIECES; i++)
        hs_modules__see(piece(i) + 100);
    ck_assert_uint_eq(scans, 1); // it has said all that it found
    ck_assert_uint_ge(announced, 1);
}
END_TEST

START_TEST(test_few_scans)
{
    hs_modules__see((uintptr_t)setup + 1);
    for (int i = 0; i < PIECES; i++) {
        make_piece(i);
        hs_modules__see(piece(i) + 100);
    }
    // Each scan lets an eighth more come: the logarithm of their number counts.
    ck_assert_uint_lt(scans, 120);
}
END_TEST

// What was put off is named in the end, and at the latest when as many more pieces were met.
START_TEST(test_what_was_put_off)
{
    char name[64];
    for (int i = 0; i < 100; i++) {
        make_piece(i);
        hs_modules__see(piece(i) + 100);
    }
    hs_modules__settle();
    unsigned before = announced;
    char *code = new_file(name, 3 * PAGE, PROT_READ | PROT_EXEC);
    hs_modules__see((uintptr_t)code + 100);
    ck_assert_uint_eq(announced, before);
    hs_modules__settle();
    ck_assert_uint_eq(announced, before + 1);
    ck_assert_str_eq(last.path, name);
    ck_assert_uint_eq(last.start, (uintptr_t)code);
    ck_assert_uint_eq(last.end, (uintptr_t)code + 3 * PAGE);
    hs_modules__settle();
    ck_assert_uint_eq(announced, before + 1);
    unlink(name);
}
END_TEST

static void note_gone(const struct hs_code_range *code, uint32_t count)
{
    gone += count;
    for (int i = 0; i < PIECES; i++)
        ck_assert_int_eq(hs_code_ranges__hold(code, count, piece(i) + 100), i % 2);
}

START_TEST(test_half_is_unmapped)
{
    for (int i = 0; i < PIECES; i++)
        make_piece(i);
    hs_modules__see(piece(0) + 100);
    for (int i = 1; i < PIECES; i += 2)
        ck_assert_int_eq(munmap((void *)piece(i), PAGE), 0);
    ck_assert(hs_modules__rescan(note_gone));
    ck_assert_uint_eq(gone, PIECES / 2);
    ck_assert_uint_eq(unloaded, PIECES / 2);
    ck_assert(!hs_modules__rescan(note_gone));
}
END_TEST

static void note_gone_alone(const struct hs_code_range *code, uint32_t count)
{
    (void)code;
    gone += count;
}

// A library is loaded in the time of a scan. Up to 127 pieces, each is named at once; then, 16 come from scan to scan.
START_TEST(test_scans_of_many_libraries_are_put_off)
{
    enum { LOADED = 720, AT_ONCE = 127 };
    char name[64], *code = NULL;
    scan_ns = 1000;
    hs_modules__see((uintptr_t)setup + 1);
    unsigned before = announced;
    for (int i = 0; i < LOADED; i++) {
        code = new_file(name, PAGE, PROT_READ | PROT_EXEC);
        unlink(name);
        now_ns += scan_ns;
        hs_modules__see((uintptr_t)code + 100);
    }
    ck_assert_uint_le(scans, AT_ONCE + LOADED / 16);
    ck_assert_uint_gt(announced, before + LOADED - 20);
    code = new_file(name, PAGE, PROT_READ | PROT_EXEC);
    unlink(name);
    uint64_t put_off_at = now_ns;
    hs_modules__see((uintptr_t)code + 100);
    ck_assert_uint_lt(announced, before + LOADED + 1);
    // Known code is enough of an occasion once it is time.
    now_ns += 17 * scan_ns;
    hs_modules__see((uintptr_t)setup + 1);
    ck_assert_uint_eq(announced, before + LOADED + 1);
    hs_modules__catch_up();
    // A node that was journalled while its module was put off is found in it by the time of the module before.
    ck_assert_uint_lt(last.time, put_off_at);
    unsigned enough = scans;
    now_ns += 17 * scan_ns;
    hs_modules__see((uintptr_t)setup + 1);
    ck_assert_uint_eq(scans, enough);
    // So is none at all.
    now_ns += 17 * scan_ns;
    char *first = new_file(name, PAGE, PROT_READ | PROT_EXEC), *second;
    unlink(name);
    hs_modules__see((uintptr_t)first + 100);
    second = new_file(name, PAGE, PROT_READ | PROT_EXEC);
    unlink(name);
    hs_modules__see((uintptr_t)second + 100);
    ck_assert_uint_eq(announced, before + LOADED + 2);
    hs_modules__catch_up();
    ck_assert_uint_eq(announced, before + LOADED + 2);
    now_ns += 17 * scan_ns;
    hs_modules__catch_up();
    ck_assert_uint_eq(announced, before + LOADED + 3);
    // What is put off when code is unloaded may have come to its place only then.
    char *third = new_file(name, PAGE, PROT_READ | PROT_EXEC);
    unlink(name);
    hs_modules__see((uintptr_t)third + 100);
    ck_assert_uint_eq(announced, before + LOADED + 3);
    // Where code is unloaded, other code may take its place: nothing is put off any more.
    munmap(code, PAGE);
    uint64_t unloaded_at = now_ns;
    hs_modules__rescan(note_gone_alone);
    ck_assert_uint_ge(last.time, unloaded_at);
    before = announced;
    for (int i = 0; i < 3; i++) {
        code = new_file(name, PAGE, PROT_READ | PROT_EXEC);
        unlink(name);
        hs_modules__see((uintptr_t)code + 100);
        ck_assert_uint_eq(announced, before + i + 1);
    }
}
END_TEST

// ---- the limit ------------------------------------------------------------------------------------------------------

enum { MOST = 100, LIBRARIES = 150 };

static char *libraries[LIBRARIES];

static void map_library(int number)
{
    char name[64];
    libraries[number] = new_file(name, PAGE, PROT_READ | PROT_EXEC);
    unlink(name);
}

static void map_libraries(void)
{
    hs_modules__set_limit((size_t)2 * MOST * sizeof(struct hs_code_range));
    for (int i = 0; i < LIBRARIES; i++)
        map_library(i);
    hs_modules__see((uintptr_t)libraries[0] + 100);
}

// The program and its own libraries have the rest of the places.
START_TEST(test_code_beyond_the_limit_is_counted)
{
    map_libraries();
    ck_assert_uint_le(announced, MOST);
    ck_assert_uint_ge(announced, MOST - 1); // the vdso may have no name
    uint64_t left_out = live.dropped[HS_DROP_MODULES];
    ck_assert_uint_ge(left_out, LIBRARIES - MOST + 1);
    hs_modules__see((uintptr_t)libraries[LIBRARIES - 1] + 100);
    hs_modules__settle();
    ck_assert_uint_le(announced, MOST);
    ck_assert_uint_eq(live.dropped[HS_DROP_MODULES], left_out);
}
END_TEST

static bool all_is_gone;

static void note_all(const struct hs_code_range *code, uint32_t count)
{
    all_is_gone = true;
    for (int i = 0; i < LIBRARIES; i++)
        all_is_gone &= hs_code_ranges__hold(code, count, (uintptr_t)libraries[i] + 100);
}

// Nobody knows whether the one that is gone had been left out.
START_TEST(test_all_code_is_gone_with_what_was_left_out)
{
    map_libraries();
    for (int i = 0; i < LIBRARIES; i += 2)
        ck_assert_int_eq(munmap(libraries[i], PAGE), 0);
    ck_assert(hs_modules__rescan(note_all));
    ck_assert(all_is_gone);
    ck_assert_uint_gt(unloaded, 0);
    ck_assert_uint_gt(announced, MOST); // in the places of those that are gone
    uint64_t left_out = live.dropped[HS_DROP_MODULES];
    ck_assert(!hs_modules__rescan(note_gone));
    ck_assert_uint_eq(live.dropped[HS_DROP_MODULES], left_out);
}
END_TEST

START_TEST(test_code_without_names_leaves_room_for_names)
{
    hs_modules__set_limit((size_t)2 * MOST * sizeof(struct hs_code_range));
    for (int i = 0; i < PIECES; i++)
        make_piece(i);
    hs_modules__see(piece(0) + 100);
    unsigned before = announced;
    for (int i = 0; i < MOST / 4; i++)
        map_library(i);
    hs_modules__settle();
    hs_modules__rescan(note_all);
    ck_assert_uint_eq(announced, before + MOST / 4);
    // What has no name is missing in no list of names.
    ck_assert_uint_eq(live.dropped[HS_DROP_MODULES], 0);
}
END_TEST

// What is not known is looked for again and again, the less often the more there is of it.
START_TEST(test_few_scans_beyond_the_limit)
{
    hs_modules__set_limit((size_t)2 * MOST * sizeof(struct hs_code_range));
    hs_modules__see((uintptr_t)setup + 1);
    for (int i = 0; i < PIECES; i++) {
        make_piece(i);
        hs_modules__see(piece(i) + 100);
    }
    ck_assert_uint_lt(scans, 120);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("modules");
    TCase *cases = tcase_create("modules");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, test_names_behind_thousands);
    tcase_add_test(cases, test_few_scans);
    tcase_add_test(cases, test_what_was_put_off);
    tcase_add_test(cases, test_scans_of_many_libraries_are_put_off);
    tcase_add_test(cases, test_half_is_unmapped);
    tcase_add_test(cases, test_code_beyond_the_limit_is_counted);
    tcase_add_test(cases, test_all_code_is_gone_with_what_was_left_out);
    tcase_add_test(cases, test_code_without_names_leaves_room_for_names);
    tcase_add_test(cases, test_few_scans_beyond_the_limit);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
