// SPDX-License-Identifier: MIT OR Apache-2.0
#include "target_client.h"

#include "tests/cli/command.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

const char *target_name(void)
{
    static char name[32];
    snprintf(name, sizeof name, "target%ld", (long)getpid());
    return name;
}

static void run_target(const char *library, const char *configuration, const int to[2], const int from[2],
                       const char *name)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    setenv("MALLOC_CONF", configuration, 1);
    if (library)
        setenv("LD_PRELOAD", library, 1);
    if (chdir(work))
        _exit(126);
    execl(name, "target", "an argument", (char *)NULL);
    _exit(127);
}

static const char *read_line(struct target *target)
{
    static char line[128];
    ck_assert_msg(fgets(line, sizeof line, target->out) != NULL, "the target ended");
    line[strcspn(line, "\n")] = 0;
    return line;
}

struct target start_target(const char *library, const char *configuration)
{
    int to[2], from[2];
    ck_assert(!pipe(to) && !pipe(from));
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", work, 1), 0);
    const char *name = text("%s/%s", work, target_name());
    ck_assert(!symlink(PATH_TARGET, name) || errno == EEXIST);
    struct target target = {.pid = fork()};
    if (target.pid == 0)
        run_target(library, configuration, to, from, name);
    close(to[0]), close(from[1]);
    target.in = fdopen(to[1], "w");
    target.out = fdopen(from[0], "r");
    ck_assert_str_eq(read_line(&target), "ready");
    setenv("PID", text("%ld", (long)target.pid), 1);
    return target;
}

// It may take longer than the command is ready to wait for it.
void wait_until_listening(pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/heapsonde/%ld.sock", work, (long)pid);
    for (int connected = -1; connected; usleep(1000)) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        connected = connect(fd, (struct sockaddr *)&address, sizeof address);
        close(fd);
        ck_assert_msg(!kill(pid, 0), "process %ld has ended", (long)pid);
    }
}

const char *tell(struct target *target, const char *line)
{
    fprintf(target->in, "%s\n", line);
    fflush(target->in);
    return read_line(target);
}

int end_target(struct target *target, int signal)
{
    int status = 0;
    if (signal)
        kill(target->pid, signal);
    else
        fputs("quit\n", target->in);
    fclose(target->in);
    ck_assert_int_eq(waitpid(target->pid, &status, 0), target->pid);
    fclose(target->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
