// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/device.h"

#include "format/wire.h"

#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t size, const char *from, size_t length)
{
    length = strnlen(from, length);
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = 0;
}

static void take_name(struct hs_device *device, const struct hs_wire_text *path)
{
    size_t length = strnlen(path->data, path->length);
    size_t begin = length;
    while (begin && path->data[begin - 1] != '/')
        begin--;
    copy(device->name, sizeof(device->name), path->data + begin, length - begin);
}

static void take_pair(struct hs_device *device, const struct hs_wire_text *key, const struct hs_wire_text *value)
{
    const struct {
        const char *key;
        char *to;
        size_t size;
    } places[] = {
        {"device", device->device, sizeof(device->device)}, {"pid", device->pid, sizeof(device->pid)},
        {"labels", device->labels, sizeof(device->labels)}, {"policy", device->policy, sizeof(device->policy)},
        {"shim", device->shim, sizeof(device->shim)},
    };
    if (key->length == 10 && !memcmp(key->data, "executable", 10))
        take_name(device, value);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (key->length == strlen(places[i].key) && !memcmp(key->data, places[i].key, key->length))
            copy(places[i].to, places[i].size, value->data, value->length);
}

bool hs_device__read(struct hs_device *device, const uint8_t *pairs, const uint8_t *end)
{
    struct hs_wire_text key, value;
    while (pairs < end) {
        if (!hs_wire_pair__read(&pairs, end, &key, &value))
            return false;
        take_pair(device, &key, &value);
    }
    return true;
}

bool hs_device__is_selected(const struct hs_device *device, const struct hs_select *select)
{
    struct hs_select_subject subject = {.name = device->name,
                                        .device = device->device,
                                        .pid = device->pid,
                                        .address = device->address,
                                        .labels = device->labels};
    return hs_select__matches(select, &subject);
}

const char *hs_device__title(const struct hs_device *device)
{
    return device->device[0] ? device->device : device->address;
}

void hs_device__safe_name(char *to, size_t size, const char *from)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = 0;
    for (; *from && length + 1 < size; from++)
        to[length++] = strchr(allowed, *from) ? *from : '_';
    to[length] = 0;
    if (!length)
        snprintf(to, size, "unknown");
}
