// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Plays devices: one or thousands of them in one process and one thread, with the target's cipher. Their traces are
// made from a seed, or from a recorded file with an id of its own for each.
//
//   devices [options]
//     --connect ADDRESS:PORT   dial there; else each listens, and "listening DEVICE PORT" is printed
//     --count N  --seed N  --size BYTES  --file TRACE  --key FILE  --same (all bodies alike, and the largest frames)
//     --cuts N                 each cuts its connection N times, at random places, in the middle of frames too
//     --pause BYTES            nothing is sent beyond; "paused" is printed when all have been acknowledged so far;
//                              a line from standard input lets them go on
//     --announce PORT          say so to 127.0.0.1:PORT each second
//     --seconds N              whoever has ended begins anew as another device, until then
//     --verify FOLDER          the gathered files have to have the same bytes, at the end and before a device begins
//     anew
//     --refuse TEXT            answer WANT with REFUSED
//     --leave-at end|ack       break the first connection once END was sent, or when its ACK comes, unheard
//     --leave-at data|told     send END only once all data is acknowledged; break the first connection when that
//                              comes, unheard, or leave for good right behind END
//     --stay                   do not end the streams
//     --name TEXT              the devices are called TEXT-0, TEXT-1, ...; default device
//     --labels TEXT            the labels of all of them
//
// Exit status 0: every stream was acknowledged to its end (and verified).
#include "device_trace.h"

#include "format/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND   ((uint64_t)1000000000)
#define OUT_SIZE ((size_t)128 << 10)

enum stage { IDLE, CONNECTING, HELLO, AUTH, STREAMING };

struct device {
    unsigned index;
    struct device_trace trace;
    int listener, socket;
    uint16_t port;
    enum stage stage;
    uint64_t retry_at, heard_at;
    struct hs_wire_direction from_device, from_host;
    uint8_t hello[HS_WIRE_HELLO_SIZE];
    uint8_t *in, *out;
    size_t have, out_length, out_sent;
    bool wanted, end_sent, done, pong_due;
    bool has_left; // as --leave-at says
    uint64_t offset, acknowledged;
    uint64_t cut_at; // bytes of data of this connection; 0: not
    unsigned cuts_left;
    bool writable_wanted;
};

static struct {
    struct sockaddr_in connect;
    bool dials, stay;
    unsigned count;
    uint64_t seed, pause, seconds;
    unsigned cuts;
    const char *verify, *refuse, *leave_at, *name, *labels;
    uint16_t announce;
    uint8_t key[HS_WIRE_SHARED_KEY_MAX];
    size_t key_length;
    uint8_t announce_key[HS_WIRE_KEY_SIZE];
    struct device_trace_options traces;
} options = {.count = 1, .seed = 1, .traces.size = 100000, .name = "device"};

static struct device *devices;
static int epoll, announcer;
static bool paused_said;
static uint64_t random_word, ended, connections_made;

static void fail(const char *format, const char *what)
{
    fprintf(stderr, "devices (seed %llu): ", (unsigned long long)options.seed);
    fprintf(stderr, format, what);
    fprintf(stderr, "\n");
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t next_random(void)
{
    random_word ^= random_word << 13;
    random_word ^= random_word >> 7;
    random_word ^= random_word << 17;
    return random_word;
}

static void make_trace(struct device *device)
{
    const char *problem = device_trace__make(&device->trace, &options.traces, device->index + 1, next_random);
    if (problem)
        fail("the trace: %s", problem);
    device->acknowledged = device->offset = 0;
    device->wanted = device->end_sent = device->done = false;
    device->cuts_left = options.cuts;
}

// ---- connections ----------------------------------------------------------------------------------------------------

static void watch(struct device *device, int operation, bool writes)
{
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = device};
    device->writable_wanted = writes;
    epoll_ctl(epoll, operation, device->socket, &event);
}

static void hang_up(struct device *device)
{
    if (device->socket >= 0)
        close(device->socket);
    device->socket = -1;
    device->stage = IDLE;
    device->retry_at = now_ns() + SECOND / 20;
}

