// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The checks, shown machines that are made of files in a folder and of answers.
#include "host/doctor/checks.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static int event_answers[4], map_answer, maps_answer, trial_answer;

static int answer_event(enum hs_doctor_event event)
{
    return event_answers[event];
}

static int answer_map(const char *folder)
{
    (void)folder;
    return map_answer;
}

static int answer_maps(const struct hs_doctor_scene *scene)
{
    (void)scene;
    return maps_answer;
}

static int answer_trial(const struct hs_doctor_scene *scene, char *problem, size_t size)
{
    (void)scene;
    if (trial_answer)
        snprintf(problem, size, "the trial failed");
    return trial_answer;
}

static struct hs_doctor_scene scene;

static void shell(const char *format, const char *word)
{
    char command[512];
    snprintf(command, sizeof(command), format, root, word);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void put(const char *path, const char *text)
{
    char full[256];
    shell("mkdir -p \"$(dirname '%s%s')\"", path);
    snprintf(full, sizeof(full), "%s%s", root, path);
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void set_up(void)
{
    strcpy(root, "/tmp/heapsonde-doctor-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    memset(event_answers, 0, sizeof(event_answers));
    map_answer = maps_answer = trial_answer = 0;
    scene = (struct hs_doctor_scene){.root = root,
                                     .folder = root,
                                     .library = "/lib/libheapsonde-trace.so",
                                     .open_event = answer_event,
                                     .map_file = answer_map,
                                     .read_maps = answer_maps,
                                     .record = answer_trial};
    put("/proc/version", "Linux version 6.1.0-50-arm64 (someone) #1 SMP\n");
    put("/proc/self/status", "Name:\theapsonde\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n");
    put("/proc/sys/kernel/perf_event_paranoid", "2\n");
    put("/proc/sys/kernel/perf_event_mlock_kb", "516\n");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    shell("mkdir -p '%s'/tmp%s", "");
}

static void tear_down(void)
{
    shell("rm -rf '%s'%s", "");
}

// The check of that name must come to this, and name these words (or "" for none).
static void expect(const char *name, enum hs_doctor_state state, const char *detail, const char *advice)
{
    for (size_t i = 0; i < hs_doctor_check_count; i++) {
        struct hs_doctor_finding finding = {.state = HS_DOCTOR_UNASKED};
        if (strcmp(hs_doctor_checks[i].name, name) != 0)
            continue;
        hs_doctor_checks[i].look(&scene, &finding);
        ck_assert_msg(finding.state == state, "%s: %s, %s", name, hs_doctor_state_name(finding.state), finding.detail);
        ck_assert_msg(strstr(finding.detail, detail), "%s: '%s' is not in: %s", name, detail, finding.detail);
        ck_assert_msg(*advice ? strstr(finding.advice, advice) != NULL : !finding.advice[0],
                      "%s: '%s' is not the advice: %s", name, advice, finding.advice);
        return;
    }
    ck_abort_msg("there is no check %s", name);
}

START_TEST(test_good_machine)
{
    for (size_t i = 0; i < hs_doctor_check_count; i++) {
        struct hs_doctor_finding finding = {.state = HS_DOCTOR_FAILS};
        hs_doctor_checks[i].look(&scene, &finding);
        ck_assert_msg(finding.state == HS_DOCTOR_WORKS || finding.state == HS_DOCTOR_UNASKED, "%s: %s",
                      hs_doctor_checks[i].name, finding.detail);
        ck_assert_str_eq(finding.advice, "");
    }
    expect("kernel", HS_DOCTOR_WORKS, "Linux version 6.1.0-50-arm64", "");
}
END_TEST

START_TEST(test_names_differ)
{
    for (size_t i = 0; i < hs_doctor_check_count; i++)
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(hs_doctor_checks[i].name, hs_doctor_checks[k].name);
}
END_TEST

START_TEST(test_kernels)
{
    put("/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
    expect("kernel", HS_DOCTOR_LIMITED, "gVisor", "runc");
    shell("rm '%s'/proc/version%s", "");
    expect("kernel", HS_DOCTOR_FAILS, "/proc/version", "mount /proc");
}
END_TEST

START_TEST(test_paranoid)
{
    event_answers[HS_DOCTOR_TASK_CLOCK] = -EACCES;
    put("/proc/sys/kernel/perf_event_paranoid", "3\n");
    expect("perf-paranoid", HS_DOCTOR_LIMITED, "is 3", "perf_event_paranoid=2");
    expect("perf-cpu", HS_DOCTOR_FAILS, "Permission denied", "perf_event_paranoid=2");
    expect("perf-faults", HS_DOCTOR_WORKS, "page faults", "");
    event_answers[HS_DOCTOR_KERNEL_STACKS] = -EACCES;
    put("/proc/sys/kernel/perf_event_paranoid", "2\n");
    expect("perf-paranoid", HS_DOCTOR_WORKS, "is 2", "");
    expect("perf-kernel", HS_DOCTOR_FAILS, "Permission denied", "perf_event_paranoid=1");
    put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
    expect("perf-paranoid", HS_DOCTOR_WORKS, "is -1", "");
}
END_TEST

START_TEST(test_seccomp)
{
    put("/proc/self/status", "Name:\theapsonde\nSeccomp:\t2\n");
    put("/proc/sys/kernel/perf_event_paranoid", "1\n");
    event_answers[HS_DOCTOR_TASK_CLOCK] = -EPERM;
    expect("seccomp", HS_DOCTOR_LIMITED, "filter", "seccomp=unconfined");
    expect("perf-cpu", HS_DOCTOR_FAILS, "not permitted", "seccomp profile");
    put("/proc/self/status", "Name:\theapsonde\n");
    expect("seccomp", HS_DOCTOR_WORKS, "does not say", "");
    expect("perf-cpu", HS_DOCTOR_FAILS, "not permitted", "CAP_PERFMON");
}
END_TEST

START_TEST(test_no_perf_events)
{
    for (int i = 0; i < 4; i++)
        event_answers[i] = -ENOSYS;
    expect("perf-cpu", HS_DOCTOR_FAILS, "not implemented", "QEMU's user mode");
    shell("rm '%s'/proc/sys/kernel/perf_event_*%s", "");
    expect("perf-cpu", HS_DOCTOR_FAILS, "not implemented", "CONFIG_PERF_EVENTS");
    expect("perf-kernel", HS_DOCTOR_FAILS, "not implemented", "CONFIG_PERF_EVENTS");
    expect("perf-paranoid", HS_DOCTOR_FAILS, "no perf_event", "CONFIG_PERF_EVENTS");
    expect("perf-mlock", HS_DOCTOR_FAILS, "perf_event_mlock_kb", "CONFIG_PERF_EVENTS");
    event_answers[HS_DOCTOR_CYCLES] = -ENOENT;
    expect("perf-cycles", HS_DOCTOR_FAILS, "No such file", "no such counter");
}
END_TEST

START_TEST(test_nothing_but_errors)
{
    static const int errors[] = {ENODEV, ENOENT, EOPNOTSUPP};
    event_answers[HS_DOCTOR_TASK_CLOCK] = event_answers[HS_DOCTOR_CYCLES] = -errors[_i];
    expect("perf-cpu", HS_DOCTOR_FAILS, strerror(errors[_i]), "gVisor");
    expect("perf-cycles", HS_DOCTOR_FAILS, strerror(errors[_i]), "no such counter");
    shell("rm '%s'/proc/sys/kernel/perf_event_*%s", "");
    expect("perf-cpu", HS_DOCTOR_FAILS, strerror(errors[_i]), "CONFIG_PERF_EVENTS");
}
END_TEST

START_TEST(test_small_ring)
{
    put("/proc/sys/kernel/perf_event_mlock_kb", "64\n");
    expect("perf-mlock", HS_DOCTOR_LIMITED, "64", "perf_event_mlock_kb=516");
}
END_TEST

START_TEST(test_clocks)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    put(path, "hpet\n");
    expect("clock", HS_DOCTOR_LIMITED, "hpet", "dmesg");
    put(path, "refined-jiffies\n");
    expect("clock", HS_DOCTOR_LIMITED, "refined-jiffies", "dmesg");
    put(path, "arch_sys_counter\n");
    expect("clock", HS_DOCTOR_WORKS, "arch_sys_counter", "");
}
END_TEST

START_TEST(test_folder)
{
    scene.folder = "/nonexistent/folder";
    expect("output", HS_DOCTOR_FAILS, "/nonexistent/folder", "--folder");
    map_answer = -EINVAL;
    expect("mapping", HS_DOCTOR_FAILS, "Invalid argument", "tmpfs");
    maps_answer = -ENOENT;
    expect("proc", HS_DOCTOR_FAILS, "No such file", "mount -t proc");
}
END_TEST

START_TEST(test_recording)
{
    trial_answer = -ENOENT;
    expect("recording", HS_DOCTOR_FAILS, "the trial failed", "HEAPSONDE_LOG");
    scene.library = NULL;
    scene.library_problem = "it is nowhere";
    expect("library", HS_DOCTOR_FAILS, "it is nowhere", "HEAPSONDE_LIBRARY");
    expect("recording", HS_DOCTOR_FAILS, "the recording library is missing", "");
}
END_TEST

START_TEST(test_control)
{
    char folder[128], own[32];
    snprintf(folder, sizeof(folder), "%s/run", root);
    scene.runtime_folder = folder;
    mkdir(folder, 0700);
    expect("control", HS_DOCTOR_WORKS, "will be created", "");
    shell("mkdir -m 0755 '%s'/run/heapsonde%s", "");
    expect("control", HS_DOCTOR_FAILS, "other users have access", "chmod 700");
    shell("chmod 700 '%s'/run/heapsonde%s", "");
    expect("control", HS_DOCTOR_WORKS, "/run/heapsonde", "");
    scene.runtime_folder = "relative";
    snprintf(own, sizeof(own), "/tmp/heapsonde-%u", (unsigned)geteuid());
    expect("control", HS_DOCTOR_WORKS, own, "");
}
END_TEST

START_TEST(test_key)
{
    scene.key_file = "/etc/key";
    expect("key-file", HS_DOCTOR_WORKS, "/etc/key", "");
    scene.key_problem = "/etc/key is readable by others";
    expect("key-file", HS_DOCTOR_FAILS, "readable by others", "0600");
}
END_TEST

START_TEST(test_program)
{
    scene.program = "/proc/self/exe"; // this one: with tables, debug information and a build id
    expect("program", HS_DOCTOR_WORKS, "/proc/self/exe", "");
    expect("unwind-tables", HS_DOCTOR_WORKS, ".eh_frame", "");
    expect("symbols", HS_DOCTOR_WORKS, "debug information", "");
    shell("printf x >'%s'/noise%s", "");
    char noise[128];
    snprintf(noise, sizeof(noise), "%s/noise", root);
    scene.program = noise;
    expect("unwind-tables", HS_DOCTOR_UNASKED, "no sections", "");
    expect("build-id", HS_DOCTOR_LIMITED, "none", "--build-id");
    scene.program_problem = "it is static";
    expect("program", HS_DOCTOR_FAILS, "it is static", "");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("doctor");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, test_good_machine);
    tcase_add_test(cases, test_names_differ);
    tcase_add_test(cases, test_kernels);
    tcase_add_test(cases, test_paranoid);
    tcase_add_test(cases, test_seccomp);
    tcase_add_test(cases, test_no_perf_events);
    tcase_add_loop_test(cases, test_nothing_but_errors, 0, 3);
    tcase_add_test(cases, test_small_ring);
    tcase_add_test(cases, test_clocks);
    tcase_add_test(cases, test_folder);
    tcase_add_test(cases, test_recording);
    tcase_add_test(cases, test_control);
    tcase_add_test(cases, test_key);
    tcase_add_test(cases, test_program);
    Suite *suite = suite_create("doctor");
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
