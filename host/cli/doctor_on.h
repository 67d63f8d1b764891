// SPDX-License-Identifier: MIT OR Apache-2.0
//
// doctor --on: checks what will work on another machine, over the connection.
#ifndef HEAPSONDE_HOST_CLI_DOCTOR_ON_H
#define HEAPSONDE_HOST_CLI_DOCTOR_ON_H

#include "host/board/board.h"
#include "host/doctor/doctor.h"

struct hs_board_scene {
    struct hs_board board;
    const char *name; // of the program, as the user gave it; NULL: none
    pid_t pid;        // of the process to attach to; 0: none
    struct hs_error connection, program, library;
    bool is_connected, is_recordable, is_sent;
};

// Connects, examines the machine, sends a file as a trial, and closes the connection: the library or, for a process,
// heapsonde-attach. The scene's `name` or `pid` is filled, if the user gave one.
void hs_board_scene__look(struct hs_board_scene *scene, const char *address, const char *folder);

// Checks of a scene whose `board` is filled.
extern const struct hs_doctor_check hs_board_checks[];
extern const size_t hs_board_check_count;

#endif
