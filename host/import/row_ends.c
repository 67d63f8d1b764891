// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/row_ends.h"

#include "host/base/check.h"
#include "host/base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// The word of a row that is late, in its region. Gone when the region is.
#define IS_LATE (ROW_IS_LIVE - 1)

// The newest region is still busy.
#define KEPT_REGIONS 1

// Each column gives large pages back whole. A late row takes as much memory as two others.
struct hs_row_ends_limits hs_row_ends_limits = {.blocks = (2u << 20) / HS_PACKED_BLOCK, .live_part = 8};

static uint64_t region_rows(void)
{
    return hs_row_ends_limits.blocks * HS_PACKED_BLOCK;
}

// NULL: in memory.
static struct hs_row_ends_region *retired_region(const struct hs_row_ends *row_ends, uint64_t row)
{
    if (row >= row_ends->retired_rows)
        return NULL;
    struct hs_row_ends_region *region = ((struct hs_row_ends_region **)row_ends->regions.data)[row / region_rows()];
    return region->late ? region : NULL;
}

void hs_row_ends__create(struct hs_row_ends *row_ends, int directory_fd)
{
    *row_ends = (struct hs_row_ends){.directory_fd = directory_fd, .file.fd = -1};
}

void hs_row_ends__free(struct hs_row_ends *row_ends)
{
    struct hs_row_ends_region **regions = row_ends->regions.data;
    for (size_t i = 0; i < row_ends->regions.count; i++) {
        free(regions[i]->late);
        free(regions[i]);
    }
    free(row_ends->regions.data);
    hs_packed__close(&row_ends->spilled);
    hs_packed_writer__abandon(&row_ends->file);
    hs_growing__free(&row_ends->time);
    hs_growing__free(&row_ends->stack);
    hs_growing__free(&row_ends->stream);
    hs_growing__free(&row_ends->state);
}

static const size_t element_size[HS_ROW_ENDS_COLUMNS] = {
    [HS_ROW_ENDS_TIME] = sizeof(uint64_t),
    [HS_ROW_ENDS_STACK] = sizeof(uint32_t),
    [HS_ROW_ENDS_STREAM] = sizeof(uint32_t),
    [HS_ROW_ENDS_STATE] = sizeof(uint8_t),
};

