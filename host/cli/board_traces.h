// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces of the processes on a board. They come through one pipe, in packets (docs/protocol.md, section 1.2), and
// each becomes a file, which is named as the recorder would name it.
#ifndef HEAPSONDE_HOST_CLI_BOARD_TRACES_H
#define HEAPSONDE_HOST_CLI_BOARD_TRACES_H

#include "format/wire.h"
#include "host/cli/command.h"
#include "host/cli/run_summary.h"

struct hs_board_trace;

struct hs_board_traces {
    const struct hs_command *command;
    const struct hs_recording *recording; // its pattern, its process and when it started
    struct hs_board_trace *all;           // in the order in which they began
    size_t count, open;
    struct hs_wire_packet packet; // what has come of the next one
    size_t length;
    int problem; // errno: a trace could not be written, and nothing is written after that
};

// Takes bytes from the pipe. False: they are no packets.
bool hs_board_traces__take(struct hs_board_traces *traces, const char *bytes, size_t size);

// The file of a trace, by its number below `count`.
const char *hs_board_traces__path(const struct hs_board_traces *traces, size_t number);

// Closes the files.
void hs_board_traces__close(struct hs_board_traces *traces);
void hs_board_traces__free(struct hs_board_traces *traces);

#endif
