// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/broker.h"

#include "host/gather/address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_host(struct hs_broker_url *url, const char *host, size_t length)
{
    if (!length || length >= sizeof(url->host))
        return -EINVAL;
    memcpy(url->host, host, length);
    url->host[length] = 0;
    bool v6 = strchr(url->host, ':') != NULL;
    snprintf(url->address, sizeof(url->address), v6 ? "[%s]:%d" : "%s:%d", url->host, url->port);
    return 0;
}

static int read_authority(struct hs_broker_url *url, const char *text)
{
    const char *host = text, *end = text + strcspn(text, ":/");
    if (*text == '[') {
        host = text + 1;
        end = strchr(host, ']');
        if (!end)
            return -EINVAL;
    }
    const char *rest = *text == '[' ? end + 1 : end;
    char *behind = (char *)rest;
    unsigned long port = (unsigned long)url->port;
    if (*rest == ':')
        port = rest[1] >= '0' && rest[1] <= '9' ? strtoul(rest + 1, &behind, 10) : 0;
    if (!port || port > UINT16_MAX || (*behind && strcmp(behind, "/") != 0))
        return -EINVAL;
    url->port = (int)port;
    return set_host(url, host, (size_t)(end - host));
}

int hs_broker_url__read(struct hs_broker_url *url, const char *text, struct hs_error *error)
{
    static const struct {
        const char *scheme;
        int port;
        bool tls;
    } schemes[] = {{"tcp://", 1883, false}, {"mqtt://", 1883, false}, {"mqtts://", 8883, true}};
    memset(url, 0, sizeof(*url));
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        size_t length = strlen(schemes[i].scheme);
        if (strncmp(text, schemes[i].scheme, length) != 0)
            continue;
        url->tls = schemes[i].tls;
        url->port = schemes[i].port;
        if (!read_authority(url, text + length))
            return 0;
    }
    return hs_error__set(error, EINVAL,
                         "%s is no broker; one is tcp://HOST:PORT, mqtt://HOST:PORT or mqtts://HOST:PORT", text);
}

#ifdef HEAPSONDE_HAS_MOSQUITTO

#include "host/base/clock.h"
#include "host/base/secret_file.h"
#include "host/gather/mosquitto_library.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEEP_ALIVE = 15, MOST_WAITING = 64, MOST_ADDRESSES = 8, PASSWORD_MOST = 4096 };
#define RETRY_AFTER (1 * HS_SECOND)
#define READY_AFTER (10 * HS_SECOND)
#define LAST_WAIT   (10 * HS_SECOND)

struct hs_broker {
    const struct hs_mosquitto_library *library;
    struct hs_broker_options options;
    struct hs_broker_url url;
    struct mosquitto *client;
    bool connected, ready, told;
    uint64_t tried;
    unsigned waiting;
    char why[300]; // why the connection has to be given up; empty: it need not
};

bool hs_broker__is_topic(const char *topic)
{
    const struct hs_mosquitto_library *library = hs_mosquitto_library__get(NULL);
    return *topic && (!library || library->mosquitto_pub_topic_check(topic) == MOSQ_ERR_SUCCESS);
}

bool hs_broker__is_filter(const char *filter)
{
    const struct hs_mosquitto_library *library = hs_mosquitto_library__get(NULL);
    // A shared subscription gives parts of a trace to others.
    if (!strncmp(filter, "$share/", strlen("$share/")))
        return false;
    return *filter && (!library || library->mosquitto_sub_topic_check(filter) == MOSQ_ERR_SUCCESS);
}

// ---- what libmosquitto says ----------------------------------------------------------------------------------------

static void on_connect(struct mosquitto *client, void *data, int code)
{
    struct hs_broker *broker = data;
    if (code)
        snprintf(broker->why, sizeof(broker->why), "%s", broker->library->mosquitto_connack_string(code));
    else if (broker->library->mosquitto_subscribe(client, NULL, broker->options.filter, 1))
        snprintf(broker->why, sizeof(broker->why), "it cannot be subscribed to");
}

