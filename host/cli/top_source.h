// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where `top` gets its answers: a trace file on this machine, or a server.
#ifndef HEAPSONDE_HOST_CLI_TOP_SOURCE_H
#define HEAPSONDE_HOST_CLI_TOP_SOURCE_H

#include "host/cli/subject.h"
#include "host/rest/rest.h"

struct hs_top_source {
    struct hs_rest *rest; // NULL: a server answers
    char *host, *port, *token;
};

// `target` is a file, or the address of a server: http://HOST:PORT, with ?token=TOKEN if it is not in the variable
// HEAPSONDE_TOKEN. 0, or a negative errno with the error set.
int hs_top_source__open(struct hs_top_source *source, const char *target, const struct hs_symbols_options *symbols,
                        struct hs_error *error);
void hs_top_source__close(struct hs_top_source *source);

// The answer to a question about the last trace, such as "summary", as text that the caller frees.
int hs_top_source__ask(struct hs_top_source *source, const char *question, char **answer, struct hs_error *error);

#endif
