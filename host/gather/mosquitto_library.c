// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/mosquitto_library.h"

#include <dlfcn.h>
#include <errno.h>
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
#define LOAD(name) loaded &= (library.name = (__typeof__(name) *)dlsym(handle, #name)) != NULL;
    HS_MOSQUITTO_FUNCTIONS(LOAD)
#undef LOAD
    if (loaded)
        loaded = library.mosquitto_lib_init() == MOSQ_ERR_SUCCESS;
}

const struct hs_mosquitto_library *hs_mosquitto_library__get(struct hs_error *error)
{
    pthread_once(&once, load);
    if (loaded)
        return &library;
    hs_error__set(error, ENOENT,
                  "libmosquitto.so.1 is needed for this, but is not installed; Debian's package is libmosquitto1");
    return NULL;
}
