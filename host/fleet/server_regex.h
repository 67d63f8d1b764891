// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Regular expressions of the filter language (PCRE2) in the syntax of the server (RE2).
#ifndef HEAPSONDE_HOST_FLEET_SERVER_REGEX_H
#define HEAPSONDE_HOST_FLEET_SERVER_REGEX_H

#include "host/base/error.h"

// `name` is the parameter's, for messages. NULL with an error: it has what RE2 lacks. The caller frees it.
char *hs_server_regex__of_perl(const char *name, const char *text, struct hs_error *error);

// The same of the name of a library, which may have *, ? and [...]: without a slash it is that of the file alone. It is
// for the hexadecimal digits of a path. NULL: out of memory.
char *hs_server_regex__of_library(const char *text);

#endif
