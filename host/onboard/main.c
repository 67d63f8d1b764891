// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde-attach: attaches to processes of a machine that has no heapsonde command. It is linked statically and
// needs nothing there but /proc. 'heapsonde attach --on' sends it to a board and speaks to it by --until-input-ends,
// --pipe, --names and --detach-by.
#include "host/base/strings.h"
#include "host/onboard/names.h"
#include "host/onboard/wait.h"
#ifdef HEAPSONDE_HAS_INJECTOR
#include "host/inject/said.h"
#endif

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAILURE = 1, USAGE = 2 };

static const char help[] =
    "Usage: heapsonde-attach [OPTIONS] PID\n"
    "       heapsonde-attach --detach PID\n"
    "\n"
    "Records a running process from now on, as 'heapsonde attach' does; --detach ends that.\n"
    "\n"
    "  -o, --output PATTERN       the file for the trace, which the process itself creates: %p process, %e program,\n"
    "                             %t time, %n counter; default memory-profiling_%e_%t_%p.dat in this folder\n"
    "      --for TIME             end the recording after this time (60s, 500ms, 5min, 2h), or when interrupted\n"
    "      --sample               sample instead; MALLOC_CONF has the options\n"
    "      --library FILE         default: libheapsonde-trace.so or libheapsonde-prof.so beside this program\n"
    "      --allocator-symbols PREFIX,...\n"
    "      --allocator-at malloc=ADDRESS,free=ADDRESS,...\n"
    "      --force                attach although the process has a filter of system calls that cannot be read\n"
    "  -q, --quiet                print nothing but errors\n"
    "      --detach               end the recording or sampling\n"
    "\n"
    "Variables HEAPSONDE_... of the environment are passed to the library.\n";

struct onboard {
    const char *output, *library, *pipe, *names, *symbols, *places;
    const char *detach; // the command that ends a recording, before the process's number
    bool samples, force, quiet, detaches;
    struct hs_wait wait;
};

static int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int complain(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("heapsonde-attach: ", stderr);
    vfprintf(stderr, format, arguments);
    putc('\n', stderr);
    va_end(arguments);
    return status;
}

// ---- words ---------------------------------------------------------------------------------------------------------

static bool read_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},   {"", 1e9},
                 {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    char *end;
    const double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0 || end == text || !(number > 0) || number * units[i].ns > 1e18)
            continue;
        *ns = (uint64_t)(number * units[i].ns);
        return *ns != 0;
    }
    return false;
}

static pid_t read_process(const char *text)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno || *end || end == text || number <= 0 || number > INT_MAX ? 0 : (pid_t)number;
}

enum { LIBRARY = 256, FOR, SAMPLE, SYMBOLS, PLACES, FORCE, DETACH, PIPE, UNTIL_INPUT_ENDS, NAMES, DETACH_BY, HELP };

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    {"library", required_argument, NULL, LIBRARY},
    {"for", required_argument, NULL, FOR},
    {"sample", no_argument, NULL, SAMPLE},
    {"allocator-symbols", required_argument, NULL, SYMBOLS},
    {"allocator-at", required_argument, NULL, PLACES},
    {"force", no_argument, NULL, FORCE},
    {"detach", no_argument, NULL, DETACH},
    {"pipe", required_argument, NULL, PIPE},
    {"until-input-ends", no_argument, NULL, UNTIL_INPUT_ENDS},
    {"names", required_argument, NULL, NAMES},
    {"detach-by", required_argument, NULL, DETACH_BY},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int take_option(struct onboard *onboard, int option)
{
    if (option == 'o')
        onboard->output = optarg;
    else if (option == 'q')
        onboard->quiet = true;
    else if (option == LIBRARY)
        onboard->library = optarg;
    else if (option == FOR && !read_time(optarg, &onboard->wait.ns))
        return complain(USAGE, "--for needs a time such as 60s or 1.5min, not '%s'", optarg);
    else if (option == SAMPLE)
        onboard->samples = true;
    else if (option == SYMBOLS)
        onboard->symbols = optarg;
    else if (option == PLACES)
        onboard->places = optarg;
    else if (option == FORCE)
        onboard->force = true;
    else if (option == DETACH)
        onboard->detaches = true;
    else if (option == PIPE)
        onboard->pipe = optarg;
    else if (option == UNTIL_INPUT_ENDS)
        onboard->wait.until_input_ends = true;
    else if (option == NAMES)
        onboard->names = optarg;
    else if (option == DETACH_BY)
        onboard->detach = optarg;
    else if (option == '?')
        return USAGE;
    return 0;
}

#ifdef HEAPSONDE_HAS_INJECTOR

// ---- the environment of the program --------------------------------------------------------------------------------

