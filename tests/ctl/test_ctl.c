// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `heapsonde ctl` with a real process and the real library.
#include "target_client.h"

#include "tests/cli/command.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// Every byte is a sample, so that the counts are exact.
#define ALL   "experimental_hs_sample:1"
#define OFF   "experimental_hs_control:true," ALL
#define ON    "prof:true," ALL
#define BYTES (1000 * 1000)

static void expect(const char *command, int status, const char *output, const char *errors)
{
    struct outcome outcome = run("%s", command);
    ck_assert_msg(outcome.status == status, "%s: status %d\n%s%s", command, outcome.status, outcome.output,
                  outcome.errors);
    ck_assert_msg(strstr(outcome.output, output), "%s: '%s' is not in:\n%s", command, output, outcome.output);
    ck_assert_msg(strstr(outcome.errors, errors), "%s: '%s' is not in:\n%s", command, errors, outcome.errors);
    if (!*errors)
        ck_assert_str_eq(outcome.errors, "");
    free_outcome(&outcome);
}

static json_t *status_of(const char *pid)
{
    struct outcome outcome = run("$HEAPSONDE ctl --json %s status", pid);
    ck_assert_msg(outcome.status == 0, "%s", outcome.errors);
    json_t *json = json_loads(outcome.output, 0, NULL);
    ck_assert_msg(json != NULL, "%s", outcome.output);
    free_outcome(&outcome);
    return json;
}

static int64_t number_of(const char *pid, const char *key)
{
    json_t *json = status_of(pid);
    const json_t *value = json_object_get(json, key);
    ck_assert_msg(json_is_integer(value) || json_is_boolean(value), "%s", key);
    int64_t number = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
    json_decref(json);
    return number;
}

static struct target start_listening(const char *configuration)
{
    struct target target = start_target(PATH_SHIM, configuration);
    wait_until_listening(target.pid);
    return target;
}

// ---- switching ------------------------------------------------------------------------------------------------------

