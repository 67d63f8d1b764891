// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where others may write, too, they can put a link in the place of what is about to be written. A link of this user or
// of root is followed, as users mean it; one of anybody else is not.
#ifndef HEAPSONDE_STORE_FOLDER_H
#define HEAPSONDE_STORE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

// Opens a folder to write into, made with `mode` when there is none. A descriptor or a negative errno; -ELOOP: it is a
// link of another user.
int hs_folder__open(const char *path, mode_t mode);

// What such a result means, for the user.
const char *hs_folder__problem(int failed);

// Opens what is there already and no regular file, to write into it: a pipe, a device. The same of the result.
int hs_special_file__open(const char *path);

// Whether what is made by `user` is as good as what this process makes: its own, or root's.
bool hs_user__is_trusted(uid_t user);

#endif
