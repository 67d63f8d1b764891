// SPDX-License-Identifier: MIT OR Apache-2.0
//
// libmosquitto, loaded when it is needed: the command starts without it.
#ifndef HEAPSONDE_HOST_GATHER_MOSQUITTO_LIBRARY_H
#define HEAPSONDE_HOST_GATHER_MOSQUITTO_LIBRARY_H

#include "host/base/loaded_library.h"

#include <mosquitto.h>

#define HS_MOSQUITTO_FUNCTIONS(X)                                                                                      \
    X(mosquitto_lib_init)                                                                                              \
    X(mosquitto_new)                                                                                                   \
    X(mosquitto_destroy)                                                                                               \
    X(mosquitto_int_option)                                                                                            \
    X(mosquitto_username_pw_set)                                                                                       \
    X(mosquitto_tls_set)                                                                                               \
    X(mosquitto_connect)                                                                                               \
    X(mosquitto_disconnect)                                                                                            \
    X(mosquitto_subscribe)                                                                                             \
    X(mosquitto_publish)                                                                                               \
    X(mosquitto_loop)                                                                                                  \
    X(mosquitto_strerror)                                                                                              \
    X(mosquitto_connack_string)                                                                                        \
    X(mosquitto_pub_topic_check)                                                                                       \
    X(mosquitto_sub_topic_check)                                                                                       \
    X(mosquitto_connect_callback_set)                                                                                  \
    X(mosquitto_publish_callback_set)                                                                                  \
    X(mosquitto_subscribe_callback_set)                                                                                \
    X(mosquitto_message_callback_set)

struct hs_mosquitto_library {
    HS_MOSQUITTO_FUNCTIONS(HS_LIBRARY_MEMBER)
};

// Loads it at the first call; thread-safe. NULL: it is not there, and `error` says what to install.
const struct hs_mosquitto_library *hs_mosquitto_library__get(struct hs_error *error);

#endif
