// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The HTTP server among clients that take their time, and those that have no right to ask.
#include "host/base/memory.h"
#include "host/server/http.h"
#include "host/server/listener.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { SLOW = 200, BODY = 17 << 20, PIECE = 1 << 16, PATIENCE_SECONDS = 150 };

static struct hs_http_server *server;
static int bodies;

static void serve(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    (void)context;
    __atomic_add_fetch(&bodies, request->body_length != 0, __ATOMIC_RELAXED);
    hs_http_answer__text(answer, 200, "%s\n", request->path);
}

static sem_t begun, released;

// Not before the test allows it.
static void serve_late(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    sem_post(&begun);
    sem_wait(&released);
    serve(context, request, answer);
}

static void start(const char *token)
{
    static const struct hs_http_page pages[] = {{.method = "GET", .path = "/", .serve = serve},
                                                {.method = "POST", .path = "/", .serve = serve},
                                                {.method = "GET", .path = "/late", .serve = serve_late},
                                                {0}};
    struct hs_http_options options = {
        .listen = "127.0.0.1:0", .token = token, .pages = pages, .bodies = true, .at_once = true};
    struct hs_error error;
    ck_assert_int_eq(hs_http__start(&server, &options, &error), 0);
}

static int client_of(const char *url)
{
    const char *port = strrchr(url, ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static int client(void)
{
    return client_of(hs_http__address(server));
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

// The status of the answer; 0: the connection was closed without one, -1: nothing came.
static int status_of(int fd)
{
    char text[4096] = "";
    int status = 0;
    ssize_t got = recv(fd, text, sizeof(text) - 1, 0);
    if (got < 0) // it may not have read all that was sent
        return errno == ECONNRESET ? 0 : -1;
    sscanf(text, "HTTP/1.1 %d", &status);
    return status;
}

START_TEST(slow_clients_make_room)
{
    int slow[SLOW];
    start(NULL);
    for (int i = 0; i < SLOW; i++) {
        slow[i] = client();
        say(slow[i], "GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
        if (i % 10)
            continue;
        int quick = client();
        say(quick, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        ck_assert_int_eq(status_of(quick), 200);
        close(quick);
    }
    say(slow[SLOW - 1], "now\r\n\r\n");
    ck_assert_int_eq(status_of(slow[SLOW - 1]), 200);
    ck_assert_int_eq(status_of(slow[0]), 503);
    for (int i = 0; i < SLOW; i++)
        close(slow[i]);
    hs_http__stop(server);
}
END_TEST

static int status_of_upload(const char *head)
{
    static char piece[PIECE];
    int fd = client();
    say(fd, head);
    for (int sent = 0; sent < BODY; sent += PIECE)
        if (send(fd, piece, PIECE, MSG_NOSIGNAL) <= 0)
            break;
    int status = status_of(fd);
    close(fd);
    return status;
}

START_TEST(nothing_is_kept_of_strangers)
{
    char head[256];
    start("secret");
    snprintf(head, sizeof(head), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n", BODY);
    strcat(head, "Connection: close\r\n");
    size_t length = strlen(head);
    strcpy(head + length, "\r\n");
    ck_assert_int_eq(status_of_upload(head), 401);
    strcpy(head + length, "Authorization: Bearer wrong\r\n\r\n");
    ck_assert_int_eq(status_of_upload(head), 401);
    strcpy(head + length, "Authorization: Bearer secret\r\n\r\n");
    ck_assert_int_eq(status_of_upload(head), 413);
    ck_assert_int_eq(bodies, 0);
    hs_http__stop(server);
}
END_TEST

// One who has waited gets an answer, although all others ask again and again.
START_TEST(who_has_an_answer_makes_room)
{
    static const char first[] = "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char next[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int others[64];
    struct pollfd waits = {.events = POLLIN};
    hs_memory__limit((uint64_t)40 << 20);
    const unsigned most = hs_http__most_connections();
    ck_assert_uint_le(most, 64);
    sem_init(&begun, 0, 0);
    sem_init(&released, 0, 0);
    start(NULL);
    for (unsigned i = 0; i < most; i++) {
        others[i] = client();
        say(others[i], first);
        ck_assert(!sem_wait(&begun));
    }
    waits.fd = client();
    say(waits.fd, next);
    for (unsigned i = 0; i < most; i++)
        sem_post(&released);
    for (unsigned i = 0; i < most; i++)
        ck_assert_int_eq(status_of(others[i]), 200);
    while (!poll(&waits, 1, 0))
        for (unsigned i = 0; i < most; i++)
            if (send(others[i], next, strlen(next), MSG_NOSIGNAL) > 0)
                status_of(others[i]);
    const int status = status_of(waits.fd); // 503: it made room for another one
    ck_assert_msg(status == 200 || status == 503, "%d", status);
    for (unsigned i = 0; i < most; i++)
        close(others[i]);
    close(waits.fd);
    hs_http__stop(server);
}
END_TEST

static bool lose(void *context, int fd, const struct sockaddr *address, socklen_t length)
{
    (void)address;
    (void)length;
    close(fd);
    sem_post(context);
    return true;
}

static void make_no_room(void *context)
{
    (void)context;
}

START_TEST(lost_connections_do_not_count)
{
    struct hs_listener *listener;
    struct hs_error error;
    sem_t taken;
    sem_init(&taken, 0, 0);
    ck_assert_int_eq(hs_listener__open(&listener, "127.0.0.1:0", false, &error), 0);
    ck_assert_int_eq(hs_listener__start(listener, &(struct hs_listener_server){1, &taken, lose, make_no_room}), 0);
    for (int i = 0; i < 2; i++) {
        close(client_of(hs_listener__address(listener)));
        ck_assert(!sem_wait(&taken));
    }
    hs_listener__stop(listener);
    hs_listener__close(listener);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *server_case = tcase_create("server");
    tcase_add_test(server_case, slow_clients_make_room);
    tcase_add_test(server_case, nothing_is_kept_of_strangers);
    tcase_add_test(server_case, lost_connections_do_not_count);
    tcase_add_test(server_case, who_has_an_answer_makes_room);
    suite_add_tcase(suite, server_case);
    return run_suite(suite);
}
