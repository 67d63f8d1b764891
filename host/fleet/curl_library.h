// SPDX-License-Identifier: MIT OR Apache-2.0
//
// libcurl, loaded when it is needed: the command starts without it.
#ifndef HEAPSONDE_HOST_FLEET_CURL_LIBRARY_H
#define HEAPSONDE_HOST_FLEET_CURL_LIBRARY_H

#include "host/base/loaded_library.h"

#define CURL_DISABLE_TYPECHECK // its macros name functions that are not linked
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo

#define HS_CURL_FUNCTIONS(X)                                                                                           \
    X(curl_global_init)                                                                                                \
    X(curl_easy_init)                                                                                                  \
    X(curl_easy_cleanup)                                                                                               \
    X(curl_easy_reset)                                                                                                 \
    X(curl_easy_perform)                                                                                               \
    X(curl_easy_setopt)                                                                                                \
    X(curl_easy_getinfo)                                                                                               \
    X(curl_easy_escape)                                                                                                \
    X(curl_easy_strerror)                                                                                              \
    X(curl_slist_append)                                                                                               \
    X(curl_slist_free_all)                                                                                             \
    X(curl_free)                                                                                                       \
    X(curl_url)                                                                                                        \
    X(curl_url_cleanup)                                                                                                \
    X(curl_url_get)                                                                                                    \
    X(curl_url_set)

struct hs_curl_library {
    HS_CURL_FUNCTIONS(HS_LIBRARY_MEMBER)
};

// Loads it at the first call; thread-safe. NULL: it is not there, and `error` says what to install.
const struct hs_curl_library *hs_curl_library__get(struct hs_error *error);

#endif
