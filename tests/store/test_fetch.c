// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The map of live blocks in the builder. What a batch of events will touch is fetched before it is known whether it is
// there: nothing beyond the rows may be read for that. The map has a limit.
#include "host/import/builder.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POOLS 400000 // more than the memory of the first rows has room for

static struct hs_builder builder;
static struct hs_summary summary;

static void visit_one(struct hs_step step)
{
    step.time = 1;
    ck_assert_int_eq(hs_builder__visit(&builder, &step, 1), 0);
    ck_assert_int_eq(hs_builder__settle(&builder), 0);
}

// A free in a pool that nobody heard of makes the pool known.
static void make_pool(uint64_t handle)
{
    const struct hs_event event = {.kind = HS_EVENT_POOL_FREE, .pool = handle, .address = 1};
    visit_one((struct hs_step){.kind = HS_EVENT_POOL_FREE, .address = 1, .event = &event, .phase = HS_PHASE_END});
}

// An address whose block would stand where a pool with that handle has to stand: the place before is taken, and the
// pool belongs there.
static uint64_t find_colliding(void)
{
    const struct hs_live_map *map = &builder.live;
    for (uint64_t i = 1;; i++) {
        uint64_t address = i * 0x9e3779b97f4a7c15u & ~(uint64_t)15;
        uint64_t block = hs_live_map__slot(map, address, HS_LIVE_HEAP);
        uint64_t pool = hs_live_map__slot(map, address, UINT32_MAX);
        if (block == pool + 1 && map->entry[pool].row_plus_1 && !map->entry[block].row_plus_1)
            return address;
    }
}

// What is behind the memory of the rows' ends may not be read from now on.
static void guard_ends(void)
{
    struct hs_growing *row_ends = &builder.row_ends.time;
    size_t behind = (POOLS + 1) * sizeof(uint64_t);
    ck_assert_uint_lt(row_ends->size, behind);
    uint8_t *guarded = mmap(NULL, row_ends->size + behind, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(guarded, MAP_FAILED);
    ck_assert_int_eq(mprotect(guarded, row_ends->size, PROT_READ | PROT_WRITE), 0);
    memcpy(guarded, row_ends->data, row_ends->size);
    munmap(row_ends->data, row_ends->size);
    row_ends->data = guarded;
}

static void remove_all(const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(directory);
}

static int create_builder(char *directory, const struct hs_file_header *header)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    builder = (struct hs_builder){0};
    ck_assert_int_eq(hs_builder__create(&builder, fd, &summary, 1000), 0);
    ck_assert_int_eq(hs_builder__expect(&builder, 16, 1), 0);
    ck_assert_int_eq(hs_clock_map__create(&builder.clock, header, NULL, NULL, 0), 0);
    return fd;
}

START_TEST(a_pool_is_no_row)
{
    char directory[] = "/tmp/heapsonde-fetch-XXXXXX";
    const struct hs_file_header header = {.clock_source = HS_CLOCK_MONOTONIC};
    const int fd = create_builder(directory, &header);
    builder.live.seed = 1;
    visit_one((struct hs_step){.kind = HS_EVENT_MALLOC, .address = 16, .size = 8, .usable = 8, .phase = HS_PHASE_END});
    for (uint64_t i = 0; i < POOLS; i++)
        make_pool((i + 1) << 12);
    uint64_t colliding = find_colliding(), slots = builder.live.mask;
    make_pool(colliding);
    ck_assert_uint_eq(builder.live.mask, slots);
    guard_ends();
    uint64_t unknown = summary.unknown_frees;
    visit_one((struct hs_step){.kind = HS_EVENT_FREE, .address = colliding, .phase = HS_PHASE_END});
    ck_assert_uint_eq(summary.unknown_frees, unknown + 1);
    hs_builder__free(&builder);
    close(fd);
    remove_all(directory);
}
END_TEST

// Small traces may not take gigabytes for blocks that live.
START_TEST(live_blocks_are_limited)
{
    char directory[] = "/tmp/heapsonde-fetch-XXXXXX";
    const struct hs_file_header header = {.clock_source = HS_CLOCK_MONOTONIC};
    struct hs_step step = {.kind = HS_EVENT_MALLOC, .size = 8, .usable = 8, .phase = HS_PHASE_END, .time = 1};
    const int fd = create_builder(directory, &header);
    builder.live_most = 1000;
    int result = 0;
    uint64_t full = builder.live.mask;
    while (!result && builder.live.count <= full) {
        step.address += 16;
        struct hs_step one = step;
        result = hs_builder__visit(&builder, &one, 1);
    }
    ck_assert_int_eq(result, -E2BIG);
    ck_assert_uint_eq(builder.live.mask, full);
    hs_builder__free(&builder);
    close(fd);
    remove_all(directory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fetch");
    TCase *tests = tcase_create("fetch");
    tcase_add_test(tests, a_pool_is_no_row);
    tcase_add_test(tests, live_blocks_are_limited);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
