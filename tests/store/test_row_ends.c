// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How rows ended, held against arrays in memory: rows that start, end at once, late or never, while regions are retired
// and spilled behind them.
#include "host/import/row_ends.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROWS = 40 * HS_PACKED_BLOCK + 17, REGION_BLOCKS = 2 };

struct model {
    uint64_t time[ROWS];
    uint32_t stack[ROWS], stream[ROWS];
    uint8_t state[ROWS];
};

struct test {
    struct hs_row_ends row_ends;
    struct model model;
    struct random_state random;
    uint64_t rows, now;
    size_t retired;
};

static void add_row(struct test *test)
{
    if (test->rows && hs_row_ends__begins_region(test->rows)) {
        struct hs_row_ends_region *list = hs_row_ends__retire(&test->row_ends, test->rows);
        for (struct hs_row_ends_region *region = list; region; region = region->next)
            test->retired++;
        hs_row_ends__spill(&test->row_ends, list);
    }
    if (test->rows == test->row_ends.room)
        ck_assert_int_eq(hs_row_ends__make_room(&test->row_ends), 0);
    uint64_t row = test->rows++;
    test->model.time[row] = hs_row_ends__times(&test->row_ends)[row] =
        ROW_IS_LIVE | random_below(&test->random, 1u << 30);
    test->model.state[row] = hs_row_ends__states(&test->row_ends)[row] = (uint8_t)(1 + random_below(&test->random, 3));
}

static void end_row(struct test *test, uint64_t row)
{
    struct hs_late_row *late = hs_row_ends__late_row(&test->row_ends, row);
    uint32_t stack = random_below(&test->random, 4) ? 0 : (uint32_t)random_below(&test->random, 1000);
    uint32_t stream = random_below(&test->random, 4) ? 0 : (uint32_t)random_below(&test->random, 8);
    uint8_t flags = (uint8_t)(random_below(&test->random, 4) << 3);
    // A late row's word in its region says that it is not there.
    ck_assert_int_eq(late != NULL, !(hs_row_ends__times(&test->row_ends)[row] & ROW_IS_LIVE));
    if (late) {
        ck_assert_uint_eq(late->time, test->model.time[row]);
        *late = (struct hs_late_row){test->now, late->place, stack, stream, late->state};
    } else {
        hs_row_ends__times(&test->row_ends)[row] = test->now;
        hs_row_ends__stacks(&test->row_ends)[row] = stack;
        hs_row_ends__streams(&test->row_ends)[row] = stream;
    }
    hs_row_ends__add_to_state(&test->row_ends, row, flags);
    test->model.time[row] = test->now;
    test->model.stack[row] = stack;
    test->model.stream[row] = stream;
    test->model.state[row] |= flags;
}

static void expect_block(const struct test *test, uint64_t number)
{
    uint64_t value[HS_ROW_ENDS_COLUMNS][HS_PACKED_BLOCK], first = number * HS_PACKED_BLOCK, left = test->rows - first;
    size_t count = left < HS_PACKED_BLOCK ? (size_t)left : HS_PACKED_BLOCK;
    for (enum hs_row_ends_column column = 0; column < HS_ROW_ENDS_COLUMNS; column++)
        hs_row_ends__read_block(&test->row_ends, column, number, count, value[column]);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(value[HS_ROW_ENDS_TIME][i], test->model.time[first + i]);
        ck_assert_uint_eq(value[HS_ROW_ENDS_STACK][i], test->model.stack[first + i]);
        ck_assert_uint_eq(value[HS_ROW_ENDS_STREAM][i], test->model.stream[first + i]);
        ck_assert_uint_eq(value[HS_ROW_ENDS_STATE][i], test->model.state[first + i]);
        ck_assert_uint_eq(hs_row_ends__time_at(&test->row_ends, first + i), test->model.time[first + i]);
    }
    hs_row_ends__drop_pages_behind(&test->row_ends, number);
}

