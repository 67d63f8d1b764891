// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs that end themselves if they have more than one thread: the process from which Chromium, and programs based
// on it, fork their others. Its children check this, too, before they enter their sandbox.
#ifndef HEAPSONDE_RUNTIME_ZYGOTE_H
#define HEAPSONDE_RUNTIME_ZYGOTE_H

#include <stdbool.h>

// Whether the process was started as such a program: with the argument --type=zygote.
bool hs_is_zygote(void);

#endif
