// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/offer.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/stream/stream_internal.h"
#include "runtime/text.h"

#include <sys/utsname.h>

#define TAKE_OVER_NS 2000000000ull

struct hs_offer hs_offer;

uint64_t hs_offer__head(void)
{
    return hs_offer.tail + (uint32_t)(hs_stream_ring__head(&hs_stream.ring) - (uint32_t)hs_offer.tail);
}

static void add_pair(uint8_t **at, const uint8_t *end, const char *key, const char *value)
{
    hs_wire_pair__write(at, end, key, value, hs_text__length(value));
}

static void add_number(uint8_t **at, const uint8_t *end, const char *key, uint64_t value)
{
    char buffer[24];
    struct hs_text text;
    hs_text__start(&text, buffer, sizeof buffer);
    hs_text__add_number(&text, value);
    add_pair(at, end, key, buffer);
}

static void add_device(uint8_t **at, const uint8_t *end)
{
    struct utsname names;
    if (hs_config.device[0])
        add_pair(at, end, "device", hs_config.device);
    else if (HS_SYSTEM1(SYS_uname, &names) == 0)
        add_pair(at, end, "device", names.nodename);
}

void hs_offer__describe_process(uint8_t **at, const uint8_t *end)
{
    static const char policies[][6] = {"block", "drop", "spill"};
    char path[512];
    long length = hs_system_executable(path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    add_pair(at, end, "executable", path);
    add_number(at, end, "pid", hs_stream.process);
    add_device(at, end);
    add_pair(at, end, "labels", hs_config.labels);
    add_number(at, end, "machine", HS_ARCH_ELF_MACHINE);
    add_number(at, end, "since",
               hs_wire__get(hs_stream.header + __builtin_offsetof(struct hs_file_header, start_realtime_ns), 8));
    add_pair(at, end, "policy", policies[hs_config.policy]);
    bool samples = hs_stream.header[__builtin_offsetof(struct hs_file_header, content)] == HS_CONTENT_DUMPS;
    add_pair(at, end, "shim", samples ? "sampler" : "recorder");
}

const uint8_t *hs_offer__trace_id(void)
{
    return hs_stream.header + __builtin_offsetof(struct hs_file_header, trace_id);
}

uint32_t hs_offer__describe(uint8_t *payload)
{
    uint8_t *at = payload + HS_WIRE_STREAM_MIN;
    __builtin_memcpy(payload, hs_offer__trace_id(), 16);
    hs_wire__put(payload + 16, hs_offer.tail, 8);
    hs_wire__put(payload + 24, hs_offer__head(), 8);
    hs_offer__describe_process(&at, payload + HS_WIRE_PAYLOAD_MAX);
    return (uint32_t)(at - payload);
}

const char *hs_offer__want(struct hs_link *link, uint64_t offset)
{
    uint64_t now = hs_clock__monotonic_ns();
    if (hs_offer.owner && hs_offer.owner != link && now - hs_offer.owner->heard_ns < TAKE_OVER_NS)
        return "another host takes this stream";
    if (offset < hs_offer.tail || offset > hs_offer__head())
        return "these bytes are no longer available";
    if (hs_offer.owner && hs_offer.owner != link) {
        hs_offer.owner->wants = false;
        hs_offer.owner->is_replaced = true;
    }
    hs_offer.owner = link;
    link->wants = true;
    link->sent = offset;
    return NULL;
}

void hs_offer__acknowledged(const struct hs_link *link, uint64_t offset)
{
    if (link != hs_offer.owner || offset <= hs_offer.tail)
        return;
    hs_offer.tail = offset;
    hs_offer.acknowledged_ns = hs_clock__monotonic_ns();
    hs_stream__sent((uint32_t)offset);
}

uint32_t hs_offer__read(uint64_t offset, uint8_t *to, uint32_t length)
{
    const uint8_t *data;
    uint32_t there = hs_stream_ring__peek(&hs_stream.ring, (uint32_t)offset, &data);
    if (there < length)
        length = there;
    __builtin_memcpy(to, data, length);
    return length;
}

bool hs_offer__ends_at(uint64_t offset)
{
    return hs_stream__is_complete() && offset == hs_offer__head();
}

void hs_offer__closed_by_host(const struct hs_link *link)
{
    hs_offer.end_heard =
        hs_offer.end_heard || (link == hs_offer.owner && link->is_shut && hs_offer__ends_at(hs_offer.tail));
}
