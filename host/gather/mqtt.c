// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/mqtt.h"

#include "host/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_MS = 50 };
// A message is one step. Work on all connections is done once per period, not for each message.
#define TICK_PERIOD (50 * HS_MILLISECOND)

struct hs_mqtt {
    struct hs_mqtt_options options;
    struct hs_broker *broker;
    struct hs_parcels *parcels;
    pthread_t thread;
    _Atomic bool ends;
};

static void take(void *data, const char *topic, uint8_t *bytes, size_t size)
{
    struct hs_mqtt *mqtt = data;
    hs_parcels__take(mqtt->parcels, topic, bytes, size, hs_clock__now());
}

// An answer that is lost is asked for again.
static void answer(void *data, const char *topic, const uint8_t *bytes, size_t size)
{
    struct hs_mqtt *mqtt = data;
    hs_broker__publish(mqtt->broker, topic, bytes, size);
}

static void set_state(void *data, const char *lost)
{
    struct hs_mqtt *mqtt = data;
    hs_notices__broker(mqtt->options.parcels.context.notices, mqtt->options.broker.url, lost);
}

static void *run(void *data)
{
    struct hs_mqtt *mqtt = data;
    uint64_t last = 0;
    while (!atomic_load(&mqtt->ends)) {
        hs_broker__step(mqtt->broker, STEP_MS);
        uint64_t now = hs_clock__now();
        if (now - last < TICK_PERIOD)
            continue;
        last = now;
        hs_parcels__tick(mqtt->parcels, now);
    }
    return NULL;
}

static void free_all(struct hs_mqtt *mqtt)
{
    if (mqtt->broker)
        hs_broker__close(mqtt->broker);
    if (mqtt->parcels)
        hs_parcels__free(mqtt->parcels);
    free(mqtt);
}

int hs_mqtt__start(struct hs_mqtt **result, const struct hs_mqtt_options *options, struct hs_error *error)
{
    struct hs_mqtt *mqtt = calloc(1, sizeof(*mqtt));
    if (!mqtt)
        return hs_error__set(error, ENOMEM, "out of memory");
    mqtt->options = *options;
    mqtt->options.broker.message = take;
    mqtt->options.broker.state = set_state;
    mqtt->options.broker.data = mqtt;
    mqtt->options.parcels.answer = answer;
    mqtt->options.parcels.data = mqtt;
    mqtt->parcels = hs_parcels__create(&mqtt->options.parcels);
    int failed = mqtt->parcels ? hs_broker__open(&mqtt->broker, &mqtt->options.broker, error)
                               : hs_error__set(error, ENOMEM, "out of memory");
    // The first trace may be on the disk, and reported to it, before this thread goes on.
    *result = mqtt;
    int problem = failed ? 0 : pthread_create(&mqtt->thread, NULL, run, mqtt);
    if (problem)
        failed = hs_error__set(error, problem, "a thread cannot be started: %s", strerror(problem));
    if (!failed)
        return 0;
    *result = NULL;
    free_all(mqtt);
    return failed;
}

void hs_mqtt__stored(struct hs_mqtt *mqtt, uint64_t claim)
{
    hs_parcels__stored(mqtt->parcels, claim);
}

void hs_mqtt__stop(struct hs_mqtt *mqtt)
{
    atomic_store(&mqtt->ends, true);
    pthread_join(mqtt->thread, NULL);
    hs_parcels__tick(mqtt->parcels, hs_clock__now());
    hs_broker__close(mqtt->broker);
    mqtt->broker = NULL;
    hs_parcels__close(mqtt->parcels);
}

void hs_mqtt__free(struct hs_mqtt *mqtt)
{
    free_all(mqtt);
}
