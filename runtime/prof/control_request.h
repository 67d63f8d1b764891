// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The requests of the control socket: one line of text each, ended by a newline, at most HS_CONTROL_REQUEST bytes.
//
//   start [SESSION]   sampling on, also in a process that was started without prof:true
//   stop [SESSION]    ends the session; sampling goes off with the last one
//   stop-all          ends every session
//   status            what is on, since when, and how much was counted
//   dump [PATH]       writes a dump: under an automatic name, or to an absolute path
//   reset             forgets every sample and every count
//   rate BYTES        mean bytes between samples; what was sampled keeps its weight
//   get-dump FORMAT   answers with a dump: heap_v2, text, proto, symbolized, collapsed
//   stats             answers with JSON: what malloc_stats_print() prints with "J"
//   cmdline, maps     answer with these files of /proc/self
//
// SESSION is of letters, digits, '_', '.' and '-', at most 32. Whoever gives none shares the session without a name,
// which is also that of the program itself. Words are separated by one space; PATH is the rest of the line.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_REQUEST_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_REQUEST_H

#include "runtime/prof/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_CONTROL_REQUEST = 4096, HS_CONTROL_SESSION = 33 };

#define HS_CONTROL_MOST_RATE (1ull << 48)

enum hs_control_kind {
    HS_CONTROL_START,
    HS_CONTROL_STOP,
    HS_CONTROL_STOP_ALL,
    HS_CONTROL_STATUS,
    HS_CONTROL_DUMP,
    HS_CONTROL_RESET,
    HS_CONTROL_RATE,
    HS_CONTROL_GET_DUMP,
    HS_CONTROL_STATISTICS,
    HS_CONTROL_COMMAND_LINE,
    HS_CONTROL_MAPS
};

struct hs_control_request {
    enum hs_control_kind kind;
    enum hs_dump_format format;
    uint64_t bytes;                   // of HS_CONTROL_RATE
    char session[HS_CONTROL_SESSION]; // empty: the one without a name
    const char *path;                 // of HS_CONTROL_DUMP, in the line; NULL: an automatic name
};

#pragma GCC visibility push(hidden)
// Reads a line of `length` bytes, which ends with its newline; that becomes a NUL. Returns NULL, or what is wrong.
const char *hs_control_request__parse(struct hs_control_request *request, char *line, size_t length);
#pragma GCC visibility pop

#endif
