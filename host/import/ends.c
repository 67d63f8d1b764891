// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/ends.h"

#include "host/base/check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// The word of a row that is late, in its region. Gone when the region is.
#define IS_LATE (ROW_IS_LIVE - 1)

// The newest region is still busy.
#define KEPT_REGIONS 1

// Each column gives large pages back whole. A late row takes as much memory as two others.
struct ends_limits ends_limits = {.blocks = (2u << 20) / HS_PACKED_BLOCK, .live_part = 8};

static uint64_t region_rows(void)
{
    return ends_limits.blocks * HS_PACKED_BLOCK;
}

// NULL: in memory.
static struct ends_region *retired_region(const struct ends *ends, uint64_t row)
{
    if (row >= ends->retired_rows)
        return NULL;
    struct ends_region *region = ((struct ends_region **)ends->regions.data)[row / region_rows()];
    return region->late ? region : NULL;
}

void ends__create(struct ends *ends, int directory_fd)
{
    *ends = (struct ends){.directory_fd = directory_fd, .file.fd = -1};
}

void ends__free(struct ends *ends)
{
    struct ends_region **regions = ends->regions.data;
    for (size_t i = 0; i < ends->regions.count; i++) {
        free(regions[i]->late);
        free(regions[i]);
    }
    free(ends->regions.data);
    hs_packed__close(&ends->spilled);
    hs_packed_writer__abandon(&ends->file);
    hs_growing__free(&ends->time);
    hs_growing__free(&ends->stack);
    hs_growing__free(&ends->stream);
    hs_growing__free(&ends->state);
}

static const size_t element_size[ENDS_COLUMNS] = {
    [ENDS_TIME] = sizeof(uint64_t),
    [ENDS_STACK] = sizeof(uint32_t),
    [ENDS_STREAM] = sizeof(uint32_t),
    [ENDS_STATE] = sizeof(uint8_t),
};

int ends__make_room(struct ends *ends)
{
    uint64_t room = ends->room ? 2 * ends->room : 16 * HS_PACKED_BLOCK;
    struct hs_growing *const memory[ENDS_COLUMNS] = {&ends->time, &ends->stack, &ends->stream, &ends->state};
    int failed = 0;
    for (unsigned i = 0; i < ENDS_COLUMNS && !failed; i++)
        failed = hs_growing__reserve(memory[i], room * element_size[i]);
    if (!failed)
        ends->room = room;
    return failed;
}

// ---- retiring ------------------------------------------------------------------------------------------------------

static uint64_t count_live(const uint64_t *time, uint64_t rows)
{
    uint64_t live = 0;
    for (uint64_t i = 0; i < rows; i++)
        live += time[i] >> 63;
    return live;
}

static void take_live_rows(struct ends *ends, struct ends_region *region)
{
    const uint64_t first = region->number * region_rows();
    uint64_t *time = ends__times(ends) + first;
    for (uint64_t i = 0; i < region_rows(); i++) {
        if (!(time[i] & ROW_IS_LIVE))
            continue;
        region->late[region->late_count++] =
            (struct late_row){.time = time[i], .place = (uint32_t)i, .state = ends__states(ends)[first + i]};
        time[i] = IS_LATE;
    }
}

static bool retire(struct ends *ends, struct ends_region *region, uint64_t rows)
{
    uint64_t live = count_live(ends__times(ends) + region->number * region_rows(), region_rows());
    bool worth_it = live <= region_rows() / ends_limits.live_part;
    region->late = worth_it ? malloc((live + 1) * sizeof *region->late) : NULL;
    region->look_again = rows + rows / 4;
    if (!region->late)
        return false;
    take_live_rows(ends, region);
    HS_CHECK(region->late_count == live);
    const uint64_t end = (region->number + 1) * region_rows();
    ends->retired_rows = ends->retired_rows < end ? end : ends->retired_rows;
    return true;
}

static struct ends_region *add_region(struct ends *ends)
{
    struct ends_region *region = calloc(1, sizeof *region);
    struct ends_region **added = region ? hs_array__add(&ends->regions, sizeof *added) : NULL;
    if (!added) {
        free(region);
        return NULL;
    }
    region->number = ends->regions.count - 1;
    return *added = region;
}

static bool has_file(struct ends *ends)
{
    const char *name = "ends";
    if (ends->file.fd >= 0 || ends->file.failed)
        return !ends->file.failed;
    int failed = hs_packed_writer__create(&ends->file, ends->directory_fd, name);
    unlinkat(ends->directory_fd, name, 0);
    ends->file.failed = failed;
    return !failed;
}

struct ends_region *ends__retire(struct ends *ends, uint64_t rows)
{
    struct ends_region *list = NULL;
    uint64_t regions = rows / region_rows();
    while (ends->regions.count < regions)
        if (!add_region(ends))
            return NULL;
    for (uint64_t i = 0; i + KEPT_REGIONS < regions; i++) {
        struct ends_region *region = ((struct ends_region **)ends->regions.data)[i];
        if (region->late || region->look_again > rows || !has_file(ends) || !retire(ends, region, rows))
            continue;
        region->next = list;
        list = region;
    }
    return list;
}

// ---- the file ------------------------------------------------------------------------------------------------------

