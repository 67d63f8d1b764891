// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Control from outside: a hidden thread of the process answers requests on a Unix stream socket, one request per
// connection (runtime/prof/control_request.h, runtime/prof/control_answer.h).
//
// The socket is PID.sock in $XDG_RUNTIME_DIR/heapsonde or in /tmp/heapsonde-UID. Such a folder is used only if nobody
// but its owner can enter it. Only the same user and root get answers. If the socket cannot be created, the program
// does not notice. The thread shares no descriptor with the program, sleeps until a client connects, and never waits
// longer than a few seconds for a client.
//
// Shared words (control.c):
//   state    ENDED -> STARTING -> BINDING -> LISTENING -> ENDED. Set by the thread, except STARTING, which also ends
//            when the process ends
//   quit     asks the thread to end
//   working  1 while a request is carried out; the end of the process waits for it
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Call once, when the options are known and libc is initialised.
void hs_control__start(void);

// In a forked child: creates its own socket if the parent had one.
void hs_control__after_fork(void);

// Before the process ends: finishes the dump in progress and removes the socket.
void hs_control__exit(void);

// Before and after calls that only a single-threaded process may make, or that apply to the calling thread only
// (credentials, namespaces): ends the thread, and restarts it.
void hs_control__stop(void);
void hs_control__restart(void);

// Waits until clients can connect, or it is certain that there is no socket.
void hs_control__wait_until_bound(void);

// Ends the thread for good.
void hs_control__end(void);
#pragma GCC visibility pop

#endif
