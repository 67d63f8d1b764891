// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A queue ordered by time, then row. It holds `limit` items in memory; when it is full, the later half of them goes to
// a temporary file, in order, and is read back when its time comes.
#ifndef HEAPSONDE_QUERY_PENDING_H
#define HEAPSONDE_QUERY_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HS_PENDING_LIMIT ((size_t)4 << 20)

struct hs_pending_item {
    uint64_t time;
    uint32_t row;
    uint32_t tag;
};

struct hs_pending_run {
    struct hs_pending_item next;
    FILE *file; // NULL: used up
};

struct hs_pending {
    struct hs_pending_item *item; // a binary heap, the first one on top
    size_t count, room, limit;
    struct hs_pending_run *run;
    size_t runs, run_room;
};

void hs_pending__start(struct hs_pending *pending, size_t limit); // at least 2
void hs_pending__free(struct hs_pending *pending);

// Returns 0 or a negative errno.
int hs_pending__add(struct hs_pending *pending, const struct hs_pending_item *item);
// The first item; false: none.
bool hs_pending__first(const struct hs_pending *pending, struct hs_pending_item *item);
// Takes the first item out. Returns 0, or a negative errno when a temporary file cannot be read.
int hs_pending__drop_first(struct hs_pending *pending);

#endif
