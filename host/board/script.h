// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What runs on a board, as text for a POSIX sh without anything that busybox may lack. Each is to be freed; NULL
// without memory.
//
//   keep     looks at the board and says what it found, makes the folder, waits until its standard input ends, and
//            removes the folder; when the connection is cut, too, and the program then gets SIGHUP
//   send     its standard input becomes the library
//   trace    the trace, as it comes: "ready", the program's process number, each in a line, and the bytes
//   run      the program
//   signal   sends it a signal
#ifndef HEAPSONDE_HOST_BOARD_SCRIPT_H
#define HEAPSONDE_HOST_BOARD_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#define HS_BOARD_LIBRARY "libheapsonde-trace.so"
enum { HS_BOARD_PROGRAM_BYTES = 65536 }; // of the program's file that are looked at

struct hs_board_wish {
    const char *program; // as it was named; NULL: none
    const char *folder;  // the only one that will do, or NULL
    const char *nonce;   // in the name of the folder that is made
    unsigned need_kib;   // that have to be free there
};

char *hs_board_script__keep(const struct hs_board_wish *wish);
char *hs_board_script__send(const char *folder, size_t size);
char *hs_board_script__trace(const char *folder);
// `variables` (NAME=VALUE) and the library are for the program alone, which begins at words[program].
char *hs_board_script__run(const char *folder, char *const *variables, char *const *words, size_t program);
char *hs_board_script__signal(const char *folder, int signal);

#endif
