// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "tests/recorder/harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *path_programs = PATH_PROGRAMS, *path_shim = PATH_SHIM, *path_prof_shim = PATH_PROF_SHIM,
           *path_counter = PATH_COUNTER, *path_root = "";
const char *const path_heapsonde = PATH_HEAPSONDE, *const path_source = PATH_SOURCE;
bool cuts_allowed;
char work[256];
static char *runner[16]; // words, NULL ends them
static int failures;

extern char **environ;

enum { LIMIT_SECONDS = 500 };

// ---- saying what happened ------------------------------------------------------------------------------------------

static void put(const char *kind, const char *format, va_list list)
{
    fputs(kind, stdout);
    vprintf(format, list);
    putchar('\n');
    fflush(stdout);
}

void note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put("", format, list);
    va_end(list);
}

void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put("WRONG: ", format, list);
    va_end(list);
    failures++;
}

void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put("FAILED: ", format, list);
    va_end(list);
    if (work[0])
        note("files are kept in %s", work);
    exit(1);
}

void skip(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put("SKIPPED: ", format, list);
    va_end(list);
    if (work[0] && !failures)
        run_words("/", "rm", "-rf", work, NULL);
    exit(77);
}

char *text(const char *format, ...)
{
    char *result;
    va_list list;
    va_start(list, format);
    if (vasprintf(&result, format, list) < 0)
        abort();
    va_end(list);
    return result;
}

static void place_from_environment(const char **place, const char *variable)
{
    const char *given = getenv(variable);
    if (given && *given)
        *place = given;
}

static void read_environment(void)
{
    const char *given = getenv("HEAPSONDE_TEST_RUNNER"), *cuts = getenv("HEAPSONDE_TEST_CUTS");
    char *rest = text("%s", given ? given : ""), *word;
    for (size_t n = 0; n < sizeof runner / sizeof *runner - 1 && (word = strsep(&rest, " "));)
        if (*word)
            runner[n++] = word;
    cuts_allowed = cuts && !strcmp(cuts, "allowed");
    place_from_environment(&path_programs, "HEAPSONDE_TEST_PROGRAMS");
    place_from_environment(&path_shim, "HEAPSONDE_TEST_SHIM");
    place_from_environment(&path_prof_shim, "HEAPSONDE_TEST_PROF_SHIM");
    place_from_environment(&path_counter, "HEAPSONDE_TEST_COUNTER");
    place_from_environment(&path_root, "HEAPSONDE_TEST_ROOT");
}

