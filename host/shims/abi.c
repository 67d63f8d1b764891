// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/shims/shims.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum { AMD64, AARCH64, ARMHF, ARMEL, MIPS64EL, MIPS64 };

const struct hs_abi hs_abis[] = {
    [AMD64] = {"amd64", "AMD64", "x86_64 x86-64 x64 x86_64-linux-gnu x86_64-linux-musl"},
    [AARCH64] = {"aarch64", "AArch64", "arm64 arm64-v8a aarch64-linux-gnu aarch64-linux-musl"},
    [ARMHF] = {"armhf", "ARM, hard-float", "armv7l armv8l arm-linux-gnueabihf arm-linux-musleabihf"},
    [ARMEL] = {"armel", "ARM, soft-float", "armv5tel armv5tejl arm-linux-gnueabi arm-linux-musleabi"},
    [MIPS64EL] = {"mips64el", "MIPS64 n64, little-endian", "mips64el-linux-gnuabi64 mips64el-linux-musl"},
    [MIPS64] = {"mips64", "MIPS64 n64, big-endian", "mips64-linux-gnuabi64 mips64-linux-musl"},
    {0},
};

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    while (*words) {
        size_t here = strcspn(words, " ");
        if (here == length && !memcmp(words, word, length))
            return true;
        words += here + (words[here] != 0);
    }
    return false;
}

const struct hs_abi *hs_abi__named(const char *name)
{
    for (const struct hs_abi *abi = hs_abis; abi->name; abi++)
        if (!strcmp(abi->name, name) || has_word(abi->other_names, name))
            return abi;
    return NULL;
}

// Old linkers do not write the float ABI into the header. Then the name of the loader shows it.
static bool is_hard_float(const struct hs_probe *probe)
{
    if (probe->flags & (EF_ARM_ABI_FLOAT_HARD | EF_ARM_ABI_FLOAT_SOFT))
        return probe->flags & EF_ARM_ABI_FLOAT_HARD;
    return strstr(probe->interpreter, "armhf") != NULL;
}

const struct hs_abi *hs_abi__of(const struct hs_probe *probe)
{
    if (probe->kind != HS_PROBE_ELF || probe->damaged)
        return NULL;
    bool wide = probe->pointer_size == 8;
    bool big = probe->big_endian;
    switch (probe->machine) {
    case EM_X86_64:
        return wide && !big ? &hs_abis[AMD64] : NULL;
    case EM_AARCH64:
        return wide && !big ? &hs_abis[AARCH64] : NULL;
    case EM_ARM:
        if (wide || big || EF_ARM_EABI_VERSION(probe->flags) < EF_ARM_EABI_VER4)
            return NULL;
        return is_hard_float(probe) ? &hs_abis[ARMHF] : &hs_abis[ARMEL];
    case EM_MIPS:
        return wide ? &hs_abis[big ? MIPS64 : MIPS64EL] : NULL;
    default:
        return NULL;
    }
}

int hs_abi__of_file(const char *path, const struct hs_abi **abi, struct hs_error *error)
{
    struct hs_probe probe;
    char machine[32];
    int result = hs_probe__file(&probe, path);
    if (result)
        return hs_error__set(error, -result, "%s: %s", path, strerror(-result));
    if (probe.kind != HS_PROBE_ELF)
        return hs_error__set(error, ENOEXEC, "%s is not an ELF file; name a program or a library", path);
    if (probe.damaged)
        return hs_error__set(error, ENOEXEC, "%s is a damaged ELF file; get an intact copy", path);
    *abi = hs_abi__of(&probe);
    if (*abi)
        return 0;
    return hs_error__set(error, ENOTSUP,
                         "%s is for %s, %u bits, %s-endian: there is no library for this ABI; 'heapsonde shims' lists "
                         "the available ones",
                         path, hs_machine_name(probe.machine, machine), probe.pointer_size * 8u,
                         probe.big_endian ? "big" : "little");
}

const struct hs_abi *hs_abi__of_this_machine(void)
{
    struct hs_probe probe;
    return hs_probe__file(&probe, "/proc/self/exe") ? NULL : hs_abi__of(&probe);
}
