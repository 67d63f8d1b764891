// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who wants sampling to be on. Each session ends by its own stop, and sampling goes off with the last one, so that
// nobody ends what another one began. The session without a name is shared by all who give none; it is also that of the
// program, which switches prof.active itself. Used by the control thread only.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTROL_SESSIONS_H
#define HEAPSONDE_RUNTIME_PROF_CONTROL_SESSIONS_H

#include "runtime/text.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden)
// Brings the list in line with what the program did to prof.active meanwhile.
void hs_sessions__meet(bool active);
bool hs_sessions__holds(const char *name);
bool hs_sessions__add(const char *name); // false: there are too many
void hs_sessions__remove(const char *name);
void hs_sessions__clear(void);
bool hs_sessions__any(void);
void hs_sessions__print(struct hs_text *text); // names with spaces between them; "-": the one without a name
#pragma GCC visibility pop

#endif
