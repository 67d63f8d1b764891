// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/seal.h"

#include "format/chunk.h"
#include "format/event_codec.h"
#include "format/meta.h"
#include "runtime/aggregate/aggregate.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/cull.h"
#include "runtime/embed.h"
#include "runtime/load.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/shared_word.h"
#include "runtime/slot_source.h"
#include "runtime/stream/slot_copies.h"
#include "runtime/stream/stream.h"

#include <stddef.h>

enum { LOOK_AGAIN_AFTER = 16 };

// The bytes that an event may take on average while time is more important than size: when there is CPU pressure, and
// when threads wait.
enum { BYTES_WHEN_BUSY = 4, BYTES_WHEN_HURRIED = 5 };

// Clock points: one at the start, soon a second, then less and less often.
#define FIRST_CLOCK_POINT_NS  25000000ull // doubled by the one at the start
#define CLOCK_POINTS_APART_NS 10000000000ull

// Used only by the first sealer.
static struct {
    uint64_t *squeezed; // HS_SLOT_RECORDS_SIZE, when culling
    struct hs_meta_writer culled;
    uint64_t next_clock_point_ns;
    uint64_t clock_points_apart_ns;
} seal;

static const struct hs_codec_target target = {
    .byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? HS_BYTE_ORDER_LITTLE : HS_BYTE_ORDER_BIG,
    .pointer_size = sizeof(void *),
    .address_shift = HS_ARCH_ADDRESS_SHIFT,
};

bool hs_seal__prepare(void)
{
    seal.clock_points_apart_ns = FIRST_CLOCK_POINT_NS;
    seal.next_clock_point_ns = hs_clock__monotonic_ns() + FIRST_CLOCK_POINT_NS;
    if (hs_cull__is_on() && !seal.squeezed)
        seal.squeezed = hs_memory__map(HS_SLOT_RECORDS_SIZE);
    return hs_sealer__prepare(0) && (seal.squeezed || !hs_cull__is_on()) && hs_aggregate__prepare();
}

// Threads of the program want the processor that coding takes, now or a moment ago.
static bool is_busy(struct hs_sealer *sealer)
{
    if (!hs_slot_source__writer_thread())
        return true;
    if (sealer->busy_for)
        sealer->busy_for--;
    else if (hs_load__is_high())
        sealer->busy_for = LOOK_AGAIN_AFTER;
    return sealer->busy_for != 0;
}

// Whether the fast coding is what suits the moment. A link is short of bytes before a processor is of time: there only
// threads that wait are worth more, and nothing is once it does not keep up.
static bool is_fast_better(struct hs_sealer *sealer)
{
    if (!hs_stream__keeps_up())
        return false;
    bool hurried = hs_slots__waited_for();
    uint64_t allowed = hurried ? BYTES_WHEN_HURRIED : BYTES_WHEN_BUSY;
    return sealer->bytes <= allowed * sealer->events && (hurried || (!hs_stream__is_open() && is_busy(sealer)));
}

// False: there are none.
static bool seal_events(struct hs_sealer *sealer, const struct hs_slot_header *header, const uint64_t *records)
{
    struct hs_encoded result;
    __auto_type encode = is_fast_better(sealer) ? hs_events_encode_fast : hs_events_encode;
    encode(&target, records, HS_SLOT_EVENTS_SIZE / 8, header->base_time, sealer->scratch, sealer->encoded, &result);
    if (result.length == 0)
        return false;
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_EVENTS,
        .stored_length = result.length,
        .plain_length = result.length,
        .stream = header->stream,
        .count = result.count,
        .sequence = header->sequence,
        .first_time = result.first_time,
        .last_time = result.last_time,
    };
    sealer->events += result.count;
    sealer->bytes += hs_chunk_size(result.length);
    struct hs_live *live = hs_output__live();
    bool written = hs_output__append(&chunk, sealer->encoded);
    hs_shared_word__add(written ? &live->events : &live->dropped[HS_DROP_STOPPED], result.count);
    return true;
}

// Of no use to readers without the files that were mapped.
static void note_resident(struct hs_live *live)
{
    enum { RESIDENT = 4, WORDS = 18 }; // of struct rusage, which a C library may lay out in its own way
    long usage[WORDS];
    if (!hs_config.maps || hs_system_forbids(HS_FORBIDDEN_NAMES))
        return;
    usage[RESIDENT] = 0;
    HS_SYSTEM2(SYS_getrusage, 0, usage);
    uint64_t *word = live->resident_before ? &live->resident_most : &live->resident_before;
    hs_shared_word__store(word, (uint64_t)usage[RESIDENT]);
}

