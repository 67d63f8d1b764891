// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Cases that need more than a command: kills, full disks, servers, programs that cannot be recorded.
#define _GNU_SOURCE
#include "tests/recorder/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- kill -9 -------------------------------------------------------------------------------------------------------

// Where no buffer comes for a second, the recorder goes on in memory of its own, which a kill takes with it
// (runtime/slot_source.c): a round in which a thread may have waited for that says nothing about lost blocks.
#define WAITS_NS 900000000ll
enum { THREADS_MOST = 4, REPEATS_MOST = 20 };

// At a thread's count of blocks.
struct look {
    int64_t at_ns, since_ns; // the last one, and the last one before the count changed
    uint64_t made;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool may_have_waited(struct look *look, uint64_t made)
{
    const int64_t now = now_ns();
    const bool waited = look->made && now - look->since_ns > WAITS_NS;
    if (made != look->made)
        look->since_ns = look->at_ns;
    look->made = made;
    look->at_ns = now;
    return waited;
}

// Kills the program once it has made a random number of blocks. Whatever it had been given by then has to be in the
// trace; what the counter saw last may not be, for it was killed on the way from there to the recorder.
static void kill_rounds(int threads, int rounds, char *const variables[])
{
    uint64_t seed = seed_of_run();
    int repeats = 0;
    for (int round = 0; round < rounds; round++) {
        const char *folder = text("%s/round%d", work, round);
        const char *shared = text("%s/progress%d", work, round);
        uint64_t limit = random_next(&seed) % (round % 3 == 0 ? 300 : smaller(round % 3 == 1 ? 20000 : 600000));
        int file = open(shared, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || ftruncate(file, 4096) != 0)
            fail("%s cannot be made: %s", shared, strerror(errno));
        _Atomic uint64_t *progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        char *command[] = {text("%s/progress", path_programs), text("%s", shared), text("%d", threads), NULL};
        struct child child = start(RUN_RECORDED, folder, variables, command);
        struct look looks[THREADS_MOST] = {{0}};
        bool waited = false;
        for (int t = 0; t < threads; t++)
            looks[t].at_ns = now_ns();
        for (;;) {
            uint64_t sum = 0;
            for (int t = 0; t < threads; t++) {
                const uint64_t so_far = progress[t];
                waited |= may_have_waited(&looks[t], so_far);
                sum += so_far;
            }
            siginfo_t ended = {0};
            if (sum > limit)
                break;
            if (waitid(P_PID, (id_t)child.pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
                break;
            sched_yield();
        }
        kill(child.pid, SIGKILL);
        struct result result = finish(child);
        if (!WIFSIGNALED(result.status) || WTERMSIG(result.status) != SIGKILL)
            fail("round %d: the program was not killed but ended with %s:\n%s", round, status_text(result.status),
                 result.output);
        uint64_t made = 0;
        for (int t = 0; t < threads; t++) {
            waited |= may_have_waited(&looks[t], progress[t]);
            made += progress[t];
        }
        munmap((void *)progress, 4096);
        char **traces = files_of(folder, "trace."), **counters = files_of(folder, "counter.");
        if (!traces[0] || !counters[0])
            fail("round %d: no trace after %llu blocks", round, (unsigned long long)made);
        json_t *report = report_of(traces[0], false);
        struct counter counter = counter_of(counters[0]);
        uint64_t recorded = report_number(report, "allocations");
        note("round %d: killed after %llu blocks; the trace has %llu, the counter %llu", round,
             (unsigned long long)made, (unsigned long long)recorded, (unsigned long long)counter.allocations);
        const bool differs = recorded < made || recorded + (uint64_t)threads < counter.allocations;
        if (waited && repeats < REPEATS_MOST && (differs || report_sum(report, "dropped"))) {
            note("round %d: a thread may have waited for a buffer for a second: once more", round);
            json_decref(report);
            run_words("/", "rm", "-rf", folder, shared, NULL);
            repeats++;
            round--;
            continue;
        }
        if (recorded < made)
            wrong("round %d: %llu blocks are lost", round, (unsigned long long)(made - recorded));
        if (recorded > counter.allocations || recorded + (uint64_t)threads < counter.allocations)
            wrong("round %d: the counter has %llu allocations, the trace %llu", round,
                  (unsigned long long)counter.allocations, (unsigned long long)recorded);
        if (report_sum(report, "dropped"))
            wrong("round %d: events were dropped: %s", round, json_dumps(json_object_get(report, "dropped"), 0));
        if (!cuts_allowed && report_sum(report, "truncated"))
            wrong("round %d: stacks are cut: %s", round, json_dumps(json_object_get(report, "truncated"), 0));
        json_decref(report);
    }
}

static void special_kill(void)
{
    kill_rounds(1, 12, NULL);
}

static void special_kill_threads(void)
{
    kill_rounds(4, 9, NULL);
}

static void special_kill_inline(void)
{
    char *variables[] = {"HEAPSONDE_WRITER=inline", NULL};
    kill_rounds(2, 9, variables);
}

// The word of the header that says when the trace ended; 0 where there is none yet.
static uint64_t noted_end(const char *folder)
{
    enum { END_TIME = 256 + 4 * 8 };
    uint64_t end = 0;
    char **traces = files_of(folder, "trace.");
    int file = traces[0] ? open(traces[0], O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0 && pread(file, &end, sizeof(end), END_TIME) != sizeof(end))
        end = 0;
    if (file >= 0)
        close(file);
    return end;
}

static void wait_for_another_end(const char *folder, pid_t program, uint64_t end)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    uint64_t now = 0;
    while (!now || now == end) {
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)program, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
            fail("the program has ended");
        nanosleep(&pause, NULL);
        now = noted_end(folder);
    }
}

// A program that does nothing any more lasts until it is killed, not until its last event.
static void special_kill_idle(void)
{
    const char *folder = text("%s/idle", work);
    char *command[] = {text("%s/ending", path_programs), "idle", NULL};
    struct child child = start(RUN_RECORDED, folder, NULL, command);
    wait_for_another_end(folder, child.pid, 0);
    json_t *before = report_of(files_of(folder, "trace.")[0], false);
    wait_for_another_end(folder, child.pid, noted_end(folder)); // later than what the report has seen
    kill(child.pid, SIGKILL);
    finish(child);
    json_t *after = report_of(files_of(folder, "trace.")[0], false);
    if (report_number(after, "duration_ns") <= report_number(before, "duration_ns"))
        wrong("idle for longer, it lasts %llu ns, before %llu ns",
              (unsigned long long)report_number(after, "duration_ns"),
              (unsigned long long)report_number(before, "duration_ns"));
    json_decref(before);
    json_decref(after);
}

// ---- full disk -----------------------------------------------------------------------------------------------------

// Recording stops, the program does not, and the file says what happened and keeps what it has.
static void disk_full(char *const variables[])
{
    const char *disk = text("%s/disk", work);
    if (geteuid() != 0)
        skip("only root can mount a small disk");
    mkdir(disk, 0777);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=0777") != 0)
        skip("no small disk can be mounted: %s", strerror(errno));
    unsigned long blocks = smaller(100000) < 25000 ? 25000 : smaller(100000); // fewer would find room
    char *command[] = {text("%s/threads", path_programs), "exchange", text("%lu", blocks), NULL};
    struct result bare = run(RUN_BARE, text("%s/bare", work), NULL, command);
    struct result recorded = run(RUN_RECORDED_UNCOUNTED, disk, variables, command);
    char **traces = files_of(disk, "trace.");
    const char *copy = text("%s/trace", work);
    bool there = traces[0] != NULL;
    if (there)
        run_words(work, "cp", traces[0], copy, NULL);
    umount2(disk, MNT_DETACH);
    compare_results(&bare, &recorded, true);
    if (!there)
        fail("no trace on the full disk");
    json_t *report = report_of(copy, false);
    note("kept %llu allocations of %lu blocks; dropped %s", (unsigned long long)report_number(report, "allocations"),
         8 * blocks, json_dumps(json_object_get(report, "dropped"), 0));
    if (report_number(report, "allocations") == 0)
        wrong("nothing is left of what was recorded before the disk was full");
    if (report_sum(report, "dropped") == 0)
        wrong("the report does not say that events are missing");
    json_decref(report);
    struct result plain = run_words(work, path_heapsonde, "report", copy, NULL);
    if (!strcasestr(plain.output, "full") && !strcasestr(plain.output, "space"))
        wrong("the report does not say that the disk was full:\n%.1500s", plain.output);
}

static void special_disk_full(void)
{
    disk_full(NULL);
}

static void special_disk_full_inline(void)
{
    char *variables[] = {"HEAPSONDE_WRITER=inline", NULL};
    disk_full(variables);
}

// No room for the very first page, no folder, no right to write: the program runs as without us, but for the line that
// says so.
static void special_no_output(void)
{
    static const char *const places[] = {"/nonexistent/folder/trace", "/proc/trace", "/dev/full", "/dev/null"};
    char *command[] = {text("%s/threads", path_programs), "exchange", text("%lu", smaller(2000)), NULL};
    struct result bare = run(RUN_BARE, text("%s/bare", work), NULL, command);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *variables[] = {text("HEAPSONDE_OUTPUT=%s", places[i]), "HEAPSONDE_LOG=off", NULL};
        note("output to %s", places[i]);
        struct result recorded = run(RUN_RECORDED_UNCOUNTED, text("%s/recorded%zu", work, i), variables, command);
        compare_results(&bare, &recorded, true);
    }
}

