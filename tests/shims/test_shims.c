// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/shims/shims.h"

#include "command.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The header of a library, and nothing behind it.
static Elf64_Ehdr header_of(uint16_t machine, bool wide, bool big, uint32_t flags)
{
    union {
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
    } header = {0};
    uint8_t *bytes = (uint8_t *)&header;
    memcpy(bytes, ELFMAG, SELFMAG);
    bytes[EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
    bytes[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
    bytes[16 + big] = ET_DYN;
    bytes[18 + big] = (uint8_t)machine;
    for (int i = 0; i < 4; i++)
        bytes[(wide ? 48 : 36) + i] = (uint8_t)(flags >> 8 * (big ? 3 - i : i));
    return header.wide;
}

static const char *name_of(const struct hs_abi *abi)
{
    return abi ? abi->name : "none";
}

static void expect_abi(const char *name, uint16_t machine, bool wide, bool big, uint32_t flags)
{
    struct hs_probe probe;
    Elf64_Ehdr header = header_of(machine, wide, big, flags);
    hs_probe__bytes(&probe, (const uint8_t *)&header, sizeof(header));
    ck_assert_str_eq(name_of(hs_abi__of(&probe)), name);
}

START_TEST(test_abi)
{
    expect_abi("amd64", EM_X86_64, true, false, 0);
    expect_abi("none", EM_X86_64, false, false, 0); // x32
    expect_abi("none", EM_386, false, false, 0);
    expect_abi("aarch64", EM_AARCH64, true, false, 0);
    expect_abi("none", EM_AARCH64, true, true, 0);
    expect_abi("none", EM_AARCH64, false, false, 0); // ILP32
    expect_abi("armhf", EM_ARM, false, false, EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_HARD);
    expect_abi("armel", EM_ARM, false, false, EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_SOFT);
    expect_abi("armel", EM_ARM, false, false, EF_ARM_EABI_VER5);
    expect_abi("none", EM_ARM, false, false, 0); // before the EABI
    expect_abi("none", EM_ARM, false, true, EF_ARM_EABI_VER5);
    expect_abi("mips64el", EM_MIPS, true, false, 0x80000007);
    expect_abi("mips64", EM_MIPS, true, true, 0x80000007);
    expect_abi("none", EM_MIPS, false, false, 0x80000027); // n32
    expect_abi("none", EM_MIPS, false, false, 0x70001007); // o32
    expect_abi("none", EM_RISCV, true, false, 5);
}
END_TEST

// Old linkers write no float ABI: then the loader's name tells.
START_TEST(test_loader)
{
    struct hs_probe probe = {.kind = HS_PROBE_ELF,
                             .machine = EM_ARM,
                             .pointer_size = 4,
                             .flags = EF_ARM_EABI_VER5,
                             .has_interpreter = true,
                             .interpreter = "/lib/ld-linux-armhf.so.3"};
    ck_assert_str_eq(name_of(hs_abi__of(&probe)), "armhf");
    strcpy(probe.interpreter, "/lib/ld-musl-arm.so.1");
    ck_assert_str_eq(name_of(hs_abi__of(&probe)), "armel");
    strcpy(probe.interpreter, "/lib/ld-musl-armhf.so.1");
    ck_assert_str_eq(name_of(hs_abi__of(&probe)), "armhf");
    probe.damaged = true;
    ck_assert_ptr_null(hs_abi__of(&probe));
}
END_TEST

START_TEST(test_names)
{
    ck_assert_str_eq(name_of(hs_abi__named("armhf")), "armhf");
    ck_assert_str_eq(name_of(hs_abi__named("arm64")), "aarch64");
    ck_assert_str_eq(name_of(hs_abi__named("x86_64")), "amd64");
    ck_assert_str_eq(name_of(hs_abi__named("arm-linux-gnueabi")), "armel");
    ck_assert_ptr_null(hs_abi__named("arm"));
    ck_assert_ptr_null(hs_abi__named(""));
    ck_assert_ptr_null(hs_abi__named("x86_64 x86-64"));
    for (const struct hs_abi *abi = hs_abis; abi->name; abi++)
        ck_assert_ptr_eq(hs_abi__named(abi->name), abi);
}
END_TEST

static void make_shim(const char *path, uint16_t machine, bool wide, bool big, uint32_t flags)
{
    Elf64_Ehdr header = header_of(machine, wide, big, flags);
    shell("mkdir -p \"$(dirname '%s')\"", path);
    write_file(text("%s/%s", work, path), &header, sizeof(header));
}

// A command that is installed somewhere, and then somewhere else.
static void install_command(void)
{
    shell("mkdir -p first/bin; cp \"$HEAPSONDE\" first/bin/heapsonde");
    make_shim("first/lib/heapsonde/armhf/libheapsonde-trace.so", EM_ARM, false, false,
              EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_HARD);
    make_shim("first/lib/heapsonde/mips64/libheapsonde-prof.so", EM_MIPS, true, true, 0x80000007);
    shell("mv first second; ln -s ../second/bin/heapsonde link");
}

static void expect_line(const char *command, const char *expected)
{
    struct outcome outcome = run("%s", command);
    ck_assert_str_eq(outcome.errors, "");
    ck_assert_str_eq(outcome.output, text("%s/%s\n", work, expected));
    ck_assert_int_eq(outcome.status, 0);
    free_outcome(&outcome);
}

static void expect_complaint(int status, const char *command, const char *said)
{
    struct outcome outcome = run("%s", command);
    ck_assert_int_eq(outcome.status, status);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_msg(strstr(outcome.errors, said), "%s: %s", command, outcome.errors);
    ck_assert_ptr_eq(strchr(outcome.errors, '\n'), strrchr(outcome.errors, '\n'));
    free_outcome(&outcome);
}

START_TEST(test_installed)
{
    install_command();
    expect_line("second/bin/heapsonde shims --path armhf", "second/lib/heapsonde/armhf/libheapsonde-trace.so");
    expect_line("mkdir in; ln -s ../second/bin/heapsonde in/h; in/h shims --path mips64 --prof",
                "second/lib/heapsonde/mips64/libheapsonde-prof.so");
    expect_complaint(1, "second/bin/heapsonde shims --path mips64", "HEAPSONDE_SHIMS");
    expect_complaint(1, "second/bin/heapsonde run -- true", "libheapsonde-trace.so for");
    // Nothing that is in a folder of that name beside an installed command is taken.
    make_shim("armel/lib/libheapsonde-trace.so", EM_ARM, false, false, EF_ARM_EABI_VER5);
    expect_complaint(1, "second/bin/heapsonde shims --path armel", "is not installed");
    expect_line("touch second/CMakeCache.txt; second/bin/heapsonde shims --path armel",
                "armel/lib/libheapsonde-trace.so");
}
END_TEST

// What is for another ABI is passed over.
START_TEST(test_wrong_file)
{
    install_command();
    shell("cd second/lib/heapsonde; mkdir armel; cp armhf/libheapsonde-trace.so armel/");
    expect_complaint(1, "second/bin/heapsonde shims --path armel", "is not installed");
    expect_complaint(1, "HEAPSONDE_SHIMS=$PWD/second/lib/heapsonde $HEAPSONDE shims --path armel", "HEAPSONDE_SHIMS");
}
END_TEST

START_TEST(test_given)
{
    install_command();
    make_shim("own/armhf/libheapsonde-trace.so", EM_ARM, false, false, EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_HARD);
    make_shim("library.so", EM_ARM, false, false, EF_ARM_EABI_VER5 | EF_ARM_ABI_FLOAT_HARD);
    expect_line("HEAPSONDE_SHIMS=own second/bin/heapsonde shims --path armhf", "own/armhf/libheapsonde-trace.so");
    expect_line("HEAPSONDE_SHIMS=own HEAPSONDE_LIBRARY=library.so second/bin/heapsonde shims --path armhf",
                "library.so");
    expect_line("HEAPSONDE_SHIMS=own second/bin/heapsonde shims --for library.so", "own/armhf/libheapsonde-trace.so");
    expect_complaint(1, "HEAPSONDE_SHIMS=own HEAPSONDE_LIBRARY=library.so second/bin/heapsonde shims --path mips64",
                     "HEAPSONDE_SHIMS");
    expect_complaint(1, "HEAPSONDE_LIBRARY=library.so second/bin/heapsonde shims --path armhf --prof", "not installed");
}
END_TEST

START_TEST(test_bad)
{
    expect_complaint(2, "$HEAPSONDE shims --path armfh", "did you mean 'armhf'?");
    expect_complaint(2, "$HEAPSONDE shims --path nothing-like-it", "possible values: amd64");
    expect_complaint(2, "$HEAPSONDE shims --path armhf --for /bin/true", "--for");
    expect_complaint(2, "$HEAPSONDE shims --prof", "--prof");
    expect_complaint(1, "$HEAPSONDE shims --for /nonexistent", "/nonexistent: No such file");
    expect_complaint(1, "$HEAPSONDE shims --for /etc/passwd", "not an ELF file");
    expect_complaint(1, "head -c 40 /bin/true >cut; $HEAPSONDE shims --for cut", "damaged");
    make_shim("foreign", EM_RISCV, true, false, 5);
    expect_complaint(1, "$HEAPSONDE shims --for foreign", "RISC-V, 64 bits, little-endian");
}
END_TEST

START_TEST(test_list)
{
    install_command();
    struct outcome outcome = run("second/bin/heapsonde shims");
    for (const struct hs_abi *abi = hs_abis; abi->name; abi++)
        ck_assert_msg(strstr(outcome.output, text("\n%s ", abi->name)), "%s", abi->name);
    ck_assert_ptr_nonnull(strstr(outcome.output, "not installed"));
    ck_assert_ptr_nonnull(strstr(outcome.output, text("%s/second/lib/heapsonde/armhf/", work)));
    free_outcome(&outcome);
    outcome = run("second/bin/heapsonde shims --json | /usr/bin/python3 -c '%s'",
                  "import json, sys; print([s[\"bytes\"] for s in json.load(sys.stdin)[\"shims\"] if s[\"path\"]])");
    ck_assert_str_eq(outcome.output, "[64, 64]\n");
    free_outcome(&outcome);
}
END_TEST

static void set_up(void)
{
    make_work();
    unsetenv("HEAPSONDE_LIBRARY");
    unsetenv("HEAPSONDE_SHIMS");
}

int main(void)
{
    TCase *tests = tcase_create("shims");
    tcase_add_checked_fixture(tests, set_up, remove_work);
    tcase_add_test(tests, test_abi);
    tcase_add_test(tests, test_loader);
    tcase_add_test(tests, test_names);
    tcase_add_test(tests, test_installed);
    tcase_add_test(tests, test_wrong_file);
    tcase_add_test(tests, test_given);
    tcase_add_test(tests, test_bad);
    tcase_add_test(tests, test_list);
    return run_cases("shims", tests);
}
