// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/onboard/wait.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define LOOK_NS 200000000u  // where the kernel does not tell the end of a process (before 5.3)
#define ASK_NS  1000000000u // whether it is recorded

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static volatile sig_atomic_t has_come;

static void note(int signal)
{
    has_come = signal;
}

void hs_wait__begin(struct hs_wait *wait)
{
    const struct sigaction action = {.sa_handler = note};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        sigaddset(&set, ends[i]);
        sigaction(ends[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &set, &wait->before);
    signal(SIGPIPE, SIG_IGN);
}

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool has_ended(pid_t pid)
{
    char path[64], line[1024] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    line[fread(line, 1, sizeof(line) - 1, file)] = 0;
    fclose(file);
    const char *state = strrchr(line, ')');
    return !state || strchr("ZX", state[1] == ' ' ? state[2] : 'X');
}

// A byte counts as the end, too.
static bool input_has_ended(void)
{
    char bytes[256];
    return read(STDIN_FILENO, bytes, sizeof(bytes)) >= 0 || (errno != EINTR && errno != EAGAIN);
}

void hs_wait__for_end(const struct hs_wait *wait)
{
    struct pollfd files[] = {{.fd = (int)syscall(SYS_pidfd_open, wait->pid, 0), .events = POLLIN},
                             {.fd = wait->until_input_ends ? STDIN_FILENO : -1, .events = POLLIN}};
    const uint64_t end = wait->ns ? now_ns() + wait->ns : UINT64_MAX;
    bool is_over = false;
    while (!is_over && !has_come) {
        const uint64_t now = now_ns();
        const uint64_t most = files[0].fd < 0 ? LOOK_NS : wait->is_recorded ? ASK_NS : UINT64_MAX;
        uint64_t left = end > now ? end - now : 0;
        if (left > most)
            left = most;
        const struct timespec time = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        int count = ppoll(files, 2, left > UINT64_MAX / 4 ? NULL : &time, &wait->before);
        is_over = (count > 0 && files[0].revents) || (count > 0 && files[1].revents && input_has_ended()) ||
                  now_ns() >= end || has_ended(wait->pid) ||
                  (!count && wait->is_recorded && !wait->is_recorded(wait->pid));
    }
    if (files[0].fd >= 0)
        close(files[0].fd);
}
