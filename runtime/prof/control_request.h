// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The requests of the control socket: one line of text each, ended by a newline, at most HS_CONTROL_REQUEST bytes.
//
//   start [SESSION]   switches sampling on, also in a process that was started without prof:true
//   stop [SESSION]    ends the session; when the last session ends, sampling is switched off
//   stop-all          ends every session
//   status            reports what is on, since when, and the counts
//   dump [PATH]       writes a dump, with an automatic name or to an absolute path
//   reset             forgets all samples and counts
//   rate BYTES        sets the mean number of bytes between samples; existing samples keep their weight
//   get-dump FORMAT   answers with a dump: heap_v2, text, proto, symbolized, collapsed
//   stats             answers with the JSON that malloc_stats_print() prints with "J"
//   cmdline, maps     answer with these files of /proc/self
//
// SESSION consists of at most 32 letters, digits, '_', '.' and '-'. Requests without one share the session without a
// name, which is also that of the program itself. Words are separated by one space; PATH is the rest of the line.
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
    uint64_t bytes;                   // for HS_CONTROL_RATE
    char session[HS_CONTROL_SESSION]; // "": the session without a name
    const char *path;                 // for HS_CONTROL_DUMP, inside the line; NULL: an automatic name
};

#pragma GCC visibility push(hidden)
// Parses a line of `length` bytes including its newline, which becomes a NUL. Returns NULL or an error message.
const char *hs_control_request__parse(struct hs_control_request *request, char *line, size_t length);
#pragma GCC visibility pop

#endif
