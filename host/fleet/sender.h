// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Turns what traces say into rows of the fleet's tables (schema/tables.sql) and inserts them in batches. All rows are
// states, so a batch whose fate is unknown is sent again. Nothing that comes from a device is part of a statement. Not
// thread-safe.
#ifndef HEAPSONDE_HOST_FLEET_SENDER_H
#define HEAPSONDE_HOST_FLEET_SENDER_H

#include "host/fleet/database.h"
#include "host/fleet/follow.h"

struct hs_sender;

// What the trace itself does not say.
struct hs_sender_device {
    const char *device;         // NULL: the host name in the trace
    const char *labels;         // KEY=VALUE,...; NULL: none
    const char *firmware_label; // the label that names the firmware
    uint64_t clock_ns;          // added to the start of the trace, if the device's clock was not set then; else 0
};

// When the tick was, in ns since 1970. After a start with a clock that was not set, only ages are believed.
uint64_t hs_sender__time_of(const struct hs_sender_device *device, const struct hs_file_header *header,
                            const struct hs_follow_tick *tick);

enum {
    HS_SENDER_LABELS = 16,      // more are left out
    HS_SENDER_TEXT = 256,       // longer names and values are cut
    HS_SENDER_STACKS = 1 << 16, // of one session; the further ones are added to stack 0
    HS_SENDER_BATCH = 250000    // rows
};

// `database` stays the caller's. NULL: out of memory.
struct hs_sender *hs_sender__create(struct hs_database *database);
void hs_sender__free(struct hs_sender *sender);

// Adds the rows of a tick; of one that is in the database already (`rows` false), only its state is noted. The state of
// one session is kept by `stacks`, which begins as NULL and is freed with hs_sender__forget. 0 or -ENOMEM.
struct hs_sender_stacks;
int hs_sender__add(struct hs_sender *sender, const struct hs_follow *follow, const struct hs_sender_device *device,
                   const struct hs_follow_tick *tick, bool rows, struct hs_sender_stacks **stacks);
void hs_sender__forget(struct hs_sender_stacks *stacks);

// Adds a row about the session itself: once after its ticks.
int hs_sender__add_session(struct hs_sender *sender, const struct hs_follow *follow,
                           const struct hs_sender_device *device, uint64_t seen_ns);

// ---- what is read in other ways ------------------------------------------------------------------------------------

struct hs_fleet_place;

struct hs_sender_session {
    uint64_t key;
    const struct hs_sender_device *device;
    const char *host, *executable; // "": unknown
    uint16_t machine;
    uint32_t pid;
    uint64_t start_ns, seen_ns, dropped;
    bool ended, estimated; // its numbers are made from samples
};

// The key of a stack, whose row is added if it is new; 0: it has no frames. 0 or -ENOMEM.
int hs_sender__add_stack(struct hs_sender *sender, const struct hs_fleet_place *places, size_t count, uint64_t *key);
// What a stack has at an instant, and what all have together. An instant is the seconds since 1970 * 2^32, and a number
// that orders the states of this second.
void hs_sender__add_state(struct hs_sender *sender, uint64_t key, uint64_t session, uint64_t instant, uint32_t age,
                          const struct hs_follow_sums *sums);
void hs_sender__add_total(struct hs_sender *sender, uint64_t session, uint64_t instant,
                          const struct hs_follow_sums *sums);
int hs_sender__put_session(struct hs_sender *sender, const struct hs_sender_session *session);

// ---- batches -------------------------------------------------------------------------------------------------------

uint64_t hs_sender__waiting(const struct hs_sender *sender); // rows that are not inserted yet

// Inserts what waits. On failure all of it waits on. 0, or the errors of hs_database__insert.
int hs_sender__flush(struct hs_sender *sender, struct hs_error *error);

#endif
