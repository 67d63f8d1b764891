// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of run-time code from a board: what heapsonde-attach sends (host/onboard/names.h), and which trace each file
// belongs to.
#ifndef HEAPSONDE_HOST_CLI_BOARD_NAMES_H
#define HEAPSONDE_HOST_CLI_BOARD_NAMES_H

#include "host/board/board.h"
#include "host/cli/board_traces.h"
#include "host/cli/jit_files.h"

struct hs_board_name_file {
    uint32_t pid;
    bool is_cut;
    struct hs_buffer file; // its name, with NUL, and its contents
};

struct hs_board_names {
    struct hs_board_name_file *all;
    size_t count;
    size_t refused;
    bool is_attached; // it has said so
    bool is_done;     // and its shell, that it has ended
    bool is_wrong;    // what came is not understood
    char line[128];
    size_t length;
    size_t left; // bytes of the last file that have not come
};

void hs_board_names__take(struct hs_board_names *names, const char *bytes, size_t size);
// Puts the files into the traces of their processes; a forked child without a map gets that of its parent.
void hs_board_names__add(const struct hs_board_names *names, const struct hs_board_traces *traces,
                         struct hs_jit_taken *taken);
void hs_board_names__free(struct hs_board_names *names);

// Takes the files of processes that have ended, for all traces.
void hs_board_names__fetch(struct hs_board *board, const struct hs_board_traces *traces, struct hs_jit_taken *taken);

#endif
