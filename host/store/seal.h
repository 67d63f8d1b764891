// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The file `seal` of a store contains the lengths and checksums of the other files. A store without a seal is
// incomplete. A store that does not match its seal was damaged, or was not completely on disk when the machine stopped.
#ifndef HEAPSONDE_STORE_SEAL_H
#define HEAPSONDE_STORE_SEAL_H

#include <stdbool.h>

#define HS_SEAL_FILE      "seal"
#define HS_SEAL_UNDER_WAY HS_SEAL_FILE ".new"

// Seals the current files in the directory. `flush`: writes them to the disk first; otherwise the seal is valid only
// until the next boot. Returns 0 or a negative errno.
int hs_seal__write(int directory_fd, bool flush);

// Returns 0, or -EBADMSG if there is no seal or a file does not match it. Tables are checked completely; of columns,
// the ends (with the tables of blocks) and samples.
int hs_seal__check(int directory_fd);

#endif
