// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/http.h"

#include "host/base/memory.h"
#include "host/server/caller.h"
#include "host/server/headers.h"
#include "host/server/listener.h"
#include "host/server/login.h"
#include "host/server/microhttpd_library.h"
#include "host/server/pack.h"
#include "host/server/peer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// With more than MOST_CONNECTIONS, idle ones are closed.
enum { MOST_CONNECTIONS = 64, ALL_CONNECTIONS = 512, FEWEST_CONNECTIONS = 4, TIMEOUT_SECONDS = 30 };
enum { NO_LIMIT = 1 << 20, CONNECTION_MEMORY = 32768, STREAM_PIECE = 64 << 10 };
#define MOST_BODY ((size_t)16 << 20)

// Whether a client still waits for an answer. Reference-counted.
struct cancel_token {
    unsigned holders; // atomic
    int ended;
};

// An open connection.
struct http_connection {
    struct http_connection *before, *behind;
    int fd;
    bool gets_answer; // has asked, and takes what is sent
    bool has_asked;   // at least once
    bool evicted;     // no longer in a ring; its thread will notice
    bool is_own;      // of our user, or root's; looked at where there is no token
    struct cancel_token *cancel_token;
};

// An answer that is being sent.
struct sending {
    struct sending *before, *behind;
    struct hs_http_server *server;
    struct hs_answer_stream *stream;
    struct cancel_token *cancel_token;
};

struct hs_http_server {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;               // of the rings and their count
    struct http_connection connections; // a ring; the first one has been idle longest
    unsigned connection_count;
    struct sending sendings; // a ring
    int cancel;
    pthread_t watcher; // looks whether clients that wait for an answer are still connected
    bool watches;
    pthread_cond_t asked;
    pthread_mutex_t serving; // held while a page is served, unless they are served at once
    bool at_once, bodies;
    const struct hs_http_page *pages;
    void *context;
    char *token;
    struct hs_listener *listener;
    unsigned most; // connections, without those that are evicted and those that get answers
};

// A request, and what a POST has sent so far.
struct upload {
    struct hs_uri uri;
    char *authority; // of a target in absolute form
    char *path;
    struct hs_error error; // of the URI, when it has a message
    char *bytes;
    size_t length, size;
    bool seen;
    enum hs_caller_token token;
    bool known; // may ask for everything
    bool too_long;
    bool refused;  // before it was looked at
    bool hostless; // or has several
};

const char *hs_http_request__header(const struct hs_http_request *request, const char *name)
{
    // A request that came over no connection has none.
    return request->connection ? hs_mhd->MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name) : NULL;
}

// ---- connections ----------------------------------------------------------------------------------------------------

static struct cancel_token *hold(struct cancel_token *cancel_token)
{
    __atomic_add_fetch(&cancel_token->holders, 1, __ATOMIC_RELAXED);
    return cancel_token;
}

static void let_go(struct cancel_token *cancel_token)
{
    if (cancel_token && !__atomic_sub_fetch(&cancel_token->holders, 1, __ATOMIC_ACQ_REL))
        free(cancel_token);
}

static void cancel_answer(struct cancel_token *cancel_token)
{
    __atomic_store_n(&cancel_token->ended, 1, __ATOMIC_RELAXED);
}

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = hs_mhd->MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void unlink_connection(struct http_connection *connection)
{
    connection->before->behind = connection->behind;
    connection->behind->before = connection->before;
}

static void put_last(struct hs_http_server *server, struct http_connection *connection)
{
    connection->behind = &server->connections;
    connection->before = server->connections.before;
    connection->before->behind = connection;
    server->connections.before = connection;
}

// Whether the client waits neither for an answer nor for its request to be read.
static bool is_idle(const struct http_connection *connection)
{
    struct pollfd socket = {.fd = connection->fd, .events = POLLIN | POLLRDHUP};
    return !connection->gets_answer && (poll(&socket, 1, 0) <= 0 || socket.revents & ~POLLIN);
}

