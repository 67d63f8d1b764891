// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the place of a file without following links of other users: only links of this user and of root are followed,
// on the whole path. Folders are held open, so that nobody can change the path meanwhile.
#ifndef HEAPSONDE_RUNTIME_PLACE_H
#define HEAPSONDE_RUNTIME_PLACE_H

#include "arch/system.h"

#include <linux/limits.h>
#include <stdbool.h>

struct hs_place {
    int folder;
    int flags; // O_NOFOLLOW, except for links in /proc that are not real links
    char name[NAME_MAX + 1];
};

// Returns 0 or -errno; -ELOOP: a link of another user. `last`: whether the last name may be a link.
long hs_place__find(struct hs_place *place, const char *path, bool last);
void hs_place__leave(const struct hs_place *place);

long hs_place__open(const struct hs_place *place, const char *name, int flags, int mode);
long hs_place__status(const struct hs_place *place, const char *name,
                      struct hs_file_status *status); // does not follow a link
long hs_place__remove(const struct hs_place *place, const char *name);
long hs_place__rename(const struct hs_place *place, const char *from, const char *to);

// Whether nobody else can have prepared an open file: it belongs to this user and has only one name.
bool hs_place__is_own(const struct hs_file_status *file);

// Opens a file for writing; creates it if it does not exist. -EACCES: a file of another user. What is not a regular
// file is opened without these checks.
long hs_place__write_to(const char *path, int flags, int mode);

#endif
