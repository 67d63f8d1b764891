// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/value_types.h"

#include "host/base/utf8.h"
#include "host/symbols/strings.h"

#include <math.h>
#include <string.h>

const struct hs_value_types hs_value_types[HS_EVENTS_COUNT] = {
    [HS_EVENTS_HEAP] =
        {{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}},
         {"space", "bytes"},
         "inuse_space"},
    [HS_EVENTS_CPU] = {{{"samples", "count"}, {"cpu", "nanoseconds"}}, {"cpu", "nanoseconds"}, "cpu"},
    [HS_EVENTS_OFF_CPU] = {{{"samples", "count"}, {"off_cpu", "nanoseconds"}}, {"off_cpu", "nanoseconds"}, "off_cpu"},
    [HS_EVENTS_FAULTS] = {{{"samples", "count"}, {"page_faults", "count"}}, {"page_faults", "count"}, "page_faults"},
    [HS_EVENTS_TOUCHED] = {{{"alloc_objects", "count"},
                            {"touched_space", "bytes"},
                            {"inuse_objects", "count"},
                            {"resident_space", "bytes"}},
                           {"space", "bytes"},
                           "resident_space"},
    [HS_EVENTS_TOUCHED_MAPPINGS] =
        {{{"mappings", "count"}, {"touched_space", "bytes"}, {"inuse_mappings", "count"}, {"resident_space", "bytes"}},
         {"space", "bytes"},
         "resident_space"},
};

unsigned hs_dump__first_value(const struct hs_dump *dump)
{
    return dump->has_all ? 0 : 2;
}

unsigned hs_dump__end_of_values(const struct hs_dump *dump)
{
    unsigned end = 0;
    while (end < (dump->lacks_live ? 2 : HS_DUMP_VALUES) && hs_value_types[dump->events].value[end].type)
        end++;
    return end;
}

void hs_dump__values(const struct hs_dump *dump, const struct hs_dump_counts *counts, int64_t values[HS_DUMP_VALUES])
{
    const struct hs_dump_estimate estimate = hs_dump__estimate(dump, counts);
    const double exact[] = {estimate.all_blocks, estimate.all_bytes, estimate.live_blocks, estimate.live_bytes};
    for (unsigned i = 0; i < HS_DUMP_VALUES; i++)
        values[i] = exact[i] < 0x1p63 ? (int64_t)llround(exact[i]) : INT64_MAX;
}

// ---- strings -------------------------------------------------------------------------------------------------------

int hs_string_table__start(struct hs_string_table *table, uint32_t field)
{
    *table = (struct hs_string_table){.field = field, .strings = hs_strings__create()};
    if (!table->strings)
        return -ENOMEM;
    hs_string_table__add(table, "");
    return 0;
}

void hs_string_table__free(struct hs_string_table *table)
{
    hs_buffer__free(&table->fields);
    hs_strings__destroy(table->strings);
    hs_id_map__free(&table->number_of);
}

static char *sound(const char *text, size_t length)
{
    char *copy = strdup(text);
    for (size_t i = 0; copy && i < length;) {
        size_t sequence = hs_utf8__length(copy + i, length - i);
        if (!sequence)
            copy[i] = '?';
        i += sequence ? sequence : 1;
    }
    return copy;
}

uint32_t hs_string_table__add(struct hs_string_table *table, const char *text)
{
    const char *kept = hs_strings__add(table->strings, text);
    uint32_t known = hs_id_map__find(&table->number_of, (uintptr_t)kept);
    if (known != UINT32_MAX)
        return known;
    if (!kept || hs_id_map__set(&table->number_of, (uintptr_t)kept, table->count))
        table->fields.failed = true;
    char *copy = sound(text, strlen(text));
    table->fields.failed |= !copy;
    hs_buffer__put_bytes_field(&table->fields, table->field, copy ? copy : "", copy ? strlen(copy) : 0);
    free(copy);
    return table->count++;
}
