// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/rights.h"

#include "arch/system.h"

#include <elf.h>
#include <sys/prctl.h>

extern unsigned long getauxval(unsigned long type) __attribute__((weak));

// A program that got more rights when it was executed cannot be looked into by who called it.
static bool may_exceed(void)
{
    return HS_SYSTEM0(SYS_getuid) != HS_SYSTEM0(SYS_geteuid) || HS_SYSTEM0(SYS_getgid) != HS_SYSTEM0(SYS_getegid) ||
           HS_SYSTEM1(SYS_prctl, PR_GET_DUMPABLE) != 1;
}

// The rights may be capabilities of its file: only the kernel knows.
bool hs_rights__exceed_callers(void)
{
    unsigned long vector[128];
    if (getauxval)
        return getauxval(AT_SECURE) != 0;
    long fd = hs_system_open("/proc/self/auxv", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return may_exceed();
    long length = hs_system_read((int)fd, vector, sizeof vector);
    hs_system_close((int)fd);
    for (long i = 0; (i + 2) * (long)sizeof *vector <= length; i += 2)
        if (vector[i] == AT_SECURE)
            return vector[i + 1] != 0;
    return may_exceed();
}
