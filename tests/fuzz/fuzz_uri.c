// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any bytes as what a request asks for.
#include "host/server/uri.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const patterns[] = {"/", "/list", "/data/{id}/tree", "/data/{id}/export/{format}/{name}"};
    struct hs_uri uri, copy;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    if (!hs_uri__parse(&uri, text, NULL)) {
        const char *values[2];
        for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
            hs_uri__matches(&uri, patterns[i], values, 2);
        if (hs_uri__copy(&copy, &uri, NULL))
            abort();
        for (size_t i = 0; i < uri.parameters; i++)
            if (strcmp(hs_uri__value(&uri, uri.parameter[i].name), hs_uri__value(&copy, copy.parameter[i].name)) != 0)
                abort();
        hs_uri__free(&copy);
        hs_uri__free(&uri);
    }
    free(text);
    return 0;
}
