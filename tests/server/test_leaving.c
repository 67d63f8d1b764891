// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Clients that leave before they have an answer: what is worked out for them alone is told so.
#include "host/server/http.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static sem_t begun, cancelled;
static int stopped; // the pages are to end

static bool wait_until_left(const int *cancel)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    sem_post(&begun);
    while (!__atomic_load_n(cancel, __ATOMIC_RELAXED) && !__atomic_load_n(&stopped, __ATOMIC_RELAXED))
        nanosleep(&pause, NULL);
    if (!__atomic_load_n(cancel, __ATOMIC_RELAXED))
        return false;
    sem_post(&cancelled);
    return true;
}

static void serve_slowly(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    (void)context;
    wait_until_left(request->cancel);
    hs_http_answer__text(answer, 200, "done\n");
}

static int write_slowly(void *context, FILE *out)
{
    wait_until_left(context);
    fputs("done\n", out);
    return 0;
}

static void serve_stream(void *context, const struct hs_http_request *request, struct hs_http_answer *answer)
{
    (void)context;
    *answer = (struct hs_http_answer){
        .status = 200, .type = "text/plain", .writer = {write_slowly, NULL, (void *)(uintptr_t)request->cancel}};
}

static const struct hs_http_page pages[] = {{.method = "GET", .path = "/slow", .serve = serve_slowly},
                                            {.method = "GET", .path = "/stream", .serve = serve_stream},
                                            {.method = NULL}};

static struct hs_http_server *start(void)
{
    struct hs_http_server *server;
    struct hs_error error = {""};
    const struct hs_http_options options = {.listen = "127.0.0.1:0", .pages = pages, .at_once = true};
    stopped = 0;
    sem_init(&begun, 0, 0);
    sem_init(&cancelled, 0, 0);
    ck_assert_msg(!hs_http__start(&server, &options, &error), "%s", error.message);
    return server;
}

static int ask(const struct hs_http_server *server, const char *path)
{
    char request[128];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    address.sin_port = htons((uint16_t)atoi(strrchr(hs_http__address(server), ':') + 1));
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    int length = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    ck_assert_int_eq(write(client, request, (size_t)length), length);
    return client;
}

// Only a server that never says so makes this take long.
static bool happens(sem_t *event)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 150;
    int result;
    while ((result = sem_clockwait(event, CLOCK_MONOTONIC, &until)) && errno == EINTR)
        continue;
    return !result;
}

static void check_leaving(const char *path)
{
    struct hs_http_server *server = start();
    int stays = ask(server, path), leaves = ask(server, path), value;
    ck_assert(happens(&begun));
    ck_assert(happens(&begun));
    close(leaves);
    ck_assert(happens(&cancelled));
    // The one who stays is not told.
    ck_assert_int_eq(sem_getvalue(&cancelled, &value), 0);
    ck_assert_int_eq(value, 0);
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    char answer[1024];
    ck_assert_int_gt(read(stays, answer, sizeof(answer)), 12);
    ck_assert_mem_eq(answer, "HTTP/1.1 200", 12);
    close(stays);
    hs_http__stop(server);
}

START_TEST(who_leaves_before_the_answer_is_noticed)
{
    check_leaving("/slow");
}
END_TEST

START_TEST(who_leaves_while_it_is_written_is_noticed)
{
    check_leaving("/stream");
}
END_TEST

START_TEST(the_end_of_the_server_ends_what_is_worked_out)
{
    struct hs_http_server *server = start();
    int client = ask(server, "/slow");
    ck_assert(happens(&begun));
    hs_http__stop(server);
    ck_assert(happens(&cancelled));
    close(client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("leaving");
    TCase *cases = tcase_create("leaving");
    tcase_add_test(cases, who_leaves_before_the_answer_is_noticed);
    tcase_add_test(cases, who_leaves_while_it_is_written_is_noticed);
    tcase_add_test(cases, the_end_of_the_server_ends_what_is_worked_out);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
