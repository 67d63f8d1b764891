// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small HTTP server: pages in a table, a thread for each of a bounded number of connections, bounded requests. It
// listens on loopback; any other address needs a token, which clients send as "Authorization: Bearer TOKEN", as the
// parameter "token", or as the cookie that they got for it. Without one, requests are only taken that come from a
// process of the same user or of root, name a loopback host and come from no other site's page.
#ifndef HEAPSONDE_HOST_SERVER_HTTP_H
#define HEAPSONDE_HOST_SERVER_HTTP_H

#include "host/server/stream.h"
#include "host/server/uri.h"
#include "host/store/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_HTTP_VALUES = 4 };

struct hs_http_page;

struct hs_http_request {
    const struct hs_http_page *page;
    const char *path; // as it was sent, without the query
    const struct hs_uri *uri;
    const char *value[HS_HTTP_VALUES]; // what stands for the parts in braces of the page's path
    const char *body;                  // of a POST, ended by a NUL
    size_t body_length;
    bool
        may_change; // false: a HEAD, or what a page of another site can make an old browser send; it gets to read alone
    const int *cancel; // not 0: nobody waits for the answer; valid until it is there and its writer is done
    void *connection;  // private
};

// A header of the request; NULL when it is not there.
const char *hs_http_request__header(const struct hs_http_request *request, const char *name);
// Whether the client has the answer with this entity tag already.
bool hs_http_request__knows(const struct hs_http_request *request, const char *etag);

// A parameter of the query: "" when it has no value, NULL when it is not there.
const char *hs_http_request__parameter(const struct hs_http_request *request, const char *name);

struct hs_http_answer {
    unsigned status;
    const char *type; // Content-Type, a constant
    char *body;       // from malloc; the server frees it
    size_t length;
    struct hs_stream_writer writer; // instead of a body when it has `write`: sent in pieces, while it is written
    bool packed;                    // with gzip; whoever does not take that gets it unpacked
    const char *cache;              // Cache-Control, a constant; NULL: nobody may keep it
    const char *policy;             // Content-Security-Policy, a constant; NULL: it is no page and needs nothing
    char etag[40];                  // with its quotes; "": none
    char file_name[128];            // under which browsers save it; "": they may show it
};

// Fills the answer with a line of text.
void hs_http_answer__text(struct hs_http_answer *answer, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct hs_http_page {
    const char *method; // "GET" (which also answers HEAD), "POST"
    const char *path;   // "/data/{id}/tree"; of two that match the first is taken
    void (*serve)(void *context, const struct hs_http_request *request, struct hs_http_answer *answer);
    const void *detail; // of the page, for whoever serves it
    const char *accept; // only for requests whose Accept header names this type; NULL: for all
    // Holds nothing that is of anybody: it is answered without a token, too, and other sites may lead to it. With
    // `accept`, it is where browsers log in: "?token=TOKEN" becomes a cookie, and the address loses it.
    bool open;
};

struct hs_http_server;

struct hs_http_options {
    const char *listen;               // ADDRESS:PORT, [ADDRESS]:PORT; port 0: the kernel chooses one
    const char *token;                // NULL: none
    const struct hs_http_page *pages; // method NULL ends them
    void *context;
    bool at_once; // pages may be served in several threads at the same time; otherwise one at a time
    bool bodies;  // requests may have one
};

// 0, or a negative errno with the reason. The server runs in threads of its own.
int hs_http__start(struct hs_http_server **server, const struct hs_http_options *options, struct hs_error *error);

// "http://127.0.0.1:4711"
const char *hs_http__address(const struct hs_http_server *server);
void hs_http__stop(struct hs_http_server *server);

#endif
