// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/top_source.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LARGEST  ((size_t)64 << 20) // answer of a server
#define PATIENCE 30                 // seconds without a byte

// ---- servers --------------------------------------------------------------------------------------------------------

// http://HOST:PORT/..., where HOST may be [ADDRESS].
static int split_address(struct hs_top_source *source, const char *target, struct hs_error *error)
{
    const char *host = target + strlen("http://");
    const bool brackets = *host == '[';
    host += brackets;
    const size_t length = strcspn(host, brackets ? "]/?" : ":/?");
    const char *rest = host + length + (brackets && host[length] == ']');
    const char *port = *rest == ':' ? rest + 1 : "80";
    const char *token = strstr(rest, "token=");
    source->host = strndup(host, length);
    source->port = strndup(port, strcspn(port, "/?"));
    const char *known = token ? token + strlen("token=") : getenv("HEAPSONDE_TOKEN");
    source->token = strdup(known ? known : "");
    if (!source->host || !source->port || !source->token)
        return hs_error__set(error, ENOMEM, "%s: out of memory", target);
    if (!*source->host || strpbrk(source->token, "\r\n"))
        return hs_error__set(error, EINVAL, "%s: give the address as http://HOST:PORT", target);
    return 0;
}

static int connect_to(const struct hs_top_source *source, struct hs_error *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = PATIENCE};
    struct addrinfo *found = NULL;
    int fd = -1, why = 0;
    const int problem = getaddrinfo(source->host, source->port, &hints, &found);
    if (problem)
        return hs_error__set(error, EHOSTUNREACH, "%s: %s", source->host, gai_strerror(problem));
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen)) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        return hs_error__set(error, why, "%s:%s: %s", source->host, source->port, strerror(why));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    return fd;
}

static int send_question(int fd, const struct hs_top_source *source, const char *question)
{
    char *text = NULL;
    int length = asprintf(&text,
                          "GET /data/last/%s HTTP/1.0\r\nHost: %s\r\nAccept: application/json\r\n%s%s%s"
                          "Connection: close\r\n\r\n",
                          question, source->host, *source->token ? "Authorization: Bearer " : "", source->token,
                          *source->token ? "\r\n" : "");
    if (length < 0)
        return -ENOMEM;
    ssize_t sent = 0;
    for (int at = 0; at < length && sent >= 0; at += (int)sent)
        sent = send(fd, text + at, (size_t)(length - at), MSG_NOSIGNAL);
    free(text);
    return sent < 0 ? -errno : 0;
}

// All that comes, with a NUL behind it.
static int receive(int fd, char **text, size_t *length)
{
    size_t room = 65536;
    char *bytes = malloc(room + 1);
    *length = 0;
    ssize_t got = 1;
    while (bytes && got > 0 && *length < LARGEST) {
        if (*length == room) {
            char *grown = realloc(bytes, 2 * room + 1);
            if (!grown)
                break;
            bytes = grown;
            room *= 2;
        }
        got = recv(fd, bytes + *length, room - *length, 0);
        *length += got > 0 ? (size_t)got : 0;
    }
    if (!bytes || got) {
        const int why = got < 0 ? errno : *length >= LARGEST ? EMSGSIZE : ENOMEM;
        free(bytes);
        return -why;
    }
    bytes[*length] = 0;
    *text = bytes;
    return 0;
}

// The body takes the place of the whole answer.
static int take_body(const struct hs_top_source *source, char *text, size_t length, struct hs_error *error)
{
    int status = 0;
    char *body = strstr(text, "\r\n\r\n");
    if (sscanf(text, "HTTP/1.%*1d %3d", &status) != 1 || !body)
        return hs_error__set(error, EPROTO, "%s:%s is no server of heapsonde", source->host, source->port);
    body += 4;
    if (status != 200)
        return hs_error__set(error, EPROTO, "%s:%s: %d: %.*s", source->host, source->port, status,
                             (int)strcspn(body, "\r\n"), body);
    memmove(text, body, length - (size_t)(body - text) + 1);
    return 0;
}

static int ask_server(const struct hs_top_source *source, const char *question, char **answer, struct hs_error *error)
{
    size_t length = 0;
    char *text = NULL;
    const int fd = connect_to(source, error);
    if (fd < 0)
        return fd;
    int result = send_question(fd, source, question);
    if (!result)
        result = receive(fd, &text, &length);
    close(fd);
    if (result)
        return hs_error__set(error, -result, "%s:%s: %s", source->host, source->port, strerror(-result));
    result = take_body(source, text, length, error);
    if (result)
        free(text);
    *answer = result ? NULL : text;
    return result;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static int ask_file(const struct hs_top_source *source, const char *question, char **answer, struct hs_error *error)
{
    char address[512];
    size_t length = 0;
    *answer = NULL;
    snprintf(address, sizeof(address), "/data/last/%s", question);
    FILE *out = open_memstream(answer, &length);
    if (!out)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_rest__ask(source->rest, address, out, error);
    if (fclose(out) && !result)
        result = hs_error__set(error, ENOMEM, "out of memory");
    if (result) {
        free(*answer);
        *answer = NULL;
    }
    return result;
}

int hs_top_source__ask(struct hs_top_source *source, const char *question, char **answer, struct hs_error *error)
{
    return source->rest ? ask_file(source, question, answer, error) : ask_server(source, question, answer, error);
}

// ---- opening --------------------------------------------------------------------------------------------------------

int hs_top_source__open(struct hs_top_source *source, const char *target, const struct hs_symbols_options *symbols,
                        struct hs_error *error)
{
    *source = (struct hs_top_source){0};
    if (!strncmp(target, "http://", strlen("http://")))
        return split_address(source, target, error);
    source->rest = hs_rest__create(symbols, HS_REST_ONE_QUESTION);
    if (!source->rest)
        return hs_error__set(error, ENOMEM, "%s: out of memory", target);
    return hs_rest__add(source->rest, target, NULL, error);
}

void hs_top_source__close(struct hs_top_source *source)
{
    if (source->rest)
        hs_rest__destroy(source->rest);
    free(source->host);
    free(source->port);
    free(source->token);
    *source = (struct hs_top_source){0};
}
