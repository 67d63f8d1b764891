// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Ways to a machine on which a shell script can be run: an entry of a table each. All of them need there is a POSIX sh.
#ifndef HEAPSONDE_HOST_BOARD_WAY_H
#define HEAPSONDE_HOST_BOARD_WAY_H

#include "host/store/error.h"

#include <stdbool.h>

enum hs_session_role {
    HS_SESSION_FIRST,   // opens the connection, and lives as long as it does
    HS_SESSION_OTHER,   // beside the first
    HS_SESSION_TERMINAL // the same, on a terminal of its own
};

struct hs_way;

struct hs_address_of_board {
    const struct hs_way *way;
    char *text;      // as it was given
    char *target;    // behind the prefix
    char *port;      // ssh: or NULL
    char folder[40]; // ssh: here, of the socket by which sessions share one connection; "": none
    bool asks;       // whether there is somebody at a terminal who can be asked for a password
};

// ssh://[USER@]HOST[:PORT], adb:[SERIAL], docker:NAME, podman:NAME, exec:COMMAND with {}. 0, or a negative errno with
// the reason in `error`; in both cases it is to be freed.
int hs_board_address__read(struct hs_address_of_board *address, const char *text, struct hs_error *error);
void hs_board_address__free(struct hs_address_of_board *address);

// What runs the script there; NULL ends it. Freed by hs_words__free. NULL without memory.
char **hs_board_address__words(const struct hs_address_of_board *address, const char *script,
                               enum hs_session_role role);

// Whether signals of this terminal that reach its sessions are to be ignored, since the way asks for passwords there;
// else they may be led away from the terminal.
bool hs_board_address__needs_terminal(const struct hs_address_of_board *address);

// What a way's own words on standard error mean, in one sentence: "" where nothing is known.
const char *hs_board_address__advice(const struct hs_address_of_board *address, const char *errors);

#endif
