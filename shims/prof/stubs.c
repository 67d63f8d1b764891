// SPDX-License-Identifier: MIT OR Apache-2.0
#include "shims/prof/hooks.h"
#include "shims/prof/mallctl.h"
#define WEAK __attribute__((weak))
WEAK void (*malloc_message)(void *, const char *);
WEAK const char *malloc_conf, *malloc_conf_2_conf_harder;
WEAK void hs_prof_ctl__start(void)
{
}
WEAK void hs_prof_ctl__at_exit(void)
{
}
