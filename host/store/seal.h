// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file `seal` of a store: how long its files are, and their checksums. A store without one was not made to its end;
// one that does not fit it was damaged, or did not reach the disk before the machine stopped.
#ifndef HEAPSONDE_STORE_SEAL_H
#define HEAPSONDE_STORE_SEAL_H

#include <stdbool.h>

#define HS_SEAL_FILE      "seal"
#define HS_SEAL_UNDER_WAY HS_SEAL_FILE ".new"

// Seals the files of the directory as they are. `flush`: once they are on the disk; otherwise the seal holds until the
// machine starts anew. Returns 0 or a negative errno.
int hs_seal__write(int directory_fd, bool flush);

// Returns 0, or -EBADMSG when there is no seal or a file does not fit it. Tables are looked at as a whole, columns at
// their ends, where the tables of their blocks are, and here and there.
int hs_seal__check(int directory_fd);

#endif
