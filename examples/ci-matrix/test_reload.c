// SPDX-License-Identifier: MIT OR Apache-2.0
#include "settings.h"

#include <string.h>

int main(void)
{
    struct settings *settings = settings_parse("a=1\nb=2\n");
    for (int i = 0; i < 100; i++)
        settings_reload(settings, "a=2\nb=4\n");
    int right = !strcmp(settings_get(settings, "a"), "2");
    settings_free(settings);
    return !right;
}