int hs_row_ends__make_room(struct hs_row_ends *row_ends)
{
    uint64_t room = row_ends->room ? 2 * row_ends->room : 16 * HS_PACKED_BLOCK;
    struct hs_growing *const memory[HS_ROW_ENDS_COLUMNS] = {&row_ends->time, &row_ends->stack, &row_ends->stream,
                                                            &row_ends->state};
    int failed = 0;
    for (unsigned i = 0; i < HS_ROW_ENDS_COLUMNS && !failed; i++)
        failed = hs_growing__reserve(memory[i], room * element_size[i]);
    if (!failed)
        row_ends->room = room;
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

static void take_live_rows(struct hs_row_ends *row_ends, struct hs_row_ends_region *region)
{
    const uint64_t first = region->number * region_rows();
    uint64_t *time = hs_row_ends__times(row_ends) + first;
    for (uint64_t i = 0; i < region_rows(); i++) {
        if (!(time[i] & ROW_IS_LIVE))
            continue;
        region->late[region->late_count++] = (struct hs_late_row){
            .time = time[i], .place = (uint32_t)i, .state = hs_row_ends__states(row_ends)[first + i]};
        time[i] = IS_LATE;
    }
}

static bool retire(struct hs_row_ends *row_ends, struct hs_row_ends_region *region, uint64_t rows)
{
    uint64_t live = count_live(hs_row_ends__times(row_ends) + region->number * region_rows(), region_rows());
    bool worth_it = live <= region_rows() / hs_row_ends_limits.live_part;
    region->late = worth_it ? malloc((live + 1) * sizeof *region->late) : NULL;
    region->look_again = rows + rows / 4;
    if (!region->late)
        return false;
    take_live_rows(row_ends, region);
    HS_CHECK(region->late_count == live);
    const uint64_t end = (region->number + 1) * region_rows();
    row_ends->retired_rows = row_ends->retired_rows < end ? end : row_ends->retired_rows;
    return true;
}

static struct hs_row_ends_region *add_region(struct hs_row_ends *row_ends)
{
    struct hs_row_ends_region *region = calloc(1, sizeof *region);
    struct hs_row_ends_region **added = region ? hs_array__add(&row_ends->regions, sizeof *added) : NULL;
    if (!added) {
        free(region);
        return NULL;
    }
    region->number = row_ends->regions.count - 1;
    return *added = region;
}

static bool has_file(struct hs_row_ends *row_ends)
{
    const char *name = "ends";
    if (row_ends->file.fd >= 0 || row_ends->file.failed)
        return !row_ends->file.failed;
    int failed = hs_packed_writer__create(&row_ends->file, row_ends->directory_fd, name);
    unlinkat(row_ends->directory_fd, name, 0);
    row_ends->file.failed = failed;
    return !failed;
}

struct hs_row_ends_region *hs_row_ends__retire(struct hs_row_ends *row_ends, uint64_t rows)
{
    struct hs_row_ends_region *list = NULL;
    uint64_t regions = rows / region_rows();
    while (row_ends->regions.count < regions)
        if (!add_region(row_ends))
            return NULL;
    for (uint64_t i = 0; i + KEPT_REGIONS < regions; i++) {
        struct hs_row_ends_region *region = ((struct hs_row_ends_region **)row_ends->regions.data)[i];
        if (region->late || region->look_again > rows || !has_file(row_ends) || !retire(row_ends, region, rows))
            continue;
        region->next = list;
        list = region;
    }
    return list;
}

// ---- the file ------------------------------------------------------------------------------------------------------

static void widen(const struct hs_row_ends *row_ends, enum hs_row_ends_column column, uint64_t first, size_t count,
                  uint64_t *to)
{
    for (size_t i = 0; i < count && column == HS_ROW_ENDS_TIME; i++)
        to[i] = hs_row_ends__times(row_ends)[first + i];
    for (size_t i = 0; i < count && column == HS_ROW_ENDS_STACK; i++)
        to[i] = hs_row_ends__stacks(row_ends)[first + i];
    for (size_t i = 0; i < count && column == HS_ROW_ENDS_STREAM; i++)
        to[i] = hs_row_ends__streams(row_ends)[first + i];
    for (size_t i = 0; i < count && column == HS_ROW_ENDS_STATE; i++)
        to[i] = hs_row_ends__states(row_ends)[first + i];
}

// The values of late rows are not read here; a value is chosen that needs no additional bits.
static void fill_late(uint64_t *time, size_t count)
{
    uint64_t known = 0;
    for (size_t i = 0; i < count && !known; i++)
        known = time[i] == IS_LATE ? 0 : time[i];
    for (size_t i = 0; i < count; i++)
        time[i] = time[i] == IS_LATE ? known : time[i];
}

static int write_region(struct hs_row_ends *row_ends, struct hs_row_ends_region *region)
{
    uint64_t values[HS_PACKED_BLOCK], first = region->number * region_rows();
    region->first_block = row_ends->file.blocks;
    for (uint64_t i = 0; i < hs_row_ends_limits.blocks; i++, first += HS_PACKED_BLOCK) {
        for (enum hs_row_ends_column column = 0; column < HS_ROW_ENDS_COLUMNS; column++) {
            widen(row_ends, column, first, HS_PACKED_BLOCK, values);
            if (column == HS_ROW_ENDS_TIME)
                fill_late(values, HS_PACKED_BLOCK);
            hs_packed_writer__add(&row_ends->file, values, HS_PACKED_BLOCK);
        }
    }
    return hs_packed_writer__flush(&row_ends->file);
}

// The whole pages of it.
static void give_back(const void *memory, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)memory + page - 1) & ~(page - 1), to = ((uintptr_t)memory + size) & ~(page - 1);
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

