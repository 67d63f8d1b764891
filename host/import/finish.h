// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_IMPORT_FINISH_H
#define HEAPSONDE_IMPORT_FINISH_H

#include "host/import/builder.h"

// Writes an array as a file of the store.
int hs_write_array(int directory_fd, const char *name, const struct hs_array *array, size_t element);

// Writes zones, rows at the peak, chains, timeline and sums of the summary, and closes the columns.
int hs_builder__finish_rows(struct hs_builder *builder, struct hs_store_head *head);

#endif
