// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/top_source.h"

#include "host/base/path.h"
#include "host/cli/answer_value.h"
#include "host/gather/folder.h"

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

// What is said of a target: without a token, which follows the question mark.
static int said_length(const char *target)
{
    return (int)(strncmp(target, "http://", strlen("http://")) ? strlen(target) : strcspn(target, "?"));
}

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
    const char *known = getenv("HEAPSONDE_TOKEN");
    if (token) {
        token += strlen("token=");
        source->token = strndup(token, strcspn(token, "&#"));
    } else {
        source->token = strdup(known ? known : "");
    }
    if (!source->host || !source->port || !source->token)
        return hs_error__set(error, ENOMEM, "%.*s: out of memory", said_length(target), target);
    if (!*source->host || strpbrk(source->token, "\r\n"))
        return hs_error__set(error, EINVAL, "%.*s: give the address as http://HOST:PORT", said_length(target), target);
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
        why = errno;
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); // also of connect
        if (connect(fd, at->ai_addr, at->ai_addrlen)) {
            why = errno == EINPROGRESS ? ETIMEDOUT : errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        return hs_error__set(error, why, "%s:%s: %s", source->host, source->port, strerror(why));
    return fd;
}

// `address` is what is behind the name of the server.
static int send_question(int fd, const struct hs_top_source *source, const char *address)
{
    char *text = NULL;
    int length = asprintf(&text,
                          "GET %s HTTP/1.0\r\nHost: %s\r\nAccept: application/json\r\n%s%s%s"
                          "Connection: close\r\n\r\n",
                          address, source->host, *source->token ? "Authorization: Bearer " : "", source->token,
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
        return hs_error__set(error, EPROTO, "no 'heapsonde server' answers at %s:%s; check the address", source->host,
                             source->port);
    body += 4;
    if (status != 200)
        return hs_error__set(error, EPROTO, "%s:%s: %d: %.*s", source->host, source->port, status,
                             (int)strcspn(body, "\r\n"), body);
    memmove(text, body, length - (size_t)(body - text) + 1);
    return 0;
}

static int ask_server(const struct hs_top_source *source, const char *address, char **answer, struct hs_error *error)
{
    size_t length = 0;
    char *text = NULL;
    const int fd = connect_to(source, error);
    if (fd < 0)
        return fd;
    int result = send_question(fd, source, address);
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

static int ask_file(const struct hs_top_source *source, const char *address, char **answer, struct hs_error *error)
{
    size_t length = 0;
    *answer = NULL;
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
    char address[512];
    snprintf(address, sizeof(address), "/data/%s/%s", source->trace ? source->trace : "last", question);
    return source->rest ? ask_file(source, address, answer, error) : ask_server(source, address, answer, error);
}

// ---- lists ----------------------------------------------------------------------------------------------------------

// Takes the place of what was shown before.
static int set_shown(struct hs_top_source *source, const char *path, const char *id, const char *name,
                     struct hs_error *error)
{
    char *shown = strdup(path), *trace = id ? strdup(id) : NULL, *device = strdup(name);
    if (!shown || !device || (id && !trace)) {
        free(shown);
        free(trace);
        free(device);
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    }
    free(source->shown);
    free(source->trace);
    free(source->name);
    source->shown = shown;
    source->trace = trace;
    source->name = device;
    return 0;
}

static int open_file(struct hs_top_source *source, const char *path, struct hs_error *error)
{
    struct hs_rest *rest = hs_rest__create(source->symbols, HS_REST_ONE_QUESTION);
    if (!rest)
        return hs_error__set(error, ENOMEM, "%s: out of memory", path);
    const struct hs_query_control control = {.cancel = &source->gives_up};
    struct hs_top_growing *growing = hs_top_growing__create(path, source->symbols);
    const int result = hs_rest__add(rest, path, &control, error);
    struct hs_rest *idle = rest;
    if (!result) {
        pthread_mutex_lock(&source->lock);
        idle = source->rest;
        source->rest = rest;
        if (__atomic_load_n(&source->gives_up, __ATOMIC_RELAXED))
            hs_rest__give_up(rest);
        pthread_mutex_unlock(&source->lock);
    }
    if (!result) {
        struct hs_top_growing *before = source->growing;
        source->growing = growing;
        growing = before;
    }
    hs_top_growing__free(growing); // it may hold what is in `idle`
    if (idle)
        hs_rest__destroy(idle);
    return result;
}

bool hs_top_source__rows(struct hs_top_source *source, const char *by, struct hs_top_rows *rows)
{
    return source->growing && hs_top_growing__rows(source->growing, source->rest, by, &source->gives_up, rows);
}

void hs_top_source__give_up(struct hs_top_source *source)
{
    pthread_mutex_lock(&source->lock);
    __atomic_store_n(&source->gives_up, 1, __ATOMIC_RELAXED);
    if (source->rest)
        hs_rest__give_up(source->rest);
    pthread_mutex_unlock(&source->lock);
}

// The place of what comes behind the one that is shown, from 0; `is` says whether number i is it, `fits` whether it is
// chosen. `of` and the place among the chosen ones are set. Returns `count` if none is chosen.
struct top_list {
    size_t count;
    const void *items;
    bool (*is)(const void *items, size_t i, const char *shown);
    bool (*fits)(const void *items, size_t i, const char *device); // NULL: any
};

static size_t choose(struct hs_top_source *source, const struct top_list *list)
{
    size_t first = list->count, next = list->count, place = 0, of = 0;
    bool behind = false;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->fits(list->items, i, source->device))
            continue;
        of++;
        first = first == list->count ? i : first;
        if (behind && next == list->count) {
            next = i;
            place = of;
        }
        behind = behind || (source->shown && list->is(list->items, i, source->shown));
    }
    source->of = of;
    source->place = place ? place : 1;
    return next < list->count ? next : first;
}

