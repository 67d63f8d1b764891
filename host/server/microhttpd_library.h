// SPDX-License-Identifier: MIT OR Apache-2.0
//
// libmicrohttpd, loaded when a server starts: it needs ten more libraries. A static command is linked with it.
#ifndef HEAPSONDE_HOST_SERVER_MICROHTTPD_LIBRARY_H
#define HEAPSONDE_HOST_SERVER_MICROHTTPD_LIBRARY_H

#include "host/base/loaded_library.h"

#include <microhttpd.h>

#define HS_MICROHTTPD_FUNCTIONS(X)                                                                                     \
    X(MHD_add_connection)                                                                                              \
    X(MHD_add_response_header)                                                                                         \
    X(MHD_create_response_from_buffer)                                                                                 \
    X(MHD_create_response_from_callback)                                                                               \
    X(MHD_destroy_response)                                                                                            \
    X(MHD_get_connection_info)                                                                                         \
    X(MHD_get_connection_values)                                                                                       \
    X(MHD_lookup_connection_value)                                                                                     \
    X(MHD_queue_response)                                                                                              \
    X(MHD_set_response_options)                                                                                        \
    X(MHD_start_daemon)                                                                                                \
    X(MHD_stop_daemon)

struct hs_microhttpd_library {
    HS_MICROHTTPD_FUNCTIONS(HS_LIBRARY_MEMBER)
};

// Set once hs_microhttpd_library__load() has returned 0.
extern const struct hs_microhttpd_library *hs_mhd;

// Thread-safe. -ENOENT: the library is not there, and `error` says what to install.
int hs_microhttpd_library__load(struct hs_error *error);

#endif
