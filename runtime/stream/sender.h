// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sender: takes the stream's bytes out of the ring and brings them to a host, or writes them to a descriptor.
#ifndef HEAPSONDE_RUNTIME_STREAM_SENDER_H
#define HEAPSONDE_RUNTIME_STREAM_SENDER_H

#include <stdbool.h>

// Checks what the configuration says about addresses and the key, once, before the sender starts. False: the log says
// what is wrong.
bool hs_sender__prepare(void);

// Runs until everything is sent, or it is asked to quit; then returns. Of the sender alone.
void hs_sender__main(void *unused);

// In a forked child.
void hs_sender__reset(void);

#endif
