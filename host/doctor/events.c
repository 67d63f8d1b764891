// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/doctor/checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

// Filters of system calls: 0 none, 1 strict, 2 a filter; -1 unknown.
static int seccomp_mode(const struct hs_doctor_scene *scene)
{
    char status[8192], value[32];
    if (hs_doctor__read(scene, "/proc/self/status", status, sizeof(status)) < 0 ||
        !hs_doctor__field(status, "Seccomp", value, sizeof(value)))
        return -1;
    return atoi(value);
}

void hs_doctor__look_seccomp(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    int mode = seccomp_mode(scene);
    if (mode > 0) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "a filter of system calls is active in this process");
        hs_doctor__advise(finding, "if something below is refused, start the container with --security-opt "
                                   "seccomp=unconfined, or with a profile that allows it");
    } else {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, mode ? "the kernel does not say" : "no filter of system calls");
    }
}

void hs_doctor__look_paranoid(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char text[32];
    if (hs_doctor__read(scene, PARANOID, text, sizeof(text)) < 0) {
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "this kernel has no perf_event (" PARANOID " does not exist)");
        hs_doctor__advise(finding, "use a kernel with CONFIG_PERF_EVENTS=y; allocations are recorded without it");
        return;
    }
    int level = atoi(text);
    if (level > 2) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "perf_event_paranoid is %d: only root may use perf_event", level);
        hs_doctor__advise(finding, "sysctl kernel.perf_event_paranoid=2, or 1 for stacks inside the kernel");
    } else {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "perf_event_paranoid is %d", level);
    }
}

// Why the kernel refused, as far as its files tell.
static void refused(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding, enum hs_doctor_event event,
                    int problem)
{
    char text[32];
    bool known = hs_doctor__read(scene, PARANOID, text, sizeof(text)) >= 0;
    bool no_such_event = problem == ENOENT || problem == EOPNOTSUPP || problem == ENODEV;
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "perf_event_open: %s", strerror(problem));
    // Every kernel that has perf_event has clocks and page faults; gVisor says ENODEV to all.
    bool absent = problem == ENOSYS || (no_such_event && event != HS_DOCTOR_CYCLES);
    if (absent && !known)
        hs_doctor__advise(finding, "use a kernel with CONFIG_PERF_EVENTS=y");
    else if (absent)
        hs_doctor__advise(finding, "the kernel supports it, but the environment of this process does not (QEMU's user "
                                   "mode, gVisor, or a filter "
                                   "of system calls); run directly on the kernel");
    else if (no_such_event)
        hs_doctor__advise(finding, "the processor, or the virtual machine, has no such counter; the clock is used");
    else if ((problem == EACCES || problem == EPERM) && known && atoi(text) > 1)
        hs_doctor__advise(finding, "sysctl kernel.perf_event_paranoid=%d, or give CAP_PERFMON", atoi(text) > 2 ? 2 : 1);
    else if ((problem == EACCES || problem == EPERM) && seccomp_mode(scene) > 0)
        hs_doctor__advise(finding, "allow perf_event_open in the container's seccomp profile");
    else if (problem == EACCES || problem == EPERM)
        hs_doctor__advise(finding, "give CAP_PERFMON, or ask the administrator of this sandbox");
    else if (problem == EMFILE || problem == ENFILE)
        hs_doctor__advise(finding, "raise the limit of open files");
}

static void look_event(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding,
                       enum hs_doctor_event event, const char *use)
{
    int result = scene->open_event(event);
    if (result)
        refused(scene, finding, event, -result);
    else
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", use);
}

void hs_doctor__look_cpu(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    look_event(scene, finding, HS_DOCTOR_TASK_CLOCK, "the kernel samples the task clock");
}

void hs_doctor__look_faults(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    look_event(scene, finding, HS_DOCTOR_PAGE_FAULTS, "the kernel samples page faults");
}

void hs_doctor__look_cycles(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    look_event(scene, finding, HS_DOCTOR_CYCLES, "the processor counts cycles");
}

void hs_doctor__look_kernel_stacks(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    look_event(scene, finding, HS_DOCTOR_KERNEL_STACKS, "samples may contain stacks inside the kernel");
}

void hs_doctor__look_ring(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char text[32];
    if (hs_doctor__read(scene, "/proc/sys/kernel/perf_event_mlock_kb", text, sizeof(text)) < 0) {
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "perf_event_mlock_kb does not exist");
        hs_doctor__advise(finding, "use a kernel with CONFIG_PERF_EVENTS=y");
        return;
    }
    long kilobytes = strtol(text, NULL, 10);
    hs_doctor__say(finding, kilobytes < 516 ? HS_DOCTOR_LIMITED : HS_DOCTOR_WORKS,
                   "perf_event_mlock_kb is %ld per processor", kilobytes);
    if (kilobytes < 516)
        hs_doctor__advise(finding, "sysctl kernel.perf_event_mlock_kb=516 makes room for the rings of more threads");
}
