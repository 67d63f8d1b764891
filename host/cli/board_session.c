// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/board_session.h"

#include "host/board/interrupt.h"
#include "host/cli/variables.h"

#include <poll.h>
#include <string.h>

enum { LOOK_MS = 50 };

bool hs_board_session__takes(const char *entry)
{
    static const char *const prefixes[] = {"HEAPSONDE_", "MEMORY_PROFILER_"};
    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(entry, prefixes[i], length) != 0)
            continue;
        const char *name = entry + length;
        const struct hs_variable *variable = hs_variable__find(name, strcspn(name, "="));
        return variable && variable->reader == HS_READER_RECORDER && strcmp(variable->name, "OUTPUT") != 0 &&
               strcmp(variable->name, "CONNECT") != 0;
    }
    return false;
}

static const int passed_on[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};

sigset_t hs_board_session__signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        sigaddset(&set, passed_on[i]);
    return set;
}

void hs_board_session__signals_end_waiting(bool do_so)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(hs_interrupt_signals) / sizeof(hs_interrupt_signals[0]); i++)
        sigaddset(&set, hs_interrupt_signals[i]);
    sigprocmask(do_so ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static bool is_interrupted(void)
{
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof(hs_interrupt_signals) / sizeof(hs_interrupt_signals[0]); i++)
        if (sigismember(&pending, hs_interrupt_signals[i]))
            return true;
    return false;
}

void hs_board_session__wait_for(const struct hs_session *receiver)
{
    struct pollfd file = {.fd = receiver->output, .events = POLLIN};
    while (poll(&file, 1, LOOK_MS) <= 0 && !hs_interrupt__came())
        if (is_interrupted())
            hs_board_session__signals_end_waiting(true);
}

void hs_board_session__end(struct hs_session *session)
{
    hs_session__close_input(session);
    hs_session__close_output(session);
    if (session->pid > 0)
        kill(session->pid, SIGTERM);
    hs_session__wait(session);
}