extern char **environ;

// Its own settings decide where the trace goes.
static bool is_for_library(const struct onboard *onboard, const char *entry)
{
    static const char *const others[] = {"HEAPSONDE_OUTPUT=", "HEAPSONDE_CONNECT=", "HEAPSONDE_REGISTER_SIGUSR1=",
                                         "HEAPSONDE_REGISTER_SIGUSR2=", "MEMORY_PROFILER_OUTPUT="};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (hs_string__begins_with(entry, others[i]) && (i != 1 || onboard->pipe))
            return false;
    return hs_string__begins_with(entry, "HEAPSONDE_") || hs_string__begins_with(entry, "MEMORY_PROFILER_");
}

static bool add(struct hs_inject_request *request, char *entry)
{
    if (entry && request->variable_count < HS_INJECT_VARIABLES)
        request->variables[request->variable_count++] = entry;
    else
        return false;
    return true;
}

static bool add_value(struct hs_inject_request *request, const char *name, const char *value)
{
    char *entry = NULL;
    return asprintf(&entry, "%s=%s", name, value) >= 0 && add(request, entry);
}

// The process has another current folder.
static char *absolute(const char *path)
{
    char here[PATH_MAX], *whole = NULL;
    if (*path == '/')
        return strdup(path);
    return getcwd(here, sizeof(here)) && asprintf(&whole, "%s/%s", here, path) >= 0 ? whole : NULL;
}

static bool add_path(struct hs_inject_request *request, const char *name, const char *path)
{
    char *whole = absolute(path);
    return whole && add_value(request, name, whole);
}

static bool add_sampling(struct hs_inject_request *request, const struct onboard *onboard)
{
    const char *given = getenv("MALLOC_CONF");
    char *prefix = absolute("jeprof"), *name = onboard->output ? absolute(onboard->output) : strdup(""), *value = NULL;
    return prefix && name &&
           asprintf(&value, "prof:true%s%s%s%s%s%s",
                    strchr(prefix, ',') ? "" : ",prof_prefix:", strchr(prefix, ',') ? "" : prefix,
                    given && *given ? "," : "", given ? given : "", *name ? ",experimental_hs_name:" : "", name) >= 0 &&
           add_value(request, "MALLOC_CONF", value);
}

static bool collect(struct hs_inject_request *request, const struct onboard *onboard)
{
    const char *output = onboard->output ? onboard->output : "memory-profiling_%e_%t_%p.dat";
    bool fits =
        add_value(request, "HEAPSONDE_REGISTER_SIGUSR1", "0") && add_value(request, "HEAPSONDE_REGISTER_SIGUSR2", "0");
    if (onboard->pipe)
        fits = fits && add_value(request, "HEAPSONDE_OUTPUT", "") &&
               add_value(request, "HEAPSONDE_CONNECT", onboard->pipe);
    else if (!onboard->samples)
        fits = fits && add_path(request, "HEAPSONDE_OUTPUT", output);
    if (onboard->samples)
        fits = fits && add_sampling(request, onboard);
    for (char **entry = environ; fits && *entry; entry++)
        if (is_for_library(onboard, *entry))
            fits = add(request, *entry);
    return fits;
}

static bool find_library(const struct onboard *onboard, char *path, size_t size)
{
    const char *name = onboard->samples ? "libheapsonde-prof.so" : "libheapsonde-trace.so";
    char self[PATH_MAX];
    if (onboard->library)
        return snprintf(path, size, "%s", onboard->library) < (int)size;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    while (length > 0 && self[length - 1] != '/')
        length--;
    return length > 0 && snprintf(path, size, "%.*s%s", (int)length, self, name) < (int)size;
}

// The process opens the pipe itself, and may be another user's.
static int let_in(const char *pipe, pid_t pid)
{
    char folder[PATH_MAX];
    struct hs_jit_process process;
    int result = hs_jit_process__open(&process, pid);
    uid_t user = process.user;
    if (result)
        return result;
    hs_jit_process__close(&process);
    const char *end = strrchr(pipe, '/');
    if (user == geteuid() || !end || user == 0)
        return 0;
    snprintf(folder, sizeof(folder), "%.*s", (int)(end - pipe), pipe);
    return chown(pipe, user, (gid_t)-1) || chmod(folder, 0711) ? -errno : 0;
}

// ---- attach and detach ---------------------------------------------------------------------------------------------