// ---- programs that cannot be recorded ------------------------------------------------------------------------------

static void must_be_refused(char *const command[], const char *const words[])
{
    char *all[16] = {text("%s", path_heapsonde), "run", "--output", text("%s/trace", work), "--"};
    for (int i = 0; command[i]; i++)
        all[5 + i] = command[i];
    struct result result = run(RUN_HOST, work, NULL, all);
    note("%s", result.output);
    bool said = false;
    for (int i = 0; words[i]; i++)
        said |= strcasestr(result.output, words[i]) != NULL;
    if (!said)
        wrong("nothing says clearly that %s cannot be recorded", command[0]);
    if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 126)
        wrong("heapsonde run ends with %s", status_text(result.status));
}

// Where run puts the recorder into such a program, only what it cannot do is refused: to find functions without names,
// and to follow another program. What is recorded is in tests/inject.
static void must_refuse_static(const char *name)
{
    static const char *const words[] = {"static", NULL};
    const char *program = text("%s/%s", path_programs, name);
#ifdef __x86_64__
    char *behind[] = {"env", text("%s", program), NULL};
    must_be_refused(behind, words);
    const char *stripped = text("%s/%s", work, name);
    run_words(work, "strip", "-o", stripped, program, NULL);
    program = stripped;
#endif
    char *command[] = {text("%s", program), NULL};
    must_be_refused(command, words);
}

