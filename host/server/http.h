// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small HTTP server: a table of pages, a bounded number of connections with a thread each, bounded requests. It
// listens on loopback; other addresses require a token. Clients send the token as "Authorization: Bearer TOKEN", as the
// parameter "token", or as the cookie that they got for it. Without a token, only requests of processes of the same
// user or of root are accepted, that name a loopback host and do not come from another site's page.
#ifndef HEAPSONDE_HOST_SERVER_HTTP_H
#define HEAPSONDE_HOST_SERVER_HTTP_H

#include "host/base/error.h"
#include "host/server/answer.h"
#include "host/server/uri.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_HTTP_VALUES = 4 };

struct hs_http_page;

struct hs_http_request {
    const struct hs_http_page *page;
    const char *path; // as sent, without the query
    const struct hs_uri *uri;
    const char *value[HS_HTTP_VALUES]; // path segments for the braces in the path of the page
    const char *body;                  // of a POST, ended by a NUL
    size_t body_length;
    // False: the request may only read: a HEAD, or a request that a page of another site can make an old browser send.
    bool may_change;
    const int *cancel; // nonzero: nobody waits for the answer; valid until the writer of the answer has ended
    void *connection;  // private
};

// A header of the request, or NULL.
const char *hs_http_request__header(const struct hs_http_request *request, const char *name);
// Whether the client already has the answer with this entity tag.
bool hs_http_request__knows(const struct hs_http_request *request, const char *etag);

// A parameter of the query; "": without a value; NULL: not given.
const char *hs_http_request__parameter(const struct hs_http_request *request, const char *name);

struct hs_http_page {
    const char *method; // "GET" (which also answers HEAD), "POST"
    const char *path;   // "/data/{id}/tree"; the first page that matches is used
    void (*serve)(void *context, const struct hs_http_request *request, struct hs_http_answer *answer);
    const void *detail; // private data of the page
    const char *accept; // only for requests whose Accept header names this type; NULL: for all
    // A page without user data: it is served without a token, and other sites may link to it. With `accept`, it is the
    // login page of browsers: "?token=TOKEN" sets a cookie and redirects to the address without the token.
    bool open;
};

struct hs_http_server;

struct hs_http_options {
    const char *listen;               // ADDRESS:PORT, [ADDRESS]:PORT; port 0: the kernel chooses one
    const char *token;                // NULL: none
    const struct hs_http_page *pages; // a page without a method ends the table
    void *context;
    bool at_once; // pages may be served in several threads at once; otherwise one at a time
    bool bodies;  // requests may have a body
};

// 0, or a negative errno with the reason. The server runs in threads of its own.
int hs_http__start(struct hs_http_server **server, const struct hs_http_options *options, struct hs_error *error);

// The number of connections that a server may have at a time. Others wait. Fewer if the process may use little memory.
unsigned hs_http__most_connections(void);

// "http://127.0.0.1:4711"
const char *hs_http__address(const struct hs_http_server *server);
void hs_http__stop(struct hs_http_server *server);

#endif
