// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The facts that a device sends about itself, in STREAM and in announcements. None of them is trusted: they are
// bounded, and may contain any bytes except NUL.
#ifndef HEAPSONDE_HOST_GATHER_DEVICE_H
#define HEAPSONDE_HOST_GATHER_DEVICE_H

#include "host/gather/address.h"
#include "host/gather/select.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_TRACE_ID_SIZE 16

struct hs_device {
    uint8_t trace_id[HS_TRACE_ID_SIZE];
    char name[64]; // of the program's file
    char device[64];
    char pid[16];
    char labels[512];
    char policy[16];
    char shim[16];                 // recorder, sampler
    char address[HS_ADDRESS_TEXT]; // without the port; not sent by the device
};

// Reads pairs of strings, up to `end`. False: they are damaged.
bool hs_device__read(struct hs_device *device, const uint8_t *pairs, const uint8_t *end);

bool hs_device__is_selected(const struct hs_device *device, const struct hs_select *select);

// Converts `from`, which may contain any bytes, to a name of letters, digits, dot, dash and underscore.
void hs_device__safe_name(char *to, size_t size, const char *from);

// The name under which the quota of a device is counted: its own name or, if it has none, its address.
const char *hs_device__title(const struct hs_device *device);

#endif
