// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The HTTP server among clients that take their time, and those that have no right to ask.
#include "host/server/http.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
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
    bodies += request->body_length != 0;
    hs_http_answer__text(answer, 200, "%s\n", request->path);
}

static void start(const char *token)
{
    static const struct hs_http_page pages[] = {
        {.method = "GET", .path = "/", .serve = serve}, {.method = "POST", .path = "/", .serve = serve}, {0}};
    struct hs_http_options options = {.listen = "127.0.0.1:0", .token = token, .pages = pages, .bodies = true};
    struct hs_error error;
    ck_assert_int_eq(hs_http__start(&server, &options, &error), 0);
}

static int client(void)
{
    const char *port = strrchr(hs_http__address(server), ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
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
    ck_assert_int_eq(status_of(slow[0]), 0);
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

int main(void)
{
    Suite *suite = suite_create("http");
    TCase *server_case = tcase_create("server");
    tcase_add_test(server_case, slow_clients_make_room);
    tcase_add_test(server_case, nothing_is_kept_of_strangers);
    suite_add_tcase(suite, server_case);
    return run_suite(suite);
}
