// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What was worked out of a store, kept in a file beside its columns, for who asks the same again. The file can be made
// again at any time; it goes when the store goes.
#ifndef HEAPSONDE_STORE_KEPT_H
#define HEAPSONDE_STORE_KEPT_H

#include "host/store/layout.h"

#define HS_KEPT_FILE      "digest"
#define HS_KEPT_UNDER_WAY HS_KEPT_FILE ".new"

// The bytes that were kept with the store of this head; to be freed. -ENOENT when there are none, -EBADMSG when they
// are damaged or of another store. Who reads them looks at every number: a checksum shows damage, not intent.
int hs_kept__read(int directory_fd, const struct hs_store_head *head, uint8_t **bytes, size_t *count);
// Others see what was there before or all of it; with two that write at once it may be damaged for a moment.
int hs_kept__write(int directory_fd, const struct hs_store_head *head, const void *bytes, size_t count);

#endif
