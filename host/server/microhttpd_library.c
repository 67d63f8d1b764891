// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/microhttpd_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

const struct hs_microhttpd_library *hs_mhd;

#ifdef HEAPSONDE_STATIC
int hs_microhttpd_library__load(struct hs_error *error)
{
#define LINKED(name) .name = name,
    static const struct hs_microhttpd_library library = {HS_MICROHTTPD_FUNCTIONS(LINKED)};
#undef LINKED
    (void)error;
    hs_mhd = &library;
    return 0;
}
#else
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    static struct hs_microhttpd_library library;
    void *handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    bool loaded = handle;
    if (!handle)
        return;
    HS_MICROHTTPD_FUNCTIONS(HS_LIBRARY_LOOK_UP)
    if (loaded)
        hs_mhd = &library;
}

int hs_microhttpd_library__load(struct hs_error *error)
{
    pthread_once(&once, load);
    return hs_mhd ? 0 : hs_library__is_missing(error, "libmicrohttpd.so.12", "libmicrohttpd12");
}
#endif
