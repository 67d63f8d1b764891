// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Leaving short-lived allocations out of the trace, by option, with their statistics kept per stack.
#ifndef HEAPSONDE_RUNTIME_CULL_H
#define HEAPSONDE_RUNTIME_CULL_H

#include "runtime/slots.h"

void hs_cull__slot(struct hs_slot *slot);
void hs_cull__reset(void);

#endif
