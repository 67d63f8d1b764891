// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The scripts that run on a board, for a POSIX sh such as that of busybox. The caller frees each result. NULL: out of
// memory.
//
//   keep     examines the board, prints what it finds, and creates the folder. It answers each line of process numbers
//            with "names yes" if there are files with names of run-time code of one of them, otherwise with "names no".
//            When its standard input ends, also because the connection was cut, it removes the folder. If the program
//            still runs, it gets SIGHUP.
//   send     writes its standard input to a file of the folder
//   trace    as send, then prints a line "ready", a line with the program's process number when that was started, and
//            then the packets of the traces while they are recorded
//   run      runs the program
//   attach   runs heapsonde-attach for the library, until a byte comes from its standard input; prints "done" when that
//            has ended, and ends itself when its input does
//   detach   has heapsonde-attach end the recording of a process
//   names    has heapsonde-attach send the files with names of run-time code of processes that have ended
//   signal   sends a signal to the program; ends with HS_BOARD_HAS_ENDED if it has ended already
#ifndef HEAPSONDE_HOST_BOARD_SCRIPT_H
#define HEAPSONDE_HOST_BOARD_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HS_BOARD_LIBRARY "libheapsonde-trace.so"
#define HS_BOARD_ATTACH  "heapsonde-attach"
enum { HS_BOARD_HAS_ENDED = 3 };
enum { HS_BOARD_PROGRAM_BYTES = 65536 }; // that are read from the beginning of the program's file

struct hs_board_wish {
    const char *program; // as the user named it; NULL: none
    pid_t pid;           // of a process that is to be attached to; 0: none
    const char *folder;  // the only folder to try; NULL: the usual ones
    const char *nonce;   // part of the name of the created folder
    unsigned need_kib;   // required free space
};

char *hs_board_script__keep(const struct hs_board_wish *wish);
char *hs_board_script__send(const char *folder, const char *name, size_t size);
char *hs_board_script__trace(const char *folder, size_t size);
// words[program] is the program; only it gets `variables` (NAME=VALUE), `more` (words of the shell that are variables,
// too), the library and the pipe for its trace, not the words before it.
char *hs_board_script__run(const char *folder, char *const *variables, const char *more, char *const *words,
                           size_t program);
// `words`: options of heapsonde-attach and the process.
char *hs_board_script__attach(const char *folder, char *const *variables, char *const *words);
char *hs_board_script__detach(const char *folder, char *const *words);
char *hs_board_script__names(const char *folder, const char *list);
char *hs_board_script__signal(const char *folder, int signal);

#endif
