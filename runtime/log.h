// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages for users who set HEAPSONDE_LOG. Otherwise one line is printed at the start, and only if the recorder cannot
// record, or not what was requested.
#ifndef HEAPSONDE_RUNTIME_LOG_H
#define HEAPSONDE_RUNTIME_LOG_H

#include "runtime/config.h"

// Writes "heapsonde: PID TID LEVEL message detail (error)" in one write to LOGFILE or standard error. `detail` may be
// NULL and `error` 0. Async-signal-safe; leaves errno alone.
void hs_log(enum hs_log_level level, const char *message, const char *detail, int error);

#endif
