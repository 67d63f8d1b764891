// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Whether a served file has changed since it was read, or is still being written.
#ifndef HEAPSONDE_HOST_REST_FILE_STAMP_H
#define HEAPSONDE_HOST_REST_FILE_STAMP_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

// The state of a file, or of a folder that is a trace.
struct hs_file_stamp {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec modified;
};

// 0 or a negative errno; then the stamp is all zeros.
int hs_file_stamp__take(struct hs_file_stamp *stamp, const char *path);
bool hs_file_stamp__is_same(const struct hs_file_stamp *one, const struct hs_file_stamp *other);

// Whether a process still has the file, or the folder that it is in, open to write: it holds a lock on it then.
bool hs_file_stamp__is_locked(const char *path);

#endif