// Before ctest's limit, which ends a case without a word. What was started by it goes with it.
static void say_that_it_is_late(int number)
{
    static const char text[] = "FAILED: not done in time; the last line says what was done, and files are kept in ";
    (void)number;
    if (write(1, text, sizeof text - 1) < 0 || write(1, work, strlen(work)) < 0 || write(1, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

void harness_start(const char *name)
{
    read_environment();
    signal(SIGALRM, say_that_it_is_late);
    const char *limit = getenv("HEAPSONDE_TEST_SECONDS"); // scripts/soak has cases that take longer
    alarm(limit ? (unsigned)atoi(limit) : LIMIT_SECONDS);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const char *top = getenv("TMPDIR");
    snprintf(work, sizeof work, "%s/heapsonde-%s-XXXXXX", top ? top : "/tmp", name[0] == '@' ? name + 1 : name);
    for (char *c = strrchr(work, '/') + 1; *c; c++)
        if (*c == ' ')
            *c = '-';
    if (!mkdtemp(work))
        fail("no folder %s can be made: %s", work, strerror(errno));
    chmod(work, 0755);
}

int harness_finish(void)
{
    if (failures) {
        note("%d wrong; files are kept in %s", failures, work);
        return 1;
    }
    run_words("/", "rm", "-rf", work, NULL);
    return 0;
}

uint64_t seed_of_run(void)
{
    const char *given = getenv("HEAPSONDE_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 1;
    note("seed %llu (HEAPSONDE_TEST_SEED sets another)", (unsigned long long)seed);
    return seed;
}

unsigned long smaller(unsigned long number)
{
    const char *given = getenv("HEAPSONDE_TEST_SCALE");
    unsigned long scale = given ? strtoul(given, NULL, 10) : 1;
    return scale && number / scale ? number / scale : 1;
}

uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// ---- running programs ----------------------------------------------------------------------------------------------

static char *preload_of(int how)
{
    switch (how) {
    case RUN_RECORDED:
        return text("LD_PRELOAD=%s:%s", path_shim, path_counter);
    case RUN_RECORDED_UNCOUNTED:
        return text("LD_PRELOAD=%s", path_shim);
    case RUN_COUNTED:
        return text("LD_PRELOAD=%s", path_counter);
    default:
        return NULL;
    }
}

// The runner is a program of this machine: what only the target's loader may see goes through its option -E.
static char *const *command_with_runner(int how, char *const command[])
{
    if (!runner[0] || how == RUN_HOST)
        return command;
    char **all = calloc(128, sizeof *all);
    int n = 0;
    for (int i = 0; runner[i]; i++)
        all[n++] = runner[i];
    if (preload_of(how)) {
        all[n++] = text("-E");
        all[n++] = preload_of(how);
    }
    for (int i = 0; command[i] && n < 127; i++)
        all[n++] = command[i];
    return all;
}

static bool names_output(char *const variables[])
{
    for (; variables && *variables; variables++)
        if (!strncmp(*variables, "HEAPSONDE_OUTPUT=", 17))
            return true;
    return false;
}

// Every run has the same environment, whatever the tests were started from.
static char **environment_of(int how, const char *folder, char *const variables[])
{
    static const char *const kept[] = {"PATH=", "HOME=", "TMPDIR=", "LC_ALL=", "LANG="};
    char **all = calloc(64, sizeof *all);
    int n = 0;
    for (char **variable = environ; *variable; variable++)
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
            if (!strncmp(*variable, kept[i], strlen(kept[i])))
                all[n++] = *variable;
    if (getenv("HEAPSONDE_TEST_SCALE"))
        all[n++] = text("TEST_SCALE=%s", getenv("HEAPSONDE_TEST_SCALE"));
    bool recorded = how == RUN_RECORDED || how == RUN_RECORDED_UNCOUNTED;
    if (recorded && getenv("HEAPSONDE_TEST_MEMORY")) // all cases once with another value
        all[n++] = text("HEAPSONDE_MEMORY=%s", getenv("HEAPSONDE_TEST_MEMORY"));
    if (preload_of(how) && !runner[0])
        all[n++] = preload_of(how);
    if (recorded && !names_output(variables))
        all[n++] = text("HEAPSONDE_OUTPUT=%s/trace.%%p.%%n", folder);
    if (how == RUN_RECORDED || how == RUN_COUNTED)
        all[n++] = text("COUNTER_OUTPUT=%s/counter", folder);
    for (; variables && *variables; variables++)
        if (strncmp(*variables, "HEAPSONDE_", 10) || recorded)
            all[n++] = *variables;
    return all;
}

struct child start(int how, const char *folder, char *const variables[], char *const command[])
{
    int ends[2];
    if (mkdir(folder, 0777) == 0)
        chmod(folder, 0777); // programs that give up root still write their traces here
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail("no pipe: %s", strerror(errno));
    char **environment = environment_of(how, folder, variables);
    command = command_with_runner(how, command);
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        fail("no process: %s", strerror(errno));
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (chdir(folder) != 0 || dup2(null, 0) < 0 || dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0)
            _exit(126);
        if (null > 2)
            close(null);
        execvpe(command[0], command, environment);
        dprintf(2, "%s cannot be executed: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    return (struct child){pid, ends[0]};
}

struct result finish(struct child child)
{
    struct result result = {NULL, 0, 0};
    size_t room = 0;
    for (;;) {
        if (result.length + 65536 > room) {
            room = room * 2 + 131072;
            result.output = realloc(result.output, room);
            if (!result.output)
                fail("no memory for a program's output");
        }
        ssize_t got = read(child.output, result.output + result.length, 65535);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        result.length += (size_t)got;
    }
    result.output[result.length] = 0;
    close(child.output);
    while (waitpid(child.pid, &result.status, 0) < 0)
        if (errno != EINTR)
            fail("process %d cannot be waited for: %s", (int)child.pid, strerror(errno));
    return result;
}

struct result run(int how, const char *folder, char *const variables[], char *const command[])
{
    return finish(start(how, folder, variables, command));
}

struct result run_words(const char *folder, ...)
{
    char *command[32];
    int n = 0;
    va_list list;
    va_start(list, folder);
    while (n < 31 && (command[n] = va_arg(list, char *)))
        n++;
    command[n] = NULL;
    va_end(list);
    return run(RUN_HOST, folder, NULL, command);
}

const char *status_text(int status)
{
    if (WIFEXITED(status))
        return text("exit status %d", WEXITSTATUS(status));
    return text("signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

void wait_for_socket(const char *path, pid_t server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    for (;;) {
        int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int status = connect(file, (struct sockaddr *)&address, sizeof address);
        close(file);
        if (status == 0)
            return;
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)server, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == server)
            fail("the server ended before it listened on %s", path);
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
    }
}

// ---- files ---------------------------------------------------------------------------------------------------------

static int compare_versions(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

char **files_of(const char *folder, const char *prefix)
{
    size_t n = 0, room = 16;
    char **files = calloc(room, sizeof *files);
    DIR *directory = opendir(folder);
    if (!directory)
        fail("%s cannot be read: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) ||
            (length > 6 && !strcmp(entry->d_name + length - 6, ".store")))
            continue;
        if (n + 1 == room)
            files = realloc(files, (room *= 2) * sizeof *files);
        files[n++] = text("%s/%s", folder, entry->d_name);
    }
    closedir(directory);
    files[n] = NULL;
    qsort(files, n, sizeof *files, compare_versions);
    return files;
}

struct counter counter_of(const char *path)
{
    struct counter counter;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = file >= 0 && read(file, &counter, sizeof counter) == (ssize_t)sizeof counter;
    if (whole && counter.magic == __builtin_bswap64(COUNTER_MAGIC))
        for (uint64_t *number = (uint64_t *)&counter; number < (uint64_t *)(void *)counter.program; number++)
            *number = __builtin_bswap64(*number); // of a machine of the other byte order
    if (!whole || counter.magic != COUNTER_MAGIC)
        fail("%s is not a file of libcounter.so", path);
    close(file);
    return counter;
}

json_t *report_of(const char *trace, bool all_stacks)
{
    struct result result =
        run_words(work, path_heapsonde, "report", "--json", "--top", all_stacks ? "1000000" : "1", trace, NULL);
    json_error_t error;
    if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
        fail("heapsonde report --json %s: %s\n%s", trace, status_text(result.status), result.output);
    json_t *report = json_loads(result.output, 0, &error);
    if (!report)
        fail("heapsonde report --json %s is not JSON, line %d: %s\n%.2000s", trace, error.line, error.text,
             result.output);
    free(result.output);
    return report;
}

uint64_t report_number(const json_t *report, const char *key)
{
    const json_t *value = json_object_get(report, key);
    if (!json_is_number(value))
        fail("the report has no number \"%s\"", key);
    return (uint64_t)json_integer_value(value);
}

uint64_t report_sum(const json_t *report, const char *key)
{
    json_t *object = json_object_get(report, key), *value;
    const char *name;
    uint64_t sum = 0;
    if (!json_is_object(object))
        fail("the report has no object \"%s\"", key);
    json_object_foreach(object, name, value) sum += (uint64_t)json_integer_value(value);
    return sum;
}

uint64_t report_allocations_below(const json_t *report, const char *function)
{
    json_t *entry, *frame;
    size_t i, k;
    uint64_t sum = 0;
    json_array_foreach(json_object_get(report, "top"), i, entry)
    {
        json_array_foreach(json_object_get(entry, "frames"), k, frame)
        {
            const char *name = json_string_value(json_object_get(frame, "function"));
            if (name && !strncmp(name, function, strlen(function)) &&
                (name[strlen(function)] == 0 || name[strlen(function)] == '(')) {
                sum += (uint64_t)json_integer_value(json_object_get(entry, "allocations"));
                break;
            }
        }
    }
    return sum;
}

// ---- comparing -----------------------------------------------------------------------------------------------------

static void compare_number(const char *trace, const json_t *report, const char *key, uint64_t counted)
{
    uint64_t recorded = report_number(report, key);
    if (recorded != counted)
        wrong("%s: %s is %llu in the report, the counter has %llu (%+lld)", strrchr(trace, '/') + 1, key,
              (unsigned long long)recorded, (unsigned long long)counted, (long long)(recorded - counted));
}

// For programs that do not reallocate at their end.
static void compare_with_untold(const char *trace, const json_t *report, const char *counter_path)
{
    struct counter counter = counter_of(counter_path);
    uint64_t untold = report_number(json_object_get(report, "sums"), "untold_events");
    if (!untold)
        wrong("%s: nothing is untold", strrchr(trace, '/') + 1);
    compare_number(trace, report, "allocations",
                   counter.allocations + counter.deallocations - report_number(report, "deallocations") - untold);
}

void compare_trace(const char *trace, const char *counter_path, const struct expectation *expectation)
{
    json_t *report = report_of(trace, expectation->frames[0] != NULL);
    const char *name = strrchr(trace, '/') + 1;
    uint64_t allocations = report_number(report, "allocations");
    const char *holds = json_string_value(json_object_get(report, "holds"));
    if (!holds || strcmp(holds, expectation->sums ? "sums" : "events") != 0)
        wrong("%s holds %s", name, holds ? holds : "nothing");
    if (!expectation->drops_allowed && report_sum(report, "dropped"))
        wrong("%s: events were dropped: %s", name, json_dumps(json_object_get(report, "dropped"), 0));
    if (!expectation->cut_allowed && !cuts_allowed && report_sum(report, "truncated"))
        wrong("%s: stacks are cut: %s", name, json_dumps(json_object_get(report, "truncated"), 0));
    if (report_number(report, "damaged_chunks"))
        wrong("%s: %llu damaged chunks", name, (unsigned long long)report_number(report, "damaged_chunks"));
    bool untold = expectation->sums && expectation->untold;
    if (untold)
        compare_with_untold(trace, report, counter_path);
    if (counter_path && !expectation->inexact && !untold) {
        struct counter counter = counter_of(counter_path);
        uint64_t bytes = 0;
        for (int f = 0; f < COUNTER_FUNCTIONS; f++)
            bytes += counter.bytes[f];
        if (counter.unknown_frees)
            note("%s: the counter saw %llu frees of blocks that it does not know", name,
                 (unsigned long long)counter.unknown_frees);
        compare_number(trace, report, "allocations", counter.allocations);
        // A forked child frees blocks that only its parent's trace knows; the report has them apart.
        compare_number(trace, report, "deallocations",
                       counter.deallocations - (counter.forked ? report_number(report, "unknown_frees") : 0));
        compare_number(trace, report, "allocated_bytes", bytes);
        if (!counter.forked) {
            compare_number(trace, report, "live_count", counter.live_count);
            compare_number(trace, report, "live_bytes", counter.live_bytes);
            compare_number(trace, report, "unknown_frees", 0);
            compare_number(trace, report, "missed_frees", 0);
            if (expectation->peak)
                compare_number(trace, report, "peak_bytes", counter.peak_bytes);
        }
    }
    if (expectation->guessed)
        compare_number(trace, json_object_get(report, "guessed"), "allocations", expectation->guessed);
    for (int i = 0; expectation->frames[i] && !cuts_allowed; i++) {
        char function[128] = "";
        // "all", but for what the counter itself has had allocated
        unsigned long long wanted = allocations - report_allocations_below(report, "construct_counter");
        sscanf(expectation->frames[i], "%127[^=]=%llu", function, &wanted);
        uint64_t got = report_allocations_below(report, function);
        if (got != wanted)
            wrong("%s: %llu allocations have %s in their stack, %llu have to", name, (unsigned long long)got, function,
                  wanted);
    }
    json_decref(report);
}

// The names that begin a process or a thread in glibc and in musl, as far as stripped libraries show them.
static bool is_start(const char *function, size_t length)
{
    static const char *const names[] = {"main",
                                        "_start",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "__libc_start_call_main",
                                        "start_thread",
                                        "clone",
                                        "clone3",
                                        "libc_start_main_stage2",
                                        "_dl_start_user",
                                        "__dls2",
                                        "__dls3",
                                        "__clone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(function, names[i], length) && !names[i][length])
            return true;
    return false;
}

// "outermost;...;innermost COUNT": the count when a function of the stack is a start, else 0.
static uint64_t count_from_the_start(const char *line)
{
    while (*line) {
        size_t length = strcspn(line, "; ");
        if (is_start(line, length))
            return strtoull(strrchr(line, ' '), NULL, 10);
        line += length + (line[length] != 0);
    }
    return 0;
}

static uint64_t allocations_from_the_start(const char *trace)
{
    struct result result = run_words(work, path_heapsonde, "export", "--format", "collapsed", "--cost", "allocated",
                                     "--unit", "count", trace, NULL);
    uint64_t sum = 0;
    char *rest = result.output;
    if (result.status != 0)
        fail("heapsonde export %s: %s\n%.2000s", trace, status_text(result.status), result.output);
    for (char *line; (line = strsep(&rest, "\n"));)
        sum += strchr(line, ' ') ? count_from_the_start(line) : 0;
    free(result.output);
    return sum;
}

void print_stack_shares(const char *folder)
{
    for (char **trace = files_of(folder, "trace."); *trace; trace++) {
        json_t *report = report_of(*trace, false);
        uint64_t all = report_number(report, "allocations"), cut = report_sum(report, "truncated");
        note("stacks: %llu allocations, %llu cut %s, %llu with a guessed frame, %llu show the start by name",
             (unsigned long long)all, (unsigned long long)cut, json_dumps(json_object_get(report, "truncated"), 0),
             (unsigned long long)report_number(report, "guessed_stacks"),
             (unsigned long long)allocations_from_the_start(*trace));
        json_decref(report);
    }
}

// The N-th trace of a process belongs to its N-th counter: an image that is replaced by exec begins both anew.
void compare_folder(const char *folder, const struct expectation *expectation)
{
    char **traces = files_of(folder, "trace."), **counters = files_of(folder, "counter.");
    long trace_count = 0, counter_count = 0, compared = 0;
    while (traces[trace_count])
        trace_count++;
    while (counters[counter_count])
        counter_count++;
    if (expectation->no_counter) {
        for (long t = 0; t < trace_count; t++)
            compare_trace(traces[t], NULL, expectation);
        compared = trace_count;
    } else {
        long t = 0;
        for (long c = 0; c < counter_count; c++) {
            int counter_pid, trace_pid = -1;
            sscanf(strrchr(counters[c], '/') + 1, "counter.%d", &counter_pid);
            if (t < trace_count)
                sscanf(strrchr(traces[t], '/') + 1, "trace.%d", &trace_pid);
            struct counter counter = counter_of(counters[c]);
            if (trace_pid == counter_pid) {
                if (expectation->every == 0 || t % expectation->every == 0) {
                    compare_trace(traces[t], counters[c], expectation);
                    compared++;
                }
                t++;
            } else if (!expectation->untracked && counter.allocations + counter.deallocations > 0)
                wrong("process %d has left no trace for %s", counter_pid, strrchr(counters[c], '/') + 1);
        }
        for (; t < trace_count; t++)
            wrong("%s belongs to no process that the counter saw", traces[t]);
    }
    if (expectation->traces >= 0 && trace_count != expectation->traces)
        wrong("%ld traces were written, %ld have to be", trace_count, expectation->traces);
    if (compared == 0)
        wrong("nothing could be compared: no trace in %s", folder);
    note("%ld traces, %ld counters, %ld compared", trace_count, counter_count, compared);
}

void compare_results(const struct result *bare, const struct result *recorded, bool output_too)
{
    if (bare->status != recorded->status)
        wrong("the program ends with %s, recorded with %s", status_text(bare->status), status_text(recorded->status));
    if (!output_too || (bare->length == recorded->length && !memcmp(bare->output, recorded->output, bare->length)))
        return;
    size_t at = 0, line = 1, line_start = 0;
    while (at < bare->length && at < recorded->length && bare->output[at] == recorded->output[at])
        if (bare->output[at++] == '\n') {
            line++;
            line_start = at;
        }
    wrong("the output differs from line %zu on:\n  bare:     %.200s\n  recorded: %.200s", line,
          bare->output + line_start, recorded->output + line_start);
}
