// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trace file: the mapped header, mapped blocks of slots, and appended chunks.
//
// hs_output__append() may be called by the writer and its helper at once, hs_output__live() and hs_output__stop() by
// any thread. All others may be called by one thread at a time: the starting thread, and later the thread with the
// writer's role. The file is created with mode 0600.
#ifndef HEAPSONDE_RUNTIME_OUTPUT_H
#define HEAPSONDE_RUNTIME_OUTPUT_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Creates the file that the configuration names (a new one in a forked child) and writes its header. Returns 0 or
// -errno. `forked_at`: see struct hs_file_header.
int hs_output__create(uint64_t forked_at);

bool hs_output__is_open(void);

// The path of the file.
const char *hs_output__path(void);

// Adds `count` slots in a mapped block of the file. If the file cannot be mapped, they are in anonymous memory and are
// lost if the process is killed. False: neither is possible.
bool hs_output__add_slots(uint32_t count);

// Adds `count` slots in anonymous memory. Any thread.
bool hs_output__add_plain_slots(uint32_t count);

// Appends one chunk; fills in sizes, checksum and magic number. A failure ends the recording.
bool hs_output__append(const struct hs_chunk_header *chunk, const void *payload);

// Appends what slots in anonymous memory hold now, and writes the header if the file could not be mapped. What is
// sealed later with the sequence of a slot replaces its copy. Called by the writer.
void hs_output__write_unmapped(void);

// Removes the first slots from the end of the file if nothing follows them and none is in use. Slots that are needed
// later are added at the end. Called by the writer.
void hs_output__drop_unused_slots(void);

// The live words of the header. Never NULL: words written before the file exists are copied into it.
struct hs_live *hs_output__live(void);

// Ends the recording permanently: nothing more is appended, and the header contains the reason. Any thread.
void hs_output__stop(uint64_t reason, int error);
bool hs_output__stopped(void);

// Closes the descriptor, which is in the program's table, and unmaps the file if it may: when it is deleted, its blocks
// are free. What threads hold in slots of the file stays there; what they record from now on is later than the end of
// the recording, and goes to memory.
void hs_output__leave(void);
bool hs_output__is_left(void);

// Drops the parent's file in a forked child: unmaps it, and closes the descriptor if it is ours.
void hs_output__abandon(void);

// hs_output__own: the writer thread moves the descriptor to its own table, which the program cannot reach.
// hs_output__share: the inline writer's descriptor is in the program's table and is checked before each use. `fd`: the
// descriptor in the program's table. If it is a different file, the trace is opened again.
int hs_output__descriptor(void);
void hs_output__own_descriptor(void);
void hs_output__share_descriptor(int fd);

#endif
