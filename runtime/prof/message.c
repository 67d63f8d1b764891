// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/message.h"

#include "arch/system.h"
#include "runtime/text.h"

#include <signal.h>

extern void abort(void) __attribute__((weak));

static void write_to_standard_error(const char *text)
{
    hs_system_write(2, text, hs_text__length(text));
}

void (*hs_prof_message_writer)(const char *text) = write_to_standard_error;

void hs_prof__message(const char *text)
{
    hs_prof_message_writer(text);
}

_Noreturn void hs_prof__abort(void)
{
    if (abort)
        abort();
    for (;;)
        HS_SYSTEM3(SYS_tgkill, hs_system_getpid(), hs_system_gettid(), SIGKILL);
}