static void widen(const struct ends *ends, enum ends_column column, uint64_t first, size_t count, uint64_t *to)
{
    for (size_t i = 0; i < count && column == ENDS_TIME; i++)
        to[i] = ends__times(ends)[first + i];
    for (size_t i = 0; i < count && column == ENDS_STACK; i++)
        to[i] = ends__stacks(ends)[first + i];
    for (size_t i = 0; i < count && column == ENDS_STREAM; i++)
        to[i] = ends__streams(ends)[first + i];
    for (size_t i = 0; i < count && column == ENDS_STATE; i++)
        to[i] = ends__states(ends)[first + i];
}

// What late rows have here is not read: any time that needs no more bits.
static void fill_late(uint64_t *time, size_t count)
{
    uint64_t known = 0;
    for (size_t i = 0; i < count && !known; i++)
        known = time[i] == IS_LATE ? 0 : time[i];
    for (size_t i = 0; i < count; i++)
        time[i] = time[i] == IS_LATE ? known : time[i];
}

static int write_region(struct ends *ends, struct ends_region *region)
{
    uint64_t values[HS_PACKED_BLOCK], first = region->number * region_rows();
    region->first_block = ends->file.blocks;
    for (uint64_t i = 0; i < ends_limits.blocks; i++, first += HS_PACKED_BLOCK) {
        for (enum ends_column column = 0; column < ENDS_COLUMNS; column++) {
            widen(ends, column, first, HS_PACKED_BLOCK, values);
            if (column == ENDS_TIME)
                fill_late(values, HS_PACKED_BLOCK);
            hs_packed_writer__add(&ends->file, values, HS_PACKED_BLOCK);
        }
    }
    return hs_packed_writer__flush(&ends->file);
}

// The whole pages of it.
static void give_back(const void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)memory + page - 1) & ~(page - 1), to = ((uintptr_t)memory + size) & ~(page - 1);
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void ends__spill(struct ends *ends, struct ends_region *list)
{
    for (struct ends_region *region = list; region && !ends->file.failed; region = region->next) {
        const uint64_t rows = region_rows(), first = region->number * rows;
        HS_CHECK(region->late && !region->spilled);
        if (write_region(ends, region))
            return;
        region->spilled = true;
        give_back(ends__times(ends) + first, rows * element_size[ENDS_TIME]);
        give_back(ends__stacks(ends) + first, rows * element_size[ENDS_STACK]);
        give_back(ends__streams(ends) + first, rows * element_size[ENDS_STREAM]);
        give_back(ends__states(ends) + first, rows * element_size[ENDS_STATE]);
    }
}

int ends__settle(struct ends *ends)
{
    hs_packed__close(&ends->spilled);
    return ends->file.fd < 0 ? 0 : hs_packed__open_written(&ends->spilled, &ends->file);
}

// ---- reading -------------------------------------------------------------------------------------------------------

// The first late row at this place or behind it.
static size_t first_late(const struct ends_region *region, uint64_t place)
{
    size_t low = 0, high = region->late_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (region->late[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct late_row *ends__late_row(const struct ends *ends, uint64_t row)
{
    const struct ends_region *region = retired_region(ends, row);
    size_t i = region ? first_late(region, row % region_rows()) : 0;
    return region && i < region->late_count && region->late[i].place == row % region_rows() ? &region->late[i] : NULL;
}

static uint64_t block_in_file(const struct ends_region *region, enum ends_column column, uint64_t number)
{
    return region->first_block + number % ends_limits.blocks * ENDS_COLUMNS + column;
}

uint64_t ends__time_at(const struct ends *ends, uint64_t row)
{
    const struct ends_region *region = retired_region(ends, row);
    const struct late_row *late = ends__late_row(ends, row);
    if (late)
        return late->time;
    if (!region || !region->spilled)
        return ends__times(ends)[row];
    uint64_t block = block_in_file(region, ENDS_TIME, row / HS_PACKED_BLOCK);
    return hs_packed__at(&ends->spilled, block * HS_PACKED_BLOCK + row % HS_PACKED_BLOCK);
}

static uint64_t late_value(const struct late_row *late, enum ends_column column)
{
    const uint64_t values[ENDS_COLUMNS] = {
        [ENDS_TIME] = late->time, [ENDS_STACK] = late->stack, [ENDS_STREAM] = late->stream, [ENDS_STATE] = late->state};
    return values[column];
}

void ends__read_block(const struct ends *ends, enum ends_column column, uint64_t number, size_t count, uint64_t *to)
{
    const uint64_t first = number * HS_PACKED_BLOCK, begin = first % region_rows();
    const struct ends_region *region = retired_region(ends, first);
    if (region && region->spilled)
        hs_packed__read_block(&ends->spilled, block_in_file(region, column, number), to);
    else
        widen(ends, column, first, count, to);
    for (size_t i = region ? first_late(region, begin) : 0;
         region && i < region->late_count && region->late[i].place < begin + count; i++)
        to[region->late[i].place - begin] = late_value(&region->late[i], column);
}

void ends__leave_behind(const struct ends *ends, uint64_t number)
{
    const struct ends_region *region = retired_region(ends, number * HS_PACKED_BLOCK);
    if (region && region->spilled && (number + 1) % ends_limits.blocks == 0)
        hs_packed__leave(&ends->spilled, region->first_block, region->first_block + ends_limits.blocks * ENDS_COLUMNS);
}
