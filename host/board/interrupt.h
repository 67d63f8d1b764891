// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What SIGINT, SIGTERM, SIGQUIT and SIGHUP do while a board is waited for that may never answer: all sessions end. The
// first one ends with its input, because its script then removes what it made; after a while it is killed as well.
#ifndef HEAPSONDE_HOST_BOARD_INTERRUPT_H
#define HEAPSONDE_HOST_BOARD_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

extern const int hs_interrupt_signals[4];

// Catches those of these signals that are not ignored, wherever they are not blocked, until it is called with false.
void hs_interrupt__catch(bool on);

// The signal that came; 0: none.
int hs_interrupt__came(void);

// A session that is running. `input` is the end of the first one's input here, until it is forgotten because it is
// going to be closed, and -1 for the others.
void hs_interrupt__add(pid_t session, int input);
void hs_interrupt__forget_input(pid_t session);
void hs_interrupt__remove(pid_t session);

#endif
