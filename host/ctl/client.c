// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/ctl/client.h"

#include "host/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_TRIES = 20 };
#define MOST_BYTES      ((size_t)1 << 30)
#define CONNECT_SECONDS 5
#define ANSWER_SECONDS  15
#define DUMP_SECONDS    120

static int open_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct timeval connecting = {.tv_sec = CONNECT_SECONDS};
    struct timeval answering = {.tv_sec = ANSWER_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &connecting, sizeof(connecting));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &answering, sizeof(answering));
    if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
        return fd;
    int problem = errno;
    close(fd);
    return -problem;
}

int hs_ctl__owner(const char *socket, pid_t *pid, uid_t *user)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int fd = open_socket(socket);
    if (fd < 0)
        return fd;
    int result = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? -errno : 0;
    close(fd);
    if (!result) {
        *pid = peer.pid;
        *user = peer.uid;
    }
    return result;
}

// A refusal may come before the whole request was read: then there is still an answer to read.
static int send_request(int fd, const char *request)
{
    char line[4096];
    int length = snprintf(line, sizeof(line), "%s\n", request);
    if (length < 0 || (size_t)length >= sizeof(line))
        return -E2BIG;
    ssize_t sent = send(fd, line, (size_t)length, MSG_NOSIGNAL);
    return sent == length || (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) ? 0 : sent < 0 ? -errno : -EIO;
}

static int receive_all(int fd, char **bytes, size_t *length)
{
    size_t size = 0;
    *bytes = NULL;
    *length = 0;
    for (;;) {
        if (*length + 1 >= size) {
            size = size ? size * 2 : 16384;
            char *bigger = size <= MOST_BYTES ? realloc(*bytes, size) : NULL;
            if (!bigger)
                return size <= MOST_BYTES ? -ENOMEM : -EFBIG;
            *bytes = bigger;
        }
        ssize_t got = recv(fd, *bytes + *length, size - *length - 1, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != ECONNRESET)
            return -errno;
        if (got <= 0)
            break;
        *length += (size_t)got;
    }
    (*bytes)[*length] = 0;
    return 0;
}

static int report_problem(const char *socket, int result, struct hs_error *error)
{
    switch (-result) {
    case EAGAIN:
        return hs_error__set(error, ETIMEDOUT, "%s: the process does not answer; is it stopped?", socket);
    case EFBIG:
        return hs_error__set(error, EFBIG, "%s: the answer is longer than a gigabyte", socket);
    default:
        return hs_error__set(error, -result, "%s: %s", socket, strerror(-result));
    }
}

// "error WORD TEXT"
static int report_refusal(const char *head, struct hs_error *error)
{
    char word[32] = "";
    int text = 0;
    unsigned number = 0;
    sscanf(head, "error %31[^ \n]%n", word, &text);
    const char *rest = text ? head + text + (head[text] == ' ') : "";
    int length = (int)strcspn(rest, "\n");
    bool of_system = sscanf(word, "system-%u", &number) == 1 && number > 0 && number < 4096;
    int result = hs_error__set(error, of_system ? (int)number : EREMOTEIO, "the process says: %.*s%s%s", length, rest,
                               of_system ? ": " : "", of_system ? strerror((int)number) : "");
    if (error)
        hs_text__clean(error->message);
    return result;
}

static int take_answer(struct hs_ctl_answer *answer, char *bytes, size_t length, struct hs_error *error)
{
    uint64_t announced = 0;
    char *end = strstr(bytes, "\n\n");
    *answer = (struct hs_ctl_answer){.head = bytes};
    if (!length)
        return hs_error__set(error, ECONNRESET, "the process ended before it answered");
    if (!strncmp(bytes, "error ", 6))
        return report_refusal(bytes, error);
    if (strncmp(bytes, "ok\n", 3))
        return hs_error__set(error, EPROTO, "the answer is not that of a heapsonde control socket");
    if (!end)
        return bytes[length - 1] == '\n' ? 0 : hs_error__set(error, ECONNRESET, "the process ended while it answered");
    end[1] = 0;
    announced = hs_ctl_answer__number(answer, "length");
    answer->body = end + 2;
    answer->body_length = length - (size_t)(answer->body - bytes);
    if (answer->body_length < announced)
        return hs_error__set(error, ECONNRESET, "the process ended while it answered");
    return answer->body_length == announced ? 0 : hs_error__set(error, EPROTO, "the answer is longer than announced");
}

// The answer as it comes. Returns 0 or -errno.
static int exchange(const char *socket, const char *request, char **bytes, size_t *length)
{
    int fd = open_socket(socket);
    if (fd < 0)
        return fd;
    int result = send_request(fd, request);
    if (!result && strstr(request, "dump")) {
        struct timeval dumping = {.tv_sec = DUMP_SECONDS};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &dumping, sizeof(dumping));
    }
    if (!result)
        result = receive_all(fd, bytes, length);
    close(fd);
    return result;
}

// Nothing was done: this process had no processor between its connection and its request.
static bool was_late(const char *bytes)
{
    return bytes && !strncmp(bytes, "error late ", 11);
}

int hs_ctl__ask(const char *socket, const char *request, struct hs_ctl_answer *answer, struct hs_error *error)
{
    char *bytes = NULL;
    size_t length = 0;
    *answer = (struct hs_ctl_answer){0};
    int result = exchange(socket, request, &bytes, &length);
    for (unsigned again = 0; !result && was_late(bytes) && again < MOST_TRIES; again++) {
        free(bytes);
        bytes = NULL;
        result = exchange(socket, request, &bytes, &length);
    }
    if (result)
        report_problem(socket, result, error);
    else
        result = take_answer(answer, bytes, length, error);
    if (result) {
        free(bytes);
        *answer = (struct hs_ctl_answer){0};
    }
    return result;
}

void hs_ctl_answer__free(struct hs_ctl_answer *answer)
{
    free(answer->head);
    *answer = (struct hs_ctl_answer){0};
}

bool hs_ctl_answer__text(const struct hs_ctl_answer *answer, const char *key, char *value, size_t size)
{
    size_t key_length = strlen(key);
    const char *line = answer->head;
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, key_length) || line[key_length] != ' ')
            continue;
        const char *text = line + key_length + 1;
        size_t length = strcspn(text, "\n");
        if (length >= size)
            return false;
        memcpy(value, text, length);
        value[length] = 0;
        hs_text__clean(value); // whatever the process has put there
        return true;
    }
    return false;
}

uint64_t hs_ctl_answer__number(const struct hs_ctl_answer *answer, const char *key)
{
    char text[32];
    uint64_t number = 0;
    return hs_ctl_answer__text(answer, key, text, sizeof(text)) && sscanf(text, "%" SCNu64, &number) == 1 ? number : 0;
}

bool hs_ctl_answer__flag(const struct hs_ctl_answer *answer, const char *key)
{
    char text[8];
    return hs_ctl_answer__text(answer, key, text, sizeof(text)) && !strcmp(text, "true");
}
