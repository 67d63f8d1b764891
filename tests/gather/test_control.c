// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Requests to a device that is a thread of this program, and as odd as it is told to be.
#include "format/wire.h"
#include "host/gather/control.h"
#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct odd_device {
    int listener;
    bool is_silent;     // accepts the connection and says nothing
    bool ends_question; // sets `cancel` when the request has come, and does not answer
    unsigned parts;     // frames of kind PART before the answer
    int cancel;
    char request[64]; // "": none came
    pthread_t thread;
};

static const uint8_t trace_id[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static bool receive(int socket, void *bytes, size_t length)
{
    return recv(socket, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

static void send_frame(int socket, enum hs_wire_kind kind, const void *payload, size_t length)
{
    uint8_t frame[256];
    struct hs_wire_direction open = {0};
    memcpy(frame + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE, payload, length);
    const size_t size = hs_wire__seal(&open, kind, frame, length);
    ck_assert(send(socket, frame, size, MSG_NOSIGNAL) == (ssize_t)size || errno == EPIPE || errno == ECONNRESET);
}

// Of the next frame; its payload has an end.
static bool receive_frame(int socket, unsigned *kind, char payload[64])
{
    uint8_t head[HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE];
    memset(payload, 0, 64);
    if (!receive(socket, head, sizeof(head)))
        return false;
    const size_t length = hs_wire__get(head, HS_WIRE_LENGTH_SIZE) - HS_WIRE_KIND_SIZE;
    *kind = head[HS_WIRE_LENGTH_SIZE];
    return length < 64 && (!length || receive(socket, payload, length));
}

static void answer(struct odd_device *device, int socket)
{
    uint8_t payload[64] = {1};
    char text[64];
    unsigned kind;
    do {
        if (!receive_frame(socket, &kind, text))
            return;
    } while (kind != HS_WIRE_REQUEST);
    memcpy(device->request, text + 4, sizeof(device->request) - 4);
    if (device->ends_question) {
        __atomic_store_n(&device->cancel, 1, __ATOMIC_RELAXED);
        while (receive_frame(socket, &kind, text))
            ;
        return;
    }
    for (unsigned i = 0; i < device->parts; i++)
        send_frame(socket, HS_WIRE_PART, payload, 5);
    memcpy(payload + 8, "done\n", 5);
    send_frame(socket, HS_WIRE_ANSWER, payload, 13);
}

static void *run(void *context)
{
    struct odd_device *device = context;
    struct hs_wire_hello hello = {.role = HS_WIRE_DEVICE, .security = HS_WIRE_OPEN};
    uint8_t bytes[HS_WIRE_HELLO_SIZE], stream[HS_WIRE_STREAM_MIN] = {0};
    const int socket = accept(device->listener, NULL, NULL);
    char text[64];
    unsigned kind;
    if (device->is_silent) {
        while (recv(socket, text, sizeof(text), 0) > 0)
            ;
    } else {
        hs_wire_hello__write(&hello, bytes);
        memcpy(stream, trace_id, sizeof(trace_id));
        if (send(socket, bytes, sizeof(bytes), MSG_NOSIGNAL) == sizeof(bytes) &&
            receive(socket, bytes, sizeof(bytes)) && receive_frame(socket, &kind, text) && kind == HS_WIRE_AUTH) {
            send_frame(socket, HS_WIRE_AUTH, "", 0);
            send_frame(socket, HS_WIRE_STREAM, stream, sizeof(stream));
            answer(device, socket);
        }
    }
    close(socket);
    return NULL;
}

static void begin(struct odd_device *device, struct hs_address *address)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    char text[32];
    struct hs_error error = {.message = ""};
    device->listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert(!bind(device->listener, (struct sockaddr *)&here, sizeof(here)) && !listen(device->listener, 4));
    ck_assert(!getsockname(device->listener, (struct sockaddr *)&here, &length));
    snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(here.sin_port));
    ck_assert_msg(hs_address__resolve(text, address, 1, &error) == 1, "%s", error.message);
    ck_assert(!pthread_create(&device->thread, NULL, run, device));
}

// `text` gets the answer.
static int ask_once(struct odd_device *device, const struct hs_control_limits *limits, char text[64])
{
    struct hs_address address;
    struct hs_shared_key key = {.length = 0};
    struct hs_control_answer got = {0};
    struct hs_error error = {.message = ""};
    begin(device, &address);
    const int result = hs_control__ask(&address, 1, &key, "mark", limits, &got, &error);
    ck_assert(!pthread_join(device->thread, NULL));
    close(device->listener);
    ck_assert(!result || error.message[0]);
    snprintf(text, 64, "%s", got.text ? got.text : "");
    free(got.text);
    free(got.body);
    return result;
}

// A device that gets no processor for seconds does not answer in time.
static int ask(const struct odd_device *wanted, struct odd_device *device, struct hs_control_limits limits,
               char text[64])
{
    int result;
    do {
        *device = *wanted;
        limits.cancel = &device->cancel;
        result = ask_once(device, &limits, text);
    } while (result == -ETIMEDOUT);
    return result;
}

static const char *id_of(const uint8_t bytes[16])
{
    static char text[33];
    uint64_t words[2];
    memcpy(words, bytes, sizeof(words));
    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    return text;
}

START_TEST(test_of_the_trace)
{
    struct odd_device device;
    char text[64];
    const struct hs_control_limits limits = {.trace = id_of(trace_id)};
    ck_assert_int_eq(ask(&(struct odd_device){0}, &device, limits, text), 0);
    ck_assert_str_eq(text, "done\n");
    ck_assert_str_eq(device.request, "mark");
}
END_TEST

START_TEST(test_of_another_trace)
{
    struct odd_device device;
    char text[64];
    const uint8_t other[16] = {2};
    const struct hs_control_limits limits = {.trace = id_of(other)};
    ck_assert_int_eq(ask(&(struct odd_device){0}, &device, limits, text), -ESRCH);
    ck_assert_str_eq(device.request, "");
}
END_TEST

START_TEST(test_more_than_a_text)
{
    const struct odd_device wanted = {.parts = 3};
    struct odd_device device;
    char text[64];
    ck_assert_int_eq(ask(&wanted, &device, (struct hs_control_limits){.text_only = true}, text), -EPROTO);
    ck_assert_int_eq(ask(&wanted, &device, (struct hs_control_limits){.text_only = false}, text), 0);
    ck_assert_str_eq(text, "done\n");
}
END_TEST

START_TEST(test_nobody_waits)
{
    const struct odd_device silent = {.is_silent = true, .cancel = 1}, ending = {.ends_question = true};
    const struct hs_control_limits limits = {.text_only = true};
    struct odd_device device;
    char text[64];
    ck_assert_int_eq(ask(&silent, &device, limits, text), -ECANCELED);
    ck_assert_int_eq(ask(&ending, &device, limits, text), -ECANCELED);
    ck_assert_str_eq(device.request, "mark");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gather_control");
    TCase *requests = tcase_create("requests");
    tcase_add_test(requests, test_of_the_trace);
    tcase_add_test(requests, test_of_another_trace);
    tcase_add_test(requests, test_more_than_a_text);
    tcase_add_test(requests, test_nobody_waits);
    suite_add_tcase(suite, requests);
    return run_suite(suite);
}
