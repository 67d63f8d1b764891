// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/stream.h"

#include <errno.h>
#include <string.h>

enum { MOST_PIECES = 64 };

// DATA that lies in a row is written at once.
struct batch {
    const struct hs_gather_stream_context *context;
    struct hs_gather_stream *stream;
    struct iovec pieces[MOST_PIECES];
    int count;
};

static enum hs_refusal flush(struct batch *batch)
{
    struct hs_gather_stream *stream = batch->stream;
    if (!batch->count)
        return HS_REFUSAL_NONE;
    uint64_t stored = 0;
    enum hs_refusal refusal =
        hs_gathered__write(batch->context->traces, stream->trace, stream->claim, batch->pieces, batch->count, &stored);
    batch->count = 0;
    if (stored > stream->stored)
        stream->stored = stored;
    return refusal;
}

static enum hs_refusal take_data(struct batch *batch, const struct hs_gather_link_frame *frame)
{
    struct hs_gather_stream *stream = batch->stream;
    if (!stream->trace || stream->ended)
        return HS_REFUSAL_ORDER;
    if (frame->length < 8)
        return HS_REFUSAL_FRAME_SIZE;
    if (hs_wire__get(frame->payload, 8) != stream->expected)
        return HS_REFUSAL_OFFSET;
    size_t length = frame->length - 8;
    if (!length)
        return HS_REFUSAL_NONE;
    batch->pieces[batch->count++] = (struct iovec){frame->payload + 8, length};
    stream->expected += length;
    return batch->count == MOST_PIECES ? flush(batch) : HS_REFUSAL_NONE;
}

static enum hs_refusal take_end(struct batch *batch, const struct hs_gather_link_frame *frame)
{
    struct hs_gather_stream *stream = batch->stream;
    if (!stream->trace || stream->ended)
        return HS_REFUSAL_ORDER;
    if (frame->length < 8)
        return HS_REFUSAL_FRAME_SIZE;
    uint64_t offset = hs_wire__get(frame->payload, 8);
    if (offset != stream->expected)
        return HS_REFUSAL_OFFSET;
    enum hs_refusal refusal = flush(batch);
    if (!refusal)
        refusal = hs_gathered__end(batch->context->traces, stream->trace, stream->claim, offset);
    stream->ended = !refusal;
    return refusal;
}

static enum hs_refusal take_stream(struct batch *batch, const struct hs_gather_link_frame *frame)
{
    struct hs_gather_stream *stream = batch->stream;
    struct hs_gathered_row row;
    enum hs_refusal refusal;
    if (stream->trace)
        return HS_REFUSAL_ORDER;
    if (frame->length < HS_WIRE_STREAM_MIN)
        return HS_REFUSAL_STREAM;
    memset(&stream->device, 0, sizeof(stream->device));
    memcpy(stream->device.trace_id, frame->payload, HS_TRACE_ID_SIZE);
    hs_address__host(&stream->peer, stream->device.address);
    uint64_t oldest = hs_wire__get(frame->payload + HS_TRACE_ID_SIZE, 8);
    uint64_t newest = hs_wire__get(frame->payload + HS_TRACE_ID_SIZE + 8, 8);
    if (oldest > newest ||
        !hs_device__read(&stream->device, frame->payload + HS_WIRE_STREAM_MIN, frame->payload + frame->length))
        return HS_REFUSAL_STREAM;
    if (!hs_device__is_selected(&stream->device, batch->context->select))
        return HS_REFUSAL_NOT_SELECTED;
    stream->trace =
        hs_traces__claim(batch->context->traces, &stream->device, newest, stream->claim, &stream->expected, &refusal);
    if (!stream->trace)
        return refusal;
    // The device may hold what an earlier host has stored and could not acknowledge any more.
    stream->stored = stream->expected;
    stream->acknowledged = oldest < stream->expected ? oldest : stream->expected;
    stream->want_due = true;
    hs_gathered__row(stream->trace, &row);
    hs_notices__stream(batch->context->notices, stream->expected || row.connections > 1 ? "resumed" : "began", &row);
    return HS_REFUSAL_NONE;
}

static enum hs_refusal take_refused(struct hs_gather_stream *stream, const struct hs_gather_link_frame *frame)
{
    size_t length = strnlen((const char *)frame->payload, frame->length);
    if (length >= sizeof(stream->detail))
        length = sizeof(stream->detail) - 1;
    memcpy(stream->detail, frame->payload, length);
    stream->detail[length] = 0;
    return HS_REFUSAL_DEVICE;
}

