// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/link.h"

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/stream/offer.h"
#include "runtime/stream/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { FRAMES_A_TURN = 64, UNSENT_LIMIT = 65536 };
#define SECOND_NS       1000000000ull
#define CONNECT_LIMIT   (1 * SECOND_NS)
#define HANDSHAKE_LIMIT (5 * SECOND_NS)
#define SILENCE_LIMIT   (4 * SECOND_NS)
#define PAYLOAD(frame)  ((frame) + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE)

struct hs_link_security hs_link_security;

static void fill_random(uint8_t *bytes, uint32_t length)
{
    for (uint32_t done = 0; done < length;) {
        long result = HS_SYSTEM3(HS_KERNEL_GETRANDOM, bytes + done, length - done, 0);
        if (result > 0)
            done += (uint32_t)result;
        else if (result != -EINTR)
            break;
    }
}

// Before Linux 3.17 there is only the device file.
static bool random_bytes(uint8_t *bytes, uint32_t length)
{
    uint8_t none[HS_WIRE_RANDOM_SIZE] = {0};
    __builtin_memset(bytes, 0, length);
    fill_random(bytes, length);
    if (__builtin_memcmp(bytes, none, length))
        return true;
    long fd = hs_system_open("/dev/urandom", O_RDONLY | O_CLOEXEC, 0);
    long result = fd < 0 ? fd : hs_system_read((int)fd, bytes, length);
    if (fd >= 0)
        hs_system_close((int)fd);
    return result == (long)length;
}

