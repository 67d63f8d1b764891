// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sends requests to a device over the network (docs/protocol.md, 2.5), with one connection per request.
#ifndef HEAPSONDE_HOST_GATHER_CONTROL_H
#define HEAPSONDE_HOST_GATHER_CONTROL_H

#include "host/gather/hearing.h"

struct hs_control_answer {
    uint32_t status; // 0: done, else an errno
    char *text;      // bytes from the device, ended by a NUL; the caller frees it
    size_t length;
    uint8_t *body; // the bytes before the text; NULL: none. The caller frees it
    size_t body_length;
    struct hs_device device; // the device that answered
};

// Zeros: without limits.
struct hs_control_limits {
    const char *trace; // only the process that writes the trace with this id gets the request, others are -ESRCH
    const int *cancel; // it ends with -ECANCELED soon after this becomes not 0
    bool text_only;    // an answer with a body is refused
};

// Connects to the first address that answers. 0, or a negative errno with the reason in `error`.
int hs_control__ask(const struct hs_address *addresses, int count, const struct hs_shared_key *key, const char *request,
                    const struct hs_control_limits *limits, struct hs_control_answer *answer, struct hs_error *error);

// Listens at most three seconds for announcements of a device or program of this name. 0, or a negative errno; -EEXIST:
// there are several.
int hs_control__find(const char *name, const struct hs_shared_key *key, bool anywhere, struct hs_address *address,
                     struct hs_error *error);

#endif
