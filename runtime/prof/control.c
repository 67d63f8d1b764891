// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/control.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/hidden_thread.h"
#include "runtime/left_over.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/prof/control_answer.h"
#include "runtime/prof/control_place.h"
#include "runtime/prof/options.h"
#include "runtime/prof/sampler.h"
#include "runtime/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { ENDED, STARTING, BINDING, LISTENING };
enum { MOST_CONNECTIONS = 16, STACK_SIZE = 256 * 1024, PIECE = 16384, MOST_ENDS = 10 };

#define SECOND_NS       1000000000ull
#define REQUEST_NS      (2 * SECOND_NS)  // in which the request has to come
#define ANSWER_NS       (60 * SECOND_NS) // in which the answer has to be taken
#define TIMEOUT_NS      (2 * SECOND_NS)  // of the program's threads with this one
#define REST_NS         (SECOND_NS / 10) // at least, after a connection that could not be accepted
#define FORKED_REST_NS  (SECOND_NS / 50) // most forked children execute another program at once
#define LOOK_NS         SECOND_NS        // at most between looks at deadlines, and whether the program is still there
#define WAITING_STEP_NS (SECOND_NS / 100)

static struct {
    _Atomic uint32_t state, quit, working;
    bool wanted;
    uint32_t pid; // whose thread it is: a vfork child runs in our memory but is another process
    bool forked;
    bool shares_descriptors;
    struct hs_hidden_thread thread;
    char path[HS_CONTROL_PATH];
} control;

// ---- connections, in the thread -------------------------------------------------------------------------------------

struct connection {
    int fd;
    bool answering;
    uint64_t deadline;
    uint32_t received;
    uint64_t sent; // of the text and the body behind it
    char request[HS_CONTROL_REQUEST];
    struct hs_control_answer answer;
};

struct server {
    int listener;
    uint64_t rests_until; // no connection is accepted before
    uint32_t count;       // connections[0..count)
    struct connection *connections[MOST_CONNECTIONS];
    struct connection memory[MOST_CONNECTIONS];
};

static void close_connection(struct server *server, uint32_t index)
{
    struct connection *connection = server->connections[index];
    if (connection->answering && connection->answer.body >= 0)
        hs_system_close(connection->answer.body);
    hs_system_close(connection->fd);
    server->connections[index] = server->connections[--server->count];
    server->connections[server->count] = connection;
}

