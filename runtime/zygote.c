// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/zygote.h"

#include "runtime/text.h"

enum { FIRST_ARGUMENTS = 1024 };

bool hs_is_zygote(void)
{
    char text[FIRST_ARGUMENTS];
    size_t length = hs_text__read_file("/proc/self/cmdline", text, sizeof text);
    for (size_t at = 0; at < length; at += hs_text__length(text + at) + 1)
        if (hs_text__equal(text + at, "--type=zygote"))
            return true;
    return false;
}
