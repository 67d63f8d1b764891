// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `heapsonde run` around a program: what it refuses, what it passes on. Any library can stand in for the recorder here;
// without the recorder there is no trace, and that is said.
#include "command.h"

#include "tests/suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void prepare(void)
{
    make_work();
    shell("printf 'int heapsonde_stand_in;' | gcc -shared -fPIC -x c - -o stand_in.so");
    setenv("HEAPSONDE_LIBRARY", text("%s/stand_in.so", work), 1);
}

static void expect_refusal(int status, const char *command, const char *name, const char *word)
{
    struct outcome outcome = run("%s", command);
    ck_assert_msg(outcome.status == status, "%s: status %d\n%s", command, outcome.status, outcome.errors);
    ck_assert_str_eq(outcome.output, "");
    ck_assert_msg(strstr(outcome.errors, name) && strstr(outcome.errors, word), "%s: %s", command, outcome.errors);
    const char *end = strchr(outcome.errors, '\n');
    ck_assert_msg(end && !end[1], "not one line: %s", outcome.errors);
    free_outcome(&outcome);
}

START_TEST(test_not_found)
{
    expect_refusal(127, "$HEAPSONDE run -- no-such-program-anywhere", "no-such-program-anywhere", "PATH");
    expect_refusal(127, "$HEAPSONDE run ./missing/program a b", "./missing/program", "not found");
    expect_refusal(127, "printf '#!/nonexistent/interpreter\\n' >script; chmod +x script; $HEAPSONDE run ./script",
                   "/nonexistent/interpreter", "./script");
}
END_TEST

// The port belongs to somebody who takes no connections.
START_TEST(test_a_host_that_does_not_answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(!bind(holder, (struct sockaddr *)&address, length) &&
              !getsockname(holder, (struct sockaddr *)&address, &length));
    const char *host = text("127.0.0.1:%d", ntohs(address.sin_port));
    expect_refusal(7, text("$HEAPSONDE run -q --connect %s -- sh -c 'exit 7'", host), host, "Connection refused");
    expect_refusal(7, text("HEAPSONDE_STREAM_POLICY=block $HEAPSONDE run -q --connect %s -- sh -c 'exit 7'", host),
                   host, "will wait");
    ck_assert(!listen(holder, 4));
    struct outcome outcome = run("$HEAPSONDE run -q --connect %s -- sh -c 'exit 7'", host);
    ck_assert_int_eq(outcome.status, 7);
    ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
    close(holder);
}
END_TEST

START_TEST(test_not_executable)
{
    expect_refusal(126, "echo text >file; $HEAPSONDE run ./file", "./file", "chmod +x");
    expect_refusal(126, "mkdir folder; $HEAPSONDE run ./folder", "./folder", "folder");
}
END_TEST

// A folder of PATH that this user may not search says nothing about the program. Root may search every one.
START_TEST(test_not_found_behind_a_closed_folder)
{
    const char *user = getuid() ? "" : "setpriv --reuid=65534 --regid=65534 --clear-groups";
    shell("mkdir -p closed && chmod 000 closed && chmod 755 .");
    struct outcome outcome = run("%s test -x $HEAPSONDE", user);
    bool reachable = outcome.status == 0;
    free_outcome(&outcome);
    if (!reachable)
        return;
    outcome = run("%s env PATH=$PWD/closed:/usr/bin:/bin $HEAPSONDE run -- no-such-program", user);
    ck_assert_msg(outcome.status == 127 && strstr(outcome.errors, "was not found in any folder of PATH"), "%d: %s",
                  outcome.status, outcome.errors);
    free_outcome(&outcome);
}
END_TEST