static void say_hello(struct device *device)
{
    struct hs_wire_hello hello = {.role = HS_WIRE_DEVICE, .security = options.key_length ? 1 : 0};
    int on = 1;
    for (unsigned i = 0; i < HS_WIRE_RANDOM_SIZE; i++)
        hello.random[i] = (uint8_t)next_random();
    setsockopt(device->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    hs_wire_hello__write(&hello, device->hello);
    memset(&device->from_device, 0, sizeof(device->from_device));
    memset(&device->from_host, 0, sizeof(device->from_host));
    device->stage = HELLO;
    device->have = device->out_sent = device->out_length = 0;
    device->wanted = device->end_sent = device->pong_due = false;
    device->heard_at = now_ns();
    connections_made++;
    if (device->cuts_left) {
        device->cuts_left--;
        device->cut_at = 1 + next_random() % device->trace.size;
    } else {
        device->cut_at = 0;
    }
    if (send(device->socket, device->hello, sizeof(device->hello), MSG_NOSIGNAL) != (ssize_t)sizeof(device->hello))
        hang_up(device);
}

static void dial(struct device *device)
{
    device->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (device->socket < 0)
        fail("no socket: %s", strerror(errno));
    device->stage = CONNECTING;
    watch(device, EPOLL_CTL_ADD, true);
    if (connect(device->socket, (struct sockaddr *)&options.connect, sizeof(options.connect)) && errno != EINPROGRESS)
        hang_up(device);
}

static void listen_for(struct device *device)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = device};
    if (device->listener < 0) {
        device->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (device->listener < 0 || bind(device->listener, (struct sockaddr *)&address, length) ||
            listen(device->listener, 8) || getsockname(device->listener, (struct sockaddr *)&address, &length))
            fail("cannot listen: %s", strerror(errno));
        device->port = ntohs(address.sin_port);
        epoll_ctl(epoll, EPOLL_CTL_ADD, device->listener, &event);
        if (!options.announce)
            printf("listening %u %u\n", device->index, device->port);
    }
}

