// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The live table on a terminal: running streams first, as many lines as fit.
#ifndef HEAPSONDE_HOST_GATHER_TABLE_H
#define HEAPSONDE_HOST_GATHER_TABLE_H

#include "host/gather/traces.h"

#include <stdio.h>

struct hs_table {
    unsigned lines; // number of lines on the terminal
    struct hs_gathered_row *rows;
    size_t room;
    // Sizes at the last redraw, for the rates: an open hash by trace id.
    struct hs_table_before *before;
    size_t before_room;
};

// Removes the table from the terminal, so that a line can be printed.
void hs_table__wipe(struct hs_table *table, FILE *out);
void hs_table__draw(struct hs_table *table, FILE *out, struct hs_traces *traces, const struct hs_traces_totals *totals,
                    uint64_t rate);
void hs_table__free(struct hs_table *table);

#endif