// A runtime that comes with the program allocates by itself and does not stand another library before it. Its code is
// in a shared library, or in the program, which may be stripped.
START_TEST(test_sanitizers)
{
    shell("printf 'int main(void) { return 0; }' >main.c && gcc -fsanitize=undefined main.c -o undefined");
    static const char *const kinds[][2] = {{"address", "asan"}, {"thread", "tsan"}, {"leak", "lsan"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *flag = kinds[i][0];
        shell("gcc -fsanitize=%s main.c -o shared && gcc -fsanitize=%s -static-lib%s main.c -o linked", flag, flag,
              kinds[i][1]);
        expect_refusal(126, "$HEAPSONDE run -- ./shared", "heapsonde cannot record ./shared",
                       text("(-fsanitize=%s)", flag));
        expect_refusal(126, "$HEAPSONDE run -- ./linked", "heapsonde cannot record ./linked",
                       text("(-fsanitize=%s)", flag));
        expect_refusal(126, "$HEAPSONDE doctor -- ./shared | grep -o 'heapsonde cannot record.*' >&2; exit 126",
                       "./shared", text("(-fsanitize=%s)", flag));
    }
    expect_refusal(126, "gcc -s -fsanitize=address -static-libasan main.c -o stripped && $HEAPSONDE run -- ./stripped",
                   "./stripped", "AddressSanitizer or LeakSanitizer");
    expect_refusal(126, "LD_PRELOAD=$(gcc -print-file-name=libasan.so) $HEAPSONDE run -- true",
                   "libasan.so in LD_PRELOAD", "runtime of a sanitizer");
    shell("$HEAPSONDE run -q -- ./undefined");
}
END_TEST

START_TEST(test_static)
{
    shell("printf 'int main(void) { return 0; }' >main.c && gcc -static main.c -o plain && "
          "gcc -static-pie main.c -o pie");
    expect_refusal(126, "$HEAPSONDE run -- ./plain", "heapsonde cannot record ./plain", "statically linked");
    expect_refusal(126, "$HEAPSONDE run -- ./pie", "./pie", "statically linked");
    expect_refusal(126, "printf '#!%s/plain\\n' \"$PWD\" >script; chmod +x script; $HEAPSONDE run ./script", "/plain",
                   " (which runs ./script): it is ");
    expect_refusal(126,
                   "printf '#!./script2\\n' >script; cp script script2; sed -i s/2/1/ script2; cp script script1; "
                   "chmod +x script*; $HEAPSONDE run ./script",
                   "./script", "#!");
}
END_TEST

START_TEST(test_elevated)
{
    // Only root can make a file that belongs to somebody else.
    if (geteuid() != 0)
        return;
    shell("cp /bin/true user && chown 65534 user && chmod 4755 user && cp /bin/true group && chgrp 65534 group && "
          "chmod 2755 group && cp /bin/true own && chmod 4755 own");
    expect_refusal(126, "$HEAPSONDE run -- ./user", "./user", "set-uid");
    expect_refusal(126, "$HEAPSONDE run -- ./group", "./group", "set-gid");
    // The user's own set-uid file gives nothing, so the loader does as always.
    struct outcome outcome = run("$HEAPSONDE run -q -- ./own");
    ck_assert_int_eq(outcome.status, 0);
    free_outcome(&outcome);
}
END_TEST

static void patched_copy(const char *name, size_t offset, unsigned char byte)
{
    size_t length = 0;
    char *bytes = read_file("/bin/true", &length);
    const char *path = text("%s/%s", work, name);
    bytes[offset] = (char)byte;
    write_file(path, bytes, length);
    chmod(path, 0755);
    free(bytes);
}

START_TEST(test_foreign)
{
    patched_copy("aarch64", 18, 0xb7);
    patched_copy("riscv", 18, 0xf3);
    expect_refusal(126, "HEAPSONDE_SHIMS=. $HEAPSONDE run -- ./aarch64", "./aarch64", "AArch64");
    expect_refusal(126, "PATH=/nonexistent $HEAPSONDE run -- ./aarch64", "./aarch64", "qemu-aarch64");
    expect_refusal(126, "$HEAPSONDE run -- ./riscv", "HEAPSONDE_LIBRARY", "RISC-V");
    expect_refusal(126, "printf text >text.so; HEAPSONDE_LIBRARY=text.so $HEAPSONDE run -- true", "text.so", "ELF");
    shell("head -c 70 /bin/true >short; chmod +x short");
    expect_refusal(126, "$HEAPSONDE run -- ./short", "./short", "damaged");
    // What is mapped ends past the file: the program would end with SIGBUS.
    shell("head -c 9000 /bin/true >cut; chmod +x cut; head -c 9000 stand_in.so >cut.so");
    expect_refusal(126, "$HEAPSONDE run -- ./cut", "./cut", "damaged");
    expect_refusal(126, "HEAPSONDE_LIBRARY=cut.so $HEAPSONDE run -- true", "cut.so", "intact");
}
END_TEST

// The first bytes of a program for 32-bit ARM, as the toolchains for hard-float and for soft-float make it.
static void arm_program(const char *name, unsigned flags)
{
    Elf32_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_ARM,
                         .e_version = EV_CURRENT,
                         .e_flags = EF_ARM_EABI_VER5 | flags};
    const char *path = text("%s/%s", work, name);
    write_file(path, &header, sizeof(header));
    chmod(path, 0755);
}