static void accept_one(struct device *device)
{
    int fd = accept4(device->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (device->done) {
        close(fd);
        return;
    }
    hang_up(device);
    device->socket = fd;
    watch(device, EPOLL_CTL_ADD, false);
    say_hello(device);
}

// ---- what is sent ---------------------------------------------------------------------------------------------------

static void queue(struct device *device, enum hs_wire_kind kind, const void *payload, size_t length)
{
    uint8_t *frame = device->out + device->out_length;
    if (payload)
        memcpy(frame + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE, payload, length);
    device->out_length += hs_wire__seal(&device->from_device, kind, frame, length);
}

static size_t write_pairs(const struct device *device, uint8_t *at, size_t room)
{
    uint8_t *start = at, *end = at + room;
    char text[64];
    static const char path[] = "/usr/bin/simulated";
    hs_wire_pair__write(&at, end, "executable", path, strlen(path));
    snprintf(text, sizeof(text), "%u", device->trace.header.pid);
    hs_wire_pair__write(&at, end, "pid", text, strlen(text));
    snprintf(text, sizeof(text), "%s-%u", options.name, device->index);
    hs_wire_pair__write(&at, end, "device", text, strlen(text));
    snprintf(text, sizeof(text), "site=%s,number=%u", device->index % 2 ? "odd" : "even", device->index);
    if (options.labels)
        snprintf(text, sizeof(text), "%s", options.labels);
    hs_wire_pair__write(&at, end, "labels", text, strlen(text));
    hs_wire_pair__write(&at, end, "policy", "block", 5);
    return (size_t)(at - start);
}

static void queue_stream(struct device *device)
{
    uint8_t payload[1024];
    memcpy(payload, device->trace.bytes + offsetof(struct hs_file_header, trace_id), 16);
    hs_wire__put(payload + 16, device->acknowledged, 8);
    hs_wire__put(payload + 24, device->trace.size, 8);
    queue(device, HS_WIRE_STREAM, payload,
          HS_WIRE_STREAM_MIN + write_pairs(device, payload + HS_WIRE_STREAM_MIN, 1024 - HS_WIRE_STREAM_MIN));
}

static uint64_t limit_of(const struct device *device)
{
    return options.pause && options.pause < device->trace.size ? options.pause : device->trace.size;
}

static void queue_data(struct device *device)
{
    uint8_t *payload = device->out + device->out_length + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE;
    size_t length = limit_of(device) - device->offset;
    size_t most = options.traces.same ? HS_WIRE_PAYLOAD_MAX - 8 : 1 + next_random() % (HS_WIRE_PAYLOAD_MAX - 8);
    if (length > most)
        length = most;
    hs_wire__put(payload, device->offset, 8);
    memcpy(payload + 8, device->trace.bytes + device->offset, length);
    queue(device, HS_WIRE_DATA, NULL, length + 8);
    device->offset += length;
}

static bool leaves_at(const char *where)
{
    return options.leave_at && !strcmp(options.leave_at, where);
}

static void fill(struct device *device)
{
    if (device->pong_due && device->out_length + HS_WIRE_FRAME_MAX <= OUT_SIZE)
        queue(device, HS_WIRE_PONG, NULL, 0);
    device->pong_due = false;
    while (device->wanted && device->offset < limit_of(device) && device->out_length + HS_WIRE_FRAME_MAX <= OUT_SIZE)
        queue_data(device);
    uint8_t end[8];
    bool waits =
        options.stay || ((leaves_at("told") || leaves_at("data")) && device->acknowledged != device->trace.size);
    if (device->wanted && !device->end_sent && !waits && device->offset == device->trace.size &&
        device->out_length + HS_WIRE_FRAME_MAX <= OUT_SIZE) {
        hs_wire__put(end, device->trace.size, 8);
        queue(device, HS_WIRE_END, end, 8);
        device->end_sent = true;
    }
}

// Whether this is where --leave-at wants the connection to break, once.
static bool leaves(struct device *device, const char *where)
{
    if (device->has_left || !leaves_at(where))
        return false;
    device->has_left = true;
    return true;
}

static void finish(struct device *device)
{
    device->done = true;
    ended++;
}

static void send_out(struct device *device)
{
    for (;;) {
        if (device->out_sent == device->out_length) {
            device->out_sent = device->out_length = 0;
            fill(device);
        }
        size_t left = device->out_length - device->out_sent;
        if (!left)
            break;
        // A cut falls anywhere, also within a frame.
        if (device->cut_at && left >= device->cut_at)
            left = device->cut_at;
        ssize_t sent = send(device->socket, device->out + device->out_sent, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) {
            if (!device->writable_wanted)
                watch(device, EPOLL_CTL_MOD, true);
            return;
        }
        if (sent < 0) {
            hang_up(device);
            return;
        }
        device->out_sent += (size_t)sent;
        if (device->cut_at && (device->cut_at -= (uint64_t)sent) == 0) {
            hang_up(device);
            device->retry_at = 0;
            return;
        }
    }
    if (device->writable_wanted)
        watch(device, EPOLL_CTL_MOD, false);
    if (!device->end_sent)
        return;
    if (leaves_at("told") && !device->done)
        finish(device);
    else if (!leaves(device, "end"))
        return;
    hang_up(device);
}

// ---- what is received -----------------------------------------------------------------------------------------------

static void take_want(struct device *device, uint64_t offset)
{
    if (options.refuse) {
        queue(device, HS_WIRE_REFUSED, options.refuse, strlen(options.refuse));
        return;
    }
    if (offset < device->acknowledged)
        fail("the host has lost what it has acknowledged%s", "");
    if (offset > device->trace.size)
        fail("the host has more than there is%s", "");
    device->offset = offset;
    device->wanted = true;
}

// False: the device leaves and has not heard it.
static bool take_ack(struct device *device, uint64_t offset)
{
    if (offset > device->offset || offset < device->acknowledged)
        fail("the host acknowledges what it cannot have%s", "");
    if (offset == device->trace.size && leaves(device, "data"))
        return false;
    device->acknowledged = offset;
    if (offset != device->trace.size || !device->end_sent || device->done)
        return true;
    if (leaves(device, "ack"))
        return false;
    finish(device);
    return true;
}

static bool take_frame(struct device *device, enum hs_wire_kind kind, const uint8_t *payload, size_t length)
{
    uint64_t number = length >= 8 ? hs_wire__get(payload, 8) : 0;
    static const char answer[] = "state: recording\nevents: 12\n";
    uint8_t bytes[128];
    if (kind == HS_WIRE_WANT) {
        take_want(device, number);
    } else if (kind == HS_WIRE_ACK) {
        return take_ack(device, number);
    } else if (kind == HS_WIRE_PING) {
        device->pong_due = true;
    } else if (kind == HS_WIRE_REQUEST && length >= 4) {
        bool known = length == 10 && !memcmp(payload + 4, "status", 6);
        memcpy(bytes, payload, 4);
        hs_wire__put(bytes + 4, known ? 0 : ENOTSUP, 4);
        size_t text = known ? strlen(answer) : length - 4 < 100 ? length - 4 : 100;
        memcpy(bytes + 8, known ? (const uint8_t *)answer : payload + 4, text);
        queue(device, HS_WIRE_ANSWER, bytes, text + 8);
    }
    return true;
}

// How many bytes the next piece has; 0: not known yet.
static size_t piece_size(const struct device *device)
{
    if (device->stage == HELLO)
        return HS_WIRE_HELLO_SIZE;
    return device->have < HS_WIRE_LENGTH_SIZE ? 0 : hs_wire__frame_size(&device->from_host, device->in);
}

static bool take_piece(struct device *device, size_t size)
{
    enum hs_wire_kind kind;
    size_t length;
    if (device->stage == HELLO) {
        struct hs_wire_hello hello;
        if (!hs_wire_hello__read(device->in, &hello) || hello.role != HS_WIRE_HOST)
            return false;
        if (options.key_length)
            hs_wire__derive(&device->from_device, &device->from_host, options.key, options.key_length, device->hello,
                            device->in);
        device->stage = AUTH;
        queue(device, HS_WIRE_AUTH, NULL, 0);
        return true;
    }
    if (!hs_wire__open(&device->from_host, device->in, size, &kind, &length))
        return false;
    if (device->stage == AUTH) {
        if (kind != HS_WIRE_AUTH)
            return false;
        device->stage = STREAMING;
        queue_stream(device);
        return true;
    }
    return take_frame(device, kind, device->in + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE, length);
}

static void receive(struct device *device)
{
    ssize_t got = recv(device->socket, device->in + device->have, 2 * HS_WIRE_FRAME_MAX - device->have, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        hang_up(device);
        return;
    }
    device->heard_at = now_ns();
    device->have += (size_t)got;
    for (size_t size = piece_size(device); size && device->have >= size; size = piece_size(device)) {
        if (!take_piece(device, size)) {
            hang_up(device);
            return;
        }
        memmove(device->in, device->in + size, device->have - size);
        device->have -= size;
    }
    if (device->done)
        hang_up(device);
    else
        send_out(device);
}

static void handle(struct device *device, uint32_t events)
{
    int problem = 0;
    socklen_t length = sizeof(problem);
    if (device->stage == CONNECTING) {
        getsockopt(device->socket, SOL_SOCKET, SO_ERROR, &problem, &length);
        if (problem) {
            hang_up(device);
            return;
        }
        watch(device, EPOLL_CTL_MOD, false);
        say_hello(device);
        return;
    }
    if (device->socket >= 0 && events & EPOLLOUT)
        send_out(device);
    if (device->socket >= 0 && events & ~(uint32_t)EPOLLOUT)
        receive(device);
    // The listener and the connection have the same mark.
    if (device->listener >= 0)
        accept_one(device);
}

// ---- checking -------------------------------------------------------------------------------------------------------

static void compare(const struct device *device, const char *path)
{
    uint8_t *bytes = malloc(device->trace.size + 1);
    int fd = open(path, O_RDONLY);
    size_t length = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0 && length <= device->trace.size; length += got > 0 ? (size_t)got : 0)
        got = read(fd, bytes + length, device->trace.size + 1 - length);
    if (fd < 0 || length != device->trace.size || memcmp(bytes, device->trace.bytes, length)) {
        size_t at = 0;
        while (at < length && at < device->trace.size && bytes[at] == device->trace.bytes[at])
            at++;
        fprintf(stderr, "%zu bytes instead of %zu, the first difference is at %zu: ", length, device->trace.size, at);
        fail("%s differs", path);
    }
    close(fd);
    free(bytes);
}

