// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Serves traces until it is interrupted.
#ifndef HEAPSONDE_HOST_CLI_SERVING_H
#define HEAPSONDE_HOST_CLI_SERVING_H

#include "host/cli/command.h"
#include "host/rest/rest.h"
#include "host/symbols/symbols.h"

#include <stdbool.h>
#include <stdio.h>

struct hs_suppressions;

struct hs_serving {
    const struct hs_command *command; // who complains
    const char *listen;               // as hs_http_options.listen
    const char *token;                // may be NULL
    const struct hs_symbols_options *symbols;
    const char *const *paths;
    int count;
    struct hs_rest_folders folders;             // whose traces are shown as they come
    const struct hs_suppressions *suppressions; // of findings; may be NULL
    const char *const *sources;                 // folders with source files that may be shown
    size_t source_count;
    const struct hs_rest_control *control; // commands to processes; NULL: none may be given
    const char *fleet;                     // address of a database of devices; NULL: none
    unsigned fleet_seconds;                // how long its answers may take
    bool open;                             // the browser
    FILE *out;                             // where the address is printed; NULL: standard output
};

// It listens at once, so that browsers can see how far the reading is; the address is printed when all traces can be
// asked about. An exit status.
int hs_serving__run(const struct hs_serving *serving);

#endif