void hs_row_ends__spill(struct hs_row_ends *row_ends, struct hs_row_ends_region *list)
{
    for (struct hs_row_ends_region *region = list; region && !row_ends->file.failed; region = region->next) {
        const uint64_t rows = region_rows(), first = region->number * rows;
        HS_CHECK(region->late && !region->spilled);
        if (write_region(row_ends, region))
            return;
        region->spilled = true;
        give_back(hs_row_ends__times(row_ends) + first, rows * element_size[HS_ROW_ENDS_TIME]);
        give_back(hs_row_ends__stacks(row_ends) + first, rows * element_size[HS_ROW_ENDS_STACK]);
        give_back(hs_row_ends__streams(row_ends) + first, rows * element_size[HS_ROW_ENDS_STREAM]);
        give_back(hs_row_ends__states(row_ends) + first, rows * element_size[HS_ROW_ENDS_STATE]);
    }
}

int hs_row_ends__settle(struct hs_row_ends *row_ends)
{
    hs_packed__close(&row_ends->spilled);
    return row_ends->file.fd < 0 ? 0 : hs_packed__open_written(&row_ends->spilled, &row_ends->file);
}

// ---- reading -------------------------------------------------------------------------------------------------------

// The first late row at or after this place.
static size_t first_late(const struct hs_row_ends_region *region, uint64_t place)
{
    return HS_SEARCH(region->late_count, i, region->late[i].place < place);
}

struct hs_late_row *hs_row_ends__late_row(const struct hs_row_ends *row_ends, uint64_t row)
{
    const struct hs_row_ends_region *region = retired_region(row_ends, row);
    size_t i = region ? first_late(region, row % region_rows()) : 0;
    return region && i < region->late_count && region->late[i].place == row % region_rows() ? &region->late[i] : NULL;
}

static uint64_t block_in_file(const struct hs_row_ends_region *region, enum hs_row_ends_column column, uint64_t number)
{
    return region->first_block + number % hs_row_ends_limits.blocks * HS_ROW_ENDS_COLUMNS + column;
}

uint64_t hs_row_ends__time_at(const struct hs_row_ends *row_ends, uint64_t row)
{
    const struct hs_row_ends_region *region = retired_region(row_ends, row);
    const struct hs_late_row *late = hs_row_ends__late_row(row_ends, row);
    if (late)
        return late->time;
    if (!region || !region->spilled)
        return hs_row_ends__times(row_ends)[row];
    uint64_t block = block_in_file(region, HS_ROW_ENDS_TIME, row / HS_PACKED_BLOCK);
    return hs_packed__at(&row_ends->spilled, block * HS_PACKED_BLOCK + row % HS_PACKED_BLOCK);
}

static uint64_t late_value(const struct hs_late_row *late, enum hs_row_ends_column column)
{
    const uint64_t values[HS_ROW_ENDS_COLUMNS] = {[HS_ROW_ENDS_TIME] = late->time,
                                                  [HS_ROW_ENDS_STACK] = late->stack,
                                                  [HS_ROW_ENDS_STREAM] = late->stream,
                                                  [HS_ROW_ENDS_STATE] = late->state};
    return values[column];
}

void hs_row_ends__read_block(const struct hs_row_ends *row_ends, enum hs_row_ends_column column, uint64_t number,
                             size_t count, uint64_t *to)
{
    const uint64_t first = number * HS_PACKED_BLOCK, begin = first % region_rows();
    const struct hs_row_ends_region *region = retired_region(row_ends, first);
    if (region && region->spilled)
        hs_packed__read_block(&row_ends->spilled, block_in_file(region, column, number), to);
    else
        widen(row_ends, column, first, count, to);
    for (size_t i = region ? first_late(region, begin) : 0;
         region && i < region->late_count && region->late[i].place < begin + count; i++)
        to[region->late[i].place - begin] = late_value(&region->late[i], column);
}

void hs_row_ends__drop_pages_behind(const struct hs_row_ends *row_ends, uint64_t number)
{
    const struct hs_row_ends_region *region = retired_region(row_ends, number * HS_PACKED_BLOCK);
    if (region && region->spilled && (number + 1) % hs_row_ends_limits.blocks == 0)
        hs_packed__drop_pages(&row_ends->spilled, region->first_block,
                              region->first_block + hs_row_ends_limits.blocks * HS_ROW_ENDS_COLUMNS);
}
