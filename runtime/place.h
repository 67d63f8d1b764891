// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where a file is to be made or written, found without following links that other users made: on the whole way only
// those of this user and of root are followed. Folders are held open, so that nobody changes the way behind our back.
#ifndef HEAPSONDE_RUNTIME_PLACE_H
#define HEAPSONDE_RUNTIME_PLACE_H

#include "arch/system.h"

#include <linux/limits.h>
#include <stdbool.h>

struct hs_place {
    int folder;
    int flags; // O_NOFOLLOW, but for what /proc calls a link and is none
    char name[NAME_MAX + 1];
};

// Returns 0, or -errno: -ELOOP for a link of another user. `last`: whether the last name may be a link.
long hs_place__find(struct hs_place *place, const char *path, bool last);
void hs_place__leave(const struct hs_place *place);

long hs_place__open(const struct hs_place *place, const char *name, int flags, int mode);
long hs_place__status(const struct hs_place *place, const char *name,
                      struct hs_file_status *status); // not of a link's target
long hs_place__remove(const struct hs_place *place, const char *name);
long hs_place__rename(const struct hs_place *place, const char *from, const char *to);

// Whether an open file is one that nobody else can have prepared: it is this user's, and has one name.
bool hs_place__is_own(const struct hs_file_status *file);

// Opens a file to write to it, which is made where there is none. -EACCES for a file of another user. What is no file
// is written to as it is.
long hs_place__write_to(const char *path, int flags, int mode);

#endif
