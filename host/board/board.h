// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A machine on which a program is to be recorded, as it was found, and the connection to it.
#ifndef HEAPSONDE_HOST_BOARD_BOARD_H
#define HEAPSONDE_HOST_BOARD_BOARD_H

#include "host/board/script.h"
#include "host/board/session.h"
#include "host/shims/shims.h"

#include <limits.h>
#include <stdio.h>

struct hs_board {
    struct hs_address_of_board address;
    char nonce[33];
    struct hs_session keeper;
    FILE *words;            // of the keeper
    int errors;             // descriptor of a file here
    char library[PATH_MAX]; // here, of the program's ABI
    const struct hs_abi *abi;
    // what was found
    char kernel[160], machine[64], user[32];
    char program[PATH_MAX]; // there; "": not found
    char program_state[32]; // good, missing, folder, not-executable, set-uid, unreadable
    char folder[PATH_MAX];  // there; "": none
    bool streams;
    char refused[512]; // folders that would not do, and why
    struct hs_probe probe;
};

// Connects and looks; without `program` at the machine alone. What is made there is removed by hs_board__close, or by
// itself when the connection is cut. 0, or a negative errno with one sentence in `error`.
int hs_board__open(struct hs_board *board, const char *address, const char *program, const char *folder,
                   struct hs_error *error);

// Whether the program can be recorded there; finds the library for it. 0, or the exit status for the shell.
int hs_board__check_program(struct hs_board *board, const char *name, struct hs_error *error);

// Sends the library, without what no loader maps. 0 or a negative errno.
int hs_board__send_library(struct hs_board *board, struct hs_error *error);

// Lets go of the board. `status`: that of the program as its shell gave it, -1 when there is none, or -2 when the
// connection had been cut before.
void hs_board__close(struct hs_board *board, int *status);

// A session beside the keeper, with standard error into the file of errors unless `errors` is a descriptor.
int hs_board__start(struct hs_board *board, struct hs_session *session, char *script, enum hs_session_role role,
                    int input, int output, int errors);

#endif