static void special_static(void)
{
    must_refuse_static("plain_static");
    must_refuse_static("plain_static_pie");
}

static void special_setuid_copy(void)
{
    static const char *const words[] = {"set-uid", "setuid", "set-user", NULL};
    if (geteuid() != 0)
        skip("only root can make a set-uid copy that matters");
    const char *copy = text("%s/plain_setuid", work);
    run_words(work, "cp", text("%s/plain", path_programs), copy, NULL);
    if (chown(copy, 65534, 65534) != 0 || chmod(copy, 04755) != 0)
        fail("%s cannot be made set-uid: %s", copy, strerror(errno));
    char *command[] = {text("%s", copy), NULL};
    must_be_refused(command, words);
}

// ---- exit status and summary of `heapsonde run` --------------------------------------------------------------------

// Another process has the name: the summary names the trace that was written instead.
static void run_with_taken_name(void)
{
    const char *trace = text("%s/taken.dat", work);
    int other = open(trace, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (other < 0 || flock(other, LOCK_EX | LOCK_NB) != 0)
        fail("%s cannot be locked: %s", trace, strerror(errno));
    struct result result = run_words(work, path_heapsonde, "run", "--output", trace, "--",
                                     text("%s/ending", path_programs), "return", NULL);
    const char *wrote = strstr(result.output, text("wrote %s.", trace));
    if (!wrote)
        fail("the summary names no trace beside the one that is taken\n%s", result.output);
    const char *name = text("%.*s", (int)strcspn(wrote + 6, " "), wrote + 6);
    json_t *report = report_of(name, false);
    if (report_number(report, "allocations") < 1000)
        wrong("%s: only %llu allocations", name, (unsigned long long)report_number(report, "allocations"));
    json_decref(report);
    if (lseek(other, 0, SEEK_END) != 0 || access(trace, F_OK) != 0)
        wrong("%s was written although it was taken", trace);
    close(other);
}

static void special_run(void)
{
    static const struct {
        const char *how;
        int status;
    } ways[] = {{"return", 18}, {"_exit", 12}, {"abort", 128 + SIGABRT}, {"kill", 128 + SIGKILL}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const char *trace = text("%s/%s.dat", work, ways[i].how);
        struct result result = run_words(work, path_heapsonde, "run", "--output", trace, "--",
                                         text("%s/ending", path_programs), ways[i].how, NULL);
        int status = WIFEXITED(result.status) ? WEXITSTATUS(result.status) : 128 + WTERMSIG(result.status);
        if (status != ways[i].status)
            wrong("heapsonde run of a program that ends by %s: status %d, expected %d\n%s", ways[i].how, status,
                  ways[i].status, result.output);
        json_t *report = report_of(trace, false);
        if (report_number(report, "allocations") < 1000)
            wrong("%s: only %llu allocations", trace, (unsigned long long)report_number(report, "allocations"));
        json_decref(report);
    }
    run_with_taken_name();
    struct result missing = run_words(work, path_heapsonde, "run", "--", "/nonexistent/program", NULL);
    note("%s", missing.output);
    if (missing.status == 0 || !strstr(missing.output, "/nonexistent/program"))
        wrong("a program that is not there: %s, and the message does not name it", status_text(missing.status));
}

// ---- redis ---------------------------------------------------------------------------------------------------------

static void special_redis(void)
{
    if (access("/usr/bin/redis-server", X_OK) != 0 || access("/usr/bin/redis-benchmark", X_OK) != 0)
        skip("redis is not installed");
    const char *folder = text("%s/recorded", work), *address = text("%s/redis.sock", work);
    char *server[] = {"/usr/bin/redis-server",
                      "--port",
                      "0",
                      "--unixsocket",
                      text("%s", address),
                      "--save",
                      "",
                      "--appendonly",
                      "no",
                      "--daemonize",
                      "no",
                      "--dir",
                      text("%s", work),
                      NULL};
    struct child child = start(RUN_RECORDED, folder, NULL, server);
    wait_for_socket(address, child.pid);
    struct result benchmark = run_words(work, "redis-benchmark", "-s", address, "-n", "20000", "-c", "20", "-q", "-t",
                                        "set,get,incr,lpush,rpush,lpop,sadd,hset,zadd,lrange_100,mset", NULL);
    if (benchmark.status != 0)
        wrong("redis-benchmark ends with %s:\n%s", status_text(benchmark.status), benchmark.output);
    struct result stop = run_words(work, "redis-cli", "-s", address, "shutdown", "nosave", NULL);
    struct result result = finish(child);
    if (stop.status != 0 || result.status != 0)
        wrong("redis-server ends with %s:\n%.3000s", status_text(result.status), result.output);
    struct expectation expectation = {.traces = -1};
    compare_folder(folder, &expectation);
}

// ---- damaged traces ------------------------------------------------------------------------------------------------

enum { FIRST_PAGE = 4096 };

// Cut short or overwritten anywhere: a reader says so in one line or reads what it can, and never crashes. Where the
// first page is whole it reads.
static void special_damage(void)
{
    uint64_t seed = seed_of_run();
    const char *folder = text("%s/recorded", work);
    char *command[] = {text("%s/threads", path_programs), "exchange", text("%lu", smaller(5000)), NULL};
    run(RUN_RECORDED, folder, NULL, command);
    char **traces = files_of(folder, "trace.");
    if (!traces[0])
        fail("no trace to damage");
    FILE *file = fopen(traces[0], "rb");
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    if (length == 0)
        fail("%s is empty", traces[0]);
    unsigned char *good = malloc(length), *bad = malloc(length);
    if (!good || !bad || fread(good, 1, length, file) != length)
        fail("%s cannot be read", traces[0]);
    fclose(file);
    int clean = 0, refused = 0;
    for (int round = 0; round < 60; round++) {
        size_t kept = length, first = length; // the first byte that is another one
        memcpy(bad, good, length);
        if (round % 2 == 0)
            first = kept = random_next(&seed) % length;
        for (int i = 0; round % 2 && i < 1 + round / 4; i++) {
            size_t at = random_next(&seed) % length;
            bad[at] ^= (unsigned char)(1 + random_next(&seed) % 255);
            first = at < first ? at : first;
        }
        const char *damaged = text("%s/damaged%d.dat", work, round);
        file = fopen(damaged, "wb");
        if (!file || fwrite(bad, 1, kept, file) != kept || fclose(file) != 0)
            fail("%s cannot be written", damaged);
        struct result result = run_words(work, path_heapsonde, "report", damaged, NULL);
        if (WIFSIGNALED(result.status))
            wrong("round %d: report ends with %s", round, status_text(result.status));
        else if (WEXITSTATUS(result.status) == 0)
            clean++;
        else
            refused++;
        if (WIFEXITED(result.status) && WEXITSTATUS(result.status) != 0 && first >= FIRST_PAGE)
            wrong("round %d: cannot be read, whole up to byte %zu: %s", round, first, result.output);
        if (WIFEXITED(result.status) && WEXITSTATUS(result.status) != 0 && !strstr(result.output, "damaged"))
            wrong("round %d: the message does not name the file: %s", round, result.output);
        free(result.output);
        if (!WIFSIGNALED(result.status))
            run_words(work, "rm", "-rf", damaged, text("%s.store", damaged), NULL);
    }
    note("60 damaged traces: %d read as far as they go, %d refused", clean, refused);
    free(good);
    free(bad);
}

// ---- stacks that leave the recorder's memory -----------------------------------------------------------------------

static json_t *report_with_memory(const char *bytes)
{
    const char *folder = text("%s/memory%s", work, bytes);
    char *variables[] = {text("HEAPSONDE_MEMORY=%s", bytes), NULL};
    char *command[] = {text("%s/comes_again", path_programs), NULL};
    struct result result = run(RUN_RECORDED_UNCOUNTED, folder, variables, command);
    char **traces = files_of(folder, "trace.");
    if (result.status || !traces[0])
        fail("with %s bytes: %s, no trace: %s", bytes, status_text(result.status), result.output);
    return report_of(traces[0], false);
}

// The program comes back to stacks that have left the smallest window: its trace has them twice, the report once.
static void special_window(void)
{
    static const char *const equal[] = {"allocations", "allocated_bytes", "stacks", "live_count"};
    json_t *small = report_with_memory("65536"), *large = report_with_memory("67108864");
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (report_number(small, equal[i]) != report_number(large, equal[i]))
            wrong("%s: %llu with the small window, %llu with the large one", equal[i],
                  (unsigned long long)report_number(small, equal[i]),
                  (unsigned long long)report_number(large, equal[i]));
    if (report_number(small, "stacks") < 4096)
        wrong("only %llu stacks", (unsigned long long)report_number(small, "stacks"));
    if (!report_number(small, "merged_nodes") || report_number(large, "merged_nodes"))
        wrong("%llu and %llu nodes came again", (unsigned long long)report_number(small, "merged_nodes"),
              (unsigned long long)report_number(large, "merged_nodes"));
}

const struct special specials[] = {
    {"kill", special_kill},
    {"kill-threads", special_kill_threads},
    {"kill-inline", special_kill_inline},
    {"kill-idle", special_kill_idle},
    {"disk-full", special_disk_full},
    {"disk-full-inline", special_disk_full_inline},
    {"no-output", special_no_output},
    {"static", special_static},
    {"setuid-copy", special_setuid_copy},
    {"run", special_run},
    {"redis", special_redis},
    {"damage", special_damage},
    {"window", special_window},
    {NULL, NULL},
};
