// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/doctor/checks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define LITTLE_ROOM  (64ull << 20)

void hs_doctor__look_kernel(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char version[512];
    if (hs_doctor__read(scene, "/proc/version", version, sizeof(version)) < 0) {
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "/proc/version cannot be read");
        hs_doctor__advise(finding, "mount /proc");
        return;
    }
    // What gVisor says of itself; it has no perf_event.
    if (!strncmp(version, "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016", 55)) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "gVisor: allocations are recorded, but there is no perf_event");
        hs_doctor__advise(finding, "run the container with another runtime (runc) for samples of the kernel");
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_WORKS, "%.*s", (int)(strcspn(version, "(") - (strstr(version, " (") != NULL)),
                   version);
}

void hs_doctor__look_library(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    if (scene->library) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", scene->library);
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->library_problem);
    hs_doctor__advise(finding, "install it, or name it in HEAPSONDE_LIBRARY");
}

void hs_doctor__look_output(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    struct statvfs room;
    if (access(scene->folder, W_OK | X_OK) || statvfs(scene->folder, &room)) {
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s: %s", scene->folder, strerror(errno));
        hs_doctor__advise(finding, "change to a writable folder, or name one with --folder");
        return;
    }
    unsigned long long left = (unsigned long long)room.f_bavail * room.f_frsize;
    bool little = room.f_blocks && left < LITTLE_ROOM;
    hs_doctor__say(finding, little ? HS_DOCTOR_LIMITED : HS_DOCTOR_WORKS, "%s has %llu MiB left", scene->folder,
                   left >> 20);
    if (little)
        hs_doctor__advise(finding, "free some space, record with --aggregate, or send the trace to another machine");
}

void hs_doctor__look_mapping(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    int result = scene->map_file(scene->folder);
    if (!result) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "a file in %s can be mapped", scene->folder);
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "a file in %s cannot be mapped: %s", scene->folder, strerror(-result));
    hs_doctor__advise(finding, "write traces to another file system, such as a tmpfs");
}

void hs_doctor__look_proc(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    int result = scene->read_maps(scene);
    if (!result) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "can be read");
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "cannot be read: %s", strerror(-result));
    hs_doctor__advise(finding, "mount /proc: 'mount -t proc proc /proc'");
}

void hs_doctor__look_recording(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char problem[256] = "";
    if (!scene->library) {
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "the recording library is missing");
        return;
    }
    if (!scene->record(scene, problem, sizeof(problem))) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "a program was recorded and left its trace");
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", problem);
    hs_doctor__advise(finding, "run a program with HEAPSONDE_LOG=debug to see what the library does");
}

// As runtime/clock.c decides.
void hs_doctor__look_clock(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char source[64];
    if (hs_doctor__read(scene, CLOCK_SOURCE, source, sizeof(source)) < 0) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "the kernel does not name its clock source");
        return;
    }
    if (!strcmp(source, "hpet") || !strcmp(source, "acpi_pm") || !strcmp(source, "jiffies") ||
        !strncmp(source, "refined", 7)) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "the kernel uses %s, not the processor's counter: CLOCK_MONOTONIC",
                       source);
        hs_doctor__advise(finding, "each event takes more time; 'dmesg' may contain the reason");
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_WORKS, "the kernel uses %s", source);
}

void hs_doctor__look_ptrace(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char text[32];
    if (hs_doctor__read(scene, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) < 0)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "not restricted");
    else
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "ptrace_scope is %s; heapsonde does not need ptrace", text);
}

static bool is_private(const struct stat *status)
{
    return S_ISDIR(status->st_mode) && status->st_uid == geteuid() && !(status->st_mode & 077);
}

// Where runtime/prof/control_place.c makes the socket.
void hs_doctor__look_control(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    char folder[PATH_MAX];
    struct stat status;
    const char *parent = scene->runtime_folder && *scene->runtime_folder == '/' ? scene->runtime_folder : NULL;
    if (parent && !stat(parent, &status) && S_ISDIR(status.st_mode))
        snprintf(folder, sizeof(folder), "%s/heapsonde", parent);
    else
        snprintf(folder, sizeof(folder), "%s/tmp/heapsonde-%u", scene->root, (unsigned)geteuid());
    if (lstat(folder, &status)) {
        hs_doctor__say(finding, errno == ENOENT ? HS_DOCTOR_WORKS : HS_DOCTOR_FAILS, "%s: %s", folder,
                       errno == ENOENT ? "will be created" : strerror(errno));
        return;
    }
    if (is_private(&status)) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", folder);
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "other users have access to %s, or own it", folder);
    hs_doctor__advise(finding, "remove it or 'chmod 700' it; until then no socket is created there");
}

void hs_doctor__look_variables(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    if (!scene->variables_problem) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "no unknown names or wrong values");
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->variables_problem);
    hs_doctor__advise(finding, "unset or correct it: 'heapsonde run' refuses it, and the recording library ignores it");
}

void hs_doctor__look_key(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding)
{
    if (!scene->key_file) {
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "HEAPSONDE_KEY_FILE is not set: streams stay on this machine");
        return;
    }
    if (!scene->key_problem) {
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", scene->key_file);
        return;
    }
    hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->key_problem);
    hs_doctor__advise(finding, "the file has to belong to this user and have mode 0600");
}
