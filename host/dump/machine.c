// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/machine.h"

#include "format/trace_format.h"

#include <elf.h>
#include <string.h>

struct machine_known {
    const char *name;
    struct hs_dump_machine machine;
};

#define AMD64                                                                                                          \
    {                                                                                                                  \
        EM_X86_64, 8, HS_BYTE_ORDER_LITTLE                                                                             \
    }
#define AARCH64                                                                                                        \
    {                                                                                                                  \
        EM_AARCH64, 8, HS_BYTE_ORDER_LITTLE                                                                            \
    }
#define ARM                                                                                                            \
    {                                                                                                                  \
        EM_ARM, 4, HS_BYTE_ORDER_LITTLE                                                                                \
    }
#define ARMEB                                                                                                          \
    {                                                                                                                  \
        EM_ARM, 4, HS_BYTE_ORDER_BIG                                                                                   \
    }
#define MIPS64EL                                                                                                       \
    {                                                                                                                  \
        EM_MIPS, 8, HS_BYTE_ORDER_LITTLE                                                                               \
    }
#define MIPS64                                                                                                         \
    {                                                                                                                  \
        EM_MIPS, 8, HS_BYTE_ORDER_BIG                                                                                  \
    }

static const struct machine_known names[] = {{"x86_64", AMD64},      {"amd64", AMD64},  {"aarch64", AARCH64},
                                             {"arm64", AARCH64},     {"armeb", ARMEB},  {"arm", ARM},
                                             {"mips64el", MIPS64EL}, {"mips64", MIPS64}};

// Parts of the paths of loaders and of Debian's folders; a longer name before one that is part of it.
static const struct machine_known parts[] = {
    {"x86_64-linux", AMD64},    {"ld-linux-x86-64", AMD64},    {"ld-musl-x86_64", AMD64},
    {"aarch64-linux", AARCH64}, {"ld-linux-aarch64", AARCH64}, {"ld-musl-aarch64", AARCH64},
    {"arm-linux", ARM},         {"ld-linux-armhf", ARM},       {"ld-linux.so.3", ARM},
    {"ld-musl-arm", ARM},       {"mips64el-linux", MIPS64EL},  {"ld-musl-mips64el", MIPS64EL},
    {"mips64-linux", MIPS64},   {"ld-musl-mips64", MIPS64}};

struct hs_dump_machine hs_dump__machine(const struct hs_dump *dump)
{
    const char *said = hs_dump__fact(dump, "arch");
    for (size_t i = 0; said && i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(said, names[i].name))
            return names[i].machine;
    }
    const char *last = NULL;
    for (size_t i = 0; i < dump->mapping_count; i++) {
        const char *path = dump->mapping[i].path;
        for (size_t k = 0; path != last && k < sizeof(parts) / sizeof(parts[0]); k++) {
            if (strstr(path, parts[k].name))
                return parts[k].machine;
        }
        last = path;
    }
    return (struct hs_dump_machine){0};
}