static void on_subscribe(struct mosquitto *client, void *data, int id, int count, const int *granted)
{
    struct hs_broker *broker = data;
    (void)client;
    (void)id;
    if (count < 1 || granted[0] > 2) {
        snprintf(broker->why, sizeof(broker->why), "it refuses the subscription to %.200s", broker->options.filter);
        return;
    }
    broker->ready = broker->told = true;
    broker->options.state(broker->options.data, NULL);
}

static void on_publish(struct mosquitto *client, void *data, int id)
{
    struct hs_broker *broker = data;
    (void)client;
    (void)id;
    broker->waiting -= broker->waiting > 0;
}

static void on_message(struct mosquitto *client, void *data, const struct mosquitto_message *message)
{
    struct hs_broker *broker = data;
    (void)client;
    if (message->payloadlen > 0)
        broker->options.message(broker->options.data, message->topic, message->payload, (size_t)message->payloadlen);
}

// ---- opening -------------------------------------------------------------------------------------------------------

static int set_password(struct hs_broker *broker, struct hs_error *error)
{
    const struct hs_broker_options *options = &broker->options;
    char password[PASSWORD_MOST + 1];
    ssize_t length = 0;
    if (!options->user)
        return 0;
    if (options->password_file)
        length = hs_secret_file__read(options->password_file, "password", password, PASSWORD_MOST, error);
    if (length < 0)
        return (int)length;
    password[length] = 0;
    int failed = broker->library->mosquitto_username_pw_set(broker->client, options->user,
                                                            options->password_file ? password : NULL);
    explicit_bzero(password, sizeof(password));
    return failed ? hs_error__set(error, EINVAL, "the user or the password of the broker cannot be used") : 0;
}

static int set_tls(struct hs_broker *broker, struct hs_error *error)
{
    const char *file = broker->options.ca_file;
    if (!broker->url.tls)
        return file ? hs_error__set(error, EINVAL, "certificates are for mqtts:// only") : 0;
    int failed =
        broker->library->mosquitto_tls_set(broker->client, file, file ? NULL : "/etc/ssl/certs", NULL, NULL, NULL);
    return failed ? hs_error__set(error, EINVAL, "the certificates %s cannot be used: %s",
                                  file ? file : "/etc/ssl/certs", broker->library->mosquitto_strerror(failed))
                  : 0;
}

static int create_client(struct hs_broker *broker, struct hs_error *error)
{
    const struct hs_mosquitto_library *library = broker->library;
    broker->client = library->mosquitto_new(broker->options.client, !broker->options.client, broker);
    if (!broker->client)
        return hs_error__set(error, errno, "the client of the broker cannot be made: %s", strerror(errno));
    library->mosquitto_int_option(broker->client, MOSQ_OPT_TCP_NODELAY, 1);
    library->mosquitto_connect_callback_set(broker->client, on_connect);
    library->mosquitto_subscribe_callback_set(broker->client, on_subscribe);
    library->mosquitto_publish_callback_set(broker->client, on_publish);
    library->mosquitto_message_callback_set(broker->client, on_message);
    int failed = set_password(broker, error);
    return failed ? failed : set_tls(broker, error);
}

int hs_broker__open(struct hs_broker **result, const struct hs_broker_options *options, struct hs_error *error)
{
    const struct hs_mosquitto_library *library = hs_mosquitto_library__get(error);
    struct hs_broker *broker = library ? calloc(1, sizeof(*broker)) : NULL;
    if (!broker)
        return library ? hs_error__set(error, ENOMEM, "out of memory") : -ENOENT;
    broker->library = library;
    broker->options = *options;
    int failed = hs_broker_url__read(&broker->url, options->url, error);
    if (!failed)
        failed = create_client(broker, error);
    if (!failed) {
        *result = broker;
        return 0;
    }
    if (broker->client)
        library->mosquitto_destroy(broker->client);
    free(broker);
    return failed;
}

// ---- connecting ----------------------------------------------------------------------------------------------------

static void lose(struct hs_broker *broker, const char *why)
{
    bool was_ready = broker->ready;
    if (broker->connected)
        broker->library->mosquitto_disconnect(broker->client);
    broker->connected = broker->ready = false;
    broker->tried = hs_clock__now();
    if (!was_ready && broker->told)
        return;
    broker->told = true;
    broker->options.state(broker->options.data, why);
}

