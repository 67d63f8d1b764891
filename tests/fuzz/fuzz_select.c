// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Expressions of --select, against a device that has everything.
#include "host/gather/select.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hs_select_subject subject = {
        .name = "sensord", .device = "gw-17", .pid = "4711", .address = "192.0.2.7", .labels = "site=lab,rack=b"};
    struct hs_error error;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    struct hs_select *select = hs_select__parse(text, &error);
    if (select)
        hs_select__matches(select, &subject);
    hs_select__free(select);
    free(text);
    return 0;
}
