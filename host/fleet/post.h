// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One HTTP request that carries a profile to a server that is not ours.
#ifndef HEAPSONDE_HOST_FLEET_POST_H
#define HEAPSONDE_HOST_FLEET_POST_H

#include "host/base/buffer.h"
#include "host/base/error.h"

struct hs_post {
    const char *url;  // http:// or https://, with USER:PASSWORD@ or not; without a query
    const char *path; // appended to the path of `url` unless it ends so already: "/ingest"
    // NULL or the names and values of the query, one after another; they are escaped. NULL ends them.
    const char *const *query;
    const char *type;           // Content-Type
    bool packed;                // the body is compressed with gzip, and a header says so
    const char *const *headers; // further ones, "Name: value"
    size_t header_count;
    const struct hs_buffer *body;
};

// Sends it and receives the body of the answer, ended by a NUL that does not count, which the caller frees; at most a
// megabyte. 0 if the server takes it (200 to 299), or a negative errno with one line in `error`, which has no password:
//   -EINVAL        the address is none
//   -ECONNREFUSED  the server cannot be reached, or the connection was lost
//   -EREMOTEIO     the server refuses it, or redirects elsewhere
int hs_post__send(const struct hs_post *post, struct hs_buffer *answer, struct hs_error *error);

#endif
