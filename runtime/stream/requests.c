// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Requests of a host to a recorded process (docs/protocol.md, section 2.5).
#include "runtime/aggregate/aggregate.h"
#include "runtime/journal.h"
#include "runtime/output.h"
#include "runtime/process.h"
#include "runtime/slots.h"
#include "runtime/stream/link.h"
#include "runtime/stream/slot_copies.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/text.h"
#include "runtime/writer.h"

#include <errno.h>

struct request {
    const char *name;
    uint32_t (*carry_out)(const char *argument, struct hs_text *answer);
};

static void line(struct hs_text *answer, const char *key, uint64_t value)
{
    hs_text__add(answer, key);
    hs_text__add_number(answer, value);
    hs_text__add_character(answer, '\n');
}

static uint32_t status(const char *argument, struct hs_text *answer)
{
    const struct hs_live *live = hs_stream.live;
    uint64_t dropped = 0;
    (void)argument;
    for (unsigned i = 0; i < HS_DROP_COUNT; i++)
        dropped += live->dropped[i];
    hs_text__add(answer, hs_process__is_recording() ? "recording: yes\n" : "recording: no\n");
    line(answer, "pid: ", hs_stream.process);
    line(answer, "events: ", live->events);
    line(answer, "dropped: ", dropped);
    line(answer, "dropped by the link: ", hs_stream.dropped[HS_STREAM_DROPPED_EVENTS]);
    line(answer, "bytes not acknowledged: ", hs_stream.ring.size - hs_stream_ring__room(&hs_stream.ring));
    line(answer, "buffer: ", hs_stream.ring.size);
    return 0;
}

static uint32_t switch_recording(bool on, struct hs_text *answer)
{
    bool before = hs_process__is_recording();
    hs_process__set_recording(on);
    hs_text__add(answer, on ? "recording" : "paused");
    hs_text__add(answer, before == on ? " already\n" : "\n");
    return hs_process__is_recording() == on ? 0 : EIO;
}

static uint32_t start(const char *argument, struct hs_text *answer)
{
    (void)argument;
    return switch_recording(true, answer);
}

static uint32_t stop(const char *argument, struct hs_text *answer)
{
    (void)argument;
    return switch_recording(false, answer);
}

static uint32_t mark(const char *argument, struct hs_text *answer)
{
    hs_text__add(answer, "marked\n");
    return hs_journal__mark(0, 0, argument) ? 0 : EIO;
}

// The contents of the threads' buffers are sent as copies, so that no thread of the program is disturbed.
static uint32_t flush(const char *argument, struct hs_text *answer)
{
    (void)argument;
    hs_stream__flush_journals();
    if (hs_aggregate__is_on()) {
        hs_writer__ask_for_aggregate();
        hs_text__add(answer, "the sums are written\n");
        return 0;
    }
    for (uint32_t i = 0; i < hs_slots__total(); i++)
        if (!hs_stream__copy_slot(hs_slots__at(i))) {
            hs_text__add(answer, "the buffer of the stream is full\n");
            return EAGAIN;
        }
    hs_text__add(answer, "flushed\n");
    return 0;
}

// Requests that only the sampling shim supports.
static uint32_t dump(const char *argument, struct hs_text *answer)
{
    (void)argument;
    hs_text__add(answer,
                 "everything is recorded, so there is nothing to dump: 'flush' sends what has been recorded, and "
                 "'heapsonde report' or 'export' reads the trace that 'heapsonde gather' stores\n");
    return EINVAL;
}

static uint32_t rate(const char *argument, struct hs_text *answer)
{
    (void)argument;
    hs_text__add(answer, "everything is recorded, so there is no rate: 'stop' pauses recording; "
                         "libheapsonde-prof.so takes samples\n");
    return EINVAL;
}

static uint32_t reset(const char *argument, struct hs_text *answer)
{
    (void)argument;
    hs_text__add(answer, "a trace forgets nothing: 'mark TEXT' says where something begins\n");
    return EINVAL;
}

static const struct request requests[] = {
    {"status", status}, {"start", start},   {"stop", stop}, {"mark", mark},   {"flush", flush},
    {"dump", dump},     {"get-dump", dump}, {"rate", rate}, {"reset", reset},
};

static bool is_called(const char *text, const char *name)
{
    size_t length = hs_text__length(name);
    return hs_text__starts_with(text, name) && (text[length] == 0 || text[length] == ' ');
}

static uint32_t carry_out(const char *text, struct hs_text *out)
{
    for (unsigned i = 0; i < sizeof requests / sizeof *requests; i++) {
        if (!is_called(text, requests[i].name))
            continue;
        const char *argument = text + hs_text__length(requests[i].name);
        return requests[i].carry_out(*argument == ' ' ? argument + 1 : argument, out);
    }
    hs_text__add(out, "requests: status, start, stop, mark TEXT, flush\n");
    return EINVAL;
}

void hs_requests__carry_out(const char *text, struct hs_answer *answer)
{
    struct hs_text out;
    hs_text__start(&out, answer->text, sizeof answer->text);
    answer->status = carry_out(text, &out);
    answer->length = (uint32_t)(out.at - answer->text);
}
