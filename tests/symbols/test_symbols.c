// SPDX-License-Identifier: MIT OR Apache-2.0
#include "oracle.h"
#include "subject.h"

#include "host/symbols/demangle.h"
#include "tests/suite.h"

#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char flags[] = "-O2 -Wl,--build-id=sha1";
static char source[4096]; // folder of the sample's sources

// Compiles the sample to `name` in the folder of this run and returns its path.
static const char *compile(const char *name, const char *options)
{
    shell("gcc %s -c '%s/rust_names.c' -o rust_names.o && g++ %s %s '%s/sample.cpp' rust_names.o -o %s", options,
          source, options, flags, source, name);
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", work, name);
    return path;
}

// ---- against addr2line ---------------------------------------------------------------------------------------------

static void compare_with_oracle(const char *name, const char *options)
{
    struct session session;
    const char *path = compile(name, options);
    struct oracle *oracle = ask_oracle("", path);
    open_session(&session, NULL, path, path, 0x7f1234560000);
    compare_all(&session, oracle, 0x7f1234560000);
    ck_assert_int_eq(hs_symbols__state(session.symbols, 0), HS_SYMBOLS_FOUND);
    close_session(&session);
    free_oracle(oracle);
}

START_TEST(test_dwarf5)
{
    compare_with_oracle("dwarf5", "-O2 -g -gdwarf-5");
}
END_TEST

START_TEST(test_dwarf4)
{
    compare_with_oracle("dwarf4", "-O2 -g -gdwarf-4");
}
END_TEST

START_TEST(test_compressed)
{
    compare_with_oracle("compressed", "-O2 -g -gz=zlib");
}
END_TEST

// What a session has opened and unpacked serves a later one of the same trace, even if the file is gone.
START_TEST(test_handed_over)
{
    struct session before, after, elsewhere;
    const char *path = compile("handed", "-O2 -g -gz=zlib");
    const uint64_t address = symbol(path, "plain_c_name");
    open_session(&before, NULL, path, path, 0);
    open_session(&after, NULL, path, path, 0);
    open_session(&elsewhere, NULL, path, path, 0x1000);
    char *expected = strdup(frames_at(&before, address));
    ck_assert_msg(strstr(expected, "plain_c_name|sample.cpp:"), "%s", expected);
    shell("rm handed");
    hs_symbols__hand_over(before.symbols, elsewhere.symbols);
    hs_symbols__hand_over(before.symbols, after.symbols);
    close_session(&before);
    ck_assert_str_eq(frames_at(&after, address), expected);
    frames_at(&elsewhere, address + 0x1000);
    ck_assert_int_eq(hs_symbols__state(elsewhere.symbols, 0), HS_SYMBOLS_MISSING);
    close_session(&after);
    close_session(&elsewhere);
    free(expected);
}
END_TEST

// What was missing is looked for again.
START_TEST(test_not_handed_over_without_lines)
{
    struct session before, after;
    const char *full = compile("full", "-O2 -g");
    shell("mkdir -p late && objcopy --only-keep-debug full later && "
          "objcopy --add-gnu-debuglink=later --strip-debug --remove-section=.note.gnu.build-id full late/full");
    const char *path = text("%s/late/full", work);
    const uint64_t address = symbol(full, "plain_c_name");
    open_session(&before, NULL, path, path, 0);
    open_session(&after, NULL, path, path, 0);
    const char *found = frames_at(&before, address);
    ck_assert_msg(strstr(found, "plain_c_name|") && !strstr(found, "sample.cpp:"), "%s", found);
    shell("mv later late/");
    hs_symbols__hand_over(before.symbols, after.symbols);
    close_session(&before);
    found = frames_at(&after, address);
    ck_assert_msg(strstr(found, "plain_c_name|sample.cpp:"), "%s", found);
    close_session(&after);
}
END_TEST

// The linker packs debug sections with zstd; not all of elfutils' versions read that.
START_TEST(test_packed_with_zstd)
{
    compare_with_oracle("packed", "-O2 -g -Wl,--compress-debug-sections=zstd");
}
END_TEST