static int refuse(const struct hs_top_source *source, struct hs_error *error)
{
    const int length = said_length(source->target);
    if (source->device)
        return hs_error__set(error, ENOENT, "no device, program or process '%s' is in %.*s", source->device, length,
                             source->target);
    return hs_error__set(error, ENOENT, "%.*s has no trace yet", length, source->target);
}

static bool is_in_folder(const void *items, size_t i, const char *shown)
{
    return !strcmp(((const struct hs_folder_trace *)items)[i].path, shown);
}

static bool fits_in_folder(const void *items, size_t i, const char *device)
{
    return !device || hs_folder_trace__is(&((const struct hs_folder_trace *)items)[i], device);
}

static int show_of_folder(struct hs_top_source *source, struct hs_error *error)
{
    struct hs_folder folder;
    int result = hs_folder__read(&folder, source->target, error);
    if (result)
        return result;
    const struct top_list list = {folder.count, folder.trace, is_in_folder, fits_in_folder};
    const size_t number = choose(source, &list);
    if (number == folder.count) {
        result = refuse(source, error);
    } else {
        const struct hs_folder_trace *trace = &folder.trace[number];
        result = open_file(source, trace->path, error);
        if (!result)
            result = set_shown(source, trace->path, NULL, trace->device, error);
    }
    hs_folder__free(&folder);
    return result;
}

void hs_top_source__learn_name(struct hs_top_source *source)
{
    struct hs_folder folder;
    struct hs_error error;
    if (source->host || !source->place || !source->shown || *source->name ||
        hs_folder__read(&folder, source->target, &error))
        return;
    for (size_t i = 0; i < folder.count && !*source->name; i++) {
        char *name = is_in_folder(folder.trace, i, source->shown) ? strdup(folder.trace[i].device) : NULL;
        if (!name)
            continue;
        free(source->name);
        source->name = name;
    }
    hs_folder__free(&folder);
}