// NULL: none is idle. Answers are not cut off: the next clients wait.
static struct http_connection *longest_idle(struct hs_http_server *server)
{
    for (struct http_connection *connection = server->connections.behind; connection != &server->connections;
         connection = connection->behind) {
        if (is_idle(connection))
            return connection;
    }
    return NULL;
}

static void forget(struct hs_http_server *server, struct http_connection *connection)
{
    if (connection->evicted)
        return;
    unlink_connection(connection);
    server->connection_count--;
}

// Without eviction, clients that send a byte from time to time could keep all others out. Until the thread of an
// evicted connection has closed it, it does not cause the eviction of another one. The first request of a client may be
// on its way, so it gets an answer.
static void evict(struct hs_http_server *server, struct http_connection *connection)
{
    if (!connection)
        return;
    if (!connection->has_asked)
        hs_listener__turn_away(connection->fd, "there are too many connections");
    shutdown(connection->fd, SHUT_RDWR);
    cancel_answer(connection->cancel_token);
    forget(server, connection);
    connection->evicted = true;
}

// `expected`: connections that will be added.
static void evict_surplus(struct hs_http_server *server, unsigned expected)
{
    if (server->connection_count + expected > server->most)
        evict(server, longest_idle(server));
}

static void make_room(void *context)
{
    struct hs_http_server *server = context;
    pthread_mutex_lock(&server->lock);
    evict_surplus(server, 0);
    pthread_mutex_unlock(&server->lock);
}

static void note(struct hs_http_server *server, struct MHD_Connection *mhd, bool gets_answer)
{
    struct http_connection *connection = connection_of(mhd);
    if (!connection)
        return;
    pthread_mutex_lock(&server->lock);
    connection->gets_answer = gets_answer;
    connection->has_asked = true;
    if (gets_answer)
        pthread_cond_signal(&server->asked);
    if (!gets_answer)
        evict_surplus(server, 0); // it came before those whose request is not here yet
    if (!connection->evicted) {
        unlink_connection(connection);
        put_last(server, connection);
    }
    pthread_mutex_unlock(&server->lock);
}

static struct http_connection *accept_connection(struct hs_http_server *server, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = hs_mhd->MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_connection *connection = calloc(1, sizeof(*connection));
    struct cancel_token *cancel_token = calloc(1, sizeof(*cancel_token));
    if (!connection || !cancel_token || !info) {
        if (info)
            shutdown(info->connect_fd, SHUT_RDWR);
        free(connection);
        free(cancel_token);
        return NULL;
    }
    connection->fd = info->connect_fd;
    connection->cancel_token = hold(cancel_token);
    connection->is_own = !server->token && hs_peer__is_own(connection->fd);
    pthread_mutex_lock(&server->lock);
    cancel_token->ended = server->cancel;
    evict_surplus(server, 1); // not the new one, even if its request is not here yet
    put_last(server, connection);
    server->connection_count++;
    pthread_mutex_unlock(&server->lock);
    return connection;
}

static void come_or_go(void *context, struct MHD_Connection *mhd, void **socket_context,
                       enum MHD_ConnectionNotificationCode code)
{
    struct hs_http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        hs_listener__began(server->listener);
        *socket_context = accept_connection(server, mhd);
        return;
    }
    hs_listener__ended(server->listener);
    if (*socket_context) {
        pthread_mutex_lock(&server->lock);
        forget(server, *socket_context);
        pthread_mutex_unlock(&server->lock);
        let_go(((struct http_connection *)*socket_context)->cancel_token);
        free(*socket_context);
        *socket_context = NULL;
    }
}

// ---- connections that were closed -----------------------------------------------------------------------------------

enum { LOOK_AGAIN_NS = 50000000 };

