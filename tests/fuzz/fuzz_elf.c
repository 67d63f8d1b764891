// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any bytes as the beginning of a program or of a module: what it says must stay within its bounds.
#include "host/symbols/elf_probe.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_probe probe;
    char buffer[32];
    hs_probe__bytes(&probe, data, size);
    if (probe.build_id_length > HS_BUILD_ID_MAX || !memchr(probe.interpreter, 0, sizeof(probe.interpreter)))
        abort();
    if (probe.kind == HS_PROBE_ELF && probe.pointer_size != 4 && probe.pointer_size != 8)
        abort();
    if (strlen(hs_machine_name(probe.machine, buffer)) >= sizeof(buffer))
        abort();
    return 0;
}
