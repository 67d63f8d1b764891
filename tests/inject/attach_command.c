// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Attaches, detaches and starts programs on machines for which there is no host command. HEAPSONDE_LIBRARY names the
// library, and HEAPSONDE_SAMPLER the one for --sample, whose settings are in MALLOC_CONF.
//
//   attach PID    detach PID
//   run PROGRAM [ARGUMENT...]     a static one
//   adopt PROGRAM [ARGUMENT...]   one into which its dynamic linker loads the library
//
// Options before these arguments, or behind PID: -q, -o FILE, --allocator-symbols PREFIX, --sample
#include "host/inject/inject.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct hs_inject_request request;
static struct hs_inject_result result;
static struct hs_error error;
static bool is_quiet;

static int say(const char *what, int failed)
{
    if (failed)
        fprintf(stderr, "%s\n", error.message);
    else if (!is_quiet)
        fprintf(stderr, "%s: %u functions, %u threads stopped for %u us; begun in %u us; recorded: %s; not: %s\n", what,
                result.patches, result.threads, (unsigned)(result.pause_ns / 1000), (unsigned)(result.begin_ns / 1000),
                result.allocators, result.unpatched);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// Those of tests are not for the library.
static bool is_variable(const char *entry)
{
    static const char *const others[] = {"HEAPSONDE_TEST_", "HEAPSONDE_LIBRARY=", "HEAPSONDE_SAMPLER="};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strncmp(entry, others[i], strlen(others[i])))
            return false;
    return !strncmp(entry, "HEAPSONDE_", 10) || (request.samples && !strncmp(entry, "MALLOC_CONF=", 12));
}

static void collect_variables(void)
{
    setenv("HEAPSONDE_REGISTER_SIGUSR1", "0", 1);
    setenv("HEAPSONDE_REGISTER_SIGUSR2", "0", 1);
    for (char **entry = environ; *entry && request.variable_count < HS_INJECT_VARIABLES; entry++)
        if (is_variable(*entry))
            request.variables[request.variable_count++] = *entry;
}

typedef int starting(const struct hs_inject_request *, struct hs_inject_result *, bool *, struct hs_error *);

static int run(char **words, bool is_loaded)
{
    bool executed = false;
    int status = 0;
    starting *start = is_loaded ? hs_inject__adopt : hs_inject__start;
    request.pid = fork();
    if (!request.pid) {
        raise(SIGSTOP);
        if (is_loaded)
            setenv("LD_PRELOAD", request.library, 1);
        execv(words[0], words);
        _exit(127);
    }
    int failed = say(is_loaded ? "adopt" : "run", start(&request, &result, &executed, &error));
    waitpid(request.pid, &status, 0);
    if (failed)
        return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char **take_options(char **words)
{
    for (; *words && words[0][0] == '-'; words++) {
        if (!strcmp(*words, "--"))
            return words + 1;
        if (!strcmp(*words, "-q"))
            is_quiet = true;
        else if (!strcmp(*words, "--sample"))
            request.samples = true;
        else if (!strcmp(*words, "-o") && words[1])
            setenv("HEAPSONDE_OUTPUT", *++words, 1);
        else if (!strcmp(*words, "--allocator-symbols") && words[1])
            request.named.prefixes = *++words;
    }
    return words;
}

int main(int argc, char **argv)
{
    char **words = argc > 2 ? take_options(argv + 2) : argv + argc;
    if (!*words)
        return 2;
    const bool is_run = !strcmp(argv[1], "run"), is_adopt = !strcmp(argv[1], "adopt");
    if (!is_run && !is_adopt)
        take_options(words + 1);
    request.library = getenv(request.samples ? "HEAPSONDE_SAMPLER" : "HEAPSONDE_LIBRARY");
    collect_variables();
    if (is_run || is_adopt)
        return run(words, is_adopt);
    request.pid = (pid_t)atoi(*words);
    if (!strcmp(argv[1], "attach"))
        return say("attach", hs_inject__attach(&request, &result, &error));
    return say("detach", hs_inject__detach(request.pid, &result, &error));
}
