// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Part of the command unless that is linked statically. libdw loads libdebuginfod, and with it thirty libraries, before
// it looks whether there is a server to ask. This function, which libdw finds before libc's, refuses where there is
// none.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
    static const char asks_servers[] = "libdebuginfod.so";
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (file && !strncmp(file, asks_servers, strlen(asks_servers)) && !(servers && *servers))
        return NULL;
    void *(*next)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
    return next ? next(file, mode) : NULL;
}
