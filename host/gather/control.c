// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/control.h"

#include "host/base/clock.h"
#include "host/gather/link.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_WITHIN (3 * HS_SECOND)
#define PROVEN_WITHIN  (5 * HS_SECOND)
#define ANSWER_WITHIN  (30 * HS_SECOND)
#define FOUND_WITHIN   (3 * HS_SECOND)
// Other devices with the same name announce themselves within this time.
#define OTHERS_WITHIN (1100 * HS_MILLISECOND)

#define MOST_BODY ((size_t)1 << 30)

enum { REQUEST_NUMBER = 1, LOOK_AGAIN_MS = 100 };

struct asker {
    int socket;
    struct hs_gather_link link;
    const struct hs_shared_key *key;
    const struct hs_control_limits *limits;
    const char *where;
    struct hs_error *error;
    uint64_t deadline;
    uint8_t frame[HS_WIRE_FRAME_MAX];
};

static int milliseconds_until(uint64_t deadline)
{
    uint64_t now = hs_clock__now();
    return now >= deadline ? 0 : (int)((deadline - now + HS_MILLISECOND - 1) / HS_MILLISECOND);
}

// ---- the connection -------------------------------------------------------------------------------------------------

static bool is_cancelled(const struct asker *asker)
{
    return asker->limits->cancel && __atomic_load_n(asker->limits->cancel, __ATOMIC_RELAXED);
}

// Waits in pieces, so that it ends soon after it is cancelled.
static bool is_ready(const struct asker *asker, short events, uint64_t until)
{
    struct pollfd waits = {.fd = asker->socket, .events = events};
    for (;;) {
        const int left = milliseconds_until(until);
        if (poll(&waits, 1, left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS) > 0)
            return true;
        if (!left || is_cancelled(asker))
            return false;
    }
}

static int dial(struct asker *asker, const struct hs_address *address)
{
    char text[HS_ADDRESS_TEXT];
    int on = 1, problem = 0;
    socklen_t length = sizeof(problem);
    hs_address__text(address, text);
    asker->socket = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (asker->socket < 0)
        return hs_error__set(asker->error, errno, "%s: %s", text, strerror(errno));
    if (connect(asker->socket, &address->any, address->length) && errno != EINPROGRESS)
        problem = errno;
    if (!problem && !is_ready(asker, POLLOUT, hs_clock__now() + CONNECT_WITHIN))
        problem = is_cancelled(asker) ? ECANCELED : ETIMEDOUT;
    if (!problem)
        getsockopt(asker->socket, SOL_SOCKET, SO_ERROR, &problem, &length);
    setsockopt(asker->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!problem)
        return 0;
    close(asker->socket);
    asker->socket = -1;
    return hs_error__set(asker->error, problem, "%s: %s", text, strerror(problem));
}

static int send_all(struct asker *asker, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t sent = send(asker->socket, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN && is_ready(asker, POLLOUT, asker->deadline))
            continue;
        if (sent < 0)
            return hs_error__set(asker->error, ECONNRESET, "%s: the connection broke", asker->where);
        bytes += sent;
        length -= (size_t)sent;
    }
    return 0;
}

static int ping(struct asker *asker)
{
    uint8_t frame[HS_GATHER_LINK_SMALL];
    return send_all(asker, frame, hs_gather_link__empty(&asker->link, HS_WIRE_PING, frame));
}

