// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The memory that an attach adds to a target:
//
//   header    this struct: what a later detach has to know. Readable, so that no file is needed for it
//   stub      instructions for borrowed threads
//   islands   what patched functions jump to, and their moved instructions. Those of a module that is out of reach are
//             in memory of their own, nearer to it
//   image     the recording library; its data, and what follows, are writable
//   settings  the library's environment
//   local     a thread pointer's surroundings, zero, and the stack of the thread that starts and ends the library
#ifndef HEAPSONDE_HOST_INJECT_REGION_H
#define HEAPSONDE_HOST_INJECT_REGION_H

#include "host/inject/target.h"

#include <sched.h>

#define HS_REGION_MAGIC 0x6f6f69676572736dull // changes with the layout

// Of the thread that starts and ends the library.
#define HS_REGION_THREAD_FLAGS                                                                                         \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS)

enum { HS_REGION_ATTACHED = 1, HS_REGION_DETACHED = 2, HS_REGION_ENDING = 3, HS_REGION_PATCHES = 512 };
enum {
    HS_REGION_STUB = 0x6000,
    HS_REGION_ISLANDS = 0x7000,
    HS_REGION_IMAGE = 0x20000,
    HS_REGION_SETTINGS = 0x8000, // sizes
    HS_REGION_LOCAL = 0x20000,
    HS_REGION_STACK = 0x20000,
};

struct hs_region_patch {
    uint64_t at;
    uint32_t length, consumed;
    uint8_t old[HS_INJECT_PATCH], new[HS_INJECT_PATCH];
};

struct hs_region {
    uint64_t magic;
    uint64_t at, size; // of the region
    uint32_t state;
    uint32_t patch_count;
    uint64_t settings, local; // addresses
    uint64_t end;             // function of the library
    struct hs_thread_words words;
    uint32_t thread;          // the one that was started last, in the target's numbers
    uint32_t follows_another; // stacks of ended threads may still hold pointers of an earlier recording
    // As in struct hs_island. Not 0: the library looks at a thread's record as long as the thread is in it, so that the
    // words of threads stay as they are at the end.
    uint64_t no_record;
    uint32_t number_at;
    uint32_t is_sampler;                               // the library samples
    struct hs_region_patch patches[HS_REGION_PATCHES]; // in the order of their addresses
};

_Static_assert(sizeof(struct hs_region) <= HS_REGION_STUB, "the header ends before the stub");

static inline uint64_t hs_region__done(const struct hs_region *region)
{
    return region->settings; // its first word
}

// The region of the recording that goes on in the target, or that a killed injector has left: it is attached or ending.
// False: none.
bool hs_region__find(struct hs_region *region, const struct hs_inject_target *target);

// Whether the target was recorded before.
bool hs_region__was_there(const struct hs_inject_target *target);

// Writes the header.
int hs_region__write(const struct hs_region *region, const struct hs_inject_target *target);

// Has a new thread of the stopped target call `function` on the region's stack and end.
int hs_region__start(struct hs_region *region, struct hs_inject_target *target, uint64_t function,
                     struct hs_error *error);
// Waits until that thread has ended. Its function has returned then.
int hs_region__wait(const struct hs_region *region, const struct hs_inject_target *target, unsigned seconds,
                    struct hs_error *error);

// Whether a stopped thread is on the region's stack: one that a killed injector has started.
bool hs_region__is_in_use(const struct hs_region *region, const struct hs_inject_target *target);

// BUSY: a stopped thread is inside instructions that a patch replaces. UNFIT: a thread's number is not where it is
// looked for, or the word that the library is to use is not free.
enum hs_region_check { HS_REGION_GOOD, HS_REGION_BUSY, HS_REGION_UNFIT };
enum hs_region_check hs_region__check(const struct hs_region *region, const struct hs_inject_target *target);

// Ends the library in the stopped target, unless an injector that was killed then has done it.
int hs_region__end(struct hs_region *region, struct hs_inject_target *target, struct hs_error *error);
// Waits for that. Then the region is detached.
int hs_region__wait_for_end(struct hs_region *region, const struct hs_inject_target *target, unsigned seconds,
                            struct hs_error *error);

// Writes the patches, or the bytes that were there before, and clears the word in each thread. Patching: after a check.
// Returns 0 or a negative errno.
int hs_region__patch(const struct hs_region *region, const struct hs_inject_target *target);
// The patches alone.
int hs_region__write_patches(const struct hs_region *region, const struct hs_inject_target *target);
int hs_region__unpatch(const struct hs_region *region, const struct hs_inject_target *target, unsigned *count);

#endif
