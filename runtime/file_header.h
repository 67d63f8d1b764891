// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The header of a trace or a stream of this process.
#ifndef HEAPSONDE_RUNTIME_FILE_HEADER_H
#define HEAPSONDE_RUNTIME_FILE_HEADER_H

#include <stdint.h>

// Writes the part before `live`, with an id of its own. `content`: HS_CONTENT_*; `forked_at`: 0, or the parent's time
// at the fork. Needs hs_clock__start().
void hs_file_header__fill(uint8_t *to, uint8_t content, uint64_t forked_at);

#endif
