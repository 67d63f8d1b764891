// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files of the dumps that a sampler's stream holds (docs/protocol.md 1.1).
#ifndef HEAPSONDE_HOST_GATHER_DUMP_FILE_H
#define HEAPSONDE_HOST_GATHER_DUMP_FILE_H

#include "host/gather/chunk_watch.h"

enum { HS_DUMP_FILE_NAME = 32 };

// NUMBER.KIND.heap; KIND is the letter of docs/protocol.md, x for one that is unknown.
void hs_dump_file__name(const struct hs_watched_dump *dump, char name[HS_DUMP_FILE_NAME]);

enum hs_dump_copied {
    HS_DUMP_COPIED,
    HS_DUMP_DAMAGED, // a checksum is wrong, or bytes are missing
    HS_DUMP_FULL     // it cannot be written; errno says why
};

// The same in two steps: the copy has a name of its own until it is settled, which waits for the disk. False: errno
// says why, and the stream has the only copy that is safe.
enum hs_dump_copied hs_dump_file__copy(int folder, int from, const struct hs_watched_dump *dump);
bool hs_dump_file__settle(int folder, const struct hs_watched_dump *dump);

// Copies a dump out of the stream `from` into a file in `folder`, which has its name once all of it is on the disk. A
// file of that name that is there stays as it is, and counts as the copy. Thread-safe for different folders.
enum hs_dump_copied hs_dump_file__write(int folder, int from, const struct hs_watched_dump *dump);

// Whether a file of a folder is such a dump, whole or unfinished.
bool hs_dump_file__is_one(const char *name);

// Gives the room of the dump's pieces in the stream back, whose length stays. File systems without holes keep it.
void hs_dump_file__give_back(int fd, const struct hs_watched_dump *dump);

#endif
