// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

enum { MOST_SESSIONS = 8, TIMEOUT_S = 2, NO_INPUT = -1, CLOSED_INPUT = -2 };

const int hs_interrupt_signals[4] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

static struct {
    volatile pid_t pid; // 0: free
    volatile int input;
} session[MOST_SESSIONS];

static volatile sig_atomic_t came, alarms;
static int nothing = -1; // what takes the place of an input
static struct sigaction before[4], alarm_before;

// One that has left our session is the first of a group.
static void end(pid_t pid, int with)
{
    if (kill(-pid, with))
        kill(pid, with);
}

static void take_signal(int number)
{
    int problem = errno;
    came = number;
    for (size_t i = 0; i < MOST_SESSIONS; i++) {
        if (session[i].pid && session[i].input == NO_INPUT)
            end(session[i].pid, SIGTERM);
        else if (session[i].pid && session[i].input >= 0 && nothing >= 0)
            dup2(nothing, session[i].input);
    }
    alarm(TIMEOUT_S);
    errno = problem;
}

static void take_alarm(int number)
{
    int problem = errno;
    (void)number;
    for (size_t i = 0; i < MOST_SESSIONS; i++)
        if (session[i].pid)
            end(session[i].pid, alarms ? SIGKILL : SIGTERM);
    alarms = 1;
    alarm(TIMEOUT_S);
    errno = problem;
}

void hs_interrupt__catch(bool on)
{
    struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
    struct sigaction on_alarm = {.sa_handler = take_alarm, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < 4; i++) {
        if (on)
            sigaction(hs_interrupt_signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(hs_interrupt_signals[i], on ? &action : &before[i], NULL);
    }
    if (on) {
        came = alarms = 0;
        nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        sigaction(SIGALRM, &on_alarm, &alarm_before);
        return;
    }
    alarm(0);
    sigaction(SIGALRM, &alarm_before, NULL);
    if (nothing >= 0)
        close(nothing);
    nothing = -1;
}

int hs_interrupt__came(void)
{
    return came;
}

void hs_interrupt__add(pid_t pid, int input)
{
    for (size_t i = 0; i < MOST_SESSIONS; i++) {
        if (session[i].pid)
            continue;
        session[i].input = input;
        session[i].pid = pid;
        break;
    }
    if (came)
        take_signal(came);
}

void hs_interrupt__forget_input(pid_t pid)
{
    for (size_t i = 0; i < MOST_SESSIONS; i++)
        if (pid > 0 && session[i].pid == pid && session[i].input >= 0)
            session[i].input = CLOSED_INPUT;
}

void hs_interrupt__remove(pid_t pid)
{
    for (size_t i = 0; i < MOST_SESSIONS; i++)
        if (session[i].pid == pid)
            session[i].pid = 0;
}
