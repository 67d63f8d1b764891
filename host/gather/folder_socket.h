// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The socket in a folder of gathered traces, by which others on this machine see which devices are connected, and
// command them over the connections that they have. Only the user of the gatherer and root may use it.
//
// A connection carries one request, a line:
//
//   devices [EXPRESSION]   answers with an array of JSON: the processes of this run that `gather --select` would choose
//   ask FILE REQUEST       sends REQUEST (docs/protocol.md, 2.5) to the process that writes FILE of the folder
//
// Answers have the form of those of control sockets (runtime/prof/control_answer.h). That of `ask` has "status N" of
// the device, and its text as the body.
#ifndef HEAPSONDE_HOST_GATHER_FOLDER_SOCKET_H
#define HEAPSONDE_HOST_GATHER_FOLDER_SOCKET_H

#include "host/gather/worker.h"

#define HS_FOLDER_SOCKET_NAME ".heapsonde-gather.socket"

struct hs_folder_socket;

// 0, or a negative errno with the error set: there is no socket then.
int hs_folder_socket__start(struct hs_folder_socket **socket, struct hs_traces *traces, struct hs_workers *workers,
                            struct hs_error *error);
void hs_folder_socket__stop(struct hs_folder_socket *socket); // NULL: nothing

#endif
