// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is said to whoever runs the program, in jemalloc's words.
#ifndef HEAPSONDE_RUNTIME_PROF_MESSAGE_H
#define HEAPSONDE_RUNTIME_PROF_MESSAGE_H

#pragma GCC visibility push(hidden)
// Where messages go instead of standard error; set by the shim for programs that have set malloc_message.
extern void (*hs_prof_message_writer)(const char *text);

// Says `text`, which ends with a newline, in one call.
void hs_prof__message(const char *text);

// Ends the process as abort(3) does, for abort:true and the like.
_Noreturn void hs_prof__abort(void);
#pragma GCC visibility pop

#endif
