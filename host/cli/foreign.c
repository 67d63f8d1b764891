// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/foreign.h"

#include "host/convert/convert.h"

bool hs_refuse_foreign(const struct hs_command *command, const char *path)
{
    enum hs_foreign kind = hs_foreign__recognise(path);
    if (kind)
        hs_complain(command, "%s is a recording of %s; 'heapsonde import' converts it into a trace", path,
                    hs_foreign__name(kind));
    return kind != HS_FOREIGN_NONE;
}
