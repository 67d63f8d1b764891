// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A mapped file of equal elements. It grows while a store is written, and is read-only afterwards. Disk space is
// reserved before it is written, so that a full disk is an error and not a signal.
#ifndef HEAPSONDE_STORE_COLUMN_FILE_H
#define HEAPSONDE_STORE_COLUMN_FILE_H

#include <stddef.h>
#include <stdint.h>

struct hs_column_file {
    void *data;
    uint64_t capacity; // mapped elements
    uint64_t mapped;   // mapped bytes, while it is written
    size_t element;    // bytes per element
    int fd;
};

// Creates `name` in the directory `directory_fd`. Returns 0 or a negative errno.
int hs_column_file__create(struct hs_column_file *file, int directory_fd, const char *name, size_t element);
// Makes room for at least `count` elements; new elements are zero. May move `data`.
int hs_column_file__reserve(struct hs_column_file *file, uint64_t count);
// Truncates the file to `count` elements and closes it.
int hs_column_file__finish(struct hs_column_file *file, uint64_t count);
void hs_column_file__abandon(struct hs_column_file *file);

// Maps an existing file read-only. -EBADMSG unless it contains exactly `count` elements. For an empty file, data is
// NULL.
int hs_column_file__open(struct hs_column_file *file, int directory_fd, const char *name, size_t element,
                         uint64_t count);
// The same for a file with any whole number of elements. `capacity` becomes that number.
int hs_column_file__open_any(struct hs_column_file *file, int directory_fd, const char *name, size_t element);
void hs_column_file__close(struct hs_column_file *file);

#endif
