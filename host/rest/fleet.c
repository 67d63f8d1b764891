// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/fleet.h"

#include "host/base/clock.h"
#include "host/fleet/database.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_NS 50000000

struct hs_rest_fleet {
    char *address; // with the password
    char *shown;
    unsigned seconds;
    pthread_mutex_t lock; // of the rest
    struct hs_database *idle[HS_FLEET_CONNECTIONS];
    unsigned idle_count, taken;
};

int hs_rest_fleet__create(struct hs_rest_fleet **result, const char *address, unsigned seconds, struct hs_error *error)
{
    struct hs_database *database;
    int failed = hs_database__open(address, &database, error);
    if (failed)
        return failed;
    struct hs_rest_fleet *fleet = calloc(1, sizeof(*fleet));
    if (fleet) {
        pthread_mutex_init(&fleet->lock, NULL);
        fleet->seconds = seconds;
        fleet->address = strdup(address);
        fleet->shown = strdup(hs_database__address(database));
        fleet->idle[fleet->idle_count++] = database;
    }
    *result = fleet;
    if (fleet && fleet->address && fleet->shown)
        return 0;
    if (!fleet)
        hs_database__close(database);
    hs_rest_fleet__destroy(fleet);
    return hs_error__set(error, ENOMEM, "out of memory");
}

void hs_rest_fleet__destroy(struct hs_rest_fleet *fleet)
{
    if (!fleet)
        return;
    while (fleet->idle_count)
        hs_database__close(fleet->idle[--fleet->idle_count]);
    pthread_mutex_destroy(&fleet->lock);
    free(fleet->address);
    free(fleet->shown);
    free(fleet);
}

const char *hs_rest_fleet__address(const struct hs_rest_fleet *fleet)
{
    return fleet->shown;
}

// False: all are taken. `*database` is NULL if one has to be opened.
static bool take_turn(struct hs_rest_fleet *fleet, struct hs_database **database)
{
    pthread_mutex_lock(&fleet->lock);
    const bool free_one = fleet->taken < HS_FLEET_CONNECTIONS;
    fleet->taken += free_one;
    *database = free_one && fleet->idle_count ? fleet->idle[--fleet->idle_count] : NULL;
    pthread_mutex_unlock(&fleet->lock);
    return free_one;
}

int hs_rest_fleet__take(struct hs_rest_fleet *fleet, const int *cancel, struct hs_database **database,
                        struct hs_error *error)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    const uint64_t until = hs_clock__now() + fleet->seconds * (uint64_t)1000000000;
    while (!take_turn(fleet, database)) {
        if (__atomic_load_n(cancel, __ATOMIC_RELAXED))
            return hs_error__set(error, ECANCELED, "cancelled");
        if (hs_clock__now() > until)
            return hs_error__set(error, ETIMEDOUT, "%s: %d other questions are not answered yet; ask later",
                                 fleet->shown, HS_FLEET_CONNECTIONS);
        nanosleep(&step, NULL);
    }
    int failed = *database ? 0 : hs_database__open(fleet->address, database, error);
    if (failed)
        hs_rest_fleet__give_back(fleet, NULL);
    else
        hs_database__limit(*database, cancel, fleet->seconds);
    return failed;
}

void hs_rest_fleet__give_back(struct hs_rest_fleet *fleet, struct hs_database *database)
{
    if (database)
        hs_database__limit(database, NULL, fleet->seconds);
    pthread_mutex_lock(&fleet->lock);
    fleet->taken--;
    if (database)
        fleet->idle[fleet->idle_count++] = database;
    pthread_mutex_unlock(&fleet->lock);
}
