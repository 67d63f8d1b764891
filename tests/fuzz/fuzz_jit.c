// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any bytes as a map or a dump of run-time code: eight bytes of an address, then the file, which is read as it is and
// without machine code.
#include "host/symbols/jit_dump.h"
#include "host/symbols/jit_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_names(const uint8_t *data, size_t size, uint64_t address)
{
    struct hs_jit_names names = {0};
    struct hs_jit_text text;
    bool depends;
    uint8_t *copy = malloc(size + 1);
    if (!copy)
        return;
    memcpy(copy, data, size);
    hs_jit_names__add(&names, copy, size);
    const struct hs_jit_function *function = hs_jit_names__find(&names, address, address, &depends);
    if (function && (function->start > address || function->end <= address))
        abort();
    for (size_t i = 0; i < names.count && i < 64; i++)
        hs_jit_names__text(&names.function[i], names.function[i].start, &text);
    hs_jit_names__free(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t address;
    struct hs_buffer condensed = {0};
    if (size < sizeof(address))
        return 0;
    memcpy(&address, data, sizeof(address));
    data += sizeof(address);
    size -= sizeof(address);
    read_names(data, size, address);
    int fd = memfd_create("fuzzed", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    hs_jit_dump__condense(fd, &condensed, 1 << 16);
    close(fd);
    if (condensed.count)
        read_names(condensed.bytes, condensed.count, address);
    hs_buffer__free(&condensed);
    return 0;
}
