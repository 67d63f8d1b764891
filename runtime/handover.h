// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Passing a descriptor from a hidden thread, which has a table of its own, to the program's table. It goes through a
// Unix socket that has no path: rights and root folder of the process may have changed since the file was opened.
#ifndef HEAPSONDE_RUNTIME_HANDOVER_H
#define HEAPSONDE_RUNTIME_HANDOVER_H

#include <stddef.h>
#include <sys/un.h>

struct hs_handover {
    int socket; // < 0: no transfer is expected
    unsigned length;
    struct sockaddr_un address;
};

// In the receiving thread, before and after the other thread sends. Receiving closes the socket. Another process may
// have sent the descriptor, so the caller has to check it. Returns the descriptor, or a value < 0.
void hs_handover__expect(struct hs_handover *handover);
int hs_handover__receive(struct hs_handover *handover);

void hs_handover__send(const struct hs_handover *handover, int fd);

#endif
