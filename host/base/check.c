// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/check.h"

#include <stdio.h>
#include <stdlib.h>

void hs_check__failed(const char *expression, const char *file, int line)
{
    fprintf(stderr,
            "heapsonde: internal error: %s is not true (%s, line %d). This is a fault of heapsonde. Please report it, "
            "with the command line.\n",
            expression, file, line);
    abort();
}
