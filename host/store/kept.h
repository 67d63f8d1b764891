// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Results that were computed from a store, in a file beside its columns, so that the next command need not compute them
// again. The file can be recreated at any time and is removed with the store.
#ifndef HEAPSONDE_STORE_KEPT_H
#define HEAPSONDE_STORE_KEPT_H

#include "host/store/layout.h"

#define HS_KEPT_FILE      "digest"
#define HS_KEPT_UNDER_WAY HS_KEPT_FILE ".new"

// Reads the bytes that were kept with the store of this head. The caller frees them. -ENOENT: there are none. -EBADMSG:
// they are damaged or belong to another store. The reader has to check every number: a checksum detects damage, but not
// a forged file.
int hs_kept__read(int directory_fd, const struct hs_store_head *head, uint8_t **bytes, size_t *count);
// Other processes see either the previous contents or all of the new ones. If two processes write at once, the file may
// be damaged for a moment.
int hs_kept__write(int directory_fd, const struct hs_store_head *head, const void *bytes, size_t count);

#endif
