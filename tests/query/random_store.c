// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/query/random_store.h"

#include "host/import/import.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 270000

static char folder[] = "/tmp/heapsonde-query-XXXXXX";
struct hs_store *store;
const struct hs_columns *columns;
uint64_t rows, end_time;
uint64_t stack_words[RANDOM_STORE_STACKS / 64];

static void write_trace(const char *path, uint64_t seed, uint64_t coarseness)
{
    struct random_program program;
    random_program__make(&program, seed, EVENTS, 3, true, 8);
    for (size_t i = 0; i < program.count; i++) {
        program.event[i].time /= coarseness;
        program.event[i].begin_time /= coarseness;
    }
    program.end_time /= coarseness;
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
}

void open_trace(uint64_t seed, uint64_t coarseness)
{
    char path[256];
    struct hs_error error = {""};
    strcpy(folder, "/tmp/heapsonde-query-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    write_trace(path, seed, coarseness);
    const struct hs_import_options options = {.temporary = true};
    int result = hs_import__open(path, &options, &store, &error);
    ck_assert_msg(!result, "%s", error.message);
    columns = hs_store__columns(store);
    rows = columns->rows;
    end_time = hs_store__summary(store)->end_time;
    ck_assert_uint_gt(rows, 2 * HS_ZONE_ROWS);
    unlink(path);
    rmdir(folder);
}

// ---- filters --------------------------------------------------------------------------------------------------------

uint64_t some_row(struct random_state *random)
{
    return random_below(random, rows);
}

static bool is_third(void *context, const struct hs_store *of, uint64_t row)
{
    (void)context;
    (void)of;
    return row % 3 == 0;
}

void add_this_condition(struct hs_filter *filter, struct random_state *random, unsigned number)
{
    static struct hs_time_range times[2];
    uint64_t a = hs_row__time(columns, some_row(random)), b = hs_row__time(columns, some_row(random));
    uint64_t first = a < b ? a : b, last = a < b ? b : a;
    switch (number) {
    case 0:
        filter->time_min = first;
        filter->time_max = last;
        break;
    case 1:
        filter->free_min = first;
        filter->free_max = random_below(random, 2) ? last : UINT64_MAX;
        break;
    case 2:
        filter->size_min = hs_row__size(columns, some_row(random));
        break;
    case 3:
        filter->size_max = hs_row__size(columns, some_row(random));
        break;
    case 4:
        filter->address_min = hs_row__address(columns, some_row(random));
        break;
    case 5:
        filter->lifetime_min = (last - first) / 16;
        filter->unfreed_live_forever = random_below(random, 2);
        break;
    case 6:
        filter->lifetime_max = (last - first) / 16;
        filter->unfreed_live_forever = random_below(random, 2);
        break;
    case 7:
        filter->alive_at[0] = first;
        filter->alive_count = 1;
        break;
    case 8:
        filter->alive_at[0] = first;
        filter->alive_at[1] = random_below(random, 8) ? last : UINT64_MAX;
        filter->alive_count = 2;
        break;
    case 9:
        filter->freed_only = true;
        break;
    case 10:
        filter->never_freed_only = true;
        break;
    case 11:
        filter->flags_all = random_below(random, 2) ? HS_ROW_TEMPORARY : HS_ROW_REALLOCATED;
        break;
    case 12:
        filter->flags_none = HS_ROW_REALLOCATED;
        filter->not_own_thread_only = random_below(random, 2);
        break;
    case 13:
        for (size_t i = 0; i < sizeof(stack_words) / sizeof(*stack_words); i++)
            stack_words[i] = random_next(random) & random_next(random);
        filter->stacks = (struct hs_set){stack_words, 64 * sizeof(stack_words) / sizeof(*stack_words)};
        break;
    case 14:
        filter->chain_length_min = 2;
        break;
    case 15:
        times[0] = (struct hs_time_range){first / 2, first};
        times[1] = (struct hs_time_range){last + 1, last + 1000};
        filter->times = times;
        filter->time_count = 2;
        break;
    default:
        filter->accept = is_third;
    }
}

static void add_condition(struct hs_filter *filter, struct random_state *random)
{
    add_this_condition(filter, random, (unsigned)random_below(random, 17));
}

void choose_filter(struct hs_filter *filter, struct random_state *random)
{
    hs_filter__init(filter);
    for (uint64_t n = random_below(random, 4); n; n--)
        add_condition(filter, random);
}

// The matching rows, one after another.
uint64_t slow_rows(const struct hs_filter *filter, uint32_t *row)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < rows; i++)
        if (hs_filter__matches(filter, store, i))
            row[count++] = (uint32_t)i;
    return count;
}

uint64_t slow_key(enum hs_row_key by, uint32_t row)
{
    uint64_t freed = hs_row__free_time(columns, row);
    switch (by) {
    case HS_ROW_BY_ADDRESS:
        return hs_row__address(columns, row);
    case HS_ROW_BY_SIZE:
        return hs_row__size(columns, row);
    case HS_ROW_BY_LIFETIME:
        return (freed == HS_NEVER ? end_time : freed) - hs_row__time(columns, row);
    default:
        return hs_row__time(columns, row);
    }
}
