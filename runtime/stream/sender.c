// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/sender.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/stream/address.h"
#include "runtime/stream/announce.h"
#include "runtime/stream/key_file.h"
#include "runtime/stream/link.h"
#include "runtime/stream/offer.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/text.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { LINKS = 8, PORTS_TRIED = 100, BACKLOG = 16 };
#define SECOND_NS      1000000000ull
#define IDLE_NS        100000000ll
#define FULL_NS        50000000ll
#define HANDSHAKE_NS   5000000ll
#define EXEC_PATIENCE  SECOND_NS
#define END_PATIENCE   (4 * SECOND_NS)
#define ORPHAN_TIMEOUT (60 * SECOND_NS)
#define SPILL_TIMEOUT  (3600 * SECOND_NS)

static struct {
    struct hs_address host; // CONNECT
    int listener;           // open when the child takes over, so that no other program gets the port in between
    uint16_t port;
    uint64_t next_dial_ns, next_announcement_ns;
    bool gone;         // the program has ended, or is another one now
    uint32_t finished; // of what a program that is gone has left
    uint64_t exec_ns;  // when it was first seen to execute something
    struct hs_link links[LINKS];
} sender; // zeroed, so that what is not streamed takes no memory for it

// ---- before it starts -----------------------------------------------------------------------------------------------

static bool complain(const char *what, const char *detail)
{
    hs_log(HS_LOG_ERROR, what, detail, 0);
    return false;
}

// CONNECT=/path: a pipe that several processes share.
static bool is_pipe(void)
{
    return hs_config.connect[0] == '/';
}

// The pages that hold the key stay out of core dumps.
static void hide_key(void)
{
    uintptr_t page = hs_memory__page_size(), start = (uintptr_t)&hs_link_security & ~(page - 1);
    uintptr_t end = ((uintptr_t)(&hs_link_security + 1) + page - 1) & ~(page - 1);
    HS_SYSTEM3(SYS_madvise, start, end - start, MADV_DONTDUMP);
}

static bool prepare_key(void)
{
    if (!hs_config.key_file[0])
        return true;
    hide_key();
    long length = hs_key_file__read(hs_config.key_file, hs_link_security.key, sizeof hs_link_security.key);
    if (length < 0) {
        hs_log(HS_LOG_ERROR, "nothing is streamed: the key cannot be used: ", hs_config.key_file, (int)-length);
        return false;
    }
    hs_link_security.length = (uint32_t)length;
    hs_link_security.encrypted = true;
    hs_announce__derive(hs_link_security.announce_key, hs_link_security.key, hs_link_security.length);
    return true;
}

bool hs_sender__prepare(void)
{
    if (!prepare_key())
        return false;
    if (!hs_config.connect[0] || is_pipe())
        return true;
    if (!hs_address__parse(hs_config.connect, &sender.host))
        return complain("nothing is streamed: HEAPSONDE_CONNECT takes ADDRESS:PORT in numbers, not ",
                        hs_config.connect);
    if (!hs_link_security.encrypted && !hs_config.insecure && !hs_address__is_loopback(&sender.host))
        return complain("nothing is streamed: beyond loopback HEAPSONDE_KEY_FILE is needed to connect to ",
                        hs_config.connect);
    return true;
}

void hs_sender__reset(void)
{
    // The buffers are the child's to use; the keys are not: it reads the file again if it sends something.
    for (unsigned i = 0; i < LINKS; i++) {
        sender.links[i].state = HS_LINK_NONE;
        hs_wire__wipe(&sender.links[i].in, sizeof sender.links[i].in);
        hs_wire__wipe(&sender.links[i].out, sizeof sender.links[i].out);
    }
    hs_wire__wipe(&hs_link_security, sizeof hs_link_security);
    hs_offer = (struct hs_offer){0};
    sender.port = 0;
    sender.next_dial_ns = sender.next_announcement_ns = sender.exec_ns = 0;
    sender.gone = false;
    sender.finished = 0;
}

// ---- the end --------------------------------------------------------------------------------------------------------

static bool is_done(void)
{
    return hs_offer__ends_at(hs_offer.tail);
}

// The last byte may be acknowledged by a host that then loses its connection before it hears of the end: it has heard
// when it answers the device's closing with its own.
static bool end_is_heard(uint64_t now)
{
    if (hs_offer.owner && hs_offer.owner->end_told)
        hs_link__shut(hs_offer.owner);
    bool holds_up_program = hs_stream.kind != HS_HIDDEN_PROCESS && !hs_stream.orphan;
    return hs_offer.end_heard || now > hs_offer.acknowledged_ns + (holds_up_program ? END_PATIENCE : ORPHAN_TIMEOUT);
}