START_TEST(test_fixed_address)
{
    struct session session;
    const char *path = compile("fixed", "-O2 -g -no-pie -fno-pie");
    struct oracle *oracle = ask_oracle("", path);
    open_session(&session, NULL, path, path, 0);
    compare_all(&session, oracle, 0);
    close_session(&session);
    free_oracle(oracle);
}
END_TEST

START_TEST(test_no_aranges)
{
    // clang writes no .debug_aranges.
    ck_assert_msg(have("clang-14"), "clang-14 is missing; scripts/setup installs it");
    shell("clang-14 -O2 -g -gdwarf-4 -fPIE -c '%s/rust_names.c' && clang-14 -O2 -g -gdwarf-4 -fPIE -pie "
          "'%s/sample.cpp' rust_names.o "
          "-lstdc++ -o clang",
          source, source);
    struct session session;
    char *path = strdup(text("%s/clang", work));
    struct oracle *oracle = ask_oracle("", path);
    open_session(&session, NULL, path, path, 0);
    compare_all(&session, oracle, 0);
    close_session(&session);
    free_oracle(oracle);
    free(path);
}
END_TEST

// ---- debug information elsewhere -----------------------------------------------------------------------------------

START_TEST(test_debuglink)
{
    const char *full = compile("full", "-O2 -g");
    shell("mkdir -p linked/.debug && objcopy --only-keep-debug full linked/.debug/full.debug && "
          "objcopy --strip-all --add-gnu-debuglink=linked/.debug/full.debug --remove-section=.note.gnu.build-id full "
          "linked/full");
    const char *path = text("%s/linked/full", work);
    compare_files(full, path, path, NULL);
}
END_TEST

START_TEST(test_wrong_debuglink)
{
    // The checksum does not fit: nothing of that file may be used.
    compile("full", "-O2 -g");
    shell("mkdir -p linked && objcopy --only-keep-debug full linked/full.debug && "
          "objcopy --strip-all --add-gnu-debuglink=linked/full.debug --remove-section=.note.gnu.build-id full "
          "linked/full && "
          "objcopy --only-keep-debug --compress-debug-sections=zlib full linked/full.debug");
    struct session session;
    const char *full = text("%s/full", work);
    const char *path = text("%s/linked/full", work);
    uint64_t address = symbol(full, "plain_c_name");
    open_session(&session, NULL, path, path, 0);
    ck_assert_str_eq(frames_at(&session, address), text("full+0x%llx|?:0\n", (unsigned long long)address + 1));
    close_session(&session);
}
END_TEST

static const char *build_id_file(const char *folder, const char *path)
{
    char line[512] = "";
    char id[128] = "";
    FILE *pipe = popen(text("readelf -n '%s'", path), "r");
    while (fgets(line, sizeof(line), pipe))
        sscanf(line, " Build ID: %127s", id);
    pclose(pipe);
    ck_assert_uint_gt(strlen(id), 8);
    return text("%s/.build-id/%.2s/%s.debug", folder, id, id + 2);
}

START_TEST(test_build_id_folder)
{
    const char *full = compile("full", "-O2 -g");
    const char *place = build_id_file("debug", full);
    shell("mkdir -p $(dirname %s) && objcopy --only-keep-debug full %s && objcopy --strip-all full stripped", place,
          place);
    const char *folder = text("%s/debug", work);
    struct hs_symbols_options options = {.debug_dirs = &folder, .debug_dir_count = 1};
    const char *path = text("%s/stripped", work);
    compare_files(full, path, path, &options);
    // Also when the file itself is not on this machine at all.
    compare_files(full, "/nonexistent/folder/stripped", path, &options);
}
END_TEST

START_TEST(test_unstripped_folder)
{
    const char *full = compile("full", "-O2 -g");
    shell("mkdir -p unstripped root/usr/bin && cp full unstripped/ && objcopy --strip-all full root/usr/bin/full");
    const char *folder = text("%s/unstripped", work);
    const char *root = text("%s/root", work);
    struct hs_symbols_options options = {
        .debug_dirs = &folder, .debug_dir_count = 1, .sysroots = &root, .sysroot_count = 1};
    compare_files(full, "/usr/bin/full", full, &options);
}
END_TEST

