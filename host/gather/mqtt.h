// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The thread that receives what devices publish through a broker.
#ifndef HEAPSONDE_HOST_GATHER_MQTT_H
#define HEAPSONDE_HOST_GATHER_MQTT_H

#include "host/gather/broker.h"
#include "host/gather/parcels.h"

struct hs_mqtt;

// `broker` without its callbacks. `parcels` without its own.
struct hs_mqtt_options {
    struct hs_broker_options broker;
    struct hs_parcels_options parcels;
};

int hs_mqtt__start(struct hs_mqtt **mqtt, const struct hs_mqtt_options *options, struct hs_error *error);
void hs_mqtt__stored(struct hs_mqtt *mqtt, uint64_t claim);
// Stops receiving. hs_mqtt__stored may still be called, until it is freed.
void hs_mqtt__stop(struct hs_mqtt *mqtt);
void hs_mqtt__free(struct hs_mqtt *mqtt);

#endif
