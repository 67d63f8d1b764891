// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/rights.h"

#include "arch/system.h"
#include "runtime/memory.h"

#include <elf.h>
#include <sys/prctl.h>

extern unsigned long getauxval(unsigned long type) __attribute__((weak));

uint8_t hs_rights__are_given;

// A program that got more rights when it was executed cannot be looked into by its caller.
static bool may_exceed(void)
{
    return HS_SYSTEM0(SYS_getuid) != HS_SYSTEM0(SYS_geteuid) || HS_SYSTEM0(SYS_getgid) != HS_SYSTEM0(SYS_getegid) ||
           HS_SYSTEM1(SYS_prctl, PR_GET_DUMPABLE) != 1;
}

// The rights may be capabilities of its file: only the kernel knows.
bool hs_rights__exceed_callers(void)
{
    if (hs_rights__are_given)
        return false;
    if (getauxval)
        return getauxval(AT_SECURE) != 0;
    if (hs_memory__auxiliary(AT_PAGESZ)) // which is never zero: the vector can be read
        return hs_memory__auxiliary(AT_SECURE) != 0;
    return may_exceed();
}
