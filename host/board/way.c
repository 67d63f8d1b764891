// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/way.h"

#include "host/base/text_stream.h"
#include "host/board/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_WORDS 32
enum { USUAL_TIMEOUT = 15, TRIES = 3 };

struct way_line {
    char *word[MOST_WORDS];
    size_t count;
};

struct hs_way {
    const char *prefix;
    bool asks_at_terminal;
    bool may_be_empty;
    void (*line)(struct way_line *line, const struct hs_address_of_board *address, const char *script,
                 enum hs_session_role role);
};

static void add(struct way_line *line, const char *word)
{
    if (line->count + 1 < MOST_WORDS)
        line->word[line->count++] = strdup(word);
}

static void add_option(struct way_line *line, const char *name, const char *value)
{
    char *option = NULL;
    add(line, "-o");
    if (asprintf(&option, "%s=%s", name, value) >= 0)
        add(line, option);
    free(option);
}

unsigned hs_board_timeout(void)
{
    const char *text = getenv("HEAPSONDE_BOARD_PATIENCE");
    const unsigned seconds = text ? (unsigned)strtoul(text, NULL, 10) : 0;
    return seconds ? seconds : USUAL_TIMEOUT;
}

// ssh takes 0 for no limit.
static void add_seconds(struct way_line *line, const char *name, unsigned seconds)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", seconds ? seconds : 1);
    add_option(line, name, text);
}

// Adds one word: a command line that runs `script` in sh.
static void add_for_shell(struct way_line *line, const char *before, const char *script)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return;
    fputs(before, out);
    hs_words__quote(out, script);
    char *text = hs_text_stream__close(&stream);
    add(line, text);
    free(text);
}

// The login shell need not be a POSIX sh.
static void ssh_line(struct way_line *line, const struct hs_address_of_board *address, const char *script,
                     enum hs_session_role role)
{
    char control[64];
    add(line, "ssh");
    add(line, role == HS_SESSION_TERMINAL ? "-tt" : "-T");
    add_option(line, "ControlMaster", role == HS_SESSION_FIRST ? "yes" : "no");
    snprintf(control, sizeof(control), "%s/c", address->folder);
    add_option(line, "ControlPath", control);
    add_option(line, "ControlPersist", "no");
    add_option(line, "LogLevel", "ERROR");
    add_seconds(line, "ServerAliveInterval", hs_board_timeout() / TRIES);
    add_seconds(line, "ServerAliveCountMax", TRIES);
    add_seconds(line, "ConnectTimeout", hs_board_timeout());
    if (!address->asks)
        add_option(line, "BatchMode", "yes");
    if (address->port) {
        add(line, "-p");
        add(line, address->port);
    }
    add(line, "--");
    add(line, address->target);
    add_for_shell(line, "exec sh -c ", script);
}

static void adb_line(struct way_line *line, const struct hs_address_of_board *address, const char *script,
                     enum hs_session_role role)
{
    add(line, "adb");
    if (*address->target) {
        add(line, "-s");
        add(line, address->target);
    }
    add(line, "shell");
    add(line, role == HS_SESSION_TERMINAL ? "-tt" : "-T");
    add_for_shell(line, "exec sh -c ", script);
}

static void container_line(struct way_line *line, const struct hs_address_of_board *address, const char *script,
                           enum hs_session_role role)
{
    add(line, !strncmp(address->text, "podman", 6) ? "podman" : "docker");
    add(line, "exec");
    add(line, role == HS_SESSION_TERMINAL ? "-it" : "-i");
    add(line, address->target);
    add(line, "sh");
    add(line, "-c");
    add(line, script);
}

// Replaces {} by the script, quoted as one word.
static void exec_line(struct way_line *line, const struct hs_address_of_board *address, const char *script,
                      enum hs_session_role role)
{
    (void)role;
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (!out)
        return;
    for (const char *at = address->target; *at; at++) {
        if (strncmp(at, "{}", 2) != 0) {
            putc(*at, out);
            continue;
        }
        hs_words__quote(out, script);
        at++;
    }
    char *text = hs_text_stream__close(&stream);
    add(line, "/bin/sh");
    add(line, "-c");
    add(line, text);
    free(text);
}

static const struct hs_way ways[] = {
    {"ssh://", true, false, ssh_line},         {"adb:", false, true, adb_line},
    {"docker:", false, false, container_line}, {"podman:", false, false, container_line},
    {"exec:", false, false, exec_line},
};

#define WAYS "ssh://USER@HOST, adb:SERIAL, docker:NAME, podman:NAME or 'exec:COMMAND {}'"

static const struct hs_way *find_way(const char *text)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (!strncmp(text, ways[i].prefix, strlen(ways[i].prefix)))
            return &ways[i];
    return NULL;
}