// The traces of a server are in a list of values: the last one is that of the end.
static const struct hs_answer_value *listed(const void *items, size_t i)
{
    const struct hs_answer_value *list = items, *value = list->first;
    for (size_t n = list->count - 1; value && n > i; n--)
        value = value->next;
    return value;
}

static const char *text_in(const struct hs_answer_value *object, const char *name)
{
    const struct hs_answer_value *value = object ? hs_answer_value__member(object, name) : NULL;
    return value && value->text ? value->text : "";
}

static bool is_in_list(const void *items, size_t i, const char *shown)
{
    return !strcmp(text_in(listed(items, i), "path"), shown);
}

static bool fits_in_list(const void *items, size_t i, const char *device)
{
    const struct hs_answer_value *value = listed(items, i);
    const struct hs_answer_value *id = value ? hs_answer_value__member(value, "id") : NULL;
    if (!id || id->kind != HS_ANSWER_STRING) // it is still being read
        return false;
    return !device || !strcmp(hs_path__name(text_in(value, "executable")), device) ||
           !strcmp(text_in(value, "pid"), device) || !strcmp(text_in(value, "id"), device);
}

static bool is_plain(const char *id)
{
    return *id && !id[strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.")];
}

static int show_of_list(struct hs_top_source *source, const struct hs_answer_value *answer, struct hs_error *error)
{
    const struct top_list list = {answer->count, answer, is_in_list, fits_in_list};
    const size_t number = choose(source, &list);
    if (number == answer->count)
        return refuse(source, error);
    const struct hs_answer_value *trace = listed(answer, number);
    const char *id = text_in(trace, "id");
    return is_plain(id)
               ? set_shown(source, text_in(trace, "path"), id, "", error)
               : hs_error__set(error, EPROTO, "the answer is not that of 'heapsonde server'; check the address");
}

static int show_of_server(struct hs_top_source *source, struct hs_error *error)
{
    struct hs_answer_values *values = NULL;
    struct hs_answer_value *answer = NULL;
    char *text = NULL;
    int result = ask_server(source, "/list", &text, error);
    if (!result && (hs_answer_values__read(&values, text, &answer) || answer->kind != HS_ANSWER_ARRAY))
        result = hs_error__set(error, EPROTO, "the answer is not that of 'heapsonde server'; check the address");
    if (!result)
        result = show_of_list(source, answer, error);
    hs_answer_values__free(values);
    free(text);
    return result;
}

int hs_top_source__next(struct hs_top_source *source, struct hs_error *error)
{
    if (source->host)
        return show_of_server(source, error);
    return source->place ? show_of_folder(source, error) : hs_error__set(error, ENOENT, "there is one trace only");
}

// ---- opening --------------------------------------------------------------------------------------------------------

// Whether there are traces in the folder: it may also be one of heap dumps.
static bool is_of_gather(const char *path)
{
    struct hs_folder folder;
    struct hs_error error;
    const bool good = !hs_folder__read(&folder, path, &error) && folder.count;
    hs_folder__free(&folder);
    return good;
}

int hs_top_source__open(struct hs_top_source *source, const char *target, const char *device,
                        const struct hs_symbols_options *symbols, struct hs_error *error)
{
    *source = (struct hs_top_source){
        .target = target, .device = device, .symbols = symbols, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!strncmp(target, "http://", strlen("http://"))) {
        const int result = split_address(source, target, error);
        return result ? result : show_of_server(source, error);
    }
    if (is_of_gather(target))
        return show_of_folder(source, error);
    if (device)
        return hs_error__set(error, EINVAL, "--device: %s is neither a folder of gathered traces nor a server", target);
    return open_file(source, target, error);
}

void hs_top_source__close(struct hs_top_source *source)
{
    hs_top_growing__free(source->growing);
    if (source->rest)
        hs_rest__destroy(source->rest);
    free(source->host);
    free(source->port);
    free(source->token);
    free(source->trace);
    free(source->shown);
    free(source->name);
    *source = (struct hs_top_source){0};
}
