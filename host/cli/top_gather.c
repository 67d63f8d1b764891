// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/top_gather.h"

#include "host/base/path.h"
#include "host/gather/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOMENT = 100 }; // ms

// ---- the folder ----------------------------------------------------------------------------------------------------

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

static void remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// ---- the process that gathers
// ----------------------------------------------------------------------------------------

// It ends with this command, whatever ends that, and leaves nothing. A terminal that goes does not end it by itself.
static void gather(const struct hs_gather_options *options, pid_t parent, int problem)
{
    signal(SIGHUP, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    static char line[BUFSIZ];
    struct hs_error error = {.message = ""};
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(problem, STDERR_FILENO); // refusals, each as a whole
    setvbuf(stderr, line, _IOLBF, sizeof(line));
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const bool is_orphan = getppid() != parent;
    if (!is_orphan && hs_gather__run(options, &error) && *error.message)
        while (write(problem, error.message, strlen(error.message)) < 0 && errno == EINTR)
            ;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    remove_folder(options->directory);
    _exit(0);
}

int hs_top_gather__start(struct hs_top_gather *started, const char *address, const struct hs_shared_key *key,
                         bool insecure, struct hs_error *error)
{
    int ends[2];
    *started = (struct hs_top_gather){.problem = -1};
    if (asprintf(&started->folder, "%s/heapsonde-top-XXXXXX", hs_path__temporary()) < 0)
        started->folder = NULL;
    if (!started->folder || !mkdtemp(started->folder) || pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        const int why = started->folder ? errno : ENOMEM;
        free(started->folder);
        started->folder = NULL;
        return hs_error__set(error, why, "the temporary folder for the trace cannot be created: %s", strerror(why));
    }
    const struct hs_gather_options options = {.addresses = &address,
                                              .address_count = 1,
                                              .directory = started->folder,
                                              .quota = UINT64_MAX,
                                              .quota_per_device = UINT64_MAX,
                                              .insecure = insecure,
                                              .key = *key,
                                              .form = HS_NOTICES_LINES};
    const pid_t parent = getpid();
    sigset_t ending, before;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigprocmask(SIG_BLOCK, &ending, &before);
    started->problem = ends[0];
    started->pid = fork();
    if (!started->pid)
        gather(&options, parent, ends[1]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (started->pid > 0)
        return 0;
    const int why = errno;
    hs_top_gather__end(started);
    return hs_error__set(error, why, "the process that receives the trace cannot be started: %s", strerror(why));
}

int hs_top_gather__wait(struct hs_top_gather *gathering, struct hs_error *error)
{
    char message[512];
    struct pollfd waits = {.fd = gathering->problem, .events = POLLIN};
    if (poll(&waits, 1, MOMENT) < 1)
        return 0;
    const ssize_t got = read(gathering->problem, message, sizeof(message) - 1);
    message[got > 0 ? got : 0] = 0;
    message[strcspn(message, "\n")] = 0;
    return hs_error__set(error, ECONNABORTED, "%s",
                         got > 0 ? message : "the process that received the trace has ended; try again");
}

void hs_top_gather__end(struct hs_top_gather *gathering)
{
    if (!gathering->folder)
        return;
    if (gathering->pid > 0) {
        kill(gathering->pid, SIGTERM);
        while (waitpid(gathering->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    remove_folder(gathering->folder);
    close(gathering->problem);
    free(gathering->folder);
    *gathering = (struct hs_top_gather){0};
}
