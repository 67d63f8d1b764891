// SPDX-License-Identifier: MIT OR Apache-2.0
//
// SIGHUP, SIGINT and SIGTERM while a file is read into temporary files: the reading is cancelled and removes them, then
// the process ends by the signal. A second signal ends it at once.
#ifndef HEAPSONDE_HOST_CLI_CANCELLING_H
#define HEAPSONDE_HOST_CLI_CANCELLING_H

#include <signal.h>

enum { HS_CANCELLING_SIGNALS = 3 };

struct hs_cancelling {
    struct sigaction before[HS_CANCELLING_SIGNALS];
};

// Catches those of the signals that would end the process. Returns what is not 0 when the reading has to end. Only one
// thread may do this at a time.
const int *hs_cancelling__begin(struct hs_cancelling *cancelling);
// Does not return if a signal came.
void hs_cancelling__end(struct hs_cancelling *cancelling);

#endif