// Requires the lock, so that no descriptor is closed while it is polled. Returns the number of connections that wait
// for an answer.
static unsigned look_for_closed(struct hs_http_server *server)
{
    unsigned waiting = 0;
    for (struct http_connection *connection = server->connections.behind; connection != &server->connections;
         connection = connection->behind) {
        struct pollfd socket = {.fd = connection->fd, .events = POLLRDHUP};
        if (!connection->gets_answer)
            continue;
        waiting++;
        if (poll(&socket, 1, 0) > 0)
            cancel_answer(connection->cancel_token);
    }
    return waiting;
}

static void *watch(void *context)
{
    struct hs_http_server *server = context;
    pthread_mutex_lock(&server->lock);
    while (!server->cancel) {
        const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS};
        if (!look_for_closed(server)) {
            pthread_cond_wait(&server->asked, &server->lock);
            continue;
        }
        pthread_mutex_unlock(&server->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

// ---- who may ask ----------------------------------------------------------------------------------------------------

// Whether the request is one that a page is for.
static bool is_for(const struct hs_http_page *page, struct MHD_Connection *mhd)
{
    const char *accept = hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return !page->accept || (accept && strstr(accept, page->accept));
}

// Pages without user data may be linked from other sites, but not embedded in their pages.
static bool is_open(const struct hs_http_server *server, struct MHD_Connection *mhd, const struct hs_uri *uri,
                    const char *authority)
{
    const char *values[HS_HTTP_VALUES];
    const char *header = hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    const char *site = hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Sec-Fetch-Site");
    const char *mode = hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Sec-Fetch-Mode");
    const char *host = authority ? authority : header;
    if (!server->token && host && !hs_caller__is_loopback(host))
        return false;
    if (site && strcmp(site, "none") && strcmp(site, "same-origin") && (!mode || strcmp(mode, "navigate")))
        return false;
    for (const struct hs_http_page *page = server->pages; page->method; page++)
        if (page->open && is_for(page, mhd) && hs_uri__matches(uri, page->path, values, HS_HTTP_VALUES))
            return true;
    return false;
}

static bool may_change(const struct hs_http_server *server, struct MHD_Connection *mhd, const char *method,
                       const struct upload *upload)
{
    if (!strcmp(method, "HEAD"))
        return false;
    return server->token ? hs_caller__may_change(mhd, upload->authority, upload->token)
                         : hs_caller__is_no_old_page(mhd);
}

static enum MHD_Result count_host(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    unsigned *count = context;
    (void)kind;
    (void)value;
    *count += !strcasecmp(name, MHD_HTTP_HEADER_HOST);
    return MHD_YES;
}

// With two Host headers, a proxy may have used the other one.
static bool names_its_host(struct MHD_Connection *mhd, const char *version)
{
    unsigned count = 0;
    hs_mhd->MHD_get_connection_values(mhd, MHD_HEADER_KIND, count_host, &count);
    return count == 1 || (!count && strcmp(version, MHD_HTTP_VERSION_1_1));
}

// ---- requests -------------------------------------------------------------------------------------------------------

static ssize_t send_piece(void *context, uint64_t position, char *to, size_t most)
{
    struct sending *sending = context;
    (void)position;
    ssize_t length = hs_answer_stream__read(sending->stream, to, most);
    return length > 0 ? length : length ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
}

static void end_sending(void *context)
{
    struct sending *sending = context;
    pthread_mutex_lock(&sending->server->lock);
    sending->before->behind = sending->behind;
    sending->behind->before = sending->before;
    pthread_mutex_unlock(&sending->server->lock);
    hs_answer_stream__destroy(sending->stream);
    let_go(sending->cancel_token);
    free(sending);
}

static void begin_sending(struct hs_http_server *server, struct sending *sending)
{
    sending->server = server;
    pthread_mutex_lock(&server->lock);
    sending->behind = &server->sendings;
    sending->before = server->sendings.before;
    sending->before->behind = sending;
    server->sendings.before = sending;
    if (server->cancel)
        hs_answer_stream__cancel(sending->stream);
    pthread_mutex_unlock(&server->lock);
}

static struct MHD_Response *stream_response(struct hs_http_server *server, struct MHD_Connection *mhd,
                                            const struct hs_stream_writer *writer, bool has_body)
{
    struct http_connection *connection = connection_of(mhd);
    struct sending *sending = calloc(1, sizeof(*sending));
    struct hs_answer_stream *stream = hs_answer_stream__create(writer);
    if (!sending || !stream || (has_body && !hs_answer_stream__start(stream))) {
        if (stream)
            hs_answer_stream__destroy(stream);
        free(sending);
        return NULL;
    }
    sending->stream = stream;
    sending->cancel_token = connection ? hold(connection->cancel_token) : NULL;
    begin_sending(server, sending);
    struct MHD_Response *response =
        hs_mhd->MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_PIECE, send_piece, sending, end_sending);
    if (!response)
        end_sending(sending);
    return response;
}

static struct MHD_Response *body_response(struct hs_http_answer *answer)
{
    struct MHD_Response *response =
        hs_mhd->MHD_create_response_from_buffer(answer->length, answer->body ? answer->body : "",
                                                answer->body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response)
        free(answer->body);
    return response;
}

// After a HEAD the library would still send the chunk that ends a body, and the client take it for the next answer.
static void end_with_headers(struct MHD_Response *response)
{
    hs_mhd->MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

// Without memory for an answer.
static enum MHD_Result reply_busy(struct MHD_Connection *mhd)
{
    static char reason[] = "there is no memory for this answer now; --memory SIZE allows more\n";
    struct hs_http_answer answer = {.status = MHD_HTTP_SERVICE_UNAVAILABLE, .type = "text/plain; charset=utf-8"};
    struct MHD_Response *response =
        hs_mhd->MHD_create_response_from_buffer(sizeof(reason) - 1, reason, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    hs_headers__add(response, &answer);
    enum MHD_Result result = hs_mhd->MHD_queue_response(mhd, answer.status, response);
    hs_mhd->MHD_destroy_response(response);
    return result;
}

static enum MHD_Result reply(struct hs_http_server *server, struct MHD_Connection *mhd, struct hs_http_answer *answer,
                             const char *method, const char *allow)
{
    bool streams = answer->writer.write;
    const char *encodings = hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    if (hs_pack__answer(answer, hs_pack__is_accepted(encodings))) {
        free(answer->body);
        return reply_busy(mhd);
    }
    const bool has_body = strcmp(method, "HEAD") != 0;
    struct MHD_Response *response =
        streams ? stream_response(server, mhd, &answer->writer, has_body) : body_response(answer);
    if (!response)
        return reply_busy(mhd);
    if (streams && !has_body)
        end_with_headers(response);
    hs_headers__add(response, answer);
    if (allow)
        hs_mhd->MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    enum MHD_Result result = hs_mhd->MHD_queue_response(mhd, answer->status, response);
    hs_mhd->MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct hs_http_server *server, struct MHD_Connection *mhd, unsigned status,
                              const char *text, const char *allow)
{
    struct hs_http_answer answer = {0};
    hs_http_answer__text(&answer, status, "%s\n", text);
    return reply(server, mhd, &answer, "", allow);
}

static void ask_page(struct hs_http_server *server, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    if (!server->at_once)
        pthread_mutex_lock(&server->serving);
    request->page->serve(server->context, request, answer);
    if (!server->at_once)
        pthread_mutex_unlock(&server->serving);
}

// To the same page without the token, which is a cookie from then on.
static enum MHD_Result log_in(struct hs_http_server *server, struct MHD_Connection *mhd, const char *path)
{
    char *cookie = hs_login__cookie(server->token, hs_listener__port(server->listener));
    struct MHD_Response *response = cookie ? hs_headers__lead_to(path, cookie) : NULL;
    free(cookie);
    enum MHD_Result result = response ? hs_mhd->MHD_queue_response(mhd, MHD_HTTP_SEE_OTHER, response) : MHD_NO;
    if (response)
        hs_mhd->MHD_destroy_response(response);
    return result;
}

static bool logs_in(const struct hs_http_server *server, const struct hs_http_page *page, const struct upload *upload)
{
    return server->token && upload->known && page->open && page->accept && hs_uri__value(&upload->uri, "token");
}

static enum MHD_Result serve_page(struct hs_http_server *server, struct MHD_Connection *mhd, const char *method,
                                  const struct upload *upload)
{
    const char *wanted = !strcmp(method, "HEAD") ? "GET" : method;
    const char *allowed = NULL;
    const struct http_connection *connection = connection_of(mhd);
    struct hs_http_request request = {.path = upload->path,
                                      .uri = &upload->uri,
                                      .body = upload->bytes ? upload->bytes : "",
                                      .body_length = upload->length,
                                      .may_change = may_change(server, mhd, method, upload),
                                      .connection = mhd,
                                      .cancel = connection ? &connection->cancel_token->ended : &server->cancel};
    for (const struct hs_http_page *page = server->pages; page->method; page++) {
        if (!hs_uri__matches(&upload->uri, page->path, request.value, HS_HTTP_VALUES) || !is_for(page, mhd))
            continue;
        if (!strcmp(page->method, wanted) && logs_in(server, page, upload))
            return log_in(server, mhd, page->path);
        if (!strcmp(page->method, wanted)) {
            struct hs_http_answer answer = {0};
            request.page = page;
            ask_page(server, &request, &answer);
            return reply(server, mhd, &answer, method, NULL);
        }
        allowed = allowed ? "GET, POST" : page->method;
    }
    if (allowed)
        return refuse(server, mhd, MHD_HTTP_METHOD_NOT_ALLOWED, "this method is not allowed for this path", allowed);
    return refuse(server, mhd, MHD_HTTP_NOT_FOUND, "there is no such page", NULL);
}

static bool may_ask(const struct hs_http_server *server, struct MHD_Connection *mhd, const struct upload *upload)
{
    const struct http_connection *connection = connection_of(mhd);
    if (server->token)
        return upload->token != HS_CALLER_NO_TOKEN;
    return connection && connection->is_own && hs_caller__is_own(mhd, upload->authority);
}

static enum MHD_Result turn_away(struct hs_http_server *server, struct MHD_Connection *mhd)
{
    if (server->token)
        return refuse(server, mhd, MHD_HTTP_UNAUTHORIZED, "this request needs the server's token", NULL);
    return refuse(server, mhd, MHD_HTTP_FORBIDDEN,
                  "this server answers its own user on its own machine only; others need a --token", NULL);
}

static void take_upload(struct upload *upload, const char *bytes, size_t length)
{
    if (upload->too_long || upload->refused || length > MOST_BODY - upload->length) {
        upload->too_long = true;
        return;
    }
    if (upload->length + length + 1 > upload->size) {
        size_t size = 2 * (upload->length + length + 1);
        char *more = realloc(upload->bytes, size);
        if (!more) {
            upload->too_long = true;
            return;
        }
        upload->bytes = more;
        upload->size = size;
    }
    memcpy(upload->bytes + upload->length, bytes, length);
    upload->length += length;
    upload->bytes[upload->length] = 0;
}

// Splits "http://authority/path", which clients send to a proxy, or "/path". The query may directly follow the
// authority.
static bool split_target(struct upload *upload, const char *text, char **local)
{
    static const char scheme[] = "http://";
    bool absolute = !strncasecmp(text, scheme, sizeof(scheme) - 1);
    const char *authority = absolute ? text + sizeof(scheme) - 1 : text;
    const char *rest = absolute ? authority + strcspn(authority, "/?#") : text;
    if (absolute)
        upload->authority = strndup(authority, (size_t)(rest - authority));
    int length = asprintf(local, "%s%s", absolute && *rest != '/' ? "/" : "", rest);
    return length >= 0 && (upload->authority || !absolute);
}

static void free_upload(struct upload *upload)
{
    hs_uri__free(&upload->uri);
    free(upload->authority);
    free(upload->path);
    free(upload->bytes);
    free(upload);
}

// There was no memory for the request.
static void drop_path(struct upload *upload)
{
    free(upload->path);
    upload->path = NULL;
}

// The library's own reading of the URI does not tell a byte that was escaped from one that was not.
static void *begin_request(void *context, const char *text, struct MHD_Connection *mhd)
{
    struct upload *upload = calloc(1, sizeof(*upload));
    char *local = NULL;
    (void)context;
    (void)mhd;
    if (upload && split_target(upload, text, &local)) {
        upload->path = strndup(local, strcspn(local, "?#"));
        if (upload->authority && !*upload->authority)
            hs_error__set(&upload->error, EINVAL, "the address names no host");
        else if (hs_uri__parse(&upload->uri, local, &upload->error) == -ENOMEM)
            drop_path(upload);
        free(local);
    }
    return upload;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **state)
{
    struct hs_http_server *server = context;
    struct upload *upload = *state;
    (void)url;
    if (!upload || !upload->path)
        return reply_busy(mhd);
    if (!upload->seen) {
        upload->seen = true;
        if (server->token)
            upload->token = hs_caller__token(mhd, &upload->uri, upload->authority, server->token,
                                             hs_listener__port(server->listener));
        upload->known = may_ask(server, mhd, upload);
        upload->refused = !upload->known && !is_open(server, mhd, &upload->uri, upload->authority);
        upload->hostless = !names_its_host(mhd, version);
        return MHD_YES;
    }
    if (*size) {
        if (server->bodies)
            take_upload(upload, data, *size);
        else
            upload->too_long = true;
        *size = 0;
        return MHD_YES;
    }
    note(server, mhd, true);
    if (upload->hostless)
        return refuse(server, mhd, MHD_HTTP_BAD_REQUEST, "a request has one Host header", NULL);
    if (upload->refused)
        return turn_away(server, mhd);
    if (upload->error.message[0])
        return refuse(server, mhd, MHD_HTTP_BAD_REQUEST, upload->error.message, NULL);
    if (upload->too_long)
        return refuse(server, mhd, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too long", NULL);
    return serve_page(server, mhd, method, upload);
}

static void completed(void *context, struct MHD_Connection *mhd, void **state, enum MHD_RequestTerminationCode why)
{
    (void)why;
    struct upload *upload = *state;
    note(context, mhd, false);
    if (upload)
        free_upload(upload);
    *state = NULL;
}

// ---- the server -----------------------------------------------------------------------------------------------------

// As many connections as a quarter of the process's memory allows: each has a thread, and another one while its answer
// is sent. The rest is for the answers.
unsigned hs_http__most_connections(void)
{
    const uint64_t each = 2 * hs_memory__stack() + HS_ANSWER_STREAM_MEMORY + CONNECTION_MEMORY;
    const uint64_t memory = hs_memory__most(), room = memory / 4 / each;
    if (!memory || room > ALL_CONNECTIONS)
        return ALL_CONNECTIONS;
    return room > FEWEST_CONNECTIONS ? (unsigned)room : FEWEST_CONNECTIONS;
}

static void *end_at_once(void *context)
{
    return context;
}

// libmicrohttpd (0.9.75) stands still for good if it cannot create a thread. The C library keeps the stacks of threads
// that have ended for the next ones: one for the connection, one for a thread that begins meanwhile.
static bool has_stacks(void)
{
    pthread_t threads[2];
    unsigned count = 0;
    while (count < 2 && !pthread_create(&threads[count], NULL, end_at_once, NULL))
        count++;
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return count == 2;
}

static bool take_over(void *context, int fd, const struct sockaddr *client, socklen_t length)
{
    const struct hs_http_server *server = context;
    if (!has_stacks()) {
        close(fd);
        return false;
    }
    return hs_mhd->MHD_add_connection(server->daemon, fd, client, length) == MHD_YES;
}

static int start_daemon(struct hs_http_server *server, const char *listen, struct hs_error *error)
{
    const unsigned flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                           MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC;
    const struct hs_listener_server serving = {hs_http__most_connections(), server, take_over, make_room};
    server->most = serving.most < 2 * MOST_CONNECTIONS ? serving.most / 2 : MOST_CONNECTIONS;
    // The listener has the limit: libmicrohttpd (0.9.75) does not unlock a mutex when its own is reached.
    server->daemon = hs_mhd->MHD_start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_CONNECTION_LIMIT, (unsigned)NO_LIMIT,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, completed, server, MHD_OPTION_NOTIFY_CONNECTION,
        come_or_go, server, MHD_OPTION_URI_LOG_CALLBACK, begin_request, server, MHD_OPTION_END);
    const int problem = !server->daemon ? (errno ? errno : EIO) : -hs_listener__start(server->listener, &serving);
    return problem ? hs_error__set(error, problem, "%s: %s", listen, strerror(problem)) : 0;
}

int hs_http__start(struct hs_http_server **server, const struct hs_http_options *options, struct hs_error *error)
{
    const bool guarded = options->token && *options->token;
    *server = NULL;
    struct hs_http_server *self = calloc(1, sizeof(*self));
    if (!self)
        return hs_error__set(error, ENOMEM, "out of memory");
    self->pages = options->pages;
    self->context = options->context;
    self->at_once = options->at_once;
    self->bodies = options->bodies;
    pthread_mutex_init(&self->lock, NULL);
    pthread_mutex_init(&self->serving, NULL);
    pthread_cond_init(&self->asked, NULL);
    self->connections.before = self->connections.behind = &self->connections;
    self->sendings.before = self->sendings.behind = &self->sendings;
    self->token = guarded ? strdup(options->token) : NULL;
    int result = guarded && !self->token ? hs_error__set(error, ENOMEM, "out of memory")
                                         : hs_listener__open(&self->listener, options->listen, guarded, error);
    if (!result)
        result = hs_microhttpd_library__load(error);
    if (!result)
        result = start_daemon(self, options->listen, error);
    if (result) {
        hs_http__stop(self);
        return result;
    }
    // Without this thread, a closed connection is noticed only when something is sent.
    self->watches = !pthread_create(&self->watcher, NULL, watch, self);
    *server = self;
    return 0;
}

const char *hs_http__address(const struct hs_http_server *server)
{
    return hs_listener__address(server->listener);
}

static void cancel_all(struct hs_http_server *server)
{
    pthread_mutex_lock(&server->lock);
    __atomic_store_n(&server->cancel, 1, __ATOMIC_RELAXED);
    for (struct sending *sending = server->sendings.behind; sending != &server->sendings; sending = sending->behind)
        hs_answer_stream__cancel(sending->stream);
    for (struct http_connection *connection = server->connections.behind; connection != &server->connections;
         connection = connection->behind)
        cancel_answer(connection->cancel_token);
    pthread_cond_signal(&server->asked);
    pthread_mutex_unlock(&server->lock);
}

void hs_http__stop(struct hs_http_server *server)
{
    cancel_all(server);
    if (server->watches)
        pthread_join(server->watcher, NULL);
    if (server->listener)
        hs_listener__stop(server->listener);
    if (server->daemon)
        hs_mhd->MHD_stop_daemon(server->daemon);
    if (server->listener)
        hs_listener__close(server->listener);
    pthread_cond_destroy(&server->asked);
    pthread_mutex_destroy(&server->lock);
    pthread_mutex_destroy(&server->serving);
    free(server->token);
    free(server);
}