// ---- a program that is gone -----------------------------------------------------------------------------------------

// Only a process of its own outlives the program. After an exec the program's pid lives on.
static bool program_is_gone(uint64_t now)
{
    if (hs_stream.kind != HS_HIDDEN_PROCESS || hs_stream.orphan)
        return false;
    if ((uint32_t)HS_SYSTEM0(SYS_getppid) != hs_stream.process)
        return true;
    if (hs_stream.live->state != HS_STATE_EXEC)
        sender.exec_ns = 0;
    else if (sender.exec_ns == 0)
        sender.exec_ns = now;
    return sender.exec_ns && now - sender.exec_ns > EXEC_PATIENCE;
}

static void finish_for_program(void)
{
    if (hs_stream_source__finish(&sender.finished))
        atomic_store(&hs_stream.ended, 1);
}

static void look_after_program(uint64_t now)
{
    if (atomic_load(&hs_stream.ended))
        return;
    if (!sender.gone && (atomic_load(&hs_stream.finishing) || program_is_gone(now))) {
        sender.gone = true;
        hs_offer.acknowledged_ns = now;
    }
    if (sender.gone)
        finish_for_program();
}

// A process that outlives the program does not wait forever for a host, because it keeps the program's memory.
static bool has_timed_out(uint64_t now)
{
    if (hs_offer.acknowledged_ns > now || hs_offer.acknowledged_ns == 0 ||
        !(atomic_load(&hs_stream.ended) || sender.gone))
        hs_offer.acknowledged_ns = now;
    uint64_t timeout = hs_config.policy == HS_POLICY_DROP ? ORPHAN_TIMEOUT : SPILL_TIMEOUT;
    return now - hs_offer.acknowledged_ns > timeout;
}

// ---- sockets --------------------------------------------------------------------------------------------------------