// An answer to a request that nobody waits for, or that this connection did not send, is of no use.
static void take_answer(struct hs_gather_stream *stream, const struct hs_gather_link_frame *frame)
{
    if (!stream->request || stream->request_due || frame->length < 8 ||
        hs_wire__get(frame->payload, 4) != stream->request_number)
        return;
    hs_gather_request__answer(stream->request, (uint32_t)hs_wire__get(frame->payload + 4, 4), frame->payload + 8,
                              frame->length - 8);
    stream->request = NULL;
}

static enum hs_refusal take_frame(struct batch *batch, const struct hs_gather_link_frame *frame)
{
    switch (frame->kind) {
    case HS_WIRE_STREAM:
        return take_stream(batch, frame);
    case HS_WIRE_DATA:
        return take_data(batch, frame);
    case HS_WIRE_END:
        return take_end(batch, frame);
    case HS_WIRE_REFUSED:
        return take_refused(batch->stream, frame);
    case HS_WIRE_ANSWER:
        take_answer(batch->stream, frame);
        return HS_REFUSAL_NONE;
    case HS_WIRE_AUTH:
        return HS_REFUSAL_ORDER;
    default:
        return HS_REFUSAL_NONE;
    }
}

size_t hs_gather_stream__take(const struct hs_gather_stream_context *context, struct hs_gather_stream *stream,
                              uint8_t *bytes, size_t length, enum hs_refusal *refusal)
{
    struct batch batch = {.context = context, .stream = stream};
    struct hs_gather_link_frame frame;
    size_t used = 0;
    *refusal = HS_REFUSAL_NONE;
    while (!*refusal) {
        size_t size = hs_gather_link__next(&stream->link, bytes + used, length - used, &frame, refusal);
        if (!size)
            break;
        used += size;
        *refusal = take_frame(&batch, &frame);
    }
    // The frames before an invalid one are valid.
    enum hs_refusal last = flush(&batch);
    if (!*refusal)
        *refusal = last;
    return used;
}

void hs_gather_stream__ask(struct hs_gather_stream *stream, struct hs_gather_request *request)
{
    // The number tells the answer that may still come from the next one.
    if (stream->request && hs_gather_request__is_given_up(stream->request)) {
        hs_gather_request__fail(stream->request, -ETIMEDOUT);
        stream->request = NULL;
    }
    if (stream->request || !stream->trace) {
        hs_gather_request__fail(request, stream->request ? -EBUSY : -ENOTCONN);
        return;
    }
    stream->request = request;
    stream->request_number++;
    stream->request_due = true;
}

static size_t fill_request(struct hs_gather_stream *stream, uint8_t *out)
{
    uint8_t *payload = out + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE;
    const char *text = hs_gather_request__text(stream->request);
    const size_t length = strlen(text);
    hs_wire__put(payload, stream->request_number, 4);
    memcpy(payload + 4, text, length);
    return hs_wire__seal(&stream->link.from_host, HS_WIRE_REQUEST, out, length + 4);
}

size_t hs_gather_stream__fill(struct hs_gather_stream *stream, uint8_t out[HS_STREAM_OUT])
{
    size_t length = 0;
    if (stream->want_due)
        length += hs_gather_link__number(&stream->link, HS_WIRE_WANT, stream->expected, out);
    stream->want_due = false;
    // The last acknowledgement lets the device forget everything: it waits for the disk, and is sent even when the
    // number is not new.
    bool last = stream->ended && stream->synced && !stream->done;
    if (last || (stream->stored > stream->acknowledged && !stream->ended)) {
        length += hs_gather_link__number(&stream->link, HS_WIRE_ACK, stream->stored, out + length);
        stream->acknowledged = stream->stored;
        stream->done = last;
    }
    if (stream->ping_due)
        length += hs_gather_link__empty(&stream->link, HS_WIRE_PING, out + length);
    stream->ping_due = false;
    if (stream->request_due)
        length += fill_request(stream, out + length);
    stream->request_due = false;
    return length;
}

void hs_gather_stream__close(const struct hs_gather_stream_context *context, struct hs_gather_stream *stream,
                             enum hs_refusal why)
{
    struct hs_gathered_row row;
    if (stream->request)
        hs_gather_request__fail(stream->request, -ENOTCONN);
    stream->request = NULL;
    if (stream->trace) {
        bool lasting = why != HS_REFUSAL_REPLACED;
        bool fault = why == HS_REFUSAL_DEVICE || why == HS_REFUSAL_HEADER || why == HS_REFUSAL_QUOTA ||
                     why == HS_REFUSAL_QUOTA_DEVICE;
        hs_gathered__row(stream->trace, &row);
        if (lasting && !fault)
            hs_notices__stream(context->notices, stream->ended ? "ended" : "lost", &row);
        hs_gathered__release(context->traces, stream->trace, stream->claim, fault ? why : HS_REFUSAL_NONE);
        stream->trace = NULL;
    }
    if (why)
        hs_notices__refused(context->notices, why, &stream->peer, &stream->device, stream->detail);
}