static long send_bytes(int fd, const void *bytes, size_t length)
{
    return HS_SYSTEM6(SYS_sendto, fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

// Returns the number of bytes to send next: the rest of the text, then parts of the body. 0: none; or -errno.
static long send_piece(struct connection *connection)
{
    const struct hs_control_answer *answer = &connection->answer;
    uint64_t text = (uint64_t)(answer->writer.at - answer->text);
    if (connection->sent < text)
        return send_bytes(connection->fd, answer->text + connection->sent, (size_t)(text - connection->sent));
    uint64_t at = connection->sent - text;
    if (answer->body < 0 || at >= answer->body_length)
        return 0;
    char piece[PIECE];
    uint64_t left = answer->body_length - at;
    long got = hs_system_pread(answer->body, piece, left < PIECE ? (size_t)left : PIECE, at);
    if (got <= 0)
        return got < 0 ? got : -EIO;
    return send_bytes(connection->fd, piece, (size_t)got);
}

// False: the connection is over.
static bool go_on_answering(struct connection *connection)
{
    for (;;) {
        long sent = send_piece(connection);
        if (sent == -EAGAIN || sent == -EINTR)
            return true;
        if (sent <= 0)
            return false;
        connection->sent += (uint64_t)sent;
    }
}

static bool refuse(struct connection *connection, const char *word, const char *text)
{
    connection->answering = true;
    connection->answer.body = -1;
    connection->deadline = hs_clock__monotonic_ns() + ANSWER_NS;
    hs_control_answer__error(&connection->answer, word, text);
    return go_on_answering(connection);
}

static bool carry_out(struct connection *connection)
{
    struct hs_control_request request;
    const char *wrong = hs_control_request__parse(&request, connection->request, connection->received);
    if (wrong)
        return refuse(connection, "request", wrong);
    atomic_store(&control.working, 1);
    hs_control_answer__carry_out(&connection->answer, &request);
    atomic_store(&control.working, 0);
    hs_futex__wake(&control.working, 1 << 30);
    connection->answering = true;
    connection->deadline = hs_clock__monotonic_ns() + ANSWER_NS;
    return go_on_answering(connection);
}

static long find_newline(const struct connection *connection)
{
    for (uint32_t i = 0; i < connection->received; i++)
        if (connection->request[i] == '\n')
            return i;
    return -1;
}

static bool go_on_reading(struct connection *connection)
{
    long got = HS_SYSTEM6(SYS_recvfrom, connection->fd, connection->request + connection->received,
                          sizeof connection->request - connection->received, MSG_DONTWAIT, 0, 0);
    if (got == -EAGAIN || got == -EINTR)
        return true;
    if (got < 0 || (got == 0 && connection->received == 0))
        return false;
    if (got == 0)
        return refuse(connection, "request", "the request does not end with a newline");
    connection->received += (uint32_t)got;
    long newline = find_newline(connection);
    if (newline >= 0 && (uint32_t)newline + 1 != connection->received)
        return refuse(connection, "request", "a connection takes one request");
    if (newline >= 0)
        return carry_out(connection);
    if (connection->received == sizeof connection->request)
        return refuse(connection, "request", "the request is longer than 4096 bytes");
    return true;
}

static bool is_allowed(int fd)
{
    struct {
        int32_t pid;
        uint32_t user, group;
    } peer;
    uint32_t size = sizeof peer;
    if (HS_SYSTEM5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer)
        return false;
    return peer.user == 0 || peer.user == (uint32_t)HS_SYSTEM0(HS_KERNEL_GETEUID);
}

// Sends one line to a client that is refused.
static void turn_away(int fd, const char *line)
{
    send_bytes(fd, line, hs_text__length(line));
    hs_system_close(fd);
}

static bool accept_one(struct server *server)
{
    long fd = HS_SYSTEM4(SYS_accept4, server->listener, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd == -EINTR || fd == -ECONNABORTED)
        return true;
    if (fd < 0) {
        if (fd == -EBADF || fd == -ENOTSOCK || fd == -EINVAL)
            atomic_store(&control.quit, 1); // the program has closed a descriptor that it shares
        else if (fd != -EAGAIN)
            server->rests_until = hs_clock__monotonic_ns() + REST_NS;
        return false;
    }
    if (!is_allowed((int)fd)) {
        turn_away((int)fd, "error user this process belongs to another user\n");
    } else if (server->count == MOST_CONNECTIONS) {
        turn_away((int)fd, "error busy there are too many connections\n");
    } else {
        struct connection *connection = server->connections[server->count++];
        connection->fd = (int)fd;
        connection->answering = false;
        connection->received = 0;
        connection->sent = 0;
        connection->deadline = hs_clock__monotonic_ns() + REQUEST_NS;
    }
    return true;
}

// Backwards: a connection that is closed is replaced by the last one.
static void serve_connections(struct server *server, const struct pollfd *files)
{
    uint64_t now = hs_clock__monotonic_ns();
    for (uint32_t i = server->count; i-- > 0;) {
        struct connection *connection = server->connections[i];
        bool stays = true;
        if (files[i].revents)
            stays = connection->answering ? go_on_answering(connection) : go_on_reading(connection);
        else if (now >= connection->deadline)
            stays = !connection->answering && refuse(connection, "late", "the request did not come in time");
        if (!stays)
            close_connection(server, i);
    }
}

static void wait_and_serve(struct server *server)
{
    struct pollfd files[MOST_CONNECTIONS + 1];
    uint32_t count = server->count;
    uint64_t now = hs_clock__monotonic_ns();
    for (uint32_t i = 0; i < count; i++)
        files[i] = (struct pollfd){server->connections[i]->fd, server->connections[i]->answering ? POLLOUT : POLLIN, 0};
    files[count] = (struct pollfd){server->rests_until > now ? -1 : server->listener, POLLIN, 0};
    long ready = hs_system_poll(files, count + 1, LOOK_NS);
    if (ready < 0 && ready != -EINTR)
        atomic_store(&control.quit, 1); // no memory for it, or a filter of system calls
    serve_connections(server, files);
    if (ready > 0 && files[count].revents)
        while (accept_one(server))
            continue;
}

// ---- the thread -----------------------------------------------------------------------------------------------------

// Numbers 0 to 2 stay taken by sockets that lead nowhere: what writes there by habit does no harm.
static void take_standard_descriptors(void)
{
    long fd;
    do
        fd = HS_SYSTEM3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (fd >= 0 && fd < 2);
}

static void set_state(uint32_t state)
{
    atomic_store(&control.state, state);
    hs_futex__wake(&control.state, 1 << 30);
}

static void end_with_program(void)
{
    uint32_t status;
    if (!hs_left_over__is_all(1, &status))
        return;
    hs_control_place__remove(control.path);
    HS_SYSTEM1(SYS_exit, status);
}

static void serve(int listener)
{
    struct server *server = hs_memory__map(sizeof *server);
    if (!server)
        return;
    server->listener = listener;
    for (uint32_t i = 0; i < MOST_CONNECTIONS; i++)
        server->connections[i] = &server->memory[i];
    while (!atomic_load(&control.quit)) {
        wait_and_serve(server);
        end_with_program();
    }
    while (server->count)
        close_connection(server, server->count - 1);
    hs_memory__unmap(server, sizeof *server);
}

static void thread_main(void *unused)
{
    (void)unused;
    hs_sampler__be(&hs_sampler_nobody);
    HS_SYSTEM2(SYS_prctl, PR_SET_NAME, "heapsonde-ctl");
    if (!control.shares_descriptors) {
        hs_hidden_thread__close_descriptors(-1, -1);
        take_standard_descriptors();
    }
    if (control.forked)
        hs_futex__wait(&control.quit, 0, FORKED_REST_NS);
    uint32_t expected = STARTING;
    if (!atomic_compare_exchange_strong(&control.state, &expected, BINDING))
        return;
    long listener = hs_control_place__bind(control.path);
    if (listener >= 0) {
        set_state(LISTENING);
        serve((int)listener);
        hs_control_place__remove(control.path);
    }
    set_state(ENDED);
}

// ---- the program's threads ------------------------------------------------------------------------------------------

static void start_thread(bool forked)
{
    control.pid = (uint32_t)hs_system_getpid();
    control.forked = forked;
    atomic_store(&control.quit, 0);
    atomic_store(&control.working, 0);
    atomic_store(&control.state, STARTING);
    control.shares_descriptors = false;
    hs_left_over__begin();
    long result = hs_hidden_thread__start(&control.thread, STACK_SIZE, thread_main, NULL, HS_HIDDEN_THREAD);
    // Under an emulator the program would see the descriptors and may close them: only where the socket is asked for.
    if (result == -EINVAL && hs_prof_texts.control_path[0]) {
        control.shares_descriptors = true;
        result = hs_hidden_thread__start(&control.thread, STACK_SIZE, thread_main, NULL, HS_HIDDEN_SHARED_DESCRIPTORS);
    }
    if (result < 0)
        atomic_store(&control.state, ENDED);
}

void hs_control__start(void)
{
    if (!hs_prof_options.control || control.wanted || hs_is_zygote())
        return;
    if (hs_control_place__is_in_valgrind()) { // which ends a program that starts such a thread
        hs_prof_options_message("heapsonde: no control from outside: valgrind runs no hidden threads\n");
        return;
    }
    control.wanted = true;
    hs_control_place__remember();
    start_thread(false);
}

static bool is_this_process(void)
{
    return control.wanted && control.pid == (uint32_t)hs_system_getpid();
}

void hs_control__after_fork(void)
{
    if (is_this_process())
        return;
    hs_control_answer__after_fork();
    if (!control.wanted)
        return;
    bool had = atomic_load(&control.state) != ENDED;
    hs_hidden_thread__forget(&control.thread);
    atomic_store(&control.state, ENDED);
    control.pid = (uint32_t)hs_system_getpid();
    // QEMU's user mode does not survive a thread that a forked child starts.
    if (had && !control.shares_descriptors)
        start_thread(true);
}

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    for (int64_t left = TIMEOUT_NS; atomic_load(word) == value && left > 0;)
        left -= hs_futex__wait_part(word, value, WAITING_STEP_NS);
}

// Returns the state of the thread, which does not begin to listen any more.
static uint32_t ask_to_quit(void)
{
    uint32_t state = STARTING;
    atomic_store(&control.quit, 1);
    hs_futex__wake(&control.quit, 1);
    if (atomic_compare_exchange_strong(&control.state, &state, ENDED))
        return ENDED;
    wait_while(&control.state, BINDING);
    return atomic_load(&control.state);
}

void hs_control__exit(void)
{
    if (!is_this_process() || ask_to_quit() != LISTENING)
        return;
    hs_control_place__remove(control.path);
    wait_while(&control.working, 1);
}

void hs_control__stop(void)
{
    if (!is_this_process() || !control.thread.tid)
        return;
    // Sleeps until a client connects.
    long fd = ask_to_quit() == LISTENING ? hs_control_place__connect(control.path) : -1;
    bool gone = hs_hidden_thread__join(&control.thread, (int64_t)TIMEOUT_NS);
    if (fd >= 0)
        hs_system_close((int)fd);
    if (gone)
        atomic_store(&control.state, ENDED);
}

void hs_control__end(void)
{
    for (unsigned tries = 0; tries < MOST_ENDS && control.thread.tid; tries++)
        hs_control__stop();
    control.wanted = false;
}

void hs_control__wait_until_bound(void)
{
    wait_while(&control.state, STARTING);
    wait_while(&control.state, BINDING);
}

void hs_control__restart(void)
{
    if (is_this_process() && !control.thread.tid)
        start_thread(false);
}
