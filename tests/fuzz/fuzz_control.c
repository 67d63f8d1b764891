// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The requests of the control socket, as they come out of it: at most HS_CONTROL_REQUEST bytes of anything.
#include "runtime/prof/control_request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_control_request request;
    if (size > HS_CONTROL_REQUEST)
        return 0;
    char *line = malloc(size ? size : 1);
    if (!line)
        return 0;
    memcpy(line, data, size);
    const char *wrong = hs_control_request__parse(&request, line, size);
    // What is accepted is well-formed: a path within the line, a rate within its bounds, a session that ends.
    if (!wrong) {
        if (size < 5 || data[size - 1] != '\n' || memchr(data, 0, size))
            abort();
        if (request.path && (*request.path != '/' || strlen(request.path) >= size))
            abort();
        if (request.kind == HS_CONTROL_RATE && (request.bytes == 0 || request.bytes > HS_CONTROL_MOST_RATE))
            abort();
        if (!memchr(request.session, 0, sizeof(request.session)))
            abort();
    }
    free(line);
    return 0;
}