START_TEST(test_foreign_abi)
{
    arm_program("hard", EF_ARM_ABI_FLOAT_HARD);
    arm_program("soft", EF_ARM_ABI_FLOAT_SOFT);
    arm_program("either", 0);
    expect_refusal(126, "HEAPSONDE_LIBRARY=hard $HEAPSONDE run -- true", "64-bit x86-64 program", "32-bit ARM");
    // They have no loader, which is said of the right machine.
    expect_refusal(126, "$HEAPSONDE run -- ./hard", "statically linked", "ARM, hard-float");
    expect_refusal(126, "$HEAPSONDE run -- ./soft", "statically linked", "ARM, soft-float");
    expect_refusal(126, "HEAPSONDE_LIBRARY=either $HEAPSONDE run -- ./hard", "./hard", "statically linked");
}
END_TEST

START_TEST(test_library)
{
    expect_refusal(1, "HEAPSONDE_LIBRARY=/nonexistent.so $HEAPSONDE run -- true", "/nonexistent.so",
                   "HEAPSONDE_LIBRARY");
    expect_refusal(1, "mkdir 'a b'; cp stand_in.so 'a b/'; HEAPSONDE_LIBRARY='a b/stand_in.so' $HEAPSONDE run -- true",
                   "a b/stand_in.so", "space");
}
END_TEST

START_TEST(test_output_place)
{
    expect_refusal(1, "$HEAPSONDE run -o /nonexistent/folder/x.dat -- true", "/nonexistent/folder", "--output");
    expect_refusal(1, "$HEAPSONDE run -o . -- true", "folder", "--output");
    expect_refusal(1, "$HEAPSONDE run -o /dev/null -- true", "not a regular file", "--output /dev/null");
}
END_TEST

static void expect_status(int status, const char *command)
{
    struct outcome outcome = run("%s", command);
    ck_assert_msg(outcome.status == status, "%s: status %d\n%s", command, outcome.status, outcome.errors);
    free_outcome(&outcome);
}

START_TEST(test_exit_status)
{
    expect_status(0, "$HEAPSONDE run -- true");
    expect_status(1, "$HEAPSONDE run -- false");
    expect_status(42, "$HEAPSONDE run -- sh -c 'exit 42'");
    expect_status(128 + SIGTERM, "$HEAPSONDE run -- sh -c 'kill -TERM $$'");
    expect_status(128 + SIGKILL, "$HEAPSONDE run -- sh -c 'kill -KILL $$'");
    expect_status(128 + SIGSEGV, "$HEAPSONDE run -- sh -c 'kill -SEGV $$'");
    expect_status(42, "env --ignore-signal=CHLD $HEAPSONDE run -- sh -c 'exit 42'");
    expect_status(0, "ignored='env --ignore-signal=CHLD'; show='grep SigIgn /proc/self/status'; "
                     "[ \"$($ignored $HEAPSONDE run -q -- $show)\" = \"$($ignored $show)\" ]");
}
END_TEST

START_TEST(test_signals_are_passed_on)
{
    // The program ends by the signal that heapsonde got; heapsonde stays until it has.
    expect_status(128 + SIGTERM, "$HEAPSONDE run -- sh -c 'echo $$ >pid; exec sleep 900' & parent=$!; "
                                 "while ! [ -s pid ]; do sleep 0.02; done; kill -TERM $parent; wait $parent");
    expect_status(7, "$HEAPSONDE run -- bash -c 'trap \"exit 7\" USR1; echo >ready; while :; do sleep 0.02; done' & "
                     "parent=$!; while ! [ -e ready ]; do sleep 0.02; done; kill -USR1 $parent; wait $parent");
}
END_TEST

