// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files of the dumps in a sampler's stream (docs/protocol.md 1.1).
#ifndef HEAPSONDE_HOST_GATHER_DUMP_FILE_H
#define HEAPSONDE_HOST_GATHER_DUMP_FILE_H

#include "host/gather/chunk_watch.h"

enum { HS_DUMP_FILE_NAME = 32 };

// NUMBER.KIND.heap; KIND is the letter of docs/protocol.md, or x for an unknown one.
void hs_dump_file__name(const struct hs_watched_dump *dump, char name[HS_DUMP_FILE_NAME]);

enum hs_dump_copied {
    HS_DUMP_COPIED,
    HS_DUMP_DAMAGED, // a checksum is wrong, or bytes are missing
    HS_DUMP_FULL     // the file cannot be written; errno has the reason
};

// The same in two steps: the copy has a temporary name until it is settled, which waits for the disk. False: errno has
// the reason, and only the stream contains a safe copy.
enum hs_dump_copied hs_dump_file__copy(int folder, int from, const struct hs_watched_dump *dump);
bool hs_dump_file__settle(int folder, const struct hs_watched_dump *dump);

// Copies a dump from the stream `from` to a file in `folder`. The file gets its name when all of it is on the disk. An
// existing file of that name is kept and counts as the copy. Thread-safe for different folders.
enum hs_dump_copied hs_dump_file__write(int folder, int from, const struct hs_watched_dump *dump);

// Whether a file in a folder is such a dump, complete or not.
bool hs_dump_file__is_one(const char *name);

// Frees the disk space of a dump's pieces in the stream, whose length does not change. File systems without holes keep
// it.
void hs_dump_file__give_back(int fd, const struct hs_watched_dump *dump);

#endif
