// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/session.h"

#include "host/base/exit_status.h"
#include "host/board/interrupt.h"
#include "host/board/words.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct session_ends {
    int here, there; // -1: none
};

static int open_end(int wanted, bool is_input, struct session_ends *ends)
{
    int both[2];
    *ends = (struct session_ends){-1, wanted};
    if (wanted == HS_SESSION_NOTHING)
        ends->there = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (wanted != HS_SESSION_PIPE)
        return ends->there < 0 ? -errno : 0;
    if (pipe2(both, O_CLOEXEC))
        return -errno;
    *ends = is_input ? (struct session_ends){both[1], both[0]} : (struct session_ends){both[0], both[1]};
    return 0;
}

static void close_end(int wanted, const struct session_ends *ends, bool also_here)
{
    if (wanted < 0 && ends->there >= 0)
        close(ends->there);
    if (also_here && ends->here >= 0)
        close(ends->here);
}

// Protects the process from signals of the terminal: with a session of its own, or, if it has to ask for a password at
// the terminal, by ignoring them.
static void leave_front(const struct hs_address_of_board *address)
{
    static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP};
    if (!hs_board_address__needs_terminal(address)) {
        setsid();
        return;
    }
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_IGN);
}

// In a child, this process's handlers would act on its parent's sessions. It begins with all signals blocked, and with
// none of the handlers.
static pid_t fork_without_handlers(void)
{
    sigset_t all, before;
    struct sigaction action;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid)
        sigprocmask(SIG_SETMASK, &before, NULL);
    for (int i = 1; !pid && i < NSIG; i++)
        if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_IGN)
            signal(i, SIG_DFL);
    return pid;
}

static void become(char **words, int input, int output, int errors)
{
    sigset_t none;
    // Move the descriptors out of 0 to 2, so that no dup2 overwrites one that is still needed.
    int copies[3] = {fcntl(input, F_DUPFD, 3), fcntl(output, F_DUPFD, 3), fcntl(errors, F_DUPFD, 3)};
    for (int i = 0; i < 3; i++) {
        dup2(copies[i], i);
        close(copies[i]);
    }
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    dprintf(2, "%s: %m\n", words[0]);
    _exit(127);
}

int hs_session__start(struct hs_session *session, const struct hs_address_of_board *address, const char *script,
                      enum hs_session_role role, int input, int output, int errors, bool in_front)
{
    struct session_ends in, out = {-1, -1};
    *session = (struct hs_session){.input = -1, .output = -1};
    char **words = hs_board_address__words(address, script, role);
    if (!words)
        return -ENOMEM;
    int result = open_end(input, true, &in);
    if (!result)
        result = open_end(output, false, &out);
    pid_t pid = result ? -1 : fork_without_handlers();
    if (pid == 0) {
        if (!in_front)
            leave_front(address);
        become(words, in.there, out.there, errors);
    }
    if (!result && pid < 0)
        result = -errno;
    close_end(input, &in, result != 0);
    close_end(output, &out, result != 0);
    hs_words__free(words);
    if (!result) {
        *session = (struct hs_session){.pid = pid, .input = in.here, .output = out.here};
        hs_interrupt__add(pid, role == HS_SESSION_FIRST ? in.here : -1);
    }
    return result;
}

// A signal at this place must find a descriptor that is not yet somebody else's.
void hs_session__close_input(struct hs_session *session)
{
    hs_interrupt__forget_input(session->pid);
    if (session->input >= 0)
        close(session->input);
    session->input = -1;
}

void hs_session__close_output(struct hs_session *session)
{
    if (session->output >= 0)
        close(session->output);
    session->output = -1;
}

static void take_end(struct hs_session *session)
{
    hs_interrupt__remove(session->pid);
    session->pid = 0;
}

int hs_session__wait(struct hs_session *session)
{
    while (session->pid > 0 && waitpid(session->pid, &session->status, 0) < 0 && errno == EINTR)
        ;
    if (session->pid > 0)
        take_end(session);
    return hs_exit_status__of(session->status);
}

bool hs_session__has_ended(struct hs_session *session)
{
    if (session->pid > 0 && waitpid(session->pid, &session->status, WNOHANG) == session->pid)
        take_end(session);
    return session->pid <= 0;
}
