// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/wire_options.h"

#include <stdlib.h>

int hs_wire_options__key(const struct hs_arguments *arguments, struct hs_shared_key *key)
{
    struct hs_error error;
    const char *path = hs_arguments__text(arguments, "key-file", NULL);
    bool insecure = hs_arguments__flag(arguments, "insecure");
    key->length = 0;
    if (path && insecure) {
        hs_complain(arguments->command, "--key-file and --insecure exclude each other");
        return HS_EXIT_USAGE;
    }
    if (!path && !insecure)
        path = getenv("HEAPSONDE_KEY_FILE");
    if (!path || !*path || !hs_shared_key__read(key, path, &error))
        return HS_EXIT_OK;
    hs_complain(arguments->command, "%s", error.message);
    return HS_EXIT_FAILURE;
}
