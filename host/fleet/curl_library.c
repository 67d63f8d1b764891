// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct hs_curl_library library;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    // Debian's variants, which differ in the library for TLS; elsewhere there is the first name alone.
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
    void *handle = NULL;
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !handle; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return;
    loaded = true;
    HS_CURL_FUNCTIONS(HS_LIBRARY_LOOK_UP)
    if (loaded)
        loaded = library.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

const struct hs_curl_library *hs_curl_library__get(struct hs_error *error)
{
    pthread_once(&once, load);
    if (loaded)
        return &library;
    hs_library__is_missing(error, "libcurl.so.4", "libcurl4");
    return NULL;
}