void hs_seal__point(void)
{
    uint8_t buffer[64] = {0};
    struct hs_meta_writer writer;
    hs_meta_begin(&writer, buffer, sizeof buffer);
    uint64_t monotonic = hs_clock__monotonic_ns();
    hs_meta_clock(&writer, hs_clock__now(), monotonic, hs_clock__realtime_ns());
    hs_sealer__append_meta(&hs_sealers[0], buffer, (uint32_t)(writer.at - buffer), 0);
    note_resident(hs_output__live());
    if (seal.clock_points_apart_ns < CLOCK_POINTS_APART_NS)
        seal.clock_points_apart_ns *= 2;
    seal.next_clock_point_ns = monotonic + seal.clock_points_apart_ns;
}

static void flush_culled(void)
{
    if (seal.culled.at > (uint8_t *)seal.squeezed)
        hs_sealer__append_meta(&hs_sealers[0], seal.squeezed, (uint32_t)(seal.culled.at - (uint8_t *)seal.squeezed), 0);
    hs_meta_begin(&seal.culled, seal.squeezed, HS_SLOT_RECORDS_SIZE);
}

static void seal_held(bool all)
{
    for (struct hs_slot *slot; (slot = hs_cull__release(all, seal.squeezed));) {
        const uint64_t lost = hs_stream__lost();
        if (seal_events(&hs_sealers[0], hs_slot__header(slot), seal.squeezed) && hs_stream__lost() == lost)
            hs_slots__give_back(slot);
        else
            hs_stream__withdraw_slot(slot); // a copy would have what was culled
    }
}

static void write_culled(uint32_t stack, uint64_t count, uint64_t size, uint64_t usable, uint64_t lifetime)
{
    struct hs_meta_writer *writer = &seal.culled;
    if (hs_meta_culled(writer, stack, count, size, usable, lifetime))
        return;
    flush_culled();
    hs_meta_culled(writer, stack, count, size, usable, lifetime);
}

static void finish_culling(void)
{
    seal_held(true);
    hs_meta_begin(&seal.culled, seal.squeezed, HS_SLOT_RECORDS_SIZE);
    hs_cull__report(write_culled);
    flush_culled();
}

// Statistics of culled blocks are written at the same interval: a killed process loses those since then.
static void write_clock_point_if_due(void)
{
    if (hs_clock__monotonic_ns() <= seal.next_clock_point_ns)
        return;
    if (hs_cull__is_on())
        finish_culling();
    hs_seal__point();
}

void hs_seal__slot(struct hs_sealer *sealer, struct hs_slot *slot)
{
    const struct hs_slot_header *header = hs_slot__header(slot);
    if (header->use == HS_SLOT_META) {
        hs_sealer__append_meta_slot(sealer, slot);
    } else if (hs_aggregate__is_on()) {
        hs_aggregate__take_slot(slot);
        hs_slots__give_back(slot);
    } else {
        if (hs_cull__is_on())
            seal_held(false);
        if (!hs_cull__is_on() || !hs_cull__hold(slot)) {
            seal_events(sealer, header, hs_slot__records(slot));
            hs_slots__give_back(slot);
        }
    }
    if (sealer == &hs_sealers[0])
        write_clock_point_if_due();
}

void hs_seal__aggregate(bool at_once)
{
    if (at_once && hs_cull__is_on())
        finish_culling();
    if (!hs_aggregate__is_on() || (!at_once && hs_aggregate__due_in_ns()))
        return;
    hs_aggregate__emit(at_once);
    write_clock_point_if_due();
}

void hs_seal__beat(void)
{
    struct hs_live *live = hs_output__live();
    if (!hs_output__stopped() && hs_shared_word__load(&live->state) == HS_STATE_RECORDING)
        hs_shared_word__store(&live->end_time, hs_clock__now());
}

void hs_seal__close(uint64_t state)
{
    struct hs_live *live = hs_output__live();
    hs_seal__aggregate(true);
    hs_output__drop_unused_slots();
    hs_embed__modules();
    hs_seal__point();
    if (hs_output__stopped())
        return;
    hs_shared_word__store(&live->end_time, hs_clock__now());
    hs_shared_word__store(&live->state, state);
    hs_output__write_unmapped();
}