static long new_socket(unsigned family, int type)
{
    return HS_SYSTEM3(SYS_socket, family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void close_link(struct hs_link *link)
{
    if (hs_offer.owner == link)
        hs_offer.owner = NULL;
    hs_link__close(link);
}

static void dial(uint64_t now)
{
    struct hs_link *link = &sender.links[0];
    if (link->state != HS_LINK_NONE || now < sender.next_dial_ns || hs_offer.end_heard)
        return;
    sender.next_dial_ns = now + SECOND_NS;
    long socket = new_socket(sender.host.family, SOCK_STREAM);
    if (socket < 0)
        return;
    long result = HS_SYSTEM3(SYS_connect, socket, sender.host.bytes, sender.host.length);
    if ((result != 0 && result != -EINPROGRESS) || !hs_link__open(link, (int)socket, result == 0)) {
        hs_system_close((int)socket);
        link->state = HS_LINK_NONE;
    }
}

static long listen_at(struct hs_address *address)
{
    int one = 1, zero = 0;
    long socket = new_socket(address->family, SOCK_STREAM);
    if (socket < 0)
        return socket;
    HS_SYSTEM5(SYS_setsockopt, socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->family == AF_INET6)
        HS_SYSTEM5(SYS_setsockopt, socket, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    long result = HS_SYSTEM3(SYS_bind, socket, address->bytes, address->length);
    if (result == 0)
        result = HS_SYSTEM2(SYS_listen, socket, BACKLOG);
    if (result == 0)
        return socket;
    hs_system_close((int)socket);
    return result;
}

static long listen_on(uint16_t port)
{
    static const uint8_t anywhere[16];
    struct hs_address address;
    bool beyond = hs_link_security.encrypted || hs_config.insecure;
    if (beyond) {
        hs_address__ipv6(&address, anywhere, 0, port);
        long socket = listen_at(&address);
        if (socket != -EAFNOSUPPORT && socket != -EADDRNOTAVAIL)
            return socket;
    }
    hs_address__ipv4(&address, beyond ? 0 : 0x7f000001, port);
    return listen_at(&address);
}

static void start_listening(void)
{
    long socket = -1;
    uint64_t first = hs_config.base_server_port, port = first;
    for (; socket < 0 && port < first + PORTS_TRIED && port < 65536; port++)
        socket = listen_on((uint16_t)port);
    sender.listener = (int)socket;
    sender.port = (uint16_t)(port - 1);
    if (socket < 0) {
        hs_log(HS_LOG_ERROR, "no host can connect: there is no free port", NULL, (int)-socket);
        return;
    }
    char number[24];
    struct hs_text text;
    hs_text__start(&text, number, sizeof number);
    hs_text__add_number(&text, sender.port);
    hs_log(HS_LOG_INFO, "listening for hosts on port ", number, 0);
}

// A free one, else the oldest that has not shown that it has the key.
static struct hs_link *link_for_guest(void)
{
    struct hs_link *oldest = NULL;
    for (unsigned i = 0; i < LINKS; i++) {
        struct hs_link *link = &sender.links[i];
        if (link->state == HS_LINK_NONE)
            return link;
        if (link->state != HS_LINK_OPEN && (!oldest || link->began_ns < oldest->began_ns))
            oldest = link;
    }
    if (oldest)
        close_link(oldest);
    return oldest;
}

static void accept_guests(void)
{
    if (sender.listener < 0)
        return;
    for (unsigned i = 0; i < BACKLOG; i++) {
        long socket = HS_SYSTEM4(SYS_accept4, sender.listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0)
            return;
        struct hs_link *link = link_for_guest();
        if (!link || !hs_link__open(link, (int)socket, true)) {
            hs_system_close((int)socket);
            if (link)
                link->state = HS_LINK_NONE;
        }
    }
}

// ---- the loop -------------------------------------------------------------------------------------------------------

// Only to a host that has all there is: when the link is slow, what is copied would take the room of events.
static void show_if_all_is_heard(uint64_t now)
{
    if (!sender.gone && !atomic_load(&hs_stream.ended) && hs_offer.tail == hs_offer__head())
        hs_stream_source__show(now);
}

static void turn_links(uint64_t now)
{
    for (unsigned i = 0; i < LINKS; i++) {
        struct hs_link *link = &sender.links[i];
        if (link->state != HS_LINK_NONE && !hs_link__turn(link, now))
            close_link(link);
    }
}

// A host that is heard, and perhaps takes the stream in a moment.
static bool has_open_link(void)
{
    for (unsigned i = 0; i < LINKS; i++)
        if (sender.links[i].state == HS_LINK_OPEN)
            return true;
    return false;
}

static bool has_much_to_send(void)
{
    return hs_offer.owner && (hs_offer.owner->sent != hs_offer__head() || hs_offer__ends_at(hs_offer.owner->sent));
}

// With a socket that is full it waits for the socket, with a ring that is full for what acknowledges, else for bytes;
// requests then wait a little.
static void rest(uint32_t head_seen)
{
    struct pollfd files[LINKS];
    unsigned count = 0;
    bool young = false, ring_is_full = atomic_load(&hs_stream.blocked) && !has_much_to_send();
    for (unsigned i = 0; i < LINKS; i++) {
        const struct hs_link *link = &sender.links[i];
        if (link->is_replaced)
            continue;
        young |= link->state != HS_LINK_NONE && link->state != HS_LINK_OPEN;
        if (hs_link__is_full(link))
            files[count++] = (struct pollfd){.fd = link->socket, .events = POLLIN | POLLOUT};
        else if (ring_is_full && link == hs_offer.owner)
            files[count++] = (struct pollfd){.fd = link->socket, .events = POLLIN};
    }
    if (count)
        hs_system_poll(files, count, FULL_NS);
    else if (has_much_to_send() && !hs_offer__ends_at(hs_offer.owner->sent))
        return;
    else
        hs_stream__sleep(head_seen, young || atomic_load(&hs_stream.ended) ? HANDSHAKE_NS : IDLE_NS);
}

static void serve(void)
{
    if (hs_config.server && sender.listener < 0)
        start_listening();
    for (;;) {
        uint32_t seen = hs_stream_ring__head(&hs_stream.ring);
        uint64_t now = hs_clock__monotonic_ns();
        look_after_program(now);
        hs_stream__tend();
        if (hs_config.connect[0])
            dial(now);
        accept_guests();
        turn_links(now);
        atomic_store(&hs_stream.has_host, is_done() || has_open_link());
        if (hs_offer.owner)
            show_if_all_is_heard(now);
        if (sender.listener >= 0 && hs_config.broadcast && now >= sender.next_announcement_ns) {
            sender.next_announcement_ns = now + SECOND_NS;
            hs_announce__send(sender.port);
        }
        if ((is_done() && end_is_heard(now)) || atomic_load(&hs_stream.quit) || has_timed_out(now))
            return;
        rest(seen);
    }
}

// Does not block the program: a pipe without a reader takes nothing. Where the board has no pipes, it is a file.
static int open_pipe(struct hs_wire_packet *packet)
{
    long fd = hs_system_open(hs_config.connect, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd < 0)
        hs_log(HS_LOG_ERROR, "nothing is streamed: this pipe cannot be opened: ", hs_config.connect, (int)-fd);
    *packet = (struct hs_wire_packet){.length = 0};
    __builtin_memcpy(packet->trace_id, hs_offer__trace_id(), sizeof packet->trace_id);
    hs_config__expand("%e", 0, packet->name, sizeof packet->name);
    return (int)fd;
}

// The kernel keeps a packet together: nothing of another process comes between. A file gets no larger than it may.
static long write_packet(int fd, struct hs_wire_packet *packet, const uint8_t *data, uint32_t length)
{
    struct hs_file_status status;
    if (hs_system_status(fd, &status) == 0 && status.size > hs_config.spill_size)
        return -EFBIG;
    if (length > sizeof packet->data)
        length = sizeof packet->data;
    hs_wire__put(packet->length, length, sizeof packet->length);
    __builtin_memcpy(packet->data, data, length);
    long written = hs_system_write(fd, packet, HS_WIRE_PACKET_HEADER + length);
    return written == (long)(HS_WIRE_PACKET_HEADER + length) ? (long)length : written < 0 ? written : -ENOSPC;
}

static bool is_file(int fd)
{
    struct hs_file_status status;
    return hs_system_status(fd, &status) == 0 && S_ISREG(status.mode);
}

// A descriptor takes the bytes as they are, a pipe takes packets. Nobody waits at a file.
static void write_to_descriptor(int fd, struct hs_wire_packet *packet)
{
    bool shows = !is_file(fd);
    atomic_store(&hs_stream.has_host, 1);
    for (;;) {
        const uint8_t *data;
        uint32_t seen = hs_stream_ring__head(&hs_stream.ring);
        uint64_t now = hs_clock__monotonic_ns();
        look_after_program(now);
        hs_stream__tend();
        uint32_t length = hs_stream_ring__peek(&hs_stream.ring, (uint32_t)hs_offer.tail, &data);
        if (length == 0 && (is_done() || atomic_load(&hs_stream.quit)))
            return;
        if (length == 0) {
            if (shows)
                show_if_all_is_heard(now);
            hs_stream__sleep(seen, IDLE_NS);
            continue;
        }
        long written = packet ? write_packet(fd, packet, data, length) : hs_system_write(fd, data, length);
        if (written == -EAGAIN) {
            struct pollfd file = {.fd = fd, .events = POLLOUT};
            hs_system_poll(&file, 1, IDLE_NS);
        } else if (written < 0 && written != -EINTR) {
            hs_log(HS_LOG_ERROR, "the stream ends: its descriptor cannot be written", NULL, (int)-written);
            return;
        } else if (written > 0) {
            hs_offer.tail += (uint64_t)written;
            hs_stream__sent((uint32_t)hs_offer.tail);
        }
    }
}

void hs_sender__close_listener(void)
{
    if (sender.listener >= 0)
        hs_system_close(sender.listener);
    sender.listener = -1;
}

// Of a program that goes on without the recorder; else a later sender begins with what is there. A spill file has no
// name any more: its blocks are free when no page of it is left. Other memory refuses that.
static void give_ring_back(void)
{
    struct hs_stream_ring *ring = &hs_stream.ring;
    if (!atomic_load(&hs_stream.finishing))
        return;
    HS_SYSTEM3(SYS_madvise, ring->memory, ring->size, MADV_REMOVE);
    HS_SYSTEM3(SYS_madvise, ring->memory, ring->size, MADV_DONTNEED);
}

void hs_sender__main(void *unused)
{
    (void)unused;
    if (!hs_stream.orphan)
        sender.listener = -1;
    struct hs_wire_packet packet, *packets = is_pipe() ? &packet : NULL;
    // Opened before the program's descriptors are closed: one of them may keep the pipe's reader waiting.
    int fd = packets ? open_pipe(packets) : (int)hs_config.output_descriptor;
    hs_stream_source__sender_begins();
    HS_SYSTEM2(SYS_prctl, PR_SET_NAME, "heapsonde");
    if (hs_stream.orphan)
        hs_hidden_thread__close_descriptors(sender.listener, fd);
    else if (hs_stream.kind != HS_HIDDEN_SHARED_DESCRIPTORS)
        hs_hidden_thread__close_descriptors(fd, fd < 0 && hs_config.log_level != HS_LOG_OFF ? 2 : -1);
    hs_offer.acknowledged_ns = 0;
    if (fd >= 0)
        write_to_descriptor(fd, packets);
    else if (!packets)
        serve();
    if (packets && fd >= 0)
        hs_system_close(fd);
    if (!atomic_load(&hs_stream.quit)) {
        atomic_store(&hs_stream.broken, 1);
        hs_stream__sent((uint32_t)hs_offer.tail);
        give_ring_back();
    }
    for (unsigned i = 0; i < LINKS; i++)
        if (sender.links[i].state != HS_LINK_NONE)
            close_link(&sender.links[i]);
    if (!hs_stream.orphan || hs_stream.kind != HS_HIDDEN_SHARED_DESCRIPTORS)
        hs_sender__close_listener();
}
