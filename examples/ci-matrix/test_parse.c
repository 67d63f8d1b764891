// SPDX-License-Identifier: MIT OR Apache-2.0
#include "settings.h"

#include <string.h>

int main(void)
{
    struct settings *settings = settings_parse("a=1\nb=2\na=3\n");
    int right = !strcmp(settings_get(settings, "a"), "3") && !settings_get(settings, "c");
    settings_free(settings);
    return !right;
}
