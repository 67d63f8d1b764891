// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages for whoever asked for them with HEAPSONDE_LOG. Otherwise nothing is printed but what keeps the recorder from
// recording what it was asked for, once, when it starts.
#ifndef HEAPSONDE_RUNTIME_LOG_H
#define HEAPSONDE_RUNTIME_LOG_H

#include "runtime/config.h"

// Writes "heapsonde: PID TID LEVEL message detail (error)" in one write to LOGFILE or standard error. `detail` may be
// NULL and `error` 0. Async-signal-safe; leaves errno alone.
void hs_log(enum hs_log_level level, const char *message, const char *detail, int error);

#endif
