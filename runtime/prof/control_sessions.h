// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sessions that keep sampling on. Each is ended by its own stop, and sampling is switched off when the last one
// ends, so that one client cannot end the session of another. Clients that give no name share the session without a
// name. It is also the session of the program, which switches prof.active. Used only by the control thread.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_SESSIONS_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_SESSIONS_H

#include "runtime/text.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Updates the session without a name after the program has changed prof.active.
void hs_sessions__meet(bool active);
bool hs_sessions__holds(const char *name);
bool hs_sessions__add(const char *name); // false: too many
void hs_sessions__remove(const char *name);
void hs_sessions__clear(void);
bool hs_sessions__any(void);
void hs_sessions__print(struct hs_text *text); // names separated by spaces; "-": the one without a name
#pragma GCC visibility pop

#endif