static void expect_model(struct test *test)
{
    ck_assert_int_eq(hs_row_ends__settle(&test->row_ends), 0);
    for (uint64_t number = 0; number * HS_PACKED_BLOCK < test->rows; number++)
        expect_block(test, number);
}

// Of live rows one is likely to be new.
static uint64_t some_row(struct test *test)
{
    uint64_t near = test->rows < 300 ? test->rows : 300;
    return random_below(&test->random, 3) ? test->rows - 1 - random_below(&test->random, near)
                                          : random_below(&test->random, test->rows);
}

static void run_program(struct test *test, uint64_t rows, uint64_t frees)
{
    while (test->rows < rows) {
        add_row(test);
        test->now += random_below(&test->random, 5);
        for (uint64_t i = 0; i < frees; i++) {
            uint64_t row = some_row(test);
            if (test->model.time[row] & ROW_IS_LIVE)
                end_row(test, row);
        }
        if (random_below(&test->random, 3 * HS_PACKED_BLOCK) == 0)
            expect_model(test);
    }
    expect_model(test);
}

static struct test *create(const char *name, const char *directory)
{
    struct test *test = calloc(1, sizeof *test);
    ck_assert_ptr_nonnull(test);
    test->random.word = test_seed(name);
    int directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(directory_fd, 0);
    hs_row_ends__create(&test->row_ends, directory_fd);
    hs_row_ends_limits = (struct hs_row_ends_limits){.blocks = REGION_BLOCKS, .live_part = 8};
    return test;
}

static void destroy(struct test *test)
{
    close(test->row_ends.directory_fd);
    hs_row_ends__free(&test->row_ends);
    free(test);
}

START_TEST(rows_end_as_in_memory)
{
    struct test *test = create("rows_end_as_in_memory", "/tmp");
    run_program(test, ROWS, 4);
    ck_assert_uint_ge(test->retired, ROWS / HS_PACKED_BLOCK / REGION_BLOCKS - 3);
    ck_assert_uint_eq(test->row_ends.spilled.count,
                      test->retired * REGION_BLOCKS * HS_ROW_ENDS_COLUMNS * HS_PACKED_BLOCK);
    destroy(test);
}
END_TEST

// It is looked at again when there are a quarter more rows.
START_TEST(regions_with_many_live_rows_stay)
{
    struct test *test = create("regions_with_many_live_rows_stay", "/tmp");
    run_program(test, ROWS / 2, 0);
    ck_assert_uint_eq(test->retired, 0);
    for (uint64_t row = 0; row < test->rows; row += 1 + (row % 10 == 0))
        end_row(test, row);
    run_program(test, ROWS, 0);
    ck_assert_uint_ge(test->retired, ROWS / 2 / HS_PACKED_BLOCK / REGION_BLOCKS - 1);
    destroy(test);
}
END_TEST

START_TEST(without_a_file_all_stays_in_memory)
{
    struct test *test = create("without_a_file_all_stays_in_memory", "/proc");
    run_program(test, ROWS, 4);
    ck_assert_uint_eq(test->retired, 0);
    destroy(test);
}
END_TEST

// What is not written is not given up.
START_TEST(a_full_disk_does_no_harm)
{
    struct test *test = create("a_full_disk_does_no_harm", "/tmp");
    const struct rlimit some = {200000, 200000};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &some), 0);
    run_program(test, ROWS, 4);
    ck_assert_uint_gt(test->retired, 0);
    ck_assert_int_ne(test->row_ends.file.failed, 0);
    destroy(test);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ends");
    TCase *tests = tcase_create("ends");
    tcase_add_test(tests, rows_end_as_in_memory);
    tcase_add_test(tests, regions_with_many_live_rows_stay);
    tcase_add_test(tests, without_a_file_all_stays_in_memory);
    tcase_add_test(tests, a_full_disk_does_no_harm);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
