// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The folder of a test of imports that go on from what others left: a trace, and the store of its import in one go.
#ifndef HEAPSONDE_TESTS_IMPORT_FOLDER_H
#define HEAPSONDE_TESTS_IMPORT_FOLDER_H

#include "tests/store/trace_writer.h"

#include <stddef.h>
#include <stdint.h>

// `path` is the trace's.
extern char folder[64], path[128], whole_store[160];

void make_folder(void);
void remove_folder(void);
void run_shell(const char *format, ...);
// Into the whole store, with all rows in memory.
void import_whole(void);
// The first byte of the trace's first events; done twice, the file is as before.
void flip_first_events(void);
// Numbers that make no sense in a left-over, under a right checksum.
void corrupt(struct random_state *random, uint8_t *bytes, size_t size);

#endif