// The file has the name that docs/gather.md says; to look for it among ten thousand would take longer than to read it.
static void verify(const struct device *device)
{
    const struct hs_file_header *header = &device->trace.header;
    const uint8_t *id = device->trace.bytes + offsetof(struct hs_file_header, trace_id);
    time_t began = (time_t)(header->start_realtime_ns / SECOND);
    char when[32];
    char path[4096];
    strftime(when, sizeof(when), "%Y%m%d_%H%M%S", gmtime(&began));
    snprintf(path, sizeof(path), "%s/%s_%u_simulated_%02x%02x%02x%02x.dat", options.verify, when, header->pid, id[0],
             id[1], id[2], id[3]);
    compare(device, path);
}

static void verify_all(void)
{
    for (unsigned i = 0; i < options.count; i++)
        verify(&devices[i]);
    printf("verified %llu\n", (unsigned long long)ended);
}

// ---- time -----------------------------------------------------------------------------------------------------------

static void announce(const struct device *device)
{
    uint8_t datagram[HS_ANNOUNCE_MAX] = {0};
    uint8_t nonce[12] = {0};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons(options.announce);
    uint8_t *body = datagram + HS_ANNOUNCE_HEADER_SIZE;
    memcpy(body, device->trace.bytes + offsetof(struct hs_file_header, trace_id), 16);
    hs_wire__put(body + 16, device->port, 2);
    size_t length = 26 + write_pairs(device, body + 26, 512);
    for (unsigned i = 0; i < 12 && options.key_length; i++)
        nonce[i] = (uint8_t)next_random();
    size_t size = hs_announce__seal(datagram, length, options.key_length ? options.announce_key : NULL, nonce);
    sendto(announcer, datagram, size, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
}

static void tick(uint64_t now, bool second, bool again)
{
    unsigned paused = 0;
    for (unsigned i = 0; i < options.count; i++) {
        struct device *device = &devices[i];
        if (device->done && again) {
            if (options.verify)
                verify(device);
            make_trace(device);
        }
        if (device->done)
            continue;
        if (device->socket < 0 && options.dials && now >= device->retry_at)
            dial(device);
        else if (device->socket >= 0 && device->stage != CONNECTING && now - device->heard_at > 4 * SECOND)
            hang_up(device);
        if (second && options.announce)
            announce(device);
        paused += options.pause && device->acknowledged >= limit_of(device);
    }
    if (options.pause && paused == options.count && !paused_said) {
        puts("paused");
        fflush(stdout);
        paused_said = true;
    }
}

static void go_on(void)
{
    char line[64];
    if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
        fail("standard input ended%s", "");
    options.pause = 0;
    for (unsigned i = 0; i < options.count; i++)
        if (devices[i].stage == STREAMING)
            send_out(&devices[i]);
}

static bool all_done(void)
{
    for (unsigned i = 0; i < options.count; i++)
        if (!devices[i].done)
            return false;
    return true;
}

static void run(void)
{
    struct epoll_event events[256];
    uint64_t began = now_ns(), last_tick = 0, last_second = 0;
    bool again = options.seconds > 0;
    while (again || !all_done()) {
        int count = epoll_wait(epoll, events, 256, 10);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr)
                handle(events[i].data.ptr, events[i].events);
            else
                go_on();
        }
        uint64_t now = now_ns();
        again = options.seconds && now - began < options.seconds * SECOND;
        if (now - last_tick < SECOND / 100)
            continue;
        last_tick = now;
        bool second = now - last_second >= SECOND;
        if (second)
            last_second = now;
        tick(now, second, again);
    }
    printf("ended %llu connections %llu seconds %.3f\n", (unsigned long long)ended,
           (unsigned long long)connections_made, (double)(now_ns() - began) / 1e9);
}

