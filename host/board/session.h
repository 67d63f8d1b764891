// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One script that runs on a board. On this machine, it is a process of ssh, adb, docker or the like.
#ifndef HEAPSONDE_HOST_BOARD_SESSION_H
#define HEAPSONDE_HOST_BOARD_SESSION_H

#include "host/board/way.h"

#include <sys/types.h>

enum { HS_SESSION_PIPE = -1, HS_SESSION_NOTHING = -2 }; // in place of a descriptor

struct hs_session {
    pid_t pid;  // 0: not running
    int input;  // our end of the pipe to its standard input; -1: no pipe
    int output; // our end of the pipe from its standard output; -1: no pipe
    int status; // from waitpid, after it has ended
};

// Starts the script. `input` and `output` are descriptors for it or one of the constants above, `errors` is a
// descriptor. Unless `in_front`, signals of the terminal do not end it. 0 or a negative errno.
int hs_session__start(struct hs_session *session, const struct hs_address_of_board *address, const char *script,
                      enum hs_session_role role, int input, int output, int errors, bool in_front);
void hs_session__close_input(struct hs_session *session);
void hs_session__close_output(struct hs_session *session);

// Waits until it has ended. Returns its exit status, or 128 plus the number of the signal that ended it.
int hs_session__wait(struct hs_session *session);
// Does not wait: false if it still runs.
bool hs_session__has_ended(struct hs_session *session);

#endif
