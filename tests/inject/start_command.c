// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Starts programs, as 'heapsonde run' does, on machines for which there is no host command. HEAPSONDE_LIBRARY names the
// library.
//
//   run PROGRAM [ARGUMENT...]     a static one
//   adopt PROGRAM [ARGUMENT...]   one into which its dynamic linker loads the library
//
// Options before these arguments: -o FILE, --allocator-symbols PREFIX
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

// Those of tests are not for the library.
static bool is_variable(const char *entry)
{
    return !strncmp(entry, "HEAPSONDE_", 10) && strncmp(entry, "HEAPSONDE_TEST_", 15) != 0 &&
           strncmp(entry, "HEAPSONDE_LIBRARY=", 18) != 0;
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
    const int failed = start(&request, &result, &executed, &error);
    if (failed)
        fprintf(stderr, "%s\n", error.message);
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
        if (!strcmp(*words, "-o") && words[1])
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
    request.library = getenv("HEAPSONDE_LIBRARY");
    collect_variables();
    return run(words, !strcmp(argv[1], "adopt"));
}
