// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/http.h"

#include "host/server/caller.h"
#include "host/server/headers.h"
#include "host/server/login.h"
#include "host/server/microhttpd_library.h"
#include "host/server/pack.h"
#include "host/server/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST_CONNECTIONS = 64, SPARE_CONNECTIONS = 448, TIMEOUT_SECONDS = 30, CONNECTION_MEMORY = 32768 };
enum { STREAM_PIECE = 64 << 10 };
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
    unsigned port;
    char address[128];
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

static void note(struct hs_http_server *server, struct MHD_Connection *mhd, bool gets_answer)
{
    struct http_connection *connection = connection_of(mhd);
    if (!connection)
        return;
    pthread_mutex_lock(&server->lock);
    connection->gets_answer = gets_answer;
    if (gets_answer)
        pthread_cond_signal(&server->asked);
    if (!connection->evicted) {
        unlink_connection(connection);
        put_last(server, connection);
    }
    pthread_mutex_unlock(&server->lock);
}

static struct http_connection *longest_waiting(struct hs_http_server *server)
{
    for (struct http_connection *connection = server->connections.behind; connection != &server->connections;
         connection = connection->behind) {
        if (!connection->gets_answer)
            return connection;
    }
    return server->connections.behind;
}

static void forget(struct hs_http_server *server, struct http_connection *connection)
{
    if (connection->evicted)
        return;
    unlink_connection(connection);
    server->connection_count--;
}

// Without eviction, clients that send a byte from time to time could keep all others out. Until the thread of an
// evicted connection has closed it, it does not cause the eviction of another one.
static void evict(struct hs_http_server *server, struct http_connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    cancel_answer(connection->cancel_token);
    forget(server, connection);
    connection->evicted = true;
}

static struct http_connection *accept_connection(struct hs_http_server *server, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = hs_mhd->MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct http_connection *connection = calloc(1, sizeof(*connection));
    struct cancel_token *cancel_token = calloc(1, sizeof(*cancel_token));
    if (!connection || !cancel_token || !info) {
        free(connection);
        free(cancel_token);
        return NULL;
    }
    connection->fd = info->connect_fd;
    connection->cancel_token = hold(cancel_token);
    connection->is_own = !server->token && hs_peer__is_own(connection->fd);
    pthread_mutex_lock(&server->lock);
    cancel_token->ended = server->cancel;
    put_last(server, connection);
    if (++server->connection_count > MOST_CONNECTIONS)
        evict(server, longest_waiting(server));
    pthread_mutex_unlock(&server->lock);
    return connection;
}

static void come_or_go(void *context, struct MHD_Connection *mhd, void **socket_context,
                       enum MHD_ConnectionNotificationCode code)
{
    struct hs_http_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = accept_connection(server, mhd);
    } else if (*socket_context) {
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
                                            const struct hs_stream_writer *writer)
{
    struct http_connection *connection = connection_of(mhd);
    struct sending *sending = calloc(1, sizeof(*sending));
    struct hs_answer_stream *stream = hs_answer_stream__create(writer);
    if (!sending || !stream) {
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

static enum MHD_Result reply(struct hs_http_server *server, struct MHD_Connection *mhd, struct hs_http_answer *answer,
                             const char *method, const char *allow)
{
    bool streams = answer->writer.write;
    const char *encodings = hs_mhd->MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    if (hs_pack__answer(answer, hs_pack__is_accepted(encodings))) {
        free(answer->body);
        return MHD_NO;
    }
    struct MHD_Response *response = streams ? stream_response(server, mhd, &answer->writer) : body_response(answer);
    if (!response)
        return MHD_NO;
    if (streams && !strcmp(method, "HEAD"))
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
    char *cookie = hs_login__cookie(server->token, server->port);
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
        else
            hs_uri__parse(&upload->uri, local, &upload->error);
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
        return MHD_NO;
    if (!upload->seen) {
        upload->seen = true;
        if (server->token)
            upload->token = hs_caller__token(mhd, &upload->uri, upload->authority, server->token, server->port);
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

union http_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, union http_address *address)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    char *end;
    if (!colon || !length || length >= sizeof(host) || colon[1] < '0' || colon[1] > '9')
        return false;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (*end || port > 65535)
        return false;
    memcpy(host, text, length);
    host[length] = 0;
    memset(address, 0, sizeof(*address));
    if (!strcmp(host, "localhost"))
        strcpy(host, "127.0.0.1");
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = 0;
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons((uint16_t)port);
        return inet_pton(AF_INET6, host + 1, &address->v6.sin6_addr) == 1;
    }
    address->v4.sin_family = AF_INET;
    address->v4.sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &address->v4.sin_addr) == 1;
}

static bool is_loopback(const union http_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
}

static void write_address(struct hs_http_server *server, const union http_address *address)
{
    char host[64] = "";
    const union MHD_DaemonInfo *info = hs_mhd->MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    bool v6 = address->any.sa_family == AF_INET6;
    inet_ntop(address->any.sa_family, v6 ? (const void *)&address->v6.sin6_addr : &address->v4.sin_addr, host,
              sizeof(host));
    server->port = info ? (unsigned)info->port : 0;
    snprintf(server->address, sizeof(server->address), v6 ? "http://[%s]:%u" : "http://%s:%u", host, server->port);
}

int hs_http__start(struct hs_http_server **server, const struct hs_http_options *options, struct hs_error *error)
{
    union http_address address;
    *server = NULL;
    if (!parse_address(options->listen, &address))
        return hs_error__set(error, EINVAL,
                             "%s is not an address; give one such as 127.0.0.1:8080, [::1]:8080 or 127.0.0.1:0",
                             options->listen);
    if (!is_loopback(&address) && !(options->token && *options->token))
        return hs_error__set(error, EACCES,
                             "%s can be reached from other machines; it needs a --token, or listen on 127.0.0.1",
                             options->listen);
    const int result = hs_microhttpd_library__load(error);
    if (result)
        return result;
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
    self->token = options->token && *options->token ? strdup(options->token) : NULL;
    if (options->token && *options->token && !self->token) {
        hs_http__stop(self);
        return hs_error__set(error, ENOMEM, "out of memory");
    }
    unsigned flags = MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                     (address.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0u);
    self->daemon = hs_mhd->MHD_start_daemon(
        flags, 0, NULL, NULL, handle, self, MHD_OPTION_SOCK_ADDR, &address.any, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(MOST_CONNECTIONS + SPARE_CONNECTIONS), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, completed, self,
        MHD_OPTION_NOTIFY_CONNECTION, come_or_go, self, MHD_OPTION_URI_LOG_CALLBACK, begin_request, self,
        MHD_OPTION_END);
    if (!self->daemon) {
        int problem = errno ? errno : EIO;
        hs_http__stop(self);
        return hs_error__set(error, problem, "%s: %s", options->listen, strerror(problem));
    }
    // Without this thread, a closed connection is noticed only when something is sent.
    self->watches = !pthread_create(&self->watcher, NULL, watch, self);
    write_address(self, &address);
    *server = self;
    return 0;
}

const char *hs_http__address(const struct hs_http_server *server)
{
    return server->address;
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
    if (server->daemon)
        hs_mhd->MHD_stop_daemon(server->daemon);
    pthread_cond_destroy(&server->asked);
    pthread_mutex_destroy(&server->lock);
    pthread_mutex_destroy(&server->serving);
    free(server->token);
    free(server);
}