// `pings`: says every second that it is still there.
static int receive(struct asker *asker, uint8_t *bytes, size_t length, bool pings)
{
    while (length) {
        ssize_t got = recv(asker->socket, bytes, length, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return hs_error__set(
                asker->error, ECONNRESET, "%s closed the connection; it may have another key, %s", asker->where,
                asker->key->length ? "or none" : "want one (--key-file), or only answer its own user and root");
        if (got > 0) {
            bytes += got;
            length -= (size_t)got;
            continue;
        }
        const uint64_t now = hs_clock__now(), second = now + HS_SECOND;
        if (is_cancelled(asker))
            return hs_error__set(asker->error, ECANCELED, "cancelled");
        if (now >= asker->deadline)
            return hs_error__set(asker->error, ETIMEDOUT, "%s did not answer in time", asker->where);
        const bool ready = is_ready(asker, POLLIN, second < asker->deadline ? second : asker->deadline);
        if (!ready && pings && !is_cancelled(asker) && ping(asker))
            return -ECONNRESET;
    }
    return 0;
}

static int refuse(struct asker *asker, enum hs_refusal refusal)
{
    return hs_error__set(asker->error, EPROTO, "%s: %s", asker->where, hs_refusal__text(refusal));
}

static int prove(struct asker *asker)
{
    asker->deadline = hs_clock__now() + PROVEN_WITHIN;
    hs_gather_link__begin(&asker->link, asker->key);
    int failed = send_all(asker, asker->link.hello, HS_WIRE_HELLO_SIZE);
    if (!failed)
        failed = receive(asker, asker->frame, HS_WIRE_HELLO_SIZE, false);
    if (failed)
        return failed;
    enum hs_refusal refusal = hs_gather_link__take_hello(&asker->link, asker->key, asker->frame);
    if (refusal)
        return refuse(asker, refusal);
    uint8_t frame[HS_GATHER_LINK_SMALL];
    failed = send_all(asker, frame, hs_gather_link__empty(&asker->link, HS_WIRE_AUTH, frame));
    if (!failed)
        failed = receive(asker, asker->frame, hs_gather_link__auth_size(&asker->link), false);
    if (failed)
        return failed;
    refusal = hs_gather_link__take_auth(&asker->link, asker->frame);
    return refusal ? refuse(asker, refusal) : 0;
}

// ---- the question ---------------------------------------------------------------------------------------------------

static int send_request(struct asker *asker, const char *request)
{
    uint8_t *payload = asker->frame + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE;
    size_t length = strlen(request);
    if (length > HS_WIRE_PAYLOAD_MAX - 4)
        return hs_error__set(asker->error, E2BIG, "the request is too long");
    hs_wire__put(payload, REQUEST_NUMBER, 4);
    memcpy(payload + 4, request, length);
    return send_all(asker, asker->frame,
                    hs_wire__seal(&asker->link.from_host, HS_WIRE_REQUEST, asker->frame, length + 4));
}

static int receive_frame(struct asker *asker, struct hs_gather_link_frame *frame)
{
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    int failed = receive(asker, asker->frame, HS_WIRE_LENGTH_SIZE, true);
    if (failed)
        return failed;
    size_t size = hs_wire__frame_size(&asker->link.from_device, asker->frame);
    if (!size)
        return refuse(asker, HS_REFUSAL_FRAME_SIZE);
    failed = receive(asker, asker->frame + HS_WIRE_LENGTH_SIZE, size - HS_WIRE_LENGTH_SIZE, true);
    if (failed)
        return failed;
    hs_gather_link__next(&asker->link, asker->frame, size, frame, &refusal);
    return refusal ? refuse(asker, refusal) : 0;
}

static int take_part(struct asker *asker, struct hs_control_answer *answer, const struct hs_gather_link_frame *frame)
{
    size_t length = frame->length - 4;
    if (asker->limits->text_only)
        return hs_error__set(asker->error, EPROTO, "%s answers with more than a text", asker->where);
    if (length > MOST_BODY - answer->body_length)
        return hs_error__set(asker->error, EFBIG, "%s: the answer is longer than a gigabyte", asker->where);
    uint8_t *body = realloc(answer->body, answer->body_length + length + 1);
    if (!body)
        return hs_error__set(asker->error, ENOMEM, "out of memory");
    memcpy(body + answer->body_length, frame->payload + 4, length);
    answer->body = body;
    answer->body_length += length;
    asker->deadline = hs_clock__now() + ANSWER_WITHIN; // it goes on
    return 0;
}

static int take_other(struct asker *asker, struct hs_control_answer *answer, const struct hs_gather_link_frame *frame)
{
    if (frame->kind == HS_WIRE_STREAM && frame->length >= HS_WIRE_STREAM_MIN) {
        hs_device__read(&answer->device, frame->payload + HS_WIRE_STREAM_MIN, frame->payload + frame->length);
        memcpy(answer->device.trace_id, frame->payload, HS_TRACE_ID_SIZE);
    }
    if (frame->kind == HS_WIRE_PART && frame->length >= 4 && hs_wire__get(frame->payload, 4) == REQUEST_NUMBER)
        return take_part(asker, answer, frame);
    return 0;
}

static int receive_answer(struct asker *asker, struct hs_control_answer *answer)
{
    struct hs_gather_link_frame frame;
    asker->deadline = hs_clock__now() + ANSWER_WITHIN;
    do {
        int failed = receive_frame(asker, &frame);
        if (!failed)
            failed = take_other(asker, answer, &frame);
        if (failed)
            return failed;
    } while (frame.kind != HS_WIRE_ANSWER || frame.length < 8 || hs_wire__get(frame.payload, 4) != REQUEST_NUMBER);
    answer->status = (uint32_t)hs_wire__get(frame.payload + 4, 4);
    answer->length = frame.length - 8;
    answer->text = malloc(answer->length + 1);
    if (!answer->text)
        return hs_error__set(asker->error, ENOMEM, "out of memory");
    memcpy(answer->text, frame.payload + 8, answer->length);
    answer->text[answer->length] = 0;
    return 0;
}

static bool writes(const struct hs_device *device, const char *trace)
{
    uint64_t words[2];
    char text[33];
    memcpy(words, device->trace_id, sizeof(words));
    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    return !strcmp(text, trace);
}

// A device says which trace it writes before it answers anything.
static int check_trace(struct asker *asker, struct hs_control_answer *answer)
{
    struct hs_gather_link_frame frame;
    int failed = 0;
    if (!asker->limits->trace)
        return 0;
    asker->deadline = hs_clock__now() + PROVEN_WITHIN;
    do {
        failed = receive_frame(asker, &frame);
        if (!failed)
            failed = take_other(asker, answer, &frame);
    } while (!failed && frame.kind != HS_WIRE_STREAM);
    if (!failed && !writes(&answer->device, asker->limits->trace))
        return hs_error__set(asker->error, ESRCH, "%s writes another trace", asker->where);
    return failed;
}

int hs_control__ask(const struct hs_address *addresses, int count, const struct hs_shared_key *key, const char *request,
                    const struct hs_control_limits *limits, struct hs_control_answer *answer, struct hs_error *error)
{
    char where[HS_ADDRESS_TEXT];
    struct asker asker = {.socket = -1, .key = key, .limits = limits, .where = where, .error = error};
    int failed = -ENOENT;
    for (int i = 0; i < count && failed; i++) {
        failed = dial(&asker, &addresses[i]);
        hs_address__text(&addresses[i], where);
    }
    if (failed)
        return failed;
    failed = prove(&asker);
    if (!failed)
        failed = check_trace(&asker, answer);
    if (!failed)
        failed = send_request(&asker, request);
    if (!failed)
        failed = receive_answer(&asker, answer);
    close(asker.socket);
    hs_wire__wipe(&asker.link, sizeof(asker.link));
    return failed;
}

// ---- names ----------------------------------------------------------------------------------------------------------

struct finder {
    const char *name;
    const struct hs_shared_key *key;
    bool anywhere;
    unsigned found;
    struct hs_heard first, other;
};

static void take(struct finder *finder, const struct hs_heard *heard)
{
    if (!finder->anywhere && !hs_address__is_loopback(&heard->address))
        return;
    if (strcmp(heard->device.device, finder->name) && strcmp(heard->device.name, finder->name))
        return;
    if (!finder->found) {
        finder->first = *heard;
        finder->found = 1;
    } else if (memcmp(finder->first.device.trace_id, heard->device.trace_id, HS_TRACE_ID_SIZE)) {
        finder->other = *heard;
        finder->found = 2;
    }
}

static void listen_until(struct finder *finder, const struct hs_hearing *hearing, uint64_t deadline)
{
    struct hs_heard heard;
    while (finder->found < 2 && milliseconds_until(deadline)) {
        struct pollfd waits[HS_HEARING_SOCKETS];
        for (int i = 0; i < HS_HEARING_SOCKETS; i++)
            waits[i] = (struct pollfd){.fd = hearing->sockets[i], .events = POLLIN};
        unsigned before = finder->found;
        if (poll(waits, HS_HEARING_SOCKETS, milliseconds_until(deadline)) > 0)
            for (int i = 0; i < HS_HEARING_SOCKETS; i++)
                if (hs_hearing__next(hearing->sockets[i], finder->key, &heard) == HS_HEARING_HEARD)
                    take(finder, &heard);
        if (!before && finder->found)
            return;
    }
}

int hs_control__find(const char *name, const struct hs_shared_key *key, bool anywhere, struct hs_address *address,
                     struct hs_error *error)
{
    char first[HS_ADDRESS_TEXT], other[HS_ADDRESS_TEXT];
    struct hs_hearing hearing;
    struct finder finder = {.name = name, .key = key, .anywhere = anywhere};
    int failed = hs_hearing__open(&hearing, anywhere, hs_hearing__port(), error);
    if (failed)
        return failed;
    listen_until(&finder, &hearing, hs_clock__now() + FOUND_WITHIN);
    if (finder.found)
        listen_until(&finder, &hearing, hs_clock__now() + OTHERS_WITHIN);
    hs_hearing__close(&hearing);
    *address = finder.first.address;
    if (finder.found == 1)
        return 0;
    if (!finder.found)
        return hs_error__set(
            error, ENOENT,
            "no device or program with the name '%s' has announced itself within three seconds; a device announces "
            "itself with HEAPSONDE_ENABLE_BROADCAST=1 and HEAPSONDE_ENABLE_SERVER=1%s",
            name, anywhere ? "" : ", and beyond this machine is heard with --key-file");
    return hs_error__set(
        error, EEXIST, "several processes have the name '%s', such as %s and %s; give the one that you mean", name,
        hs_address__text(&finder.first.address, first), hs_address__text(&finder.other.address, other));
}
