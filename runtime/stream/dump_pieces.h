// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A dump of the sampling shim on its way into the stream, piece by piece (docs/protocol.md, section 1.1). The sender
// sees it when it is whole, so that one that does not fit leaves nothing behind; with the policy `block`, as far as
// there is room, and whoever dumps waits for the rest. Dumps that are not in the stream are counted there.
#ifndef HEAPSONDE_RUNTIME_STREAM_DUMP_PIECES_H
#define HEAPSONDE_RUNTIME_STREAM_DUMP_PIECES_H

#include <stdbool.h>
#include <stdint.h>

// `kind`: a letter. False: the dump is not streamed (in a handler that interrupted another one it is not, either), and
// neither of the others is called.
bool hs_dump_pieces__begin(char kind);
void hs_dump_pieces__put(const void *bytes, uint64_t length);
void hs_dump_pieces__end(bool whole);

// In a forked child: what its parent was in the middle of is the parent's.
void hs_dump_pieces__reset(void);

#endif