bool hs_link__open(struct hs_link *link, int socket, bool connected)
{
    uint8_t *received = link->received, *frame = link->frame;
    *link = (struct hs_link){.socket = socket, .received = received, .frame = frame};
    if (!link->received)
        link->received = hs_memory__map(HS_WIRE_FRAME_MAX);
    if (!link->frame)
        link->frame = hs_memory__map(HS_WIRE_FRAME_MAX);
    struct hs_wire_hello hello = {.role = HS_WIRE_DEVICE,
                                  .security = hs_link_security.encrypted ? HS_WIRE_SHARED_KEY : HS_WIRE_OPEN};
    link->state = connected ? HS_LINK_HELLO : HS_LINK_CONNECTING;
    if (!link->received || !link->frame || !random_bytes(hello.random, sizeof hello.random))
        return false;
    hs_wire_hello__write(&hello, link->hello);
    __builtin_memcpy(link->frame, link->hello, sizeof link->hello);
    link->frame_length = sizeof link->hello;
    int one = 1, limit = UNSENT_LIMIT;
    HS_SYSTEM5(SYS_setsockopt, socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    HS_SYSTEM5(SYS_setsockopt, socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &limit, sizeof limit);
    return true;
}

static void close_body(struct hs_link *link)
{
    if (link->answer_due && link->answer.body >= 0)
        hs_system_close(link->answer.body);
    link->answer.body = -1;
}

void hs_link__close(struct hs_link *link)
{
    close_body(link);
    if (link->state != HS_LINK_NONE)
        hs_system_close(link->socket);
    hs_wire__wipe(&link->in, sizeof link->in);
    hs_wire__wipe(&link->out, sizeof link->out);
    link->state = HS_LINK_NONE;
    link->wants = false;
}

void hs_link__shut(struct hs_link *link)
{
    if (link->is_shut || hs_link__is_full(link))
        return;
    link->is_shut = true;
    HS_SYSTEM2(SYS_shutdown, link->socket, SHUT_WR);
}

bool hs_link__is_full(const struct hs_link *link)
{
    return link->state == HS_LINK_CONNECTING || (link->state != HS_LINK_NONE && link->frame_sent < link->frame_length);
}

// ---- what comes -----------------------------------------------------------------------------------------------------

static bool receive(struct hs_link *link, uint64_t now)
{
    uint32_t room = HS_WIRE_FRAME_MAX - link->received_length;
    if (room == 0)
        return true;
    long length =
        HS_SYSTEM6(SYS_recvfrom, link->socket, link->received + link->received_length, room, MSG_DONTWAIT, 0, 0);
    if (length == -EAGAIN || length == -EINTR)
        return true;
    if (length == 0)
        hs_offer__closed_by_host(link);
    if (length <= 0)
        return false;
    link->received_length += (uint32_t)length;
    link->heard_ns = now;
    return true;
}

static void take_off(struct hs_link *link, uint32_t length)
{
    link->received_length -= length;
    __builtin_memmove(link->received, link->received + length, link->received_length);
}

// Without a key another user's host is as far away as one of another machine.
static bool is_allowed(const struct hs_link *link)
{
    if (hs_link_security.encrypted || hs_config.insecure || hs_peer__is_trusted(link->socket))
        return true;
    hs_log(HS_LOG_WARN, "a host of another user was turned away: HEAPSONDE_KEY_FILE is needed", NULL, 0);
    return false;
}

static bool take_hello(struct hs_link *link)
{
    struct hs_wire_hello host;
    if (link->received_length < HS_WIRE_HELLO_SIZE)
        return true;
    uint8_t security = hs_link_security.encrypted ? HS_WIRE_SHARED_KEY : HS_WIRE_OPEN;
    if (!hs_wire_hello__read(link->received, &host) || host.role != HS_WIRE_HOST || host.security != security)
        return false;
    if (!is_allowed(link))
        return false;
    if (hs_link_security.encrypted)
        hs_wire__derive(&link->out, &link->in, hs_link_security.key, hs_link_security.length, link->hello,
                        link->received);
    take_off(link, HS_WIRE_HELLO_SIZE);
    link->state = HS_LINK_AUTH;
    return true;
}

static bool take_request(struct hs_link *link, const uint8_t *payload, size_t length)
{
    char text[HS_REQUEST_MAX];
    if (length < 4)
        return false;
    link->answer_to = (uint32_t)hs_wire__get(payload, 4);
    length -= 4;
    link->answer.status = length < sizeof text ? 0 : E2BIG;
    link->answer.length = 0;
    link->answer.body = -1;
    link->answer_due = true;
    link->body_sent = 0;
    if (link->answer.status)
        return true;
    __builtin_memcpy(text, payload + 4, length);
    text[length] = 0;
    hs_requests__carry_out(text, &link->answer);
    return true;
}

static bool act_on(struct hs_link *link, enum hs_wire_kind kind, const uint8_t *payload, size_t length)
{
    switch (kind) {
    case HS_WIRE_WANT:
        if (length < 8 || link->wants || link->refusal)
            return false;
        link->refusal = hs_offer__want(link, hs_wire__get(payload, 8));
        return true;
    case HS_WIRE_ACK:
        if (length < 8 || !link->wants || hs_wire__get(payload, 8) > link->sent)
            return false;
        hs_offer__acknowledged(link, hs_wire__get(payload, 8));
        return true;
    case HS_WIRE_REQUEST:
        return take_request(link, payload, length);
    case HS_WIRE_AUTH:
        return false;
    case HS_WIRE_PING:
        link->pong_due = true;
        return true;
    default:
        return true;
    }
}

static bool take_frame(struct hs_link *link, size_t size)
{
    enum hs_wire_kind kind;
    size_t length;
    if (!hs_wire__open(&link->in, link->received, size, &kind, &length))
        return false;
    if (link->state == HS_LINK_AUTH) {
        if (kind != HS_WIRE_AUTH)
            return false;
        link->state = HS_LINK_OPEN;
    } else if (!act_on(link, kind, PAYLOAD(link->received), length)) {
        return false;
    }
    take_off(link, (uint32_t)size);
    return true;
}

static bool take_frames(struct hs_link *link)
{
    while (link->received_length >= HS_WIRE_LENGTH_SIZE && !link->answer_due) {
        size_t size = hs_wire__frame_size(&link->in, link->received);
        if (size == 0)
            return false;
        if (link->received_length < size)
            return true;
        if (!take_frame(link, size))
            return false;
    }
    return true;
}

// ---- what goes ------------------------------------------------------------------------------------------------------

static bool begin_frame(struct hs_link *link, enum hs_wire_kind kind, uint32_t length)
{
    link->frame_length = (uint32_t)hs_wire__seal(&link->out, kind, link->frame, length);
    link->frame_sent = 0;
    return true;
}

static bool begin_answer(struct hs_link *link)
{
    uint8_t *payload = PAYLOAD(link->frame);
    hs_wire__put(payload, link->answer_to, 4);
    hs_wire__put(payload + 4, link->answer.status, 4);
    __builtin_memcpy(payload + 8, link->answer.text, link->answer.length);
    link->answer_due = false;
    return begin_frame(link, HS_WIRE_ANSWER, 8 + link->answer.length);
}

static bool begin_part(struct hs_link *link)
{
    uint8_t *payload = PAYLOAD(link->frame);
    long length = hs_system_pread(link->answer.body, payload + 4, HS_WIRE_PAYLOAD_MAX - 4, link->body_sent);
    if (length <= 0) {
        close_body(link);
        return begin_answer(link);
    }
    hs_wire__put(payload, link->answer_to, 4);
    link->body_sent += (uint64_t)length;
    return begin_frame(link, HS_WIRE_PART, 4 + (uint32_t)length);
}

static bool begin_refusal(struct hs_link *link)
{
    uint8_t *payload = PAYLOAD(link->frame);
    uint32_t length = 0;
    for (; link->refusal[length]; length++)
        payload[length] = (uint8_t)link->refusal[length];
    link->refusal = NULL;
    return begin_frame(link, HS_WIRE_REFUSED, length);
}

static bool begin_data(struct hs_link *link)
{
    uint8_t *payload = PAYLOAD(link->frame);
    uint32_t length = hs_offer__read(link->sent, payload + 8, HS_WIRE_PAYLOAD_MAX - 8);
    if (length == 0)
        return false;
    hs_wire__put(payload, link->sent, 8);
    link->sent += length;
    return begin_frame(link, HS_WIRE_DATA, 8 + length);
}

static bool begin_end(struct hs_link *link)
{
    hs_wire__put(PAYLOAD(link->frame), link->sent, 8);
    link->end_told = true;
    return begin_frame(link, HS_WIRE_END, 8);
}

// False: there is nothing to say.
static bool begin_next(struct hs_link *link)
{
    // A peer that has not proven to be a host gets nothing with which the key could be guessed.
    if (link->state != HS_LINK_OPEN || link->is_shut)
        return false;
    if (!link->auth_told) {
        link->auth_told = true;
        return begin_frame(link, HS_WIRE_AUTH, 0);
    }
    if (!link->stream_told) {
        link->stream_told = true;
        return begin_frame(link, HS_WIRE_STREAM, hs_offer__describe(PAYLOAD(link->frame)));
    }
    if (link->answer_due)
        return link->answer.body >= 0 ? begin_part(link) : begin_answer(link);
    if (link->pong_due) {
        link->pong_due = false;
        return begin_frame(link, HS_WIRE_PONG, 0);
    }
    if (link->refusal)
        return begin_refusal(link);
    if (!link->wants)
        return false;
    return begin_data(link) || (!link->end_told && hs_offer__ends_at(link->sent) && begin_end(link));
}

static bool send_rest(struct hs_link *link)
{
    while (link->frame_sent < link->frame_length) {
        long length = HS_SYSTEM6(SYS_sendto, link->socket, link->frame + link->frame_sent,
                                 link->frame_length - link->frame_sent, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
        if (length == -EAGAIN)
            return true;
        if (length < 0 && length != -EINTR)
            return false;
        link->frame_sent += length > 0 ? (uint32_t)length : 0;
    }
    return true;
}

static bool transmit(struct hs_link *link)
{
    for (unsigned i = 0; i < FRAMES_A_TURN; i++) {
        if (!send_rest(link))
            return false;
        if (link->frame_sent < link->frame_length || !begin_next(link))
            return true;
    }
    return true;
}

// ---- a turn ---------------------------------------------------------------------------------------------------------

static bool is_in_time(const struct hs_link *link, uint64_t now)
{
    if (link->state == HS_LINK_CONNECTING)
        return now - link->began_ns < CONNECT_LIMIT;
    if (link->state != HS_LINK_OPEN)
        return now - link->began_ns < HANDSHAKE_LIMIT;
    return now - link->heard_ns < SILENCE_LIMIT;
}

// Whether it is connected by now; *failed when it will not be.
static bool has_connected(struct hs_link *link, bool *failed)
{
    int error = 0;
    uint32_t length = sizeof error;
    uint8_t peer[28];
    uint32_t peer_length = sizeof peer;
    HS_SYSTEM5(SYS_getsockopt, link->socket, SOL_SOCKET, SO_ERROR, &error, &length);
    *failed = error != 0;
    return !error && HS_SYSTEM3(SYS_getpeername, link->socket, peer, &peer_length) == 0;
}

bool hs_link__turn(struct hs_link *link, uint64_t now)
{
    if (link->is_replaced)
        return false;
    if (link->began_ns == 0)
        link->began_ns = link->heard_ns = now;
    if (link->state == HS_LINK_CONNECTING) {
        bool failed;
        if (!has_connected(link, &failed))
            return !failed && is_in_time(link, now);
        link->state = HS_LINK_HELLO;
        link->began_ns = link->heard_ns = now;
    }
    if (!receive(link, now) || (link->state == HS_LINK_HELLO && !take_hello(link)))
        return false;
    if (link->state != HS_LINK_HELLO && !take_frames(link))
        return false;
    return transmit(link) && is_in_time(link, now);
}
