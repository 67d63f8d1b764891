// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Safe opening of folders and files in places where other users can write: they could put a link there. Links of this
// user or of root are followed; links of other users are not.
#ifndef HEAPSONDE_STORE_FOLDER_H
#define HEAPSONDE_STORE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

// Opens a folder for writing; creates it with `mode` if it does not exist. Returns a descriptor or a negative errno.
// -ELOOP: it is a link of another user.
int hs_folder__open(const char *path, mode_t mode);

// The message for the user for such a result.
const char *hs_folder__problem(int failed);

// Opens an existing file that is not a regular one (a pipe, a device) for writing. The result is as above.
int hs_special_file__open(const char *path);

// Whether files of `user` are trusted: `user` is this process's user or root.
bool hs_user__is_trusted(uid_t user);

#endif
