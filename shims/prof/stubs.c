// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/prof/hooks.h"
#include "shims/prof/mallctl.h"
#define WEAK __attribute__((weak))
WEAK void hs_prof_ctl__start(void)
{
}
WEAK void hs_prof_ctl__at_exit(void)
{
}
