// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs of the other architectures, built by cross compilers, against their addr2line: every instruction.
#include "oracle.h"
#include "subject.h"

#include "format/trace_format.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct target {
    const char *tools;
    const char *options;
    uint16_t machine;
    uint8_t pointer_size, byte_order;
    uint64_t bias; // where it is loaded
    bool packed;   // also with its units split off and packed; binutils' dwp takes MIPS's for empty
} targets[] = {
    {"aarch64-linux-gnu-", "", EM_AARCH64, 8, HS_BYTE_ORDER_LITTLE, 0x5500000000, false},
    {"aarch64-linux-gnu-", "-gdwarf-4 -mbranch-protection=standard", EM_AARCH64, 8, HS_BYTE_ORDER_LITTLE, 0x5500000000,
     false},
    {"arm-linux-gnueabihf-", "-mthumb", EM_ARM, 4, HS_BYTE_ORDER_LITTLE, 0x40000000, false},
    {"arm-linux-gnueabihf-", "-marm", EM_ARM, 4, HS_BYTE_ORDER_LITTLE, 0xf7000000, false},
    {"arm-linux-gnueabi-", "-no-pie -fno-pie", EM_ARM, 4, HS_BYTE_ORDER_LITTLE, 0, false},
    {"arm-linux-gnueabi-", "-gdwarf-4 -gz=zlib", EM_ARM, 4, HS_BYTE_ORDER_LITTLE, 0x40000000, true},
    {"mips64el-linux-gnuabi64-", "", EM_MIPS, 8, HS_BYTE_ORDER_LITTLE, 0xfff7000000, false},
    {"mips64el-linux-gnuabi64-", "-gdwarf-4", EM_MIPS, 8, HS_BYTE_ORDER_LITTLE, 0xfff7000000, false},
    {"mips64-linux-gnuabi64-", "", EM_MIPS, 8, HS_BYTE_ORDER_BIG, 0xfff7000000, false},
    {"mips64-linux-gnuabi64-", "-no-pie -fno-pie -gz=zlib", EM_MIPS, 8, HS_BYTE_ORDER_BIG, 0, false},
};
#define TARGETS ((int)(sizeof(targets) / sizeof(targets[0])))

static char source[4096]; // folder of the sample's sources

static struct hs_symbols_options options_of(const struct target *target)
{
    return (struct hs_symbols_options){
        .machine = target->machine, .pointer_size = target->pointer_size, .byte_order = target->byte_order};
}

// Builds the sample as `name` in the folder of this run.
static const char *build(const struct target *target, const char *name, const char *more)
{
    static char path[512];
    const char *flags = text("-O2 -g -Wl,--build-id=sha1 %s %s", target->options, more);
    ck_assert_msg(have(text("%sg++", target->tools)), "%sg++ is missing; scripts/setup installs it", target->tools);
    shell("%sgcc %s -c '%s/rust_names.c' -o rust_names.o && %sg++ %s '%s/sample.cpp' rust_names.o -o %s", target->tools,
          flags, source, target->tools, flags, source, name);
    snprintf(path, sizeof(path), "%s/%s", work, name);
    return path;
}

static char *outermost_function(struct session *session, uint64_t address)
{
    char *answer = strdup(frames_at(session, address));
    char *last = answer;
    for (char *line = answer; *line; line = strchr(line, '\n') + 1)
        last = line;
    last[strcspn(last, "|")] = 0;
    memmove(answer, last, strlen(last) + 1);
    return answer;
}

// Every instruction of the file with everything in it.
static void compare_full(const struct target *target, const char *path, const struct oracle *oracle)
{
    struct hs_symbols_options options = options_of(target);
    struct session session;
    open_session(&session, &options, path, path, target->bias);
    compare_all(&session, oracle, target->bias);
    ck_assert_int_eq(hs_symbols__state(session.symbols, 0), HS_SYMBOLS_FOUND);
    close_session(&session);
}

// The file of the target below a system root, stripped; its debug information by link beside it. The build id is gone,
// so that only the link's checksum can tell.
static void compare_stripped_with_link(const struct target *target, const struct oracle *oracle)
{
    struct hs_symbols_options options = options_of(target);
    char folder[512];
    const char *root = folder;
    struct session session;
    snprintf(folder, sizeof(folder), "%s/root", work);
    shell("mkdir -p root/opt/.debug && %sobjcopy --only-keep-debug sample root/opt/.debug/sample.debug && "
          "%sobjcopy --strip-all --add-gnu-debuglink=root/opt/.debug/sample.debug "
          "--remove-section=.note.gnu.build-id sample root/opt/sample",
          target->tools, target->tools);
    options.sysroots = &root;
    options.sysroot_count = 1;
    open_session(&session, &options, text("%s/root/opt/sample", work), "/opt/sample", target->bias);
    compare_all(&session, oracle, target->bias);
    close_session(&session);
}

