// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/passwords.h"

#include <stdlib.h>
#include <string.h>

// Passwords that are not escaped may have any sign: the last @ ends them.
static char *find_password(char *argument, size_t *length)
{
    char *user = strstr(argument, "://");
    char *end = user ? strrchr(user, '@') : NULL;
    char *colon = end ? memchr(user + 3, ':', (size_t)(end - user) - 3) : NULL;
    *length = colon ? (size_t)(end - colon) - 1 : 0;
    return colon ? colon + 1 : NULL;
}

void hs_passwords__hide(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t length;
        char *password = find_password(argv[i], &length);
        char *copy = password ? strdup(argv[i]) : NULL;
        if (!copy)
            continue;
        memset(password, 'x', length);
        argv[i] = copy;
    }
}
