// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the values of a dump's contexts are called in profiles for other tools, and the strings of such profiles.
#ifndef HEAPSONDE_HOST_DUMP_VALUE_TYPES_H
#define HEAPSONDE_HOST_DUMP_VALUE_TYPES_H

#include "host/base/buffer.h"
#include "host/base/id_map.h"
#include "host/dump/dump.h"

// The values of a sample in their order: of all blocks and of live ones.
enum { HS_DUMP_VALUES = 4 };

struct hs_value_type {
    const char *type, *unit; // NULL: there are no more
};

struct hs_value_types {
    struct hs_value_type value[HS_DUMP_VALUES], period;
    const char *shown_first;
};

extern const struct hs_value_types hs_value_types[HS_EVENTS_COUNT];

// The values that the dump has: from the first one to before the end.
unsigned hs_dump__first_value(const struct hs_dump *dump);
unsigned hs_dump__end_of_values(const struct hs_dump *dump);
void hs_dump__values(const struct hs_dump *dump, const struct hs_dump_counts *counts, int64_t values[HS_DUMP_VALUES]);

// Each different string once, as a field of a message of protobuf. The first one is "".
struct hs_string_table {
    struct hs_buffer fields;
    uint32_t field; // the number of the field
    // private
    struct hs_strings *strings;
    struct hs_id_map number_of; // by address of the kept string
    uint32_t count;
};

// Returns 0 or -ENOMEM.
int hs_string_table__start(struct hs_string_table *table, uint32_t field);
void hs_string_table__free(struct hs_string_table *table);

// The number of a string, whose bytes that are no UTF-8 become '?'. When memory is exhausted, fields.failed is set.
uint32_t hs_string_table__add(struct hs_string_table *table, const char *text);

#endif