START_TEST(test_start_without_prof)
{
    struct target target = start_listening(OFF);
    expect("$HEAPSONDE ctl $PID status", 0, "opt.prof: false\n# needs MALLOC_CONF=\"prof:true\"\nprof.active: false\n",
           "");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    ck_assert_int_eq(number_of("$PID", "live_bytes"), 0);
    expect("$HEAPSONDE ctl $PID stop", 0, "already off since ", "");
    expect("$HEAPSONDE ctl $PID start", 0, "sampling is active now\n", "");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    int64_t live = number_of("$PID", "live_bytes");
    ck_assert_msg(live >= BYTES && live < BYTES + BYTES / 10, "%" PRId64, live);
    // To start once more resets nothing, nor does the end of sampling.
    expect("$HEAPSONDE ctl $PID start", 0, "already active since 20", "");
    ck_assert_int_eq(number_of("$PID", "live_bytes"), live);
    expect("$HEAPSONDE ctl $PID stop", 0, "sampling is off now", "");
    expect("$HEAPSONDE ctl $PID stop", 0, "already off since 20", "");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    ck_assert_int_eq(number_of("$PID", "live_bytes"), live);
    expect("$HEAPSONDE ctl start $PID", 0, "sampling is active now", "");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    ck_assert_int_ge(number_of("$PID", "live_bytes"), live + BYTES);
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_sessions)
{
    struct target target = start_listening(OFF);
    expect("$HEAPSONDE ctl $PID start --session nightly", 0, "sampling is active now", "");
    expect("$HEAPSONDE ctl $PID start", 0, "continues until this session ends, too", "");
    expect("$HEAPSONDE ctl $PID stop", 0, "still active for other sessions (nightly)", "");
    expect("$HEAPSONDE ctl $PID status", 0, "\nsessions: nightly\n", "");
    expect("$HEAPSONDE ctl $PID stop -s nightly", 0, "sampling is off now", "");
    expect("$HEAPSONDE ctl $PID start -s one && $HEAPSONDE ctl $PID stop --all", 0, "sampling is off now", "");
    expect("$HEAPSONDE ctl $PID start -s 'a b'", 1, "", "the name of a session is made of letters");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_rate_and_reset)
{
    struct target target = start_listening(ON);
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    ck_assert_int_ge(number_of("$PID", "live_bytes"), BYTES);
    expect("$HEAPSONDE ctl $PID rate 16M", 0, "one sample in 16.0 MiB now, every allocation before", "");
    ck_assert_int_eq(number_of("$PID", "sample_bytes"), 16 << 20);
    ck_assert_int_ge(number_of("$PID", "live_bytes"), BYTES);
    expect("$HEAPSONDE ctl $PID reset", 0, "all samples are discarded", "");
    ck_assert_int_eq(number_of("$PID", "live_bytes"), 0);
    expect("$HEAPSONDE ctl $PID status", 0, "rate: one sample in 16.0 MiB\n", "");
    expect("$HEAPSONDE ctl list", 0, "16.0 MiB", "");
    expect("$HEAPSONDE ctl $PID rate 1", 0, "every allocation now, one sample in 16.0 MiB before", "");
    expect("$HEAPSONDE ctl $PID status", 0, "rate: every allocation\n", "");
    expect("$HEAPSONDE ctl list", 0, "1 block", "");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    ck_assert_int_ge(number_of("$PID", "live_bytes"), BYTES);
    expect("$HEAPSONDE ctl $PID rate", 1 + 1, "", "rate needs");
    expect("$HEAPSONDE ctl $PID rate 0", 2, "", "rate needs");
    expect("$HEAPSONDE ctl $PID rate much", 2, "", "rate needs");
    expect("$HEAPSONDE ctl $PID rate 1024T", 1, "", "the rate is at most 2^48");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

// ---- dumps ----------------------------------------------------------------------------------------------------------

START_TEST(test_dumps)
{
    struct target target = start_listening(ON ",prof_prefix:mine");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    expect("$HEAPSONDE ctl $PID dump", 0, text("%s/mine.%ld.0.m0.heap\n", work, (long)target.pid), "");
    expect("head -n 1 mine.$PID.0.m0.heap", 0, "heap_v2/1\n", "");
    // A relative name is this command's, not the process's.
    expect("mkdir here && cd here && $HEAPSONDE ctl $PID dump 'a file'", 0, text("%s/here/a file\n", work), "");
    expect("head -n 1 'here/a file'", 0, "heap_v2/1\n", "");
    expect("$HEAPSONDE ctl $PID dump missing/file", 1, "", "No such file or directory");
    static const char *const formats[][2] = {{"heap_v2", "heap_v2/1"},
                                             {"text", "heap profile: "},
                                             {"symbolized", "--- symbol"},
                                             {"collapsed", "keep_blocks"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        expect(text("$HEAPSONDE ctl $PID dump -o - -f %s", formats[i][0]), 0, formats[i][1], "");
    expect("$HEAPSONDE ctl $PID dump -o out -f proto && test -s out", 0, "", "");
    expect("$HEAPSONDE ctl $PID dump -o missing/out", 1, "", "missing/out");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

// ---- finding --------------------------------------------------------------------------------------------------------

START_TEST(test_list)
{
    struct target first = start_listening(ON);
    struct target second = start_listening(OFF);
    struct target other = start_target(PATH_SHIM, "prof:true,experimental_hs_control:false");
    struct outcome outcome = run("$HEAPSONDE ctl --json list");
    ck_assert_int_eq(outcome.status, 0);
    json_t *list = json_loads(outcome.output, 0, NULL);
    ck_assert_msg(json_is_array(list), "%s", outcome.output);
    unsigned found = 0;
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        json_int_t pid = json_integer_value(json_object_get(entry, "pid"));
        ck_assert_int_ne(pid, other.pid);
        found += pid == first.pid && json_is_true(json_object_get(entry, "active"));
        found += pid == second.pid && json_is_false(json_object_get(entry, "active"));
    }
    ck_assert_uint_eq(found, 2);
    json_decref(list);
    free_outcome(&outcome);
    // A killed process leaves its socket, and the next list takes it away. One that ends takes it with it.
    ck_assert_int_eq(end_target(&first, SIGKILL), 128 + SIGKILL);
    expect(text("test -S heapsonde/%ld.sock", (long)first.pid), 0, "", "");
    expect("$HEAPSONDE ctl list", 0, "target", "");
    expect(text("test -e heapsonde/%ld.sock", (long)first.pid), 1, "", "");
    ck_assert_int_eq(end_target(&second, 0), 0);
    expect("ls heapsonde", 0, "", "");
    expect(text("test -e heapsonde/%ld.sock", (long)second.pid), 1, "", "");
    ck_assert_int_eq(end_target(&other, 0), 0);
}
END_TEST

// The name that `list` shows is as good as the number, when it is of one process only.
START_TEST(test_by_name)
{
    struct target first = start_listening(ON);
    struct outcome outcome = run("$HEAPSONDE ctl list | sed -n \"/^ *$PID /s/.* //p\"");
    outcome.output[strcspn(outcome.output, "\n")] = 0;
    ck_assert_str_eq(outcome.output, target_name());
    setenv("NAME", outcome.output, 1);
    free_outcome(&outcome);
    expect("$HEAPSONDE ctl $NAME status", 0, text("process: %ld (", (long)first.pid), "");
    expect("$HEAPSONDE ctl $NAME dump -o -", 0, "heap_v2/1", "");
    struct target second = start_listening(ON);
    expect("$HEAPSONDE ctl $NAME status", 1, "", "is the name of 2 processes here");
    ck_assert_int_eq(end_target(&first, 0), 0);
    expect("$HEAPSONDE ctl status $NAME", 0, text("process: %ld (", (long)second.pid), "");
    ck_assert_int_eq(end_target(&second, 0), 0);
}
END_TEST

// A socket at which nobody listens, as a killed process leaves it.
static void leave_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

START_TEST(test_left_sockets)
{
    struct target target = start_listening(ON);
    // The number of a killed process may be that of another one by now.
    char reused[128], starting[128];
    snprintf(reused, sizeof reused, "%s/heapsonde/%ld.sock", work, (long)getpid());
    snprintf(starting, sizeof starting, "%s/heapsonde/%ld.1.sock", work, (long)target.pid);
    leave_socket(reused);
    leave_socket(starting);
    expect("$HEAPSONDE ctl list", 0, "target", "");
    ck_assert_int_ne(access(reused, F_OK), 0);
    ck_assert_int_eq(access(starting, F_OK), 0);
    expect("$HEAPSONDE ctl $PID status", 0, "prof.active: true", "");
    ck_assert_int_eq(end_target(&target, SIGKILL), 128 + SIGKILL);
    expect("$HEAPSONDE ctl list 2>/dev/null", 0, "", "");
    expect("ls heapsonde | wc -l", 0, "0\n", "");
}
END_TEST

// They remove their own. The user is one that no other run of this test has.
START_TEST(test_left_by_other_user)
{
    const uid_t user = 4000000000 + (uid_t)getpid();
    char folder[64], left[128];
    snprintf(folder, sizeof folder, "/tmp/heapsonde-%lu", (unsigned long)user);
    snprintf(left, sizeof left, "%s/4194303.sock", folder);
    if (geteuid() != 0)
        return;
    ck_assert(!mkdir(folder, 0700) || errno == EEXIST);
    int result = chown(folder, user, (gid_t)-1);
    unlink(left);
    leave_socket(left);
    struct outcome outcome = run("$HEAPSONDE ctl list");
    int there = access(left, F_OK);
    unlink(left);
    rmdir(folder);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert(result || !there);
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_not_controllable)
{
    struct target plain = start_target(NULL, ON);
    expect("$HEAPSONDE ctl $PID status", 1, "", "does not have libheapsonde-prof.so");
    expect("$HEAPSONDE ctl $PID status", 1, "", "or with libheapsonde-trace.so and HEAPSONDE_ENABLE_SERVER=1");
    ck_assert_int_eq(end_target(&plain, 0), 0);
    expect("$HEAPSONDE ctl $PID status", 1, "", "there is no process ");
    struct target without = start_target(PATH_SHIM, ALL);
    expect("$HEAPSONDE ctl $PID status", 1, "", "but no control socket");
    ck_assert_int_eq(end_target(&without, 0), 0);
}
END_TEST

START_TEST(test_usage)
{
    expect("$HEAPSONDE ctl", 2, "", "needs a process, or 'list'");
    expect("$HEAPSONDE ctl 1", 2, "", "start stop dump status reset rate serve");
    expect("$HEAPSONDE ctl 1 frobnicate", 2, "", "start stop dump status reset rate serve");
    expect("$HEAPSONDE ctl status", 2, "", "start stop dump status reset rate serve");
    expect("$HEAPSONDE ctl 1 status now", 2, "", "'now'");
    expect("$HEAPSONDE ctl 1 status --all", 2, "", "status does not take --all");
    expect("$HEAPSONDE ctl list 1", 2, "", "list takes no arguments");
    expect("$HEAPSONDE ctl x serve", 2, "", "serve is for a sampled process on this machine");
    expect("$HEAPSONDE ctl 99999999 status", 1, "", "is not a process id");
    expect("$HEAPSONDE ctl 1 status --socket missing", 1, "", "missing: No such file");
    expect("$HEAPSONDE ctl 1 dump -f gif", 2, "", "'gif'");
}
END_TEST

// A process of this machine needs none, wherever the key is named.
START_TEST(test_key_of_others)
{
    struct target target = start_listening(ON);
    shell("head -c 32 /dev/urandom >key && chmod 600 key");
    static const char *const ways[] = {"HEAPSONDE_KEY_FILE=key $HEAPSONDE ctl", "$HEAPSONDE ctl --key-file key",
                                       "$HEAPSONDE ctl --insecure"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        expect(text("%s $PID status", ways[i]), 0, "prof.active: true", "");
        expect(text("%s list", ways[i]), 0, "target", "");
        expect(text("%s $PID dump -o -", ways[i]), 0, "heap_v2/1", "");
    }
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_other_user)
{
    if (geteuid() != 0)
        return;
    struct target target = start_listening(ON);
    expect("setpriv --reuid 65534 --regid 65534 --clear-groups $HEAPSONDE ctl $PID start", 1, "",
           "belongs to another user");
    expect(
        "setpriv --reuid 65534 --regid 65534 --clear-groups $HEAPSONDE ctl 1 start --socket $PWD/heapsonde/$PID.sock",
        1, "", "Permission denied");
    struct outcome map = run("grep -q 4294967295 /proc/self/uid_map");
    if (map.status == 0) {
        // Root controls everybody; the socket of a process that changes its user goes with it.
        ck_assert_str_eq(tell(&target, "nobody"), "nobody");
        struct stat status;
        while (stat(text("/tmp/heapsonde-65534/%ld.sock", (long)target.pid), &status))
            usleep(1000);
        expect("$HEAPSONDE ctl $PID status", 0, "prof.active: true", "");
        ck_assert_uint_eq(status.st_uid, 65534);
    }
    free_outcome(&map);
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

// Where the process's user cannot be told from others, there is no control; the process gets what it asked for.
START_TEST(test_namespace)
{
    struct target bare = start_target(NULL, ON);
    const char *possible = text("%s", tell(&bare, "unshare"));
    ck_assert_int_eq(end_target(&bare, 0), 0);
    struct target target = start_listening(ON);
    expect("$HEAPSONDE ctl $PID status", 0, "prof.active: true", "");
    ck_assert_str_eq(tell(&target, "unshare"), possible);
    if (!strcmp(possible, "unshared"))
        expect("$HEAPSONDE ctl $PID status", 1, "", "but no control socket");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

// ---- processes that fork and end ------------------------------------------------------------------------------------

START_TEST(test_fork)
{
    struct target target = start_listening(ON);
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    char child[32];
    snprintf(child, sizeof child, "%s", tell(&target, "fork"));
    wait_until_listening((pid_t)atol(child));
    expect(text("$HEAPSONDE ctl %s status", child), 0, text("process: %s (%s)", child, target_name()), "");
    expect(text("$HEAPSONDE ctl %s dump", child), 0, text(".%s.0.m0.heap", child), "");
    expect(text("$HEAPSONDE ctl %s stop", child), 0, "sampling is off now", "");
    expect("$HEAPSONDE ctl $PID status", 0, "prof.active: true", "");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

// Forks come at any moment of requests, and the other way round.
START_TEST(test_storm)
{
    struct target target = start_listening(ON);
    fputs("storm\n", target.in);
    fflush(target.in);
    expect("for i in 1 2 3 4 5 6 7 8 9 10; do"
           "  $HEAPSONDE ctl $PID dump -o - >dump && $HEAPSONDE ctl $PID status >status && $HEAPSONDE ctl $PID stop &&"
           "  $HEAPSONDE ctl $PID start && $HEAPSONDE ctl $PID rate $i && $HEAPSONDE ctl $PID reset || exit 1; done",
           0, "one sample in 10 B now", "");
    char line[16];
    ck_assert_ptr_nonnull(fgets(line, sizeof line, target.out));
    ck_assert_str_eq(line, "calm\n");
    expect("$HEAPSONDE ctl $PID status", 0, "prof.active: true", "");
    ck_assert_int_eq(end_target(&target, 0), 0);
    expect("ls heapsonde | wc -l", 0, "0\n", "");
}
END_TEST

// ---- over HTTP ------------------------------------------------------------------------------------------------------

enum { NOT_SERVED = 98 };

// Runs them with the server's address as $at.
static struct outcome run_served(const char *options, const char *commands)
{
    struct outcome outcome =
        run("rm -f address; $HEAPSONDE ctl serve $PID %s >address & server=$!; trap 'kill $server' EXIT;"
            "while ! [ -s address ]; do kill -0 $server 2>&- || exit %d; sleep 0.01; done; at=$(cat address); %s",
            options, NOT_SERVED, commands);
    ck_assert_msg(outcome.status != NOT_SERVED, "serve has ended:\n%s", outcome.errors);
    return outcome;
}

static void expect_page(const char *arguments, const char *status, const char *type, const char *body)
{
    struct outcome outcome =
        run_served("", text("curl -s -o body -w '%%{http_code} %%{content_type}' %s && echo && cat body", arguments));
    const char *expected = text("%s %s\n%s", status, type, body);
    ck_assert_msg(outcome.status == 0, "%s: status %d\n%s", arguments, outcome.status, outcome.errors);
    ck_assert_msg(!strncmp(outcome.output, expected, strlen(expected)), "%s: expected\n%s\nbut it is\n%.2000s",
                  arguments, expected, outcome.output);
    free_outcome(&outcome);
}

// What answers puts sequences for terminals where text should be.
START_TEST(test_hostile_answers)
{
    static const char server[] =
        "import os, socket\n"
        "door = socket.socket(socket.AF_UNIX)\n"
        "door.bind('hostile.new')\n"
        "door.listen(9)\n"
        "os.rename('hostile.new', 'hostile')\n"
        "evil = b'\\x1b]0;title\\x07\\x1b[2J'\n"
        "for answer in (b'ok\\nversion %s\\nsessions a%s\\nprof.active true\\n', b'ok\\nresult still-active\\nsessions "
        "a%s\\nx %s\\n', b'error busy %s \\xc2\\x9b2J%s\\n', b'ok\\npath /tmp/%s%s\\n'):\n"
        "    client = door.accept()[0]\n"
        "    client.recv(4096)\n"
        "    client.sendall(answer % (evil, evil))\n"
        "    client.close()\n";
    struct outcome outcome =
        run("/usr/bin/python3 -c \"%s\" & server=$!; trap 'kill $server 2>&-' EXIT; while ! [ -S hostile ]; do kill -0 "
            "$server || exit 9; sleep 0.01; done; for what in status stop start dump; do $HEAPSONDE ctl $$ $what "
            "--socket hostile; done; true",
            server);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert_msg(strstr(outcome.output, "sessions: a?]0;title??[2J") && strstr(outcome.output, "(a?]0;title??[2J)") &&
                      strstr(outcome.output, "/tmp/?]0;title??[2J") &&
                      strstr(outcome.errors, "says: ?]0;title??[2J ??2J"),
                  "%s%s", outcome.output, outcome.errors);
    ck_assert_msg(!strchr(outcome.output, 0x1b) && !strchr(outcome.errors, 0x1b) && !strchr(outcome.errors, 0x9b),
                  "%s%s", outcome.output, outcome.errors);
    free_outcome(&outcome);
}
END_TEST

// A request that came late was not carried out: it is sent again.
START_TEST(test_late_request)
{
    static const char server[] = "import os, socket\n"
                                 "door = socket.socket(socket.AF_UNIX)\n"
                                 "door.bind('late.new')\n"
                                 "door.listen(9)\n"
                                 "os.rename('late.new', 'late')\n"
                                 "late = b'error late the request did not come in time\\n'\n"
                                 "for answer in (late, late, b'ok\\nresult started\\nsessions -\\nsince_ns 1\\n'):\n"
                                 "    client = door.accept()[0]\n"
                                 "    assert client.recv(4096) == b'start\\n'\n"
                                 "    client.sendall(answer)\n"
                                 "    client.close()\n";
    struct outcome outcome =
        run("/usr/bin/python3 -c \"%s\" & server=$!; trap 'kill $server 2>&-' EXIT; while ! [ -S late ]; do "
            "kill -0 $server || exit 9; sleep 0.01; done; $HEAPSONDE ctl $$ start --socket late",
            server);
    ck_assert_msg(outcome.status == 0 && strstr(outcome.output, "sampling is active now"), "%d: %s%s", outcome.status,
                  outcome.output, outcome.errors);
    free_outcome(&outcome);
}
END_TEST

START_TEST(test_mtev_pages)
{
    struct target target = start_listening(OFF);
    expect_page("$at/mtev/heap_profile", "200", "text/plain",
                "opt.prof: false\n# needs MALLOC_CONF=\"prof:true\"\nprof.active: false\n"
                "prof.thread_active_init: true\n");
    expect_page("\"$at/mtev/heap_profile?active=true&trigger_dump=true\"", "200", "text/plain",
                "Profiling is activated\n");
    ck_assert_int_eq(number_of("$PID", "active"), 1);
    // Neither what asks for headers alone nor what a page of another site can make an old browser send switches.
    expect_page("-I $at/mtev/heap_profile?active=false", "403", "text/plain", "");
    expect_page("-A 'Mozilla/5.0 (X11)' $at/mtev/heap_profile?active=false", "403", "text/plain", "this browser");
    expect_page("-e http://evil.example/ $at/mtev/heap_profile?active=false", "403", "text/plain", "this browser");
    ck_assert_int_eq(number_of("$PID", "active"), 1);
    expect_page("-A 'Mozilla/5.0 (X11)' -H 'Sec-Fetch-Site: none' $at/mtev/heap_profile?active=true", "200",
                "text/plain", "Profiling is activated\n");
    expect_page("-A 'Mozilla/5.0 (X11)' $at/mtev/heap_profile", "200", "text/plain", "opt.prof: false\n");
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    expect_page("$at/mtev/heap_profile?trigger_dump=true", "200", "application/x-jemalloc-heap-profile", "heap_v2/1\n");
    expect_page("$at/mtev/heap_profile?trigger_dump=false", "200", "text/plain", "opt.prof: false\n");
    expect_page("$at/mtev/heap_profile?active=0", "200", "text/plain", "Profiling is deactivated\n");
    expect_page("$at/mtev/heap_profile?active=false", "200", "text/plain", "Profiling is deactivated\n");
    expect_page("$at/mtev/heap_profile?active", "200", "text/plain", "Profiling is deactivated\n");
    ck_assert_int_eq(number_of("$PID", "active"), 0);
    expect_page("$at/mtev/memory.json", "200", "application/json", "{\"jemalloc\":{");
    ck_assert_int_eq(end_target(&target, 0), 0);
    target = start_listening(ON);
    expect_page("$at/mtev/heap_profile", "200", "text/plain",
                "opt.prof: true\nprof.active: true\nprof.thread_active_init: true\n");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_pprof_pages)
{
    struct target target = start_listening(ON);
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    expect_page("$at/pprof/heap", "200", "text/plain", "heap profile: ");
    expect_page("$at/pprof/heap?format=heap_v2", "200", "text/plain", "heap_v2/1\n");
    expect_page("$at/pprof/heap?format=proto", "200", "application/octet-stream", "");
    expect_page("$at/pprof/heap?format=gif", "502", "text/plain", "the process says: the formats are");
    expect_page("$at/pprof/heap?format=a%0Ab", "400", "text/plain", "the formats are");
    expect_page("$at/pprof/cmdline", "200", "text/plain", "target\nan argument\n");
    expect_page("$at/pprof/symbol", "200", "text/plain", "num_symbols: 1\n");
    expect_page("-d 0x1+nonsense+0x+0xffffffffffffffff00 $at/pprof/symbol", "200", "text/plain", "");
    expect_page("$at/elsewhere", "404", "text/plain", "there is no such page\n");
    expect_page("-X DELETE $at/pprof/symbol", "405", "text/plain", "");
    expect_page("-H 'Host: example.org' $at/pprof/heap", "403", "text/plain", "");
    expect_page("-H 'Origin: http://example.org' $at/pprof/heap", "403", "text/plain", "");
    expect_page("-H 'Sec-Fetch-Site: cross-site' $at/pprof/heap", "403", "text/plain", "");
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_readers)
{
    struct target target = start_listening(ON);
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    struct outcome outcome = run_served("", "JEPROF_TMPDIR=. jeprof --collapsed $at/pprof/heap");
    ck_assert_msg(outcome.status == 0, "%s", outcome.errors);
    const char *line = strstr(outcome.output, ";main;keep_blocks;keep_block ");
    ck_assert_msg(line != NULL, "%s%s", outcome.output, outcome.errors);
    int64_t bytes = strtoll(strrchr(strtok(strdup(line), "\n"), ' '), NULL, 10);
    ck_assert_msg(bytes >= BYTES && bytes < BYTES + BYTES / 10, "%" PRId64, bytes);
    free_outcome(&outcome);
    outcome = run_served("", "PPROF_TMPDIR=. google-pprof --text $at/pprof/heap");
    ck_assert_msg(strstr(outcome.output, " keep_block\n"), "%s%s", outcome.output, outcome.errors);
    free_outcome(&outcome);
    outcome = run_served("", "command -v go >/dev/null || exit 77; "
                             "HOME=$PWD PPROF_TMPDIR=$PWD GOTOOLCHAIN=local PATH=/usr/lib/go/bin:$PATH "
                             "go tool pprof -symbolize=remote -top $at/pprof/heap");
    ck_assert_msg(outcome.status == 77 || strstr(outcome.output, " keep_block\n"), "%s%s", outcome.output,
                  outcome.errors);
    free_outcome(&outcome);
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_token)
{
    struct target target = start_listening(ON);
    expect("$HEAPSONDE ctl serve $PID --listen 0.0.0.0:0", 1, "", "needs a --token");
    expect("$HEAPSONDE ctl serve $PID --listen [::]:0", 1, "", "needs a --token");
    expect("HEAPSONDE_TOKEN= $HEAPSONDE ctl serve $PID --listen 0.0.0.0:0", 1, "", "needs a --token");
    expect("$HEAPSONDE ctl serve $PID --listen nowhere", 1, "", "nowhere is not an address");
    expect("$HEAPSONDE ctl serve $PID --listen 127.0.0.1:70000", 1, "", "is not an address");
    struct outcome outcome =
        run_served("--listen 0.0.0.0:0 --token secret",
                   "for i in '' ?token=secre ?token=secret2 ?token=; do "
                   "curl -s -o /dev/null -w '%{http_code} ' $at/mtev/heap_profile$i; done;"
                   "for i in secret wrong; do curl -s -o /dev/null -w '%{http_code} ' -H \"Authorization: Bearer $i\" "
                   "$at/mtev/heap_profile; done; curl -s -o /dev/null -w '%{http_code}' "
                   "$at/mtev/heap_profile?token=secret");
    ck_assert_str_eq(outcome.output, "401 401 401 401 200 401 200");
    free_outcome(&outcome);
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

// Everybody at once, and what is too much.
START_TEST(test_crowd)
{
    struct target target = start_listening(ON);
    ck_assert_str_eq(tell(&target, "keep"), "kept");
    struct outcome outcome =
        run_served("", "for i in $(seq 200); do curl -s $at/pprof/heap?format=heap_v2 | head -n 1 & "
                       "pids=\"$pids $!\"; done; wait $pids");
    unsigned answers = 0;
    for (const char *line = outcome.output; (line = strstr(line, "heap_v2/1\n")); line++)
        answers++;
    ck_assert_msg(answers >= 64, "%u answers\n%s", answers, outcome.errors);
    free_outcome(&outcome);
    outcome = run_served("", "head -c 20000000 /dev/zero | curl -s -o body -w '%{http_code} ' --data-binary @- "
                             "$at/pprof/symbol; head -c 100000 /dev/zero | tr '\\0' a >long; curl -s -o body "
                             "-w '%{http_code} ' \"$at/$(head -c 60000 long)\"; curl -s -o body -w '%{http_code}' "
                             "$at/mtev/heap_profile");
    ck_assert_msg(!strncmp(outcome.output, "413 414 200", 11) || !strncmp(outcome.output, "413 431 200", 11), "%s",
                  outcome.output);
    free_outcome(&outcome);
    ck_assert_int_eq(end_target(&target, 0), 0);
}
END_TEST

START_TEST(test_process_ends)
{
    struct target target = start_listening(ON);
    struct outcome outcome =
        run("$HEAPSONDE ctl serve $PID >address & server=$!;"
            "while ! [ -s address ]; do sleep 0.01; done; at=$(cat address); kill -9 $PID;"
            "while $HEAPSONDE ctl $PID status 2>/dev/null >&2; do sleep 0.01; done;"
            "curl -s -o body -w '%%{http_code}' $at/pprof/heap; cat body; kill $server; wait $server");
    ck_assert_msg(!strncmp(outcome.output, "502", 3), "%s", outcome.output);
    ck_assert_int_eq(outcome.status, 0);
    free_outcome(&outcome);
    ck_assert_int_eq(end_target(&target, SIGKILL), 128 + SIGKILL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_command");
    TCase *tests = tcase_create("ctl_command");
    tcase_add_checked_fixture(tests, make_work, remove_work);
    tcase_add_test(tests, test_start_without_prof);
    tcase_add_test(tests, test_sessions);
    tcase_add_test(tests, test_rate_and_reset);
    tcase_add_test(tests, test_dumps);
    tcase_add_test(tests, test_list);
    tcase_add_test(tests, test_by_name);
    tcase_add_test(tests, test_left_sockets);
    tcase_add_test(tests, test_left_by_other_user);
    tcase_add_test(tests, test_not_controllable);
    tcase_add_test(tests, test_usage);
    tcase_add_test(tests, test_key_of_others);
    tcase_add_test(tests, test_other_user);
    tcase_add_test(tests, test_namespace);
    tcase_add_test(tests, test_fork);
    tcase_add_test(tests, test_storm);
    tcase_add_test(tests, test_hostile_answers);
    tcase_add_test(tests, test_late_request);
    tcase_add_test(tests, test_mtev_pages);
    tcase_add_test(tests, test_pprof_pages);
    tcase_add_test(tests, test_readers);
    tcase_add_test(tests, test_token);
    tcase_add_test(tests, test_crowd);
    tcase_add_test(tests, test_process_ends);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
