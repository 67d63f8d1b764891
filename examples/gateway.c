// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small gateway to look at with heapsonde. Devices send readings; the gateway keeps a session for each device that is
// connected, a bounded cache of the last readings, and a summary line for each message, which it drops at once.
//
// It has one fault: a device that comes back gets a new route, and nobody frees the old one. So its memory grows
// slowly, for as long as it runs.
//
// Usage: gateway [MESSAGES]. The same messages in each run.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 500, CACHED_READINGS = 2000, DEFAULT_MESSAGES = 400000, MESSAGES_PER_RECONNECT = 40 };

struct route {
    char next_hop[64];
    uint8_t metrics[448];
};

struct session {
    char *name;
    struct route *route;
    uint64_t messages;
};

struct reading {
    uint32_t device;
    size_t length;
    char *payload;
};

static struct session sessions[DEVICES];
static struct reading *cache[CACHED_READINGS];
static uint64_t total_bytes;

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block) {
        fputs("gateway: out of memory\n", stderr);
        exit(1);
    }
    return block;
}

static uint32_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static struct route *find_route(uint32_t device)
{
    struct route *route = allocate(sizeof *route);
    memset(route, 0, sizeof *route);
    snprintf(route->next_hop, sizeof route->next_hop, "10.0.%u.%u", device / 250, device % 250 + 1);
    return route;
}

// The old route is forgotten here.
static void connect_device(uint32_t device)
{
    struct session *session = &sessions[device];
    if (!session->name) {
        session->name = allocate(32);
        snprintf(session->name, 32, "device-%u", device);
    }
    session->route = find_route(device);
}

static void free_reading(struct reading *reading)
{
    if (!reading)
        return;
    free(reading->payload);
    free(reading);
}

static void cache_reading(struct reading *reading)
{
    struct reading **slot = &cache[(reading->device * 4 + next_random() % 4) % CACHED_READINGS];
    free_reading(*slot);
    *slot = reading;
}

static struct reading *parse_message(uint32_t device)
{
    struct reading *reading = allocate(sizeof *reading);
    reading->device = device;
    reading->length = 40 + next_random() % 200;
    reading->payload = allocate(reading->length);
    memset(reading->payload, (int)('a' + device % 26), reading->length);
    return reading;
}

static void log_message(const struct session *session, const struct reading *reading)
{
    char *line = allocate(160);
    int length = snprintf(line, 160, "%s via %s: %zu bytes", session->name, session->route->next_hop, reading->length);
    total_bytes += (uint64_t)length;
    free(line);
}

static void handle_message(uint32_t device)
{
    struct session *session = &sessions[device];
    if (!session->name || session->messages % MESSAGES_PER_RECONNECT == 0)
        connect_device(device);
    session->messages++;
    struct reading *reading = parse_message(device);
    log_message(session, reading);
    cache_reading(reading);
}

static void shut_down(void)
{
    for (int i = 0; i < CACHED_READINGS; i++)
        free_reading(cache[i]);
    for (int i = 0; i < DEVICES; i++) {
        free(sessions[i].route);
        free(sessions[i].name);
    }
}

int main(int count, char **arguments)
{
    long messages = count > 1 ? atol(arguments[1]) : DEFAULT_MESSAGES;
    for (long i = 0; i < messages; i++)
        handle_message(next_random() % DEVICES);
    shut_down();
    printf("%ld messages, %llu bytes logged\n", messages, (unsigned long long)total_bytes);
    return 0;
}
