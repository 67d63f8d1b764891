// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A request to a device over the connection that its stream comes by (docs/protocol.md, 2.5). One thread makes it and
// waits, another one sends it. Both have a reference.
#ifndef HEAPSONDE_HOST_GATHER_REQUEST_H
#define HEAPSONDE_HOST_GATHER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_GATHER_REQUEST_MOST = 511 }; // bytes

struct hs_gather_request;

struct hs_gather_reply {
    int problem;     // 0, or why there is no answer: -ENOTCONN, -EBUSY, -ETIMEDOUT, -ENOMEM
    uint32_t status; // of the device: 0 done, else an errno
    char *text;      // its bytes, ended by a NUL; the caller frees it
};

// NULL: out of memory, or the text is too long. It has two references.
struct hs_gather_request *hs_gather_request__create(const char *text);
void hs_gather_request__release(struct hs_gather_request *request);

// For the thread that asks: true when there is a reply, which may be taken once; false after `ns` without one.
bool hs_gather_request__wait(struct hs_gather_request *request, uint64_t ns, struct hs_gather_reply *reply);

// For the thread that sends. hs_gather_request__answer or __fail is called once and releases its reference.
bool hs_gather_request__is_given_up(struct hs_gather_request *request); // nobody waits for the reply now
const char *hs_gather_request__text(const struct hs_gather_request *request);
void hs_gather_request__answer(struct hs_gather_request *request, uint32_t status, const uint8_t *text, size_t length);
void hs_gather_request__fail(struct hs_gather_request *request, int problem);

#endif
