// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Kinds of connections to a machine, in a table (way.c). Each can run a shell script there, which needs only a POSIX
// sh.
#ifndef HEAPSONDE_HOST_BOARD_WAY_H
#define HEAPSONDE_HOST_BOARD_WAY_H

#include "host/base/error.h"

#include <stdbool.h>

enum hs_session_role {
    HS_SESSION_FIRST,   // opens the connection, and keeps it open until it ends
    HS_SESSION_OTHER,   // uses the connection of the first
    HS_SESSION_TERMINAL // the same, with a terminal on the other machine
};

struct hs_way;

struct hs_address_of_board {
    const struct hs_way *way;
    char *text;      // the whole address, as the user gave it
    char *target;    // what follows the prefix
    char *port;      // ssh: or NULL
    char folder[40]; // ssh: local folder of the socket through which sessions share one connection; "": none
    bool asks;       // ssh may ask for a password: there is a terminal
};

// Parses ssh://[USER@]HOST[:PORT], adb:[SERIAL], docker:NAME, podman:NAME, or exec:COMMAND with {}. 0, or a negative
// errno with the reason in `error`. The caller frees the address in both cases.
int hs_board_address__read(struct hs_address_of_board *address, const char *text, struct hs_error *error);
void hs_board_address__free(struct hs_address_of_board *address);

// The command that runs the script there; NULL ends it. Freed by hs_words__free. NULL: out of memory.
char **hs_board_address__words(const struct hs_address_of_board *address, const char *script,
                               enum hs_session_role role);

// Whether its sessions have to stay on this terminal, where they ask for a password. They then ignore the terminal's
// signals. Other sessions are detached from the terminal.
bool hs_board_address__needs_terminal(const struct hs_address_of_board *address);

// How many seconds the machine may not answer: HEAPSONDE_BOARD_PATIENCE, or 15.
unsigned hs_board_timeout(void);

// What an error message of ssh, adb or docker means and what to do, in one sentence; "": not known.
const char *hs_board_address__advice(const struct hs_address_of_board *address, const char *errors);

#endif
