// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A heap dump, or a folder of dumps of one process, as a trace of sums: for code that knows stores only. Of several
// processes it is the one that wrote the last dump; dumps that do not say which process wrote them belong to it. Each
// dump is a tick, and so is each instant of a file that has several. A stack has what the last dump says of it and what
// it had in the largest one; the timeline has the totals of all. Dumps are in the order of their times: those that they
// contain, else those of their files. They count from the first of them, those of one file of several instants from the
// start of its process.
#ifndef HEAPSONDE_HOST_DUMP_SERIES_H
#define HEAPSONDE_HOST_DUMP_SERIES_H

#include "host/dump/view.h"
#include "host/store/tables.h"

struct hs_dump_series {
    struct hs_dump_view view; // its subject has the store and the symbols
    // private
    struct hs_dump **dump;
    uint64_t *time; // ns since 1970
    uint64_t begin; // where times count from
    size_t count, room, time_room;
    char id[33];
    uint64_t file_size; // of all files
    char estimate[160], counted[16];
    const char *clock;  // what times count, if it is not time
    char left_out[256]; // which dumps of the folder are not in it, and why; "": none
    struct hs_store_fact facts[9];
};

// Whether this is a dump, or a folder with dumps that is no store.
bool hs_dump_series__recognise(const char *path);

// Reads all dumps, of a folder those that can be recognised. 0, or a negative errno with the error set. `cancel` may be
// NULL.
int hs_dump_series__open(struct hs_dump_series *series, const char *path, const struct hs_symbols_options *options,
                         const int *cancel, struct hs_error *error);
void hs_dump_series__close(struct hs_dump_series *series);

// The last dump up to this time, which is in ns since the series begins; before the first dump, that one.
const struct hs_dump *hs_dump_series__at(const struct hs_dump_series *series, uint64_t time);
// What that dump has in use, or has allocated if it does not know what is in use, by stack: as the allocated, the peak
// and the live numbers. `stacks`: only these; NULL: all. 0 or -ENOMEM.
int hs_dump_series__totals_at(const struct hs_dump_series *series, uint64_t time, const struct hs_set *stacks,
                              struct hs_totals *totals);

// -EINVAL: its sums are more than any process has, and could overflow with others.
int hs_dump_series__check_size(const struct hs_dump *dump, struct hs_error *error);

// When a dump was written, in ns since 1970: what it says itself, else the time of the file; 0: unknown.
uint64_t hs_dump_series__time_of(const struct hs_dump *dump, const char *path);
// The same of a text in a dump such as 2026-11-28T16:11:49.5Z; NULL or no time: 0.
uint64_t hs_dump_series__time_in(const char *text);

#endif
