// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The other end of the control socket of a process with libheapsonde-prof.so: runtime/prof/control_request.h says what
// can be asked. Each question is a connection of its own. What comes back is bounded and checked.
#ifndef HEAPSONDE_HOST_CTL_CLIENT_H
#define HEAPSONDE_HOST_CTL_CLIENT_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_ctl_answer {
    char *head; // lines "KEY VALUE", ended by a NUL
    char *body; // NULL: none; followed by a NUL
    size_t body_length;
};

// `request` without its newline. Returns 0, or a negative errno: -ECONNREFUSED and -ENOENT when nobody listens there,
// -ECONNRESET when the process ended meanwhile, -EPROTO for what is no answer; what the process itself refuses is
// -EREMOTEIO, or its own errno.
int hs_ctl__ask(const char *socket, const char *request, struct hs_ctl_answer *answer, struct hs_error *error);
void hs_ctl_answer__free(struct hs_ctl_answer *answer);

// The value of a key, up to the end of its line; false when it is missing or does not fit.
bool hs_ctl_answer__text(const struct hs_ctl_answer *answer, const char *key, char *value, size_t size);
uint64_t hs_ctl_answer__number(const struct hs_ctl_answer *answer, const char *key); // 0 when missing
bool hs_ctl_answer__flag(const struct hs_ctl_answer *answer, const char *key);

// The process that listens at `socket`, as seen from here (0: not visible), and its user. 0 or -errno.
int hs_ctl__owner(const char *socket, pid_t *pid, uid_t *user);

#endif
