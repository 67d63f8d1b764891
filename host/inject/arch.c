// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/arch.h"

// The others are not even linked into a command that has nothing else to do with them.
#if defined(__x86_64__)
#define OWN hs_inject_amd64
#elif defined(__aarch64__)
#define OWN hs_inject_aarch64
#elif defined(__arm__)
#define OWN hs_inject_arm
#elif defined(__mips64)
#define OWN hs_inject_mips64
#endif

const struct hs_inject_arch *hs_inject_arch__native(void)
{
#ifdef OWN
    return OWN.stub ? &OWN : NULL;
#else
    return NULL;
#endif
}
