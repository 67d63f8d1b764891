// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A recorded program, exported and read by the programs that people read such files with.
#ifndef HEAPSONDE_TESTS_READERS_READERS_H
#define HEAPSONDE_TESTS_READERS_READERS_H

#include "command.h"

// Folder of the sources; to be called first.
void find_source(void);
extern char source[4096];

// The program and its trace, program.dat, in the folder of the test.
void make_trace(void);

// A trace of the same name that has samples of every kind.
void make_sampled_trace(void);

void need(const char *tool);

// Runs a command whose lines are keys of `report --json OPTIONS program.dat` and numbers, which must be the report's.
// `count` lines are expected. With a filter, the report's peak is that of the matching blocks, but most formats have
// sums at the peak of the whole heap.
void expect_totals(const char *options, const char *reader, int count);

// The same of one of the report's objects: "cpu", "touched".
void expect_events(const char *events, const char *options, const char *reader, int count);

// Exports the trace with the options into a file named like the format.
void export_as(const char *format, const char *options);

#endif
