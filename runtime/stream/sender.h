// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sender: takes the bytes of the stream from the ring and sends them to a host, or writes them to a descriptor.
#ifndef HEAPSONDE_RUNTIME_STREAM_SENDER_H
#define HEAPSONDE_RUNTIME_STREAM_SENDER_H

#include <stdbool.h>

// Checks addresses and key in the configuration, once, before the sender starts. False: the problem is in the log.
bool hs_sender__prepare(void);

// Runs until everything is sent, or until it is asked to quit. Called only by the sender.
void hs_sender__main(void *unused);

// In the program whose child has taken over the sending: the child keeps the socket.
void hs_sender__close_listener(void);

// In a forked child.
void hs_sender__reset(void);

#endif
