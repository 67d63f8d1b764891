// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Part of the command only if it is one file that is linked statically. Such a program must not load libraries: those
// of the machine belong to another C library, or to another version of it, and would end the program.
#include <dlfcn.h>
#include <features.h>
#include <stddef.h>

// libdw asks for libdebuginfod, and goes without it.
void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    (void)handle;
    (void)name;
    return NULL;
}

int dlclose(void *handle)
{
    (void)handle;
    return -1;
}

char *dlerror(void)
{
    static char text[] = "a static program loads no libraries";
    return text;
}

#ifdef __GLIBC__
#include <nss.h>

// Names of hosts are found by what is part of glibc itself. /etc/nsswitch.conf may name more, which would be loaded.
__attribute__((constructor)) static void use_own_lookups(void)
{
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("services", "files");
}
#endif
