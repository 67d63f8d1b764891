// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Carries out the requests of the control socket, in its thread.
//
// An answer is a line "ok" and lines "KEY VALUE". If it has a body, the last of these lines is "length BYTES", followed
// by an empty line and the bytes. An error is one line "error WORD TEXT". WORD is
//   request   malformed, too long, not one line
//   user      the client is another user
//   busy      too many connections at once, or a lock could not be acquired
//   late      the request did not come in time
//   memory    out of memory
//   system-N  the error N of this machine's errno.h
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_ANSWER_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_ANSWER_H

#include "runtime/prof/control_request.h"
#include "runtime/text.h"

struct hs_control_answer {
    struct hs_text writer;
    int body; // an open file; -1: none
    uint64_t body_length;
    char text[6144];
};

#pragma GCC visibility push(hidden)
void hs_control_answer__error(struct hs_control_answer *answer, const char *word, const char *text);
// In a forked child: drops the requests that the parent is carrying out.
void hs_control_answer__after_fork(void);
void hs_control_answer__carry_out(struct hs_control_answer *answer, const struct hs_control_request *request);

// Writes the JSON of malloc_stats_print() in pieces, without calling libc. NULL: not available.
typedef void hs_control_write_piece(void *data, const char *text);
extern void (*hs_control_statistics)(hs_control_write_piece *write, void *data);
#pragma GCC visibility pop

#endif