static int detach(const struct onboard *onboard, pid_t pid)
{
    struct hs_inject_result result;
    struct hs_error error = {.message = ""};
    int failed = hs_inject__detach(pid, &result, &error);
    const bool has_ended = failed && hs_inject__has_ended(pid);
    // Another command has ended it.
    if (failed == -ENOENT && !has_ended && onboard->wait.until_input_ends) {
        if (!onboard->quiet)
            fprintf(stderr, "heapsonde: another command has detached process %d\n", (int)pid);
        return 0;
    }
    if (failed && !has_ended)
        return complain(FAILURE, "%s", error.message);
    if (!onboard->quiet && has_ended)
        hs_said__ended(pid);
    else if (!onboard->quiet)
        hs_said__detached(pid, &result);
    return 0;
}

static void say_where(const struct onboard *onboard, pid_t pid)
{
    if (!onboard->samples)
        fprintf(stderr, "heapsonde: the process writes %s; blocks that are older are not in it\n",
                onboard->output ? onboard->output : "memory-profiling_*.dat in this folder");
    if (!onboard->wait.ns && !onboard->wait.until_input_ends)
        fprintf(stderr, "heapsonde: 'heapsonde-attach --detach %d' ends that\n", (int)pid);
}

static void say_attached(const struct onboard *onboard, const struct hs_inject_request *request,
                         const struct hs_inject_result *result)
{
    if (onboard->quiet)
        return;
    hs_said__attached(request, result);
    hs_said__allocators(request, result);
    if (!onboard->pipe)
        say_where(onboard, request->pid);
}

// `process`: NULL: not known.
static int wait_and_detach(struct onboard *onboard, pid_t pid, const struct hs_jit_process *process)
{
    if (onboard->wait.until_input_ends) {
        puts("attached");
        fflush(stdout);
    }
    hs_wait__for_end(&onboard->wait);
    int status = detach(onboard, pid);
    if (process && onboard->wait.until_input_ends)
        hs_names__send(process);
    return status;
}

static int attach(struct onboard *onboard, pid_t pid)
{
    char library[PATH_MAX];
    struct hs_inject_result result;
    struct hs_error error = {.message = ""};
    struct hs_inject_request request = {.pid = pid,
                                        .library = library,
                                        .samples = onboard->samples,
                                        .force = onboard->force,
                                        .detach = onboard->detach ? onboard->detach : "heapsonde-attach --detach",
                                        .named = {onboard->symbols, onboard->places}};
    if (hs_named_allocators__check(&request.named, &error))
        return complain(USAGE, "%s", error.message);
    if (!find_library(onboard, library, sizeof(library)) || !collect(&request, onboard))
        return complain(FAILURE, "a path is too long, or there are too many variables HEAPSONDE_...");
    if (onboard->samples && onboard->output && strchr(onboard->output, ','))
        return complain(USAGE, "--output %s contains a comma, which MALLOC_CONF does not allow", onboard->output);
    int failed = onboard->pipe ? let_in(onboard->pipe, pid) : 0;
    if (failed == -ENOENT || failed == -ESRCH)
        return complain(FAILURE, "there is no process %d", (int)pid);
    if (failed)
        return complain(FAILURE, "process %d cannot be given %s: %s", (int)pid, onboard->pipe, strerror(-failed));
    const bool waits = onboard->wait.ns || onboard->wait.until_input_ends;
    if (waits)
        hs_wait__begin(&onboard->wait);
    if (hs_inject__attach(&request, &result, &error))
        return complain(FAILURE, "%s", error.message);
    struct hs_jit_process process;
    bool is_known = !hs_jit_process__open(&process, pid);
    say_attached(onboard, &request, &result);
    int status = waits ? wait_and_detach(onboard, pid, is_known ? &process : NULL) : 0;
    if (is_known)
        hs_jit_process__close(&process);
    return status;
}

static int act(struct onboard *onboard, pid_t pid)
{
    onboard->wait.pid = pid;
    onboard->wait.is_recorded = onboard->wait.until_input_ends ? hs_inject__is_attached : NULL;
    return onboard->detaches ? detach(onboard, pid) : attach(onboard, pid);
}

#else

static int act(struct onboard *onboard, pid_t pid)
{
    (void)onboard;
    (void)pid;
    return complain(FAILURE, "processes of this machine cannot be attached to");
}

#endif

int main(int count, char **words)
{
    struct onboard onboard = {.output = NULL};
    int option, status = 0;
    while (!status && (option = getopt_long(count, words, "o:q", options, NULL)) != -1) {
        if (option == HELP) {
            fputs(help, stdout);
            return 0;
        }
        status = take_option(&onboard, option);
    }
    if (status)
        return status;
    if (onboard.names)
        return hs_names__of_ended(onboard.names) ? complain(USAGE, "--names needs PID:BEGAN,...") : 0;
    const pid_t pid = optind + 1 == count ? read_process(words[optind]) : 0;
    if (!pid)
        return complain(USAGE, "give the number of one process; --help shows the options");
    return act(&onboard, pid);
}
