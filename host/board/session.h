// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One script that runs on a board: a process here, of the program that is the way there.
#ifndef HEAPSONDE_HOST_BOARD_SESSION_H
#define HEAPSONDE_HOST_BOARD_SESSION_H

#include "host/board/way.h"

#include <sys/types.h>

enum { HS_SESSION_PIPE = -1, HS_SESSION_NOTHING = -2 }; // in place of a descriptor

struct hs_session {
    pid_t pid;  // 0: there is none
    int input;  // the end of its standard input here, when that is a pipe; else -1
    int output; // the same of its standard output
    int status; // as waitpid gives it, once it was waited for
};

// Starts the script. `input` and `output` are descriptors that it gets or one of the above, `errors` is a descriptor.
// Unless `in_front`, the terminal's signals do not end it. 0 or -errno.
int hs_session__start(struct hs_session *session, const struct hs_address_of_board *address, const char *script,
                      enum hs_session_role role, int input, int output, int errors, bool in_front);
void hs_session__close_input(struct hs_session *session);
void hs_session__close_output(struct hs_session *session);

// Waits until it has ended: its exit status, or 128 and a signal.
int hs_session__wait(struct hs_session *session);
// The same where it may still run: false then.
bool hs_session__has_ended(struct hs_session *session);

#endif
