// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/elf_probe.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

// A 64-bit little-endian file with an interpreter and a build id.
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    char interpreter[32];
    struct {
        Elf64_Nhdr header;
        char name[4];
        uint8_t id[20];
    } note;
};

static struct image make_image(void)
{
    struct image image = {.header = {.e_type = ET_DYN,
                                     .e_machine = EM_X86_64,
                                     .e_phoff = offsetof(struct image, segments),
                                     .e_phentsize = sizeof(Elf64_Phdr),
                                     .e_phnum = 3},
                          .interpreter = "/lib64/ld-linux-x86-64.so.2"};
    memcpy(image.header.e_ident, ELFMAG "\2\1\1", 7);
    image.segments[0] = (Elf64_Phdr){
        .p_type = PT_INTERP, .p_offset = offsetof(struct image, interpreter), .p_filesz = sizeof(image.interpreter)};
    image.segments[1] =
        (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = offsetof(struct image, note), .p_filesz = sizeof(image.note)};
    image.segments[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC};
    image.note.header = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};
    memcpy(image.note.name, "GNU", 4);
    memset(image.note.id, 0xab, sizeof(image.note.id));
    return image;
}

START_TEST(test_good)
{
    struct image image = make_image();
    struct hs_probe probe;
    hs_probe__bytes(&probe, (const uint8_t *)&image, sizeof(image));
    ck_assert_int_eq(probe.kind, HS_PROBE_ELF);
    ck_assert(!probe.damaged && probe.has_interpreter && probe.has_dynamic && !probe.big_endian);
    ck_assert_uint_eq(probe.pointer_size, 8);
    ck_assert_uint_eq(probe.machine, EM_X86_64);
    ck_assert_str_eq(probe.interpreter, "/lib64/ld-linux-x86-64.so.2");
    ck_assert_uint_eq(probe.build_id_length, 20);
    ck_assert_mem_eq(probe.build_id, image.note.id, 20);
}
END_TEST

// Every shorter file and every file with one wrong byte is read without leaving it.
START_TEST(test_damage)
{
    struct image image = make_image();
    struct hs_probe probe;
    image.segments[2] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(image)};
    for (size_t size = 0; size < sizeof(image); size++) {
        hs_probe__bytes(&probe, (const uint8_t *)&image, size);
        ck_assert(probe.kind != HS_PROBE_ELF || probe.damaged || size >= offsetof(struct image, interpreter));
        ck_assert(probe.kind != HS_PROBE_ELF || probe.damaged || probe.incomplete);
    }
    hs_probe__bytes(&probe, (const uint8_t *)&image, sizeof(image));
    ck_assert(!probe.damaged && !probe.incomplete);
    uint8_t *bytes = (uint8_t *)&image;
    for (size_t i = 0; i < sizeof(image); i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            hs_probe__bytes(&probe, bytes, sizeof(image));
            ck_assert_uint_le(probe.build_id_length, HS_BUILD_ID_MAX);
            ck_assert_ptr_nonnull(memchr(probe.interpreter, 0, sizeof(probe.interpreter)));
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    }
}
END_TEST

static void expect_script(const char *line, const char *interpreter)
{
    struct hs_probe probe;
    hs_probe__bytes(&probe, (const uint8_t *)line, strlen(line));
    ck_assert_int_eq(probe.kind, HS_PROBE_SCRIPT);
    ck_assert_str_eq(probe.interpreter, interpreter);
}

START_TEST(test_scripts)
{
    struct hs_probe probe;
    expect_script("#!/bin/sh\necho\n", "/bin/sh");
    expect_script("#!  /usr/bin/env python3\n", "/usr/bin/env");
    expect_script("#!/bin/sh", "/bin/sh");
    expect_script("#!\n", "");
    hs_probe__bytes(&probe, (const uint8_t *)"echo\n", 5);
    ck_assert_int_eq(probe.kind, HS_PROBE_OTHER);
    hs_probe__bytes(&probe, (const uint8_t *)"", 0);
    ck_assert_int_eq(probe.kind, HS_PROBE_OTHER);
}
END_TEST

START_TEST(test_files)
{
    struct hs_probe probe;
    ck_assert_int_eq(hs_probe__file(&probe, "/proc/self/exe"), 0);
    ck_assert(probe.kind == HS_PROBE_ELF && probe.has_interpreter && !probe.damaged);
    ck_assert_int_eq(hs_probe__file(&probe, "/nonexistent"), -ENOENT);
    ck_assert_int_eq(hs_probe__file(&probe, "/"), -EISDIR);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elf_probe");
    TCase *tests = tcase_create("elf_probe");
    tcase_add_test(tests, test_good);
    tcase_add_test(tests, test_damage);
    tcase_add_test(tests, test_scripts);
    tcase_add_test(tests, test_files);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
