// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde push --mqtt: traces, as they are, to `heapsonde gather` behind a broker.
#ifndef HEAPSONDE_HOST_CLI_PUSH_MQTT_H
#define HEAPSONDE_HOST_CLI_PUSH_MQTT_H

#include "host/cli/command.h"

int hs_push_mqtt__run(const struct hs_arguments *arguments); // returns the exit status

#endif