// 0, or an errno.
static int try_address(const struct hs_address *address)
{
    int problem = 0;
    socklen_t size = sizeof(problem);
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    struct pollfd poll_one = {.fd = fd, .events = POLLOUT};
    if (connect(fd, &address->any, address->length) && errno != EINPROGRESS)
        problem = errno;
    else if (poll(&poll_one, 1, 5000) <= 0)
        problem = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size))
        problem = errno;
    close(fd);
    return problem;
}

// libmosquitto may wait for minutes for a peer that does not answer. So this looks first.
static bool is_reachable(struct hs_broker *broker, struct hs_error *error)
{
    struct hs_address addresses[MOST_ADDRESSES];
    int problem = ENOENT;
    int count = hs_address__resolve(broker->url.address, addresses, MOST_ADDRESSES, error);
    if (count < 0)
        return false;
    for (int i = 0; i < count && problem; i++)
        problem = try_address(&addresses[i]);
    if (problem)
        hs_error__set(error, problem, "%s", strerror(problem));
    return !problem;
}

static const char *text_of(const struct hs_broker *broker, int failed)
{
    return failed == MOSQ_ERR_ERRNO ? strerror(errno) : broker->library->mosquitto_strerror(failed);
}

static void connect_now(struct hs_broker *broker)
{
    struct hs_error error;
    broker->tried = hs_clock__now();
    broker->why[0] = 0;
    if (!is_reachable(broker, &error)) {
        lose(broker, error.message);
        return;
    }
    int failed = broker->library->mosquitto_connect(broker->client, broker->url.host, broker->url.port, KEEP_ALIVE);
    broker->connected = !failed;
    if (failed)
        lose(broker, text_of(broker, failed));
}

static void wait_shortly(int milliseconds)
{
    poll(NULL, 0, milliseconds);
}

void hs_broker__step(struct hs_broker *broker, int milliseconds)
{
    if (!broker->connected && broker->tried && hs_clock__now() - broker->tried < RETRY_AFTER) {
        wait_shortly(milliseconds);
        return;
    }
    if (!broker->connected)
        connect_now(broker);
    if (!broker->connected)
        return;
    int failed = broker->library->mosquitto_loop(broker->client, milliseconds, 1);
    if (broker->why[0])
        lose(broker, broker->why);
    else if (failed)
        lose(broker, text_of(broker, failed));
    else if (!broker->ready && hs_clock__now() - broker->tried > READY_AFTER)
        lose(broker, "it does not answer");
}

bool hs_broker__is_free(const struct hs_broker *broker)
{
    return broker->ready && broker->waiting < MOST_WAITING;
}

bool hs_broker__publish(struct hs_broker *broker, const char *topic, const void *bytes, size_t size)
{
    if (!hs_broker__is_free(broker))
        return false;
    if (broker->library->mosquitto_publish(broker->client, NULL, topic, (int)size, bytes, 1, false))
        return false;
    broker->waiting++;
    return true;
}

void hs_broker__close(struct hs_broker *broker)
{
    uint64_t began = hs_clock__now();
    while (broker->connected && broker->waiting && hs_clock__now() - began < LAST_WAIT)
        hs_broker__step(broker, 50);
    if (broker->connected)
        broker->library->mosquitto_disconnect(broker->client);
    broker->library->mosquitto_destroy(broker->client);
    free(broker);
}

#else

bool hs_broker__is_topic(const char *topic)
{
    return *topic != 0;
}

bool hs_broker__is_filter(const char *filter)
{
    return *filter != 0;
}

int hs_broker__open(struct hs_broker **broker, const struct hs_broker_options *options, struct hs_error *error)
{
    (void)broker;
    (void)options;
    return hs_error__set(error, ENOSYS, "this command was built without libmosquitto, so it cannot use brokers");
}

void hs_broker__step(struct hs_broker *broker, int milliseconds)
{
    (void)broker;
    (void)milliseconds;
}

bool hs_broker__publish(struct hs_broker *broker, const char *topic, const void *bytes, size_t size)
{
    (void)broker;
    (void)topic;
    (void)bytes;
    (void)size;
    return false;
}

bool hs_broker__is_free(const struct hs_broker *broker)
{
    (void)broker;
    return false;
}

void hs_broker__close(struct hs_broker *broker)
{
    (void)broker;
}

#endif