// Splits HOST:PORT; an IPv6 address is in brackets.
static bool split_port(struct hs_address_of_board *address)
{
    char *target = address->target;
    size_t length = strlen(target);
    if (length && target[length - 1] == '/')
        target[length - 1] = 0;
    char *host = strrchr(target, '@');
    host = host ? host + 1 : target;
    char *end = *host == '[' ? strchr(host, ']') : host;
    char *colon = end ? strchr(end, ':') : NULL;
    if (!end || !*host)
        return false;
    if (colon) {
        *colon = 0;
        address->port = strdup(colon + 1);
        if (!colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
            return false;
    }
    if (*host == '[') {
        *end = 0;
        memmove(host, host + 1, strlen(host + 1) + 1);
    }
    return !strchr(target, '/') && *target != '-';
}

static bool is_at_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

// As in a command line of ssh.
static bool looks_like_host(const char *text)
{
    return *text && *text != '-' && !strpbrk(text, ":/{} ");
}

int hs_board_address__read(struct hs_address_of_board *address, const char *text, struct hs_error *error)
{
    *address = (struct hs_address_of_board){.way = find_way(text), .asks = is_at_terminal()};
    if (!address->way && looks_like_host(text))
        return hs_error__set(error, EINVAL, "--on %s: unknown kind of connection; did you mean ssh://%s?", text, text);
    if (!address->way)
        return hs_error__set(error, EINVAL, "--on %s: unknown kind of connection; give " WAYS, text);
    address->text = strdup(text);
    address->target = strdup(text + strlen(address->way->prefix));
    if (!address->text || !address->target)
        return hs_error__set(error, ENOMEM, "out of memory");
    if (!*address->target && !address->way->may_be_empty)
        return hs_error__set(error, EINVAL, "--on %s: the machine is missing; give " WAYS, text);
    if (address->way->line == exec_line && !strstr(address->target, "{}"))
        return hs_error__set(
            error, EINVAL,
            "--on %s has no {}; put it where the command takes a shell script, as in 'exec:ssh board {}'", text);
    if (address->way->line == ssh_line && !split_port(address))
        return hs_error__set(error, EINVAL, "--on %s is not a valid address; give ssh://USER@HOST:PORT", text);
    // The path of a socket has to be short.
    snprintf(address->folder, sizeof(address->folder), "/tmp/heapsonde-on-XXXXXX");
    if (address->way->line != ssh_line)
        *address->folder = 0;
    else if (!mkdtemp(address->folder))
        return hs_error__set(error, errno, "cannot create a folder in /tmp: %s", strerror(errno));
    return 0;
}

void hs_board_address__free(struct hs_address_of_board *address)
{
    char control[64];
    snprintf(control, sizeof(control), "%s/c", address->folder);
    if (*address->folder) {
        unlink(control);
        rmdir(address->folder);
    }
    free(address->text);
    free(address->target);
    free(address->port);
    *address = (struct hs_address_of_board){0};
}

char **hs_board_address__words(const struct hs_address_of_board *address, const char *script, enum hs_session_role role)
{
    struct way_line line = {.count = 0};
    address->way->line(&line, address, script, role);
    char **words = calloc(line.count + 1, sizeof(*words));
    for (size_t i = 0; i < line.count; i++) {
        if (words)
            words[i] = line.word[i];
        else
            free(line.word[i]);
    }
    return words;
}

bool hs_board_address__needs_terminal(const struct hs_address_of_board *address)
{
    return address->way->asks_at_terminal;
}

const char *hs_board_address__advice(const struct hs_address_of_board *address, const char *errors)
{
    // The kind of connection, a text that the error contains, and the advice.
    static const char *const advice[][3] = {
        {"", "IDENTIFICATION HAS CHANGED",
         "its host key has changed: find out why, then remove the old key with "
         "'ssh-keygen -R HOST', or -R '[HOST]:PORT' if its port is not 22"},
        {"", "Host key verification failed", "its host key is not known: connect once with ssh and check the key"},
        {"", "Permission denied",
         "it refuses this user: install a key there (ssh-copy-id), or run heapsonde at a terminal "
         "and type the password"},
        {"", "Could not resolve", "its name cannot be resolved: check the name"},
        {"", "Connection refused", "nothing listens there: check the port, and whether its ssh server runs"},
        {"", "timed out", "it does not answer: check whether it is switched on and in this network"},
        {"", "No route to host", "there is no route to it: check whether it is switched on and in this network"},
        {"docker:", "No such container", "there is no such container: 'docker ps' lists them"},
        {"podman:", "no such container", "there is no such container: 'podman ps' lists them"},
        {"docker:", "is not running", "the container is not running: start it"},
        {"podman:", "can only create exec sessions on running containers", "the container is not running: start it"},
        {"adb:", "no devices", "adb has no device: 'adb devices' lists them"},
        {"adb:", "more than one device",
         "adb has several devices: name one, as in adb:SERIAL; 'adb devices' lists them"},
        {"adb:", "' not found", "adb does not know this device: 'adb devices' lists them"},
        {"adb:", "device unauthorized", "the device does not trust this machine: confirm the question on its screen"},
        {"adb:", "device only supports allocating a pty",
         "its adbd is too old to keep the streams of a program apart: use ssh, or Android 7 or later"},
    };
    for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
        if (!strncmp(address->text, advice[i][0], strlen(advice[i][0])) && strstr(errors, advice[i][1]))
            return advice[i][2];
    return "";
}
