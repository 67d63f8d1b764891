// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Asks a device over the wire (docs/protocol.md, 2.5): a connection of its own for each question.
#ifndef HEAPSONDE_HOST_GATHER_CONTROL_H
#define HEAPSONDE_HOST_GATHER_CONTROL_H

#include "host/gather/hearing.h"

struct hs_control_answer {
    uint32_t status; // 0: done, else an errno
    char *text;      // ended by a NUL, to be freed; bytes of the device
    size_t length;
    uint8_t *body; // what came before the text, NULL: nothing; to be freed
    size_t body_length;
    struct hs_device device; // who answered
};

// Connects to the first of the addresses that answers. 0, or a negative errno with the reason in `error`.
int hs_control__ask(const struct hs_address *addresses, int count, const struct hs_shared_key *key, const char *request,
                    struct hs_control_answer *answer, struct hs_error *error);

// Listens for announcements of a device or a program of this name, for three seconds at most. 0, or a negative errno;
// -EEXIST when there are several.
int hs_control__find(const char *name, const struct hs_shared_key *key, bool anywhere, struct hs_address *address,
                     struct hs_error *error);

#endif
