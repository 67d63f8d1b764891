// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Data that the importer adds to a store that it has opened.
#ifndef HEAPSONDE_STORE_ATTACH_H
#define HEAPSONDE_STORE_ATTACH_H

#include "host/store/layout.h"

// Reads the contents of an embedded file: writes `length` bytes to `to`.
typedef int (*hs_embedded_reader)(void *context, uint64_t chunk_offset, void *to, uint64_t length,
                                  struct hs_error *error);
// `close` is called with the context when the store is closed.
void hs_store__attach(struct hs_store *store, hs_embedded_reader reader, void (*close)(void *context), void *context);

// Nothing is written beside the files of this store: they will be removed while it is open.
void hs_store__keep_nothing(struct hs_store *store);
// Removes the files of a store, and then the directory if it is empty. An open store stays usable.
void hs_store__remove(const char *directory);

// Like hs_store__open(), for a store that has no seal yet.
int hs_store__open_unsealed(const char *directory, struct hs_store **store, struct hs_error *error);

// Reads the head of a store. -EBADMSG: not a store of this version.
int hs_store__read_head(const char *directory, struct hs_store_head *head);

#endif
