// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/fleet_flame.h"

#include "host/cli/output.h"
#include "host/fleet/slice_dump.h"

#include <string.h>

static int write_flame(const struct hs_arguments *arguments, const struct hs_dump *dump, const char *word)
{
    struct hs_output output;
    const bool blocks = !strcmp(hs_arguments__text(arguments, "unit", "bytes"), "count");
    int status = hs_output__open(&output, arguments, hs_arguments__text(arguments, "output", "-"));
    if (status)
        return status;
    int failed = hs_slice_dump__write(output.out, dump, word, blocks);
    if (failed)
        hs_complain(arguments->command, "out of memory; a narrower slice needs less");
    status = hs_output__close(&output, arguments, !failed);
    return failed ? HS_EXIT_FAILURE : status;
}

int hs_fleet_flame__run(const struct hs_arguments *arguments, struct hs_database *database,
                        const struct hs_fleet_slice *slice)
{
    struct hs_error error;
    struct hs_dump *dump;
    const char *word = hs_arguments__text(arguments, "format", "flamegraph");
    if (hs_slice_dump__check_format(word, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_USAGE;
    }
    if (hs_slice_dump__make(database, slice, hs_arguments__flag(arguments, "per-device"), &dump, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        return HS_EXIT_FAILURE;
    }
    int status = write_flame(arguments, dump, word);
    hs_dump__close(dump);
    return status;
}
