// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/mosquitto_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct hs_mosquitto_library library;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *handle = dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    loaded = true;
    HS_MOSQUITTO_FUNCTIONS(HS_LIBRARY_LOOK_UP)
    if (loaded)
        loaded = library.mosquitto_lib_init() == MOSQ_ERR_SUCCESS;
}

const struct hs_mosquitto_library *hs_mosquitto_library__get(struct hs_error *error)
{
    pthread_once(&once, load);
    if (loaded)
        return &library;
    hs_library__is_missing(error, "libmosquitto.so.1", "libmosquitto1");
    return NULL;
}
