// SPDX-License-Identifier: MIT OR Apache-2.0
#include "settings.h"

#include <string.h>

int main(void)
{
    struct settings *settings = settings_parse("a=1\n"), *other = settings_parse("a=2\nb=3\n");
    settings_merge(settings, other);
    settings_free(other);
    int right = !strcmp(settings_get(settings, "a"), "2");
    settings_free(settings);
    return !right;
}
