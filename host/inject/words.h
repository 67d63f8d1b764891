// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where glibc itself says that it keeps a thread's number: in symbols for debuggers.
#ifndef HEAPSONDE_HOST_INJECT_WORDS_H
#define HEAPSONDE_HOST_INJECT_WORDS_H

#include "host/inject/modules.h"

// False: it is another C library, or has no such symbols.
bool hs_words__told(const struct hs_inject_target *target, const struct hs_inject_modules *modules,
                    struct hs_thread_words *words);

#endif