// Only symbols: each instruction of a function has its name, also where mapping symbols ($a, $t, $d, $x) lie within and
// where bit 0 of the symbol says Thumb. The debug information knows where functions end.
static void compare_only_symbols(const struct target *target, const char *path, const struct oracle *oracle)
{
    struct hs_symbols_options options = options_of(target);
    struct session full;
    struct session stripped;
    size_t named = 0;
    shell("cp sample symbols && %sstrip --strip-debug symbols", target->tools);
    open_session(&full, &options, path, path, target->bias);
    open_session(&stripped, &options, path, text("%s/symbols", work), target->bias);
    for (size_t i = 0; i < oracle->count; i++) {
        char *expected = outermost_function(&full, oracle->addresses[i] + target->bias);
        char *name = outermost_function(&stripped, oracle->addresses[i] + target->bias);
        bool known = !strstr(expected, "sample+0x");
        ck_assert_msg(!known || !strcmp(name, expected), "%#llx: %s instead of %s",
                      (unsigned long long)oracle->addresses[i], name, expected);
        named += known;
        free(name);
        free(expected);
    }
    ck_assert_uint_gt(named, oracle->count * 3 / 4);
    close_session(&full);
    close_session(&stripped);
}

// What returns to the second instruction of a function was not called: so the root of a goroutine is entered.
static void expect_root(const struct target *target, const char *path)
{
    struct hs_symbols_options options = options_of(target);
    struct session session;
    open_session(&session, &options, path, path, target->bias);
    char *name = outermost_function(&session, symbol(path, "plain_c_name") + target->bias - 1);
    ck_assert_str_eq(name, "plain_c_name");
    free(name);
    close_session(&session);
}

static void compare_package(const struct target *target, const struct oracle *oracle)
{
    const char *path = build(target, "split", "-gsplit-dwarf");
    shell("%sdwp -e split -o split.dwp && rm -f *.dwo", target->tools);
    compare_full(target, path, oracle);
}

START_TEST(test_target)
{
    const struct target *target = &targets[_i];
    const char *path = build(target, "sample", "");
    struct oracle *oracle = ask_oracle(target->tools, path);
    compare_full(target, path, oracle);
    compare_stripped_with_link(target, oracle);
    compare_only_symbols(target, path, oracle);
    if (target->machine == EM_MIPS)
        expect_root(target, path);
    if (target->packed)
        compare_package(target, oracle);
    free_oracle(oracle);
}
END_TEST

// Nothing else of ARM's with the highest byte first is here: no libraries.
START_TEST(test_big_endian_package)
{
    struct hs_symbols_options options = {.machine = EM_ARM, .pointer_size = 4, .byte_order = HS_BYTE_ORDER_BIG};
    static const char *const kinds[] = {"full", "split"};
    struct session sessions[2];
    size_t inlined = 0;
    for (int i = 0; i < 2; i++) {
        const char *path = text("%s/%s", work, kinds[i]);
        shell(
            "for file in rust_names inlined; do arm-linux-gnueabi-gcc -mbig-endian -O2 -g -gdwarf-4 %s -c '%s'/$file.c "
            "|| "
            "exit 1; done; arm-linux-gnueabi-gcc -mbig-endian -nostdlib -static -Wl,-Ttext=0x20000,-e0,--build-id=sha1,"
            "--unresolved-symbols=ignore-all rust_names.o inlined.o -o %s",
            i ? "-gsplit-dwarf" : "", source, kinds[i]);
        if (i)
            shell("arm-linux-gnueabi-dwp -e split -o split.dwp && rm -f *.dwo");
        open_session(&sessions[i], &options, path, path, 0);
    }
    for (uint64_t address = 0x20000; address < 0x20180; address += 4) {
        char *expected = strdup(frames_at(&sessions[0], address));
        if (!strstr(expected, "full+"))
            ck_assert_str_eq(frames_at(&sessions[1], address), expected);
        inlined += strchr(expected, '\n')[1] != 0;
        free(expected);
    }
    ck_assert_uint_gt(inlined, 10);
    close_session(&sessions[0]);
    close_session(&sessions[1]);
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    Suite *suite = suite_create("symbols_targets");
    TCase *tests = tcase_create("symbols_targets");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_loop_test(tests, test_target, 0, TARGETS);
    tcase_add_test(tests, test_big_endian_package);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
