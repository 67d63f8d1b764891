// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/sender.h"

#include "host/base/array.h"
#include "host/base/clock.h"
#include "host/base/id_map.h"
#include "host/base/path.h"
#include "host/fleet/keys.h"
#include "host/fleet/schema.h"
#include "host/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLOCK_BACK_SECONDS = 60 };

enum sender_table { TABLE_BUILD, TABLE_STACK, TABLE_SESSION, TABLE_STATE, TABLE_TOTAL, TABLES };

// In the order in which they are inserted: what others refer to comes first.
static const char *const columns[TABLES] = {
    [TABLE_BUILD] = "build (build, path)",
    [TABLE_STACK] = "stack (stack, builds, offsets)",
    [TABLE_SESSION] = ("session (session, device, app, firmware, label_names, label_values, machine, pid, start, seen, "
                       "ended, dropped, written, estimated)"),
    [TABLE_STATE] = ("state (stack, session, time, moment, age, in_use_bytes, in_use_count, allocated_bytes, "
                     "allocated_count)"),
    [TABLE_TOTAL] = "total (session, time, moment, in_use_bytes, in_use_count, allocated_bytes, allocated_count)",
};

struct hs_sender {
    struct hs_database *database;
    struct hs_buffer rows[TABLES];
    uint64_t waiting;
    struct hs_id_map stacks; // those that are in the database or wait
    struct hs_id_map builds; // the same, by a hash of the build id
};

// Several stacks of a trace may be one stack of the fleet, such as those that differ only in code without a file; and
// when a session has too many, the further ones are added to stack 0. Each is a group with the sum of its members.
struct sender_group {
    uint64_t key;
    struct hs_follow_sums sums;
    uint64_t tick; // the last one that changed it
};

struct sender_member {
    uint32_t group;
    struct hs_follow_sums last;
};

struct hs_sender_stacks {
    struct hs_id_map member_of; // by stack of the trace
    struct hs_array members;    // struct sender_member
    struct hs_id_map group_of;  // by key
    struct hs_array groups;     // struct sender_group; [0] is stack 0
    struct hs_array changed;    // uint32_t: groups
    uint64_t tick;
    uint32_t last_time; // of a tick's rows
};

struct hs_sender *hs_sender__create(struct hs_database *database)
{
    struct hs_sender *sender = calloc(1, sizeof(*sender));
    if (sender)
        sender->database = database;
    return sender;
}

void hs_sender__free(struct hs_sender *sender)
{
    if (!sender)
        return;
    for (unsigned i = 0; i < TABLES; i++)
        hs_buffer__free(&sender->rows[i]);
    hs_id_map__free(&sender->stacks);
    hs_id_map__free(&sender->builds);
    free(sender);
}

