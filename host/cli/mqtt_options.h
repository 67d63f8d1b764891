// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What every command that uses a broker takes.
#ifndef HEAPSONDE_HOST_CLI_MQTT_OPTIONS_H
#define HEAPSONDE_HOST_CLI_MQTT_OPTIONS_H

#include "host/cli/command.h"
#include "host/gather/broker.h"
#include "host/gather/shared_key.h"

// clang-format off
#define HS_MQTT_OPTIONS                                                                                                \
    {.name = "mqtt-user", .only_with = "mqtt", .kind = HS_OPTION_TEXT, .argument = "NAME", .help = "with --mqtt: the user for the broker"},  \
    {.name = "mqtt-password-file", .only_with = "mqtt-user", .kind = HS_OPTION_FILE, .argument = "FILE", .help = "with --mqtt-user: a file with the password, to which only its owner may have access"}, \
    {.name = "mqtt-ca", .only_with = "mqtt", .kind = HS_OPTION_FILE, .argument = "FILE", .help = "with mqtts://: trust the certificates in this file instead of those of the system"}
// clang-format on

// Reads those that the broker needs, and --topic, which may contain wildcards (`filter`). Without a key or --insecure,
// the broker has to be on this machine. Returns 0, or the exit status after a line on standard error.
int hs_mqtt_options__read(const struct hs_arguments *arguments, const struct hs_shared_key *key, bool filter,
                          struct hs_broker_options *options);

#endif
