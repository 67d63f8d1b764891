// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trace file as the recorder writes it: the mapped header, blocks of mapped slots, appended chunks.
//
// hs_output__append() may be called by the writer and its helper at once, hs_output__live() and hs_output__stop() by
// any thread; all others by one thread at a time: the starting thread, then whoever holds the writer's role. The file
// is created with mode 0600.
#ifndef HEAPSONDE_RUNTIME_OUTPUT_H
#define HEAPSONDE_RUNTIME_OUTPUT_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Creates the file that the configuration names (in a forked child one of its own), writes its header. Returns 0 or
// -errno. `forked_at`: see struct hs_file_header.
int hs_output__create(uint64_t forked_at);

bool hs_output__is_open(void);

// The file's path as created.
const char *hs_output__path(void);

// Adds `count` slots in a mapped block of the file; where the file cannot be mapped, in plain memory (they are then
// lost when the process is killed). Returns false when not even that is possible.
bool hs_output__add_slots(uint32_t count);

// Adds `count` slots in plain memory. Any thread.
bool hs_output__add_plain_slots(uint32_t count);

// Appends one chunk; sizes, crc and magic are filled here. A failure stops the recording.
bool hs_output__append(const struct hs_chunk_header *chunk, const void *payload);

// Where the file could not be mapped, the header is written explicitly.
void hs_output__write_header_if_unmapped(void);

// Cuts the first slots off the file when nothing stands behind them and none is in use. Slots that are wanted after
// that are added at the end. For the writer.
void hs_output__drop_unused_slots(void);

// The live words of the header. Never NULL: words written before the file exists are copied into it.
struct hs_live *hs_output__live(void);

// Ends the recording for good: nothing more is appended and the header says why. Any thread.
void hs_output__stop(uint64_t reason, int error);
bool hs_output__stopped(void);

// Forgets the parent's file in a forked child: its mappings go, its descriptor is closed if it is ours.
void hs_output__abandon(void);

// The writer thread takes the descriptor along into a table of its own, which the program cannot reach; own says so.
// The inline writer's descriptor is in the program's table and is checked before each use; share says so. `fd`: the
// thread's descriptor in the program's table. Where it is not that, the file is opened again.
int hs_output__descriptor(void);
void hs_output__own_descriptor(void);
void hs_output__share_descriptor(int fd);

#endif