void hs_sender__forget(struct hs_sender_stacks *stacks)
{
    if (!stacks)
        return;
    hs_id_map__free(&stacks->member_of);
    hs_id_map__free(&stacks->group_of);
    free(stacks->members.data);
    free(stacks->groups.data);
    free(stacks->changed.data);
    free(stacks);
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static int add_build(struct hs_sender *sender, const struct hs_fleet_place *place)
{
    uint64_t hash = hs_fleet_key__build(place->build);
    if (hs_id_map__find(&sender->builds, hash) != UINT32_MAX)
        return 0;
    struct hs_buffer *rows = &sender->rows[TABLE_BUILD];
    size_t length = strlen(place->path);
    hs_buffer__put(rows, place->build, HS_FLEET_BUILD);
    hs_row__text(rows, place->path, length < HS_SENDER_TEXT ? length : HS_SENDER_TEXT);
    sender->waiting++;
    return hs_id_map__set(&sender->builds, hash, 0);
}

int hs_sender__add_stack(struct hs_sender *sender, const struct hs_fleet_place *places, size_t count, uint64_t *key)
{
    *key = hs_fleet_key__places(places, count);
    if (!count || hs_id_map__find(&sender->stacks, *key) != UINT32_MAX)
        return 0;
    struct hs_buffer *rows = &sender->rows[TABLE_STACK];
    hs_row__u64(rows, *key);
    hs_row__array(rows, count);
    for (size_t i = 0; i < count; i++)
        hs_buffer__put(rows, places[i].build, HS_FLEET_BUILD);
    hs_row__array(rows, count);
    for (size_t i = 0; i < count; i++)
        hs_row__u64(rows, places[i].offset);
    int failed = hs_id_map__set(&sender->stacks, *key, 0);
    for (size_t i = 0; i < count && !failed; i++)
        if (places[i].path)
            failed = add_build(sender, &places[i]);
    sender->waiting++;
    return failed;
}

static int key_of(struct hs_sender *sender, const struct hs_follow *follow, uint32_t stack, uint64_t *key)
{
    struct hs_follow_frame frames[HS_FOLLOW_FRAMES];
    struct hs_fleet_place places[HS_FOLLOW_FRAMES];
    size_t count = hs_follow__frames(follow, stack, frames);
    for (size_t i = 0; i < count; i++)
        places[i] = hs_fleet_key__place_of(follow, &frames[i]);
    return hs_sender__add_stack(sender, places, count, key);
}

static struct hs_sender_stacks *begin_stacks(void)
{
    struct hs_sender_stacks *stacks = calloc(1, sizeof(*stacks));
    struct sender_group *none = stacks ? hs_array__add(&stacks->groups, sizeof(*none)) : NULL;
    if (!none || hs_id_map__set(&stacks->group_of, 0, 0)) {
        hs_sender__forget(stacks);
        return NULL;
    }
    *none = (struct sender_group){0};
    return stacks;
}

// The group of a stack that is new in this session.
static int group_of(struct hs_sender *sender, const struct hs_follow *follow, struct hs_sender_stacks *stacks,
                    uint32_t stack, uint32_t *group)
{
    uint64_t key;
    *group = 0;
    if (stacks->groups.count >= HS_SENDER_STACKS)
        return 0;
    int failed = key_of(sender, follow, stack, &key);
    uint32_t known = failed ? 0 : hs_id_map__find(&stacks->group_of, key);
    if (failed || known != UINT32_MAX) {
        *group = known;
        return failed;
    }
    struct sender_group *added = hs_array__add(&stacks->groups, sizeof(*added));
    if (!added)
        return -ENOMEM;
    *added = (struct sender_group){.key = key};
    *group = (uint32_t)stacks->groups.count - 1;
    return hs_id_map__set(&stacks->group_of, key, *group);
}

static struct sender_member *member_of(struct hs_sender *sender, const struct hs_follow *follow,
                                       struct hs_sender_stacks *stacks, uint32_t stack)
{
    uint32_t place = hs_id_map__find(&stacks->member_of, stack), group;
    if (place != UINT32_MAX)
        return (struct sender_member *)stacks->members.data + place;
    if (group_of(sender, follow, stacks, stack, &group))
        return NULL;
    struct sender_member *member = hs_array__add(&stacks->members, sizeof(*member));
    if (!member || hs_id_map__set(&stacks->member_of, stack, (uint32_t)stacks->members.count - 1))
        return NULL;
    *member = (struct sender_member){.group = group};
    return member;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

// ClickHouse's DateTime: seconds since 1970 in 32 bits.
static uint32_t seconds(uint64_t ns)
{
    uint64_t whole = ns / 1000000000u;
    return whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
}

static void put_instant(struct hs_buffer *rows, uint64_t instant)
{
    hs_row__u32(rows, (uint32_t)(instant >> 32));
    hs_row__u32(rows, (uint32_t)instant);
}

static void put_sums(struct hs_buffer *rows, const struct hs_follow_sums *sums)
{
    hs_row__u64(rows, sums->in_use_bytes);
    hs_row__u64(rows, sums->in_use_count);
    hs_row__u64(rows, sums->allocated_bytes);
    hs_row__u64(rows, sums->allocated_count);
}

void hs_sender__add_state(struct hs_sender *sender, uint64_t key, uint64_t session, uint64_t instant, uint32_t age,
                          const struct hs_follow_sums *sums)
{
    struct hs_buffer *rows = &sender->rows[TABLE_STATE];
    hs_row__u64(rows, key);
    hs_row__u64(rows, session);
    put_instant(rows, instant);
    hs_row__u32(rows, age);
    put_sums(rows, sums);
    sender->waiting++;
}

void hs_sender__add_total(struct hs_sender *sender, uint64_t session, uint64_t instant,
                          const struct hs_follow_sums *sums)
{
    struct hs_buffer *rows = &sender->rows[TABLE_TOTAL];
    hs_row__u64(rows, session);
    put_instant(rows, instant);
    put_sums(rows, sums);
    sender->waiting++;
}

// Adds what a stack has now in place of what it had; modulo 2^64, the sum is right again at the end of the tick.
static int change(struct hs_sender_stacks *stacks, struct sender_member *member, const struct hs_follow_sums *now)
{
    struct sender_group *group = (struct sender_group *)stacks->groups.data + member->group;
    group->sums.in_use_bytes += now->in_use_bytes - member->last.in_use_bytes;
    group->sums.in_use_count += now->in_use_count - member->last.in_use_count;
    group->sums.allocated_bytes += now->allocated_bytes - member->last.allocated_bytes;
    group->sums.allocated_count += now->allocated_count - member->last.allocated_count;
    member->last = *now;
    if (group->tick == stacks->tick)
        return 0;
    group->tick = stacks->tick;
    uint32_t *changed = hs_array__add(&stacks->changed, sizeof(*changed));
    if (!changed)
        return -ENOMEM;
    *changed = member->group;
    return 0;
}

// Rows of one session and second replace each other, in any order: a tick in the second of the one before it, or just
// before, is dated behind it. A clock that was set back further is reported as it is.
static uint32_t time_of(struct hs_sender_stacks *stacks, uint64_t ns)
{
    uint32_t time = seconds(ns), last = stacks->last_time;
    if (time <= last && last - time < CLOCK_BACK_SECONDS && last < UINT32_MAX)
        time = last + 1;
    return stacks->last_time = time;
}

uint64_t hs_sender__time_of(const struct hs_sender_device *device, const struct hs_file_header *header,
                            const struct hs_follow_tick *tick)
{
    return device->clock_ns ? header->start_realtime_ns + device->clock_ns + tick->age_ns : tick->realtime_ns;
}

int hs_sender__add(struct hs_sender *sender, const struct hs_follow *follow, const struct hs_sender_device *device,
                   const struct hs_follow_tick *tick, bool rows, struct hs_sender_stacks **state)
{
    if (!*state && !(*state = begin_stacks()))
        return -ENOMEM;
    struct hs_sender_stacks *stacks = *state;
    stacks->tick++;
    stacks->changed.count = 0;
    for (size_t i = 0; i < tick->count; i++) {
        struct sender_member *member = member_of(sender, follow, stacks, tick->sums[i].stack);
        if (!member || change(stacks, member, &tick->sums[i]))
            return -ENOMEM;
    }
    const uint64_t ns = hs_sender__time_of(device, hs_follow__header(follow), tick);
    const uint64_t instant = (uint64_t)time_of(stacks, ns) << 32;
    const uint32_t age = seconds(tick->age_ns);
    if (!rows)
        return 0;
    uint64_t session = hs_fleet_key__session(hs_follow__header(follow)->trace_id);
    const uint32_t *changed = stacks->changed.data;
    const struct sender_group *groups = stacks->groups.data;
    for (size_t i = 0; i < stacks->changed.count; i++)
        hs_sender__add_state(sender, groups[changed[i]].key, session, instant, age, &groups[changed[i]].sums);
    hs_sender__add_total(sender, session, instant, &tick->total);
    return 0;
}

// ---- sessions ------------------------------------------------------------------------------------------------------

static void put_text(struct hs_buffer *rows, const char *text, size_t length)
{
    hs_row__text(rows, text, length < HS_SENDER_TEXT ? length : HS_SENDER_TEXT);
}

struct sender_label {
    const char *name, *value;
    size_t name_length, value_length;
};

static size_t read_labels(const char *text, struct sender_label labels[HS_SENDER_LABELS])
{
    size_t count = 0;
    for (const char *at = text ? text : ""; *at && count < HS_SENDER_LABELS;) {
        size_t length = strcspn(at, ",");
        const char *sign = memchr(at, '=', length);
        if (sign && sign > at)
            labels[count++] =
                (struct sender_label){at, sign + 1, (size_t)(sign - at), length - (size_t)(sign - at) - 1};
        at += length + (at[length] == ',');
    }
    return count;
}

int hs_sender__put_session(struct hs_sender *sender, const struct hs_sender_session *session)
{
    struct hs_buffer *rows = &sender->rows[TABLE_SESSION];
    const struct hs_sender_device *device = session->device;
    struct sender_label labels[HS_SENDER_LABELS];
    size_t count = read_labels(device->labels, labels);
    const char *name = device->device ? device->device : session->host;
    const char *app = hs_path__name(session->executable);
    const char *firmware = "";
    size_t firmware_length = 0;
    for (size_t i = 0; i < count; i++) {
        if (strlen(device->firmware_label) == labels[i].name_length &&
            !memcmp(device->firmware_label, labels[i].name, labels[i].name_length)) {
            firmware = labels[i].value;
            firmware_length = labels[i].value_length;
        }
    }
    hs_row__u64(rows, session->key);
    put_text(rows, name, strlen(name));
    put_text(rows, app, strlen(app));
    put_text(rows, firmware, firmware_length);
    hs_row__array(rows, count);
    for (size_t i = 0; i < count; i++)
        put_text(rows, labels[i].name, labels[i].name_length);
    hs_row__array(rows, count);
    for (size_t i = 0; i < count; i++)
        put_text(rows, labels[i].value, labels[i].value_length);
    hs_row__u16(rows, session->machine);
    hs_row__u32(rows, session->pid);
    hs_row__u32(rows, seconds(session->start_ns));
    hs_row__u32(rows, seconds(session->seen_ns));
    hs_row__u8(rows, session->ended);
    hs_row__u64(rows, session->dropped);
    hs_row__u64(rows, hs_clock__realtime());
    hs_row__u8(rows, session->estimated);
    sender->waiting++;
    return rows->failed ? -ENOMEM : 0;
}

int hs_sender__add_session(struct hs_sender *sender, const struct hs_follow *follow,
                           const struct hs_sender_device *device, uint64_t seen_ns)
{
    const struct hs_file_header *header = hs_follow__header(follow);
    const struct hs_live *live = hs_follow__live(follow);
    struct hs_sender_session session = {.key = hs_fleet_key__session(header->trace_id),
                                        .device = device,
                                        .host = hs_follow__info(follow, "host"),
                                        .executable = hs_follow__info(follow, "executable"),
                                        .machine = header->machine,
                                        .pid = header->pid,
                                        .start_ns = header->start_realtime_ns + device->clock_ns,
                                        .seen_ns = seen_ns,
                                        .ended = live->state != HS_STATE_RECORDING};
    for (unsigned i = 0; i < HS_DROP_COUNT; i++)
        session.dropped += live->dropped[i];
    return hs_sender__put_session(sender, &session);
}

// ---- batches -------------------------------------------------------------------------------------------------------

uint64_t hs_sender__waiting(const struct hs_sender *sender)
{
    return sender->waiting;
}

int hs_sender__flush(struct hs_sender *sender, struct hs_error *error)
{
    // Another heapsonde may have changed the tables meanwhile.
    int failed = sender->waiting ? hs_fleet_schema__check(sender->database, error) : 0;
    if (failed == -ENOENT || failed == -EEXIST)
        failed = -EREMOTEIO;
    for (unsigned i = 0; i < TABLES && !failed; i++)
        if (sender->rows[i].count)
            failed = hs_database__insert(sender->database, columns[i], &sender->rows[i], error);
    if (failed)
        return failed;
    for (unsigned i = 0; i < TABLES; i++)
        sender->rows[i].count = 0;
    sender->waiting = 0;
    return 0;
}
