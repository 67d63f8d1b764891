// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/timeline_seconds.h"

#include <errno.h>
#include <stdlib.h>

#define NS 1000000000u

static int add_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct hs_seconds *seconds = context;
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t size = hs_row__size(columns, row), freed = hs_row__free_time(columns, row);
    uint64_t in = hs_store__realtime_ns(store, hs_row__time(columns, row)) / NS - seconds->first;
    if (in >= seconds->count)
        return 0;
    seconds->second[in].bytes_in += size;
    seconds->second[in].count_in++;
    if (freed == HS_NEVER) {
        seconds->second[in].leaked_bytes += size;
        seconds->second[in].leaked_count++;
        return 0;
    }
    uint64_t out = hs_store__realtime_ns(store, freed) / NS - seconds->first;
    if (out < seconds->count) {
        seconds->second[out].bytes_out += size;
        seconds->second[out].count_out++;
    }
    return 0;
}

int hs_seconds__make(struct hs_seconds *seconds, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error)
{
    const uint64_t most = (uint64_t)1 << 26; // two years
    uint64_t first = hs_store__realtime_ns(store, 0) / NS;
    uint64_t last = hs_store__realtime_ns(store, hs_store__summary(store)->end_time) / NS;
    *seconds = (struct hs_seconds){.first = first};
    if (last < first || last - first >= most)
        return hs_error__set(error, EOVERFLOW, "the trace is too long for a point each second");
    seconds->count = last - first + 1;
    seconds->second = calloc(seconds->count, sizeof(*seconds->second));
    if (!seconds->second)
        return hs_error__set(error, ENOMEM, "out of memory");
    return hs_query__each(store, filter, control, add_row, seconds, error);
}

void hs_seconds__free(struct hs_seconds *seconds)
{
    free(seconds->second);
    *seconds = (struct hs_seconds){0};
}

uint64_t *hs_seconds__points(const bool *active, size_t count, size_t *points)
{
    uint64_t *number = malloc((count + 1) * sizeof(*number));
    *points = 0;
    for (size_t i = 0; number && i < count; i++) {
        bool later = false;
        for (size_t k = i + 1; !active[i] && !later && k < count && k < i + 2; k++)
            later = active[k];
        bool after = i && active[i - 1];
        if (active[i] || later || after)
            number[(*points)++] = i;
    }
    // After the last point there is no gap.
    while (*points && !active[number[*points - 1]])
        --*points;
    while (number && *points && !active[number[0]]) {
        for (size_t i = 1; i < *points; i++)
            number[i - 1] = number[i];
        --*points;
    }
    return number;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static uint64_t value_of(const struct hs_second *second, unsigned array)
{
    switch (array) {
    case 0:
    case 2:
        return second->bytes_in - second->bytes_out;
    case 1:
    case 3:
        return second->count_in - second->count_out;
    case 4:
        return second->leaked_bytes;
    default:
        return second->leaked_count;
    }
}

// Nothing happens between two points, so the change in the second of a point is the difference to the previous point.
static void write_array(struct hs_json *json, const char *key, const struct hs_seconds *seconds, const uint64_t *number,
                        size_t points, unsigned array)
{
    uint64_t sum = 0;
    hs_json__open_array(json, key);
    for (size_t i = 0; i < points; i++) {
        uint64_t value = value_of(&seconds->second[number[i]], array);
        sum += value;
        hs_json__signed(json, NULL, (int64_t)(array < 2 ? value : sum));
    }
    hs_json__close_array(json);
}

void hs_seconds__write(struct hs_json *json, const struct hs_seconds *seconds)
{
    static const char *const arrays[] = {"size_delta",      "count_delta", "allocated_size",
                                         "allocated_count", "leaked_size", "leaked_count"};
    size_t points = 0;
    bool *active = calloc(seconds->count + 1, sizeof(*active));
    for (size_t i = 0; active && i < seconds->count; i++)
        active[i] = seconds->second[i].count_in || seconds->second[i].count_out;
    uint64_t *number = active ? hs_seconds__points(active, seconds->count, &points) : NULL;
    hs_json__open_array(json, "xs");
    for (size_t i = 0; i < points; i++)
        hs_json__number(json, NULL, seconds->first + number[i]);
    hs_json__close_array(json);
    for (unsigned i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        write_array(json, arrays[i], seconds, number, points, i);
    free(number);
    free(active);
}
