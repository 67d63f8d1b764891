// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Control from outside: a Unix stream socket on which a hidden thread of the process answers requests, one for each
// connection (runtime/prof/control_request.h, runtime/prof/control_answer.h).
//
// The socket is PID.sock in $XDG_RUNTIME_DIR/heapsonde, or in /tmp/heapsonde-UID: folders that nobody but their owner
// can enter, or they are not used. Only the same user and root are answered. Where it cannot be made there is none, and
// the program never hears of it. The thread shares no descriptor with the program, sleeps until somebody connects, and
// never waits for a client longer than a few seconds.
//
// Shared words (control.c):
//   state    ENDED -> STARTING -> BINDING -> LISTENING -> ENDED: by the thread, but for STARTING, which ends early
//            when the process does
//   quit     set by whoever wants the thread to end
//   working  1 while a request is carried out; who ends the process waits for it
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Once, when the options are known and libc is initialised.
void hs_control__start(void);

// In a forked child: gives it a socket of its own when the parent had one.
void hs_control__after_fork(void);

// Before the process ends: the dump in progress is finished, the socket removed.
void hs_control__exit(void);

// Around what only a single-threaded process may do, or what the kernel does for the calling thread alone
// (credentials, namespaces): ends the thread, and starts it anew.
void hs_control__stop(void);
void hs_control__restart(void);

// Writes the JSON of malloc_stats_print() in pieces, without calling libc. NULL: there is none.
typedef void hs_control_write_piece(void *data, const char *text);
extern void (*hs_control_statistics)(hs_control_write_piece *write, void *data);
#pragma GCC visibility pop

#endif
