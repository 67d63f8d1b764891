// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Puts a dump of the sampling shim into the stream, in pieces (docs/protocol.md, section 1.1). The sender sees a dump
// when it is complete, so a dump that does not fit leaves nothing behind. With the policy `block`, the sender sees what
// fits, and the dumping thread waits for room. Dumps that are not in the stream are counted in it.
#ifndef HEAPSONDE_RUNTIME_STREAM_DUMP_PIECES_H
#define HEAPSONDE_RUNTIME_STREAM_DUMP_PIECES_H

#include <stdbool.h>
#include <stdint.h>

// `kind`: a letter. `may_wait`: false for the sender, which must not wait for itself. False: the dump is not streamed,
// also in a handler that interrupted another dump; then do not call the other functions.
bool hs_dump_pieces__begin(char kind, bool may_wait);
void hs_dump_pieces__put(const void *bytes, uint64_t length);
void hs_dump_pieces__end(bool whole);

// In a forked child: drops the dump that the parent was streaming.
void hs_dump_pieces__reset(void);

#endif
