// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads the shared key from its file (docs/protocol.md, 2.2).
#ifndef HEAPSONDE_RUNTIME_STREAM_KEY_FILE_H
#define HEAPSONDE_RUNTIME_STREAM_KEY_FILE_H

#include <stdint.h>

// Returns the length of the key, or -errno; then `key` is empty:
//   EINVAL    not a regular file
//   EPERM     it belongs neither to the effective user of this process nor to root
//   EACCES    others may read or write it, or this process may not read it
//   EMSGSIZE  without trailing white space, shorter than HS_WIRE_SHARED_KEY_MIN bytes or longer than `size`; or with
//             it, more than 64 bytes longer
//   others    from opening and reading
// Never waits, whatever kind of file it is. No other copy of the key stays in memory.
long hs_key_file__read(const char *path, uint8_t *key, uint32_t size);

#endif