START_TEST(test_supplementary_file)
{
    ck_assert_msg(have("dwz"), "dwz is missing; scripts/setup installs it");
    const char *full = compile("full", "-O2 -g");
    shell("mkdir -p common && cp full one && cp full two && dwz -m common/shared.debug one two");
    const char *path = text("%s/one", work);
    compare_files(full, path, path, NULL);
}
END_TEST

START_TEST(test_packed_elsewhere)
{
    const char *full = compile("full", "-O2 -g");
    const char *place = build_id_file("debug", full);
    shell("mkdir -p $(dirname %s) && objcopy --only-keep-debug --compress-debug-sections=zstd full %s && "
          "objcopy --strip-all full stripped",
          place, place);
    const char *folder = text("%s/debug", work);
    struct hs_symbols_options options = {.debug_dirs = &folder, .debug_dir_count = 1};
    const char *path = text("%s/stripped", work);
    compare_files(full, path, path, &options);
}
END_TEST

// A section that says that it is much larger, and one that is cut.
START_TEST(test_packed_and_damaged)
{
    struct session session;
    struct hs_symbols_status status;
    char why[4096], wanted[4096];
    const char *path = compile("packed", "-O2 -g -Wl,--compress-debug-sections=zstd");
    uint64_t address = symbol(path, "plain_c_name");
    shell("offset=$(readelf -SW packed | sed -n 's/.*\\.debug_info *PROGBITS *[0-9a-f]* \\([0-9a-f]*\\).*/\\1/p') && "
          "printf '%%b' '%s' | dd of=packed bs=1 seek=$((0x$offset + %d)) conv=notrunc status=none",
          _i ? "\\377\\377\\377\\377\\377" : "\\001\\002\\003\\004", _i ? 8 : 40);
    open_session(&session, NULL, path, path, 0);
    ck_assert_str_eq(frames_at(&session, address), "plain_c_name|?:0\n");
    hs_symbols__status(session.symbols, 0, &status);
    ck_assert(hs_symbols__explain(session.symbols, &status, why, sizeof(why), wanted, sizeof(wanted)));
    ck_assert_msg(strstr(why, "cannot be unpacked") != NULL, "%s", why);
    close_session(&session);
}
END_TEST

START_TEST(test_split_units)
{
    const char *full = compile("full", "-O2 -g -gdwarf-5");
    const char *path = compile("split", "-O2 -g -gdwarf-5 -gsplit-dwarf");
    compare_files(full, path, path, NULL);
}
END_TEST

START_TEST(test_split_units_elsewhere)
{
    struct session session;
    struct hs_symbols_status status;
    char why[4096], wanted[4096];
    const char *path = compile("split", "-O2 -g -gdwarf-5 -gsplit-dwarf");
    uint64_t address = symbol(path, "plain_c_name");
    for (int missing = 0; missing < 2; missing++) {
        open_session(&session, NULL, path, path, 0);
        ck_assert(!strncmp(frames_at(&session, address), "plain_c_name|", 13));
        hs_symbols__status(session.symbols, 0, &status);
        ck_assert_int_eq(hs_symbols__explain(session.symbols, &status, why, sizeof(why), wanted, sizeof(wanted)),
                         missing);
        ck_assert_msg(!missing || strstr(why, ".dwo"), "%s", why);
        close_session(&session);
        shell("rm -f *.dwo");
    }
}
END_TEST

// ---- only symbols --------------------------------------------------------------------------------------------------

static void expect_name(const char *path, const char *described, uint64_t address, const char *expected)
{
    struct session session;
    open_session(&session, NULL, described, path, 0x10000000);
    ck_assert_str_eq(frames_at(&session, address + 0x10000000), expected);
    close_session(&session);
}

