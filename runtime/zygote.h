// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs that look whether they have a single thread, and end themselves if not: the process that Chromium, and what
// is built on it, forks its others from. Its children look, too, before they confine themselves.
#ifndef HEAPSONDE_RUNTIME_ZYGOTE_H
#define HEAPSONDE_RUNTIME_ZYGOTE_H

#include <stdbool.h>

// Whether the process was started as one: with the argument --type=zygote.
bool hs_is_zygote(void);

#endif
