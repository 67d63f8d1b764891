// SPDX-License-Identifier: MIT OR Apache-2.0
//
// This machine, as it answers.
#include "format/trace_format.h"
#include "host/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int open_event(enum hs_doctor_event event)
{
    struct perf_event_attr attributes = {
        .type = event == HS_DOCTOR_CYCLES ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
        .size = sizeof(attributes),
        .config = event == HS_DOCTOR_CYCLES        ? PERF_COUNT_HW_CPU_CYCLES
                  : event == HS_DOCTOR_PAGE_FAULTS ? PERF_COUNT_SW_PAGE_FAULTS
                                                   : PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 1000000,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
        .disabled = 1,
        .exclude_kernel = event != HS_DOCTOR_KERNEL_STACKS,
        .exclude_hv = 1,
    };
    long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -errno;
    close((int)fd);
    return 0;
}

static int map_file(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/heapsonde-doctor-XXXXXX", folder);
    int result = 0, fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    void *memory = ftruncate(fd, 4096) ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        result = -errno;
    else
        munmap(memory, 4096);
    close(fd);
    return result;
}

static int read_maps(const struct hs_doctor_scene *scene)
{
    char text[256];
    long length = hs_doctor__read(scene, "/proc/self/maps", text, sizeof(text));
    return length < 0 ? (int)length : length == 0 ? -ENODATA : 0;
}

static bool is_trace(const char *path)
{
    char magic[HS_FILE_MAGIC_LENGTH] = "";
    FILE *file = fopen(path, "rbe");
    bool whole = file && fread(magic, 1, sizeof(magic), file) == sizeof(magic);
    if (file)
        fclose(file);
    return whole && !memcmp(magic, HS_FILE_MAGIC, sizeof(magic));
}

// The environment of this process, with what recording needs in front.
static char **trial_environment(char *output, char *preload)
{
    size_t count = 0, kept = 2;
    while (environ[count])
        count++;
    char **all = calloc(count + 3, sizeof(*all));
    if (!all)
        return NULL;
    all[0] = output;
    all[1] = preload;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "HEAPSONDE_", 10) && strncmp(environ[i], "MEMORY_PROFILER_", 16) &&
            strncmp(environ[i], "LD_PRELOAD=", 11))
            all[kept++] = environ[i];
    return all;
}

// Records this command saying its version.
static int run_trial(const char *library, const char *trace)
{
    char output[PATH_MAX + 32], preload[PATH_MAX + 32];
    char *arguments[] = {"heapsonde", "--version", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    snprintf(output, sizeof(output), "HEAPSONDE_OUTPUT=%s", trace);
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", library);
    char **environment = trial_environment(output, preload);
    if (!environment || posix_spawn_file_actions_init(&actions))
        return -ENOMEM;
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int result = -posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    while (!result && waitpid(pid, &status, 0) < 0)
        result = errno == EINTR ? 0 : -errno;
    return result ? result : status ? -ECANCELED : 0;
}

static int record(const struct hs_doctor_scene *scene, char *problem, size_t size)
{
    char folder[PATH_MAX], trace[PATH_MAX + 8];
    snprintf(folder, sizeof(folder), "%s/heapsonde-doctor-XXXXXX", scene->folder);
    if (!mkdtemp(folder)) {
        snprintf(problem, size, "%s: %s", scene->folder, strerror(errno));
        return -EIO;
    }
    snprintf(trace, sizeof(trace), "%s/trace", folder);
    int result = run_trial(scene->library, trace);
    if (result == -ECANCELED)
        snprintf(problem, size, "a recorded program failed");
    else if (result)
        snprintf(problem, size, "a program could not be started: %s", strerror(-result));
    else if (!is_trace(trace))
        result = -ENOENT, snprintf(problem, size, "a program that was recorded left no trace");
    unlink(trace);
    rmdir(folder);
    return result;
}

void hs_doctor__this_machine(struct hs_doctor_scene *scene)
{
    scene->root = "";
    scene->open_event = open_event;
    scene->map_file = map_file;
    scene->read_maps = read_maps;
    scene->record = record;
}