START_TEST(test_symbol_table)
{
    const char *path = compile("plain", "-O2");
    expect_name(path, path, symbol(path, "_ZN6sample5outerEm") + 3, "sample::outer(unsigned long)|?:0\n");
    expect_name(path, path, symbol(path, "plain_c_name") + 1, "plain_c_name|?:0\n");
    expect_name(path, path, symbol(path, "_ZN5alloc3vec16Vec$LT$T$C$A$GT$13with_capacity17h0123456789abcdefE"),
                "alloc::vec::Vec<T,A>::with_capacity|?:0\n");
    expect_name(path, path, symbol(path, "_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar|?:0\n");
}
END_TEST

START_TEST(test_dynamic_symbols)
{
    const char *path = compile("exported", "-O2 -rdynamic");
    uint64_t known = symbol(path, "plain_c_name");
    uint64_t hidden = symbol(path, "main");
    shell("strip exported");
    expect_name(path, path, known + 1, "plain_c_name|?:0\n");
    const char *other = compile("closed", "-O2");
    shell("strip closed");
    (void)hidden;
    expect_name(other, other, known, text("closed+0x%llx|?:0\n", (unsigned long long)known + 1));
}
END_TEST

START_TEST(test_no_sections)
{
    // Without section headers the dynamic segment still has names.
    const char *path = compile("exported", "-O2 -rdynamic");
    uint64_t known = symbol(path, "plain_c_name");
    shell(
        "strip exported && printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=exported bs=1 seek=40 conv=notrunc status=none && "
        "printf '\\0\\0\\0\\0' | dd of=exported bs=1 seek=60 conv=notrunc status=none");
    expect_name(path, path, known + 1, "plain_c_name|?:0\n");
}
END_TEST

START_TEST(test_mini_debug_information)
{
    ck_assert_msg(have("xz"), "xz is missing; scripts/setup installs it");
    const char *path = compile("mini", "-O2");
    uint64_t address = symbol(path, "_ZN6sample5outerEm");
    shell("nm mini -f posix --defined-only | awk '$2 ~ /[Tt]/ {print $1}' > keep && "
          "objcopy -S --remove-section .comment --keep-symbols=keep mini inner && xz -k inner && strip mini && "
          "objcopy --add-section .gnu_debugdata=inner.xz mini");
    expect_name(path, path, address + 2, "sample::outer(unsigned long)|?:0\n");
}
END_TEST

static void expect_demangled(const char *linked, const char *readable)
{
    char *name = hs_demangle(linked, HS_NAME_LINKED);
    ck_assert_str_eq(name, readable);
    free(name);
}

START_TEST(test_demangling)
{
    expect_demangled("_ZnwmSt11align_val_t", "operator new(unsigned long, std::align_val_t)");
    expect_demangled("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str");
    expect_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    expect_demangled("_ZN6sample5outerEm.part.0.cold", "sample::outer(unsigned long)");
    expect_demangled("plain_function.constprop.0", "plain_function");
    expect_demangled("_Znonsense", "_Znonsense");
    expect_demangled("", "");
    expect_demangled("@", "@");
    expect_demangled("copy.isra.0.part.12.cold", "copy");
    expect_demangled("op@thing", "op@thing");
    // What only looks like it, in the middle of a name.
    expect_demangled("main.coldStart", "main.coldStart");
    expect_demangled("main.part.Size", "main.part.Size");
    expect_demangled("com.acme.part.PartService.create", "com.acme.part.PartService.create");
    expect_demangled("main.init.0", "main.init.0");
    expect_demangled("load (/node_modules/@babel/core.js:12)", "load (/node_modules/@babel/core.js:12)");
    expect_demangled("@types/x.js", "@types/x.js");
}
END_TEST

static void expect_given(const char *given, const char *readable)
{
    char *name = hs_demangle(given, HS_NAME_GIVEN);
    ck_assert_str_eq(name, readable);
    free(name);
}

START_TEST(test_given_names)
{
    expect_given("main.cold", "main.cold");
    expect_given("user@host", "user@host");
    expect_given("a.part.0", "a.part.0");
    expect_given("_ZN6sample5outerEm.part.0.cold", "sample::outer(unsigned long)");
    expect_given("_ZN6sample5outerEm@@V1", "sample::outer(unsigned long)");
}
END_TEST

// What the linker writes behind the name of a symbol with a version, and names that only look like it.
static const char versions_source[] = "static void op(void) __asm__(\"\\\"op@thing\\\"\") __attribute__((used));\n"
                                      "static void pair(void) __asm__(\"\\\"pair@@V1.x\\\"\") __attribute__((used));\n"
                                      "static void op(void) {}\n"
                                      "static void pair(void) {}\n"
                                      "void older(void) {}\n"
                                      "void newer(void) {}\n"
                                      "__asm__(\".symver older, taken@V0\");\n"
                                      "__asm__(\".symver newer, taken@@V1\");\n";

static void expect_version(const struct hs_symbols_options *options, const char *described, const char *path,
                           const char *linked, const char *readable)
{
    struct session session;
    open_session(&session, options, described, path, 0);
    const char *answer = frames_at(&session, symbol(described, linked));
    ck_assert_msg(!strncmp(answer, readable, strlen(readable)), "%s: %s", linked, answer);
    close_session(&session);
}

START_TEST(test_versions)
{
    FILE *file = fopen(text("%s/versions.c", work), "w");
    ck_assert_ptr_nonnull(file);
    fputs(versions_source, file);
    fclose(file);
    shell("printf 'V0 { global: taken; local: *; }; V1 { global: taken; } V0;' >map && "
          "gcc -shared -fPIC -O1 -Wl,--build-id -Wl,--version-script=map versions.c -o versions");
    char *path = strdup(text("%s/versions", work));
    expect_version(NULL, path, path, "op@thing", "op@thing|");
    expect_version(NULL, path, path, "pair@@V1.x", "pair@@V1.x|");
    expect_version(NULL, path, path, "taken@V0", "taken|");
    expect_version(NULL, path, path, "taken@@V1", "taken|");
    // Where only the debug information is on this machine.
    const char *place = build_id_file("debug", path);
    shell("mkdir -p $(dirname %s) && objcopy --only-keep-debug versions %s", place, place);
    const char *folder = text("%s/debug", work);
    struct hs_symbols_options options = {.debug_dirs = &folder, .debug_dir_count = 1};
    expect_version(&options, path, "/nonexistent/versions", "taken@@V1", "taken|");
    free(path);
}
END_TEST

// ---- what must not be named ----------------------------------------------------------------------------------------

static void expect_problem(const struct hs_symbols_options *options, const char *described, const char *path,
                           enum hs_symbols_state state, const char *words)
{
    struct session session;
    char line[512] = "";
    open_session(&session, options, described, path, 0x5000);
    ck_assert_str_eq(frames_at(&session, 0x6000), text("%s+0x1001|?:0\n", strrchr(path, '/') + 1));
    ck_assert_int_eq(hs_symbols__state(session.symbols, 0), state);
    ck_assert(hs_symbols__problem(session.symbols, 0, line, sizeof(line)));
    ck_assert_msg(strstr(line, words) && strstr(line, path), "%s", line);
    ck_assert_ptr_null(strchr(line, '\n'));
    close_session(&session);
}

START_TEST(test_other_build)
{
    const char *one = compile("one", "-O2 -g");
    const char *two = compile("two", "-O1 -g");
    expect_problem(NULL, one, two, HS_SYMBOLS_MISMATCH, "another build id");
}
END_TEST

START_TEST(test_missing_file)
{
    const char *one = compile("one", "-O2");
    expect_problem(NULL, one, "/nonexistent/lib.so", HS_SYMBOLS_MISSING, "DIR/nonexistent/lib.so with --sysroot DIR");
}
END_TEST

START_TEST(test_other_machine)
{
    const char *one = compile("one", "-O2");
    const char *root = "/";
    struct hs_symbols_options options = {.machine = EM_AARCH64};
    // A file of this machine says nothing about a trace of another one, unless it was given as that one's.
    expect_problem(&options, one, one, HS_SYMBOLS_MISSING, "no file found");
    options.sysroots = &root;
    options.sysroot_count = 1;
    expect_problem(&options, one, one, HS_SYMBOLS_FOREIGN, "another machine");
}
END_TEST

START_TEST(test_damaged_file)
{
    const char *one = compile("one", "-O2 -g");
    shell("head -c 100 one > short && head -c 4000 /dev/urandom > noise");
    expect_problem(NULL, one, text("%s/short", work), HS_SYMBOLS_DAMAGED, "not a readable ELF");
    expect_problem(NULL, one, text("%s/noise", work), HS_SYMBOLS_DAMAGED, "not a readable ELF");
    // A file cut later still has its headers: whatever is said, it is said without a crash.
    for (int kept = 5000; kept < 60000; kept += 5000) {
        struct session session;
        shell("head -c %d one > cut", kept);
        open_session(&session, NULL, one, text("%s/cut", work), 0);
        frames_at(&session, 0x1300);
        close_session(&session);
    }
}
END_TEST

START_TEST(test_addresses_without_file)
{
    struct hs_symbols *symbols = hs_symbols__create(NULL);
    struct hs_symbols_module vdso = {.start = 0x7fff00001000, .bias = 0x7fff00001000, .path = "[vdso]"};
    char line[256];
    int module = hs_symbols__add_module(symbols, &vdso);
    const struct hs_frames *frames = hs_symbols__resolve(symbols, module, 0x7fff00001a2b);
    ck_assert_str_eq(frames->frame[0].function, "[vdso]+0xa2b");
    ck_assert_int_eq(frames->frame[0].kind, HS_FRAME_OFFSET);
    ck_assert(!hs_symbols__problem(symbols, 0, line, sizeof(line)));
    frames = hs_symbols__resolve(symbols, -1, 0x123456789abc);
    ck_assert_str_eq(frames->frame[0].function, "0x123456789abc");
    ck_assert_int_eq(frames->frame[0].kind, HS_FRAME_ADDRESS);
    ck_assert_ptr_eq(frames, hs_symbols__resolve(symbols, -1, 0x123456789abc));
    // Names of any length are whole.
    char path[1500] = "/nonexistent/";
    memset(path + strlen(path), 'n', sizeof(path) - strlen(path) - 1);
    path[sizeof(path) - 1] = 0;
    struct hs_symbols_module longest = {.start = 0x5000, .bias = 0x5000, .path = path};
    module = hs_symbols__add_module(symbols, &longest);
    frames = hs_symbols__resolve(symbols, module, 0x6001);
    ck_assert_str_eq(frames->frame[0].function, text("%s+0x1001", strrchr(path, '/') + 1));
    hs_symbols__destroy(symbols);
}
END_TEST

int main(void)
{
    if (!getcwd(source, sizeof(source)))
        return 1;
    Suite *suite = suite_create("symbols");
    TCase *tests = tcase_create("symbols");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_dwarf5);
    tcase_add_test(tests, test_dwarf4);
    tcase_add_test(tests, test_compressed);
    tcase_add_test(tests, test_packed_with_zstd);
    tcase_add_test(tests, test_packed_elsewhere);
    tcase_add_loop_test(tests, test_packed_and_damaged, 0, 2);
    tcase_add_test(tests, test_fixed_address);
    tcase_add_test(tests, test_no_aranges);
    tcase_add_test(tests, test_debuglink);
    tcase_add_test(tests, test_wrong_debuglink);
    tcase_add_test(tests, test_build_id_folder);
    tcase_add_test(tests, test_unstripped_folder);
    tcase_add_test(tests, test_supplementary_file);
    tcase_add_test(tests, test_split_units);
    tcase_add_test(tests, test_split_units_elsewhere);
    tcase_add_test(tests, test_symbol_table);
    tcase_add_test(tests, test_dynamic_symbols);
    tcase_add_test(tests, test_no_sections);
    tcase_add_test(tests, test_mini_debug_information);
    tcase_add_test(tests, test_demangling);
    tcase_add_test(tests, test_given_names);
    tcase_add_test(tests, test_versions);
    tcase_add_test(tests, test_handed_over);
    tcase_add_test(tests, test_not_handed_over_without_lines);
    tcase_add_test(tests, test_other_build);
    tcase_add_test(tests, test_missing_file);
    tcase_add_test(tests, test_other_machine);
    tcase_add_test(tests, test_damaged_file);
    tcase_add_test(tests, test_addresses_without_file);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
