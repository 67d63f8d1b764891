// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The files of an opened store and their lengths. Another process may truncate files that are mapped.
#ifndef HEAPSONDE_STORE_FILES_H
#define HEAPSONDE_STORE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct hs_store_files {
    int directory_fd; // -1: none
    struct hs_store_file {
        char name[24];
        off_t size;
    } file[64];
    size_t count;
};

// Records the lengths of the files in the directory.
void hs_store_files__list(struct hs_store_files *files, int directory_fd);
void hs_store_files__close(struct hs_store_files *files);
// Whether the files still have these lengths. A removed file counts as unchanged: its mapping stays valid.
bool hs_store_files__are_whole(const struct hs_store_files *files);

#endif