// ---- options --------------------------------------------------------------------------------------------------------

static void read_key(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t length = fd < 0 ? -1 : read(fd, options.key, sizeof(options.key));
    if (length < 1)
        fail("%s cannot be read", path);
    while (length && (options.key[length - 1] == '\n' || options.key[length - 1] == ' '))
        length--;
    options.key_length = (size_t)length;
    hs_announce__derive(options.announce_key, options.key, options.key_length);
    close(fd);
}

static void read_address(const char *text)
{
    char host[64];
    unsigned port;
    options.connect.sin_family = AF_INET;
    if (sscanf(text, "%63[0-9.]:%u", host, &port) != 2 || inet_pton(AF_INET, host, &options.connect.sin_addr) != 1)
        fail("%s is no address", text);
    options.connect.sin_port = htons((uint16_t)port);
    options.dials = true;
}

static void read_options(int argc, char **argv)
{
    static const struct option longs[] = {
        {"connect", required_argument, NULL, 'c'}, {"count", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'},    {"size", required_argument, NULL, 'b'},
        {"file", required_argument, NULL, 'f'},    {"key", required_argument, NULL, 'k'},
        {"same", no_argument, NULL, 'e'},          {"cuts", required_argument, NULL, 'x'},
        {"pause", required_argument, NULL, 'p'},   {"announce", required_argument, NULL, 'a'},
        {"seconds", required_argument, NULL, 't'}, {"verify", required_argument, NULL, 'v'},
        {"refuse", required_argument, NULL, 'r'},  {"leave-at", required_argument, NULL, 'l'},
        {"stay", no_argument, NULL, 'y'},          {"name", required_argument, NULL, 'm'},
        {"labels", required_argument, NULL, 'w'},  {0}};
    for (int option; (option = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        unsigned long long number = optarg ? strtoull(optarg, NULL, 10) : 0;
        switch (option) {
        case 'c':
            read_address(optarg);
            break;
        case 'n':
            options.count = (unsigned)number;
            break;
        case 's':
            options.seed = number;
            break;
        case 'b':
            options.traces.size = number;
            break;
        case 'f':
            options.traces.file = optarg;
            break;
        case 'm':
            options.name = optarg;
            break;
        case 'w':
            options.labels = optarg;
            break;
        case 'k':
            read_key(optarg);
            break;
        case 'e':
            options.traces.same = true;
            break;
        case 'x':
            options.cuts = (unsigned)number;
            break;
        case 'p':
            options.pause = number;
            break;
        case 'a':
            options.announce = (uint16_t)number;
            break;
        case 't':
            options.seconds = number;
            break;
        case 'v':
            options.verify = optarg;
            break;
        case 'r':
            options.refuse = optarg;
            break;
        case 'l':
            options.leave_at = optarg;
            break;
        case 'y':
            options.stay = true;
            break;
        default:
            exit(2);
        }
    }
}

static void raise_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    struct epoll_event event = {.events = EPOLLIN};
    read_options(argc, argv);
    raise_limit();
    random_word = options.seed * 0x9e3779b97f4a7c15u + 1;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    announcer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (options.pause)
        epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    devices = calloc(options.count, sizeof(*devices));
    for (unsigned i = 0; i < options.count; i++) {
        struct device *device = &devices[i];
        device->index = i;
        device->listener = device->socket = -1;
        device->in = malloc(2 * HS_WIRE_FRAME_MAX);
        device->out = malloc(OUT_SIZE + 1024);
        make_trace(device);
        if (!options.dials)
            listen_for(device);
    }
    fflush(stdout);
    run();
    if (options.verify)
        verify_all();
    return 0;
}
