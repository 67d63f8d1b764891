// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A connection to an MQTT 3.1.1 broker, with libmosquitto. It comes back by itself. One thread uses it, and is called
// back from hs_broker__step and hs_broker__close only.
#ifndef HEAPSONDE_HOST_GATHER_BROKER_H
#define HEAPSONDE_HOST_GATHER_BROKER_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_broker_options {
    const char *url;           // tcp://, mqtt:// or mqtts://HOST[:PORT]
    const char *ca_file;       // mqtts: NULL for the system's
    const char *user;          // NULL: none
    const char *password_file; // NULL: none
    const char *client;        // NULL: a random name; else the broker keeps messages for it while it is away
    const char *filter;        // what is subscribed to
    // The bytes may be changed.
    void (*message)(void *data, const char *topic, uint8_t *bytes, size_t size);
    // The broker is there, and messages come; or it is not (`lost` says why). Called when this changes.
    void (*state)(void *data, const char *lost);
    void *data;
};

struct hs_broker;

// Parts of a URL. `address` is HOST:PORT.
struct hs_broker_url {
    char address[280], host[256];
    int port;
    bool tls;
};
int hs_broker_url__read(struct hs_broker_url *url, const char *text, struct hs_error *error);

// Whether a topic can be published to, or subscribed to.
bool hs_broker__is_topic(const char *topic);
bool hs_broker__is_filter(const char *filter);

// Does not wait for the broker. 0, or a negative errno: libmosquitto is not there, or an option is wrong.
int hs_broker__open(struct hs_broker **broker, const struct hs_broker_options *options, struct hs_error *error);
// Receives and sends for this long at most.
void hs_broker__step(struct hs_broker *broker, int milliseconds);
// With QoS 1. False: not now; the broker is away, or has not confirmed enough of what was sent.
bool hs_broker__publish(struct hs_broker *broker, const char *topic, const void *bytes, size_t size);
// Whether it takes a message now.
bool hs_broker__is_free(const struct hs_broker *broker);
// Waits shortly until the broker has confirmed everything.
void hs_broker__close(struct hs_broker *broker);

#endif
