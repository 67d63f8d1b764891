// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What commands need that wait for sessions on a board.
#ifndef HEAPSONDE_HOST_CLI_BOARD_SESSION_H
#define HEAPSONDE_HOST_CLI_BOARD_SESSION_H

#include "host/board/board.h"

#include <signal.h>

// Whether this entry of the environment is passed on to the recorder.
bool hs_board_session__takes(const char *entry);

// SIGCHLD, and the signals that are passed on to a program.
sigset_t hs_board_session__signals(void);

// Signals end the waiting for the board as long as they are not the program's.
void hs_board_session__signals_end_waiting(bool do_so);

// Waits for what the receiver says (hs_board__await_receiver). Signals are blocked: one that comes ends the waiting.
void hs_board_session__wait_for(const struct hs_session *receiver);

// Ends it whatever it does.
void hs_board_session__end(struct hs_session *session);

// For what runs on a board.
#define HS_FETCH_BINARIES_OPTION                                                                                       \
    {                                                                                                                  \
        .name = "fetch-binaries", .only_with = "on", .kind = HS_OPTION_FILE, .argument = "DIR",                        \
        .help = "with --on, copy the program and its libraries from there into this folder at the end, for report "    \
                "--sysroot"                                                                                            \
    }

#endif
