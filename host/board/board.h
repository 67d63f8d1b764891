// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A machine on which a program is to be recorded: the connection to it, and what was found there.
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
    FILE *words;            // output of the keeper
    int status;             // that the keeper reported at its end: see hs_board__close
    int errors;             // local file with the standard error of the sessions
    char library[PATH_MAX]; // local path of the library for the program's ABI
    char attach[PATH_MAX];  // of heapsonde-attach
    const struct hs_abi *abi;
    // what the keeper reports
    char kernel[160], machine[64], user[32];
    char program[PATH_MAX];     // path on the board; "": not found
    char program_state[32];     // good, missing, folder, not-executable, no-interpreter, set-uid, unreadable
    char interpreter[PATH_MAX]; // that runs the program; "": it is no script
    char instead[PATH_MAX];     // has to be started with the program as its argument, because env would; "": nothing
    char folder[PATH_MAX];      // the created folder on the board; "": none
    bool streams;
    char refused[512]; // folders that cannot be used, with the reasons
    struct hs_probe probe;
};

// Connects and examines the machine, and `program` unless it is NULL. Files that are created there are removed by
// hs_board__close, or by the board itself if the connection is cut. 0, or a negative errno with one sentence in
// `error`.
int hs_board__open(struct hs_board *board, const char *address, const char *program, const char *folder,
                   struct hs_error *error);

// Checks whether the program can be recorded there, and finds the library for it. 0, or an exit status as a shell would
// give it, with the reason in `error`.
int hs_board__check_program(struct hs_board *board, const char *name, struct hs_error *error);

// The same for a process that runs there: the folder is one that it sees.
int hs_board__open_process(struct hs_board *board, const char *address, pid_t pid, const char *folder,
                           struct hs_error *error);
// Whether it can be attached to with this library, as far as its file shows that. 0 or a negative errno.
int hs_board__check_process(struct hs_board *board, pid_t pid, enum hs_shim shim, struct hs_error *error);

// Finds heapsonde-attach for the machine's ABI and sends it. 0 or a negative errno.
int hs_board__send_attach(struct hs_board *board, struct hs_error *error);

// Sends the library, stripped to what a loader maps. 0 or a negative errno.
int hs_board__send_library(struct hs_board *board, struct hs_error *error);

// The same in the session that then sends the traces: fewer connections, and the program's session can be started
// before the library is there. The first returns when the session was started, the second when the library is there,
// and calls `wait` before it reads of the session. 0 or a negative errno.
int hs_board__start_receiver(struct hs_board *board, struct hs_session *session, struct hs_error *error);
int hs_board__await_receiver(struct hs_board *board, struct hs_session *session, void (*wait)(void *context),
                             void *context, struct hs_error *error);

// Whether files with names of run-time code of one of these processes are on the board. Needs no session of its own.
bool hs_board__has_names(struct hs_board *board, const pid_t *pids, size_t count);

// Removes the created files and closes the connection. `status` becomes the exit status that the shell reported for the
// program, -1 if there is none, or -2 if the connection was already cut.
void hs_board__close(struct hs_board *board, int *status);

// Starts a session. Its standard error is `errors`, or board->errors if that is negative. Frees `script`.
int hs_board__start(struct hs_board *board, struct hs_session *session, char *script, enum hs_session_role role,
                    int input, int output, int errors);

#endif