START_TEST(test_streams)
{
    struct outcome outcome = run("echo input | $HEAPSONDE run -q -- sh -c 'cat; echo problem >&2'");
    ck_assert_str_eq(outcome.output, "input\n");
    ck_assert_str_eq(outcome.errors, "problem\n");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_environment)
{
    struct outcome outcome =
        run("cd '%s'; LD_PRELOAD=libm.so.6 $HEAPSONDE run -q -o '%%e.dat' --free-stacks --cull 250 --no-memo "
            "--embed-binaries "
            "--log warn --inline-writer -- env | grep -E '^(HEAPSONDE_|LD_PRELOAD)' | grep -v HEAPSONDE_LIBRARY | sort",
            work);
    ck_assert_str_eq(outcome.output, text("HEAPSONDE_CULL_TEMPORARY_ALLOCATIONS=1\n"
                                          "HEAPSONDE_GRAB_BACKTRACES_ON_FREE=1\n"
                                          "HEAPSONDE_LOG=warn\n"
                                          "HEAPSONDE_OUTPUT=%s/%%e.dat\n"
                                          "HEAPSONDE_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD=250\n"
                                          "HEAPSONDE_USE_SHADOW_STACK=0\n"
                                          "HEAPSONDE_WRITER=inline\n"
                                          "HEAPSONDE_WRITE_BINARIES_TO_OUTPUT=1\n"
                                          "LD_PRELOAD=%s/stand_in.so:libm.so.6\n",
                                          work, work));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_arguments)
{
    // What follows the program is the program's, with or without `--`.
    struct outcome outcome = run("$HEAPSONDE run -q printf '%%s|' --help -o 'a b' ''");
    ck_assert_str_eq(outcome.output, "--help|-o|a b||");
    free_outcome(&outcome);
    outcome = run("$HEAPSONDE run -q -- printf '%%s|' -- x");
    ck_assert_str_eq(outcome.output, "--|x|");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_scripts)
{
    struct outcome outcome = run("printf '#!/bin/sh\\necho script \"$@\"\\n' >script; chmod +x script; "
                                 "$HEAPSONDE run -q ./script a 'b c'");
    ck_assert_str_eq(outcome.output, "script a b c\n");
    free_outcome(&outcome);
    // env would drop out of the recording: its interpreter is run directly, with the same arguments.
    outcome = run("printf '#!/usr/bin/env bash\\necho $0 $1 $LD_PRELOAD\\n' >script; chmod +x script; "
                  "$HEAPSONDE run -q ./script a");
    ck_assert_str_eq(outcome.output, text("./script a %s/stand_in.so\n", work));
    free_outcome(&outcome);
    // No #! line at all: the shell's, as execvp does.
    outcome = run("echo 'echo bare $1' >script; chmod +x script; $HEAPSONDE run -q ./script x");
    ck_assert_str_eq(outcome.output, "bare x\n");
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_absence_is_explained)
{
    struct outcome outcome = run("$HEAPSONDE run -o here.dat -- true");
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_ptr_nonnull(strstr(outcome.errors, "heapsonde: true ended with exit status 0 after"));
    ck_assert_ptr_nonnull(strstr(outcome.errors, "no trace was written to"));
    ck_assert_ptr_nonnull(strstr(outcome.errors, "here.dat"));
    ck_assert_ptr_null(strstr(outcome.errors, "is full"));
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_full_disk_is_explained)
{
    struct outcome outcome = run("mkdir full; unshare -rm sh -c 'mount -t tmpfs -o size=4k none full || exit 77; "
                                 "exec $HEAPSONDE run -o full/here.dat -- true' || exit 77");
    // Not everybody may mount.
    if (outcome.status == 0)
        ck_assert_msg(strstr(outcome.errors, "full/here.dat: the disk is full"), "%s", outcome.errors);
    else
        ck_assert_msg(outcome.status == 77, "%s", outcome.errors);
    free_outcome(&outcome);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_run");
    TCase *tests = tcase_create("cli_run");
    tcase_add_checked_fixture(tests, prepare, remove_work);
    tcase_add_test(tests, test_not_found);
    tcase_add_test(tests, test_not_executable);
    tcase_add_test(tests, test_not_found_behind_a_closed_folder);
    tcase_add_test(tests, test_sanitizers);
    tcase_add_test(tests, test_static);
    tcase_add_test(tests, test_elevated);
    tcase_add_test(tests, test_foreign);
    tcase_add_test(tests, test_foreign_abi);
    tcase_add_test(tests, test_library);
    tcase_add_test(tests, test_output_place);
    tcase_add_test(tests, test_exit_status);
    tcase_add_test(tests, test_signals_are_passed_on);
    tcase_add_test(tests, test_streams);
    tcase_add_test(tests, test_environment);
    tcase_add_test(tests, test_arguments);
    tcase_add_test(tests, test_scripts);
    tcase_add_test(tests, test_a_host_that_does_not_answer);
    tcase_add_test(tests, test_absence_is_explained);
    tcase_add_test(tests, test_full_disk_is_explained);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
