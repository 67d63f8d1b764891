// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The control socket as its clients see it: this process is the controlled one and the client.
#include "fake_sampler.h"

#include "runtime/prof/control.h"
#include "runtime/prof/control_request.h"
#include "runtime/prof/sampler.h"
#include "tests/suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static char work[64];

// ---- a client -------------------------------------------------------------------------------------------------------

static const char *socket_of(pid_t pid)
{
    static char path[100];
    snprintf(path, sizeof path, "%s/heapsonde/%ld.sock", work, (long)pid);
    return path;
}

// A descriptor, or -errno. The socket appears and accepts in its own time.
static int try_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    if (!connect(fd, (struct sockaddr *)&address, sizeof address))
        return fd;
    int problem = errno;
    close(fd);
    return -problem;
}

static int connect_to(const char *path)
{
    for (int i = 0; i < 150000; i++) {
        int fd = try_connect(path);
        if (fd >= 0)
            return fd;
        ck_assert_msg(fd == -ENOENT || fd == -ECONNREFUSED, "%s: %s", path, strerror(-fd));
        poll(NULL, 0, 1);
    }
    ck_abort_msg("%s never accepted", path);
    return -1;
}

// Everything up to the end of the connection, ended by a NUL.
static char *receive(int fd, size_t *length)
{
    size_t size = 65536, got = 0;
    char *bytes = malloc(size + 1);
    for (;;) {
        ssize_t more = read(fd, bytes + got, size - got);
        if (more <= 0)
            break;
        got += (size_t)more;
        if (got == size)
            bytes = realloc(bytes, (size *= 2) + 1);
    }
    close(fd);
    bytes[got] = 0;
    if (length)
        *length = got;
    return bytes;
}

#define LATE "error late the request did not come in time\n"

// The answer to a request that came in time: between the connection and the request this thread may have had no
// processor.
static char *answer_in_time(const char *path, const char *request, size_t length, bool ends)
{
    for (;;) {
        int fd = connect_to(path);
        send(fd, request, length, MSG_NOSIGNAL); // fails or ends early where the request is refused before its end
        if (ends)
            shutdown(fd, SHUT_WR);
        char *answer = receive(fd, NULL);
        if (strcmp(answer, LATE))
            return answer;
        free(answer);
    }
}

static char *ask_at(const char *path, const char *request, size_t length)
{
    return answer_in_time(path, request, length, false);
}

// A connection at which the answer to the request has begun with "o".
static int begin_answer(const char *path, const char *request)
{
    for (;;) {
        char byte = 0;
        int fd = connect_to(path);
        send(fd, request, strlen(request), MSG_NOSIGNAL);
        if (recv(fd, &byte, 1, 0) == 1 && byte == 'o')
            return fd;
        char *rest = receive(fd, NULL);
        ck_assert_msg(byte == 'e' && !strcmp(rest, &LATE[1]), "'%s' is answered: %c%s", request, byte, rest);
        free(rest);
    }
}

static const char *ask(const char *request)
{
    static char *answer;
    free(answer);
    answer = ask_at(socket_of(getpid()), request, strlen(request));
    return answer;
}

static void expect_part(const char *request, const char *part)
{
    const char *answer = ask(request);
    ck_assert_msg(strstr(answer, part) != NULL, "'%s' is answered: %s", request, answer);
}

static void begin(void)
{
    hs_control__start();
    close(connect_to(socket_of(getpid())));
}

static void setup(void)
{
    snprintf(work, sizeof work, "/tmp/heapsonde-ctl-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(work));
    ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", work, 1), 0);
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    ck_assert_int_eq(system(command), 0);
}

// ---- requests -------------------------------------------------------------------------------------------------------

START_TEST(test_status)
{
    begin();
    const char *answer = ask("status\n");
    char pid[32];
    snprintf(pid, sizeof pid, "\npid %ld\n", (long)getpid());
    ck_assert_int_eq(strncmp(answer, "ok\n", 3), 0);
    ck_assert_ptr_nonnull(strstr(answer, pid));
    ck_assert_ptr_nonnull(strstr(answer, "\nprof.active false\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\nsample_bytes 524288\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\nlive_bytes 1000000\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\nlive_objects 1000\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\nstacks 2\n"));
}
END_TEST

START_TEST(test_twice_is_no_error)
{
    begin();
    expect_part("stop\n", "ok\nresult already-stopped\n");
    expect_part("start\n", "ok\nresult started\n");
    ck_assert(hs_sampler.on && hs_sampler.active);
    char since[64];
    snprintf(since, sizeof since, "ok\nresult already-active\nsince_ns %llu\n",
             (unsigned long long)hs_sampler.active_since_ns);
    expect_part("start\n", since);
    expect_part("stop\n", "ok\nresult stopped\n");
    ck_assert(hs_sampler.on && !hs_sampler.active);
    expect_part("stop\n", "ok\nresult already-stopped\n");
    expect_part("status\n", "live_bytes 1000000\n");
}
END_TEST

START_TEST(test_sessions)
{
    begin();
    expect_part("start one\n", "result started\n");
    expect_part("start two\n", "result joined\n");
    expect_part("start one\n", "result already-active\n");
    expect_part("stop\n", "result still-active\n");
    expect_part("stop one\n", "sessions two\n");
    expect_part("stop two\n", "result stopped\n");
    ck_assert(!hs_sampler.active);
    // The program's own session is the one without a name.
    hs_sampler__set_active(true);
    expect_part("start one\n", "sessions - one\n");
    expect_part("stop one\n", "result still-active\nsince_ns");
    expect_part("stop\n", "result stopped\n");
    expect_part("start one\n", "result started\n");
    expect_part("stop-all\n", "result stopped\n");
    // It may also end what others began.
    expect_part("start one\n", "result started\n");
    hs_sampler__set_active(false);
    expect_part("status\n", "sessions \n");
    for (int i = 0; i < 16; i++) {
        char request[32];
        snprintf(request, sizeof request, "start s%d\n", i);
        expect_part(request, "ok\n");
    }
    expect_part("start s16\n", "error busy there are too many sessions\n");
}
END_TEST

START_TEST(test_changes)
{
    begin();
    expect_part("rate 4096\n", "ok\nresult changed\nbefore 524288\nsample_bytes 4096\n");
    expect_part("rate 4096\n", "ok\nresult unchanged\n");
    expect_part("reset\n", "ok\nresult reset\n");
    expect_part("status\n", "live_bytes 0\n");
}
END_TEST

START_TEST(test_dump)
{
    char folder[256];
    char expected[512];
    char request[256];
    ck_assert_int_eq(chdir(work), 0);
    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    begin();
    snprintf(expected, sizeof expected, "ok\npath %s/fake.m.heap\n", folder);
    ck_assert_str_eq(ask("dump\n"), expected);
    ck_assert_int_eq(access("fake.m.heap", R_OK), 0);
    snprintf(request, sizeof request, "dump %s/with two spaces\n", work);
    snprintf(expected, sizeof expected, "ok\npath %s/with two spaces\n", work);
    ck_assert_str_eq(ask(request), expected);
    ck_assert_int_eq(access("with two spaces", R_OK), 0);
    expect_part("dump /missing/folder/x\n", "error system-2 ");
    hs_prof_texts.prefix[0] = 0;
    expect_part("dump\n", "error system-14 there is no automatic name");
}
END_TEST

START_TEST(test_bodies)
{
    static const char *const expected[][2] = {{"get-dump heap_v2\n", "\n\nheap_v2/524288\n"},
                                              {"get-dump text\n", "\n\nheap profile: "},
                                              {"get-dump proto\n", "\n\nproto"},
                                              {"get-dump symbolized\n", "\n\n--- symbol"},
                                              {"get-dump collapsed\n", "\n\nmain;"},
                                              {"maps\n", " r-xp "},
                                              {"cmdline\n", "test_ctl_control"},
                                              {"stats\n", "\n\n{\"jemalloc\":{\"stats\":{\"allocated\":2000000,"}};
    begin();
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++)
        expect_part(expected[i][0], expected[i][1]);
}
END_TEST

// A dump does not fit into the socket: others are served while its reader takes its time, and every byte arrives.
START_TEST(test_slow_reader)
{
    fake_dump_bytes = 16 << 20;
    begin();
    int slow = begin_answer(socket_of(getpid()), "get-dump heap_v2\n");
    expect_part("status\n", "ok\n");
    size_t length;
    char *answer = receive(slow, &length);
    unsigned long announced = 0;
    ck_assert_int_eq(sscanf(answer, "k\nlength %lu\n\n", &announced), 1);
    ck_assert_uint_gt(announced, fake_dump_bytes);
    ck_assert_uint_eq(length, (size_t)(strstr(answer, "\n\n") + 2 - answer) + announced);
    free(answer);
    // And one that goes away in the middle.
    close(begin_answer(socket_of(getpid()), "get-dump heap_v2\n"));
    expect_part("status\n", "ok\n");
}
END_TEST

// ---- refusals -------------------------------------------------------------------------------------------------------

START_TEST(test_malformed)
{
    static const char *const lines[] = {"\n",
                                        " \n",
                                        "status",
                                        "status \n",
                                        "status  \n",
                                        "status now\n",
                                        "STATUS\n",
                                        " status\n",
                                        "statu\n",
                                        "statuss\n",
                                        "status\r\n",
                                        "status\nstop\n",
                                        "status\n\n",
                                        "rate\n",
                                        "rate \n",
                                        "rate 0\n",
                                        "rate -1\n",
                                        "rate 12x\n",
                                        "rate 99999999999999999999\n",
                                        "rate 281474976710657\n",
                                        "dump relative\n",
                                        "dump \n",
                                        "dump /a\tb\n",
                                        "get-dump\n",
                                        "get-dump pdf\n",
                                        "get-dump heap_v2 \n",
                                        "start \n",
                                        "start a b\n",
                                        "start a/b\n",
                                        "start 123456789012345678901234567890123\n",
                                        "stop-all x\n",
                                        "GET / HTTP/1.1\r\n\r\n"};
    begin();
    for (unsigned i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *answer = answer_in_time(socket_of(getpid()), lines[i], strlen(lines[i]), true);
        ck_assert_msg(!strncmp(answer, "error request ", 14), "'%s' is answered: %s", lines[i], answer);
        free(answer);
    }
    char *answer = ask_at(socket_of(getpid()), "status\0\n", 8);
    ck_assert_str_eq(answer, "error request the request contains a control character\n");
    free(answer);
    ck_assert(!hs_sampler.on);
    expect_part("status\n", "ok\n");
}
END_TEST

START_TEST(test_oversized)
{
    static char huge[1 << 20];
    memset(huge, 'a', sizeof huge);
    begin();
    memcpy(huge, "dump /", 6);
    for (size_t length = 4096; length <= sizeof huge; length *= 4) {
        char *answer = ask_at(socket_of(getpid()), huge, length);
        ck_assert_str_eq(answer, "error request the request is longer than 4096 bytes\n");
        free(answer);
    }
    // The longest that fits.
    huge[4095] = '\n';
    char *answer = ask_at(socket_of(getpid()), huge, 4096);
    ck_assert_msg(!strncmp(answer, "error system-36 ", 16), "%s", answer); // ENAMETOOLONG
    free(answer);
}
END_TEST

START_TEST(test_slow_request)
{
    begin();
    int silent = connect_to(socket_of(getpid()));
    int slow = connect_to(socket_of(getpid()));
    send(slow, "stat", 4, MSG_NOSIGNAL); // or it is late already
    expect_part("status\n", "ok\n");
    char *answer = receive(silent, NULL);
    ck_assert_str_eq(answer, LATE);
    free(answer);
    answer = receive(slow, NULL);
    ck_assert_str_eq(answer, LATE);
    free(answer);
}
END_TEST

START_TEST(test_crowd)
{
    enum { CROWD = 200 };
    int files[CROWD];
    unsigned served = 0, refused = 0, late = 0;
    begin();
    for (int i = 0; i < CROWD; i++)
        files[i] = connect_to(socket_of(getpid()));
    for (int i = 0; i < CROWD; i++)
        send(files[i], "status\n", 7, MSG_NOSIGNAL); // the refused ones are closed
    for (int i = 0; i < CROWD; i++) {
        char *answer = receive(files[i], NULL);
        served += !strncmp(answer, "ok\n", 3);
        refused += !strcmp(answer, "error busy there are too many connections\n");
        late += !strcmp(answer, LATE); // this thread was
        free(answer);
    }
    ck_assert_uint_eq(served + refused + late, CROWD);
    ck_assert_uint_ge(served + late, 15); // of 16, one may still be that of begin()
    expect_part("status\n", "ok\n");
}
END_TEST

static void become_nobody(void)
{
    ck_assert(!setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY));
}

static void expect_child_success(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", status);
}

// At a place where everybody could connect the user counts.
START_TEST(test_other_user)
{
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(chmod(work, 0755), 0);
    snprintf(hs_prof_texts.control_path, sizeof hs_prof_texts.control_path, "%s/%%p.open", work);
    char path[128];
    snprintf(path, sizeof path, "%s/%ld.open", work, (long)getpid());
    hs_control__start();
    close(connect_to(path));
    struct stat status;
    ck_assert(!stat(path, &status) && (status.st_mode & 0777) == 0600);
    ck_assert_int_eq(chmod(path, 0777), 0);
    pid_t child = fork();
    if (child == 0) {
        become_nobody();
        char *answer = ask_at(path, "start\n", 6);
        _exit(strcmp(answer, "error user this process belongs to another user\n") != 0);
    }
    expect_child_success(child);
    ck_assert(!hs_sampler.active);
    char *answer = ask_at(path, "status\n", 7);
    ck_assert_int_eq(strncmp(answer, "ok\n", 3), 0);
    free(answer);
}
END_TEST

// ---- the place ------------------------------------------------------------------------------------------------------

START_TEST(test_place)
{
    char folder[128];
    struct stat status;
    begin();
    snprintf(folder, sizeof folder, "%s/heapsonde", work);
    ck_assert(!lstat(folder, &status) && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 0700);
    ck_assert(!lstat(socket_of(getpid()), &status) && S_ISSOCK(status.st_mode) && (status.st_mode & 07777) == 0600);
}
END_TEST

// What somebody else may have put there is not used.
START_TEST(test_bad_places)
{
    char folder[128];
    char elsewhere[128];
    char fallback[128];
    snprintf(folder, sizeof folder, "%s/heapsonde", work);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", work);
    snprintf(fallback, sizeof fallback, "/tmp/heapsonde-%ld/%ld.sock", (long)geteuid(), (long)getpid());
    ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
    for (int kind = 0; kind < 3; kind++) {
        if (kind == 0)
            ck_assert_int_eq(symlink(elsewhere, folder), 0);
        else if (kind == 1)
            ck_assert(!unlink(folder) && !mkdir(folder, 0700) && !chmod(folder, 0770));
        else if (geteuid() == 0)
            ck_assert(!chmod(folder, 0700) && !chown(folder, NOBODY, NOBODY));
        pid_t child = fork();
        if (child == 0) {
            snprintf(fallback, sizeof fallback, "/tmp/heapsonde-%ld/%ld.sock", (long)geteuid(), (long)getpid());
            hs_control__start();
            close(connect_to(fallback));
            ck_assert_int_ne(access(socket_of(getpid()), F_OK), 0);
            hs_control__exit();
            ck_assert_int_ne(access(fallback, F_OK), 0);
            _exit(0);
        }
        expect_child_success(child);
    }
}
END_TEST

START_TEST(test_stale_socket)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/heapsonde", work);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_of(getpid()));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert(!bind(fd, (struct sockaddr *)&address, sizeof address) && !listen(fd, 1));
    // Somebody listens there: another name is taken.
    hs_control__start();
    snprintf(address.sun_path, sizeof address.sun_path, "%s/heapsonde/%ld.1.sock", work, (long)getpid());
    close(connect_to(address.sun_path));
    hs_control__stop();
    // Nobody does.
    close(fd);
    hs_control__restart();
    expect_part("status\n", "ok\n");
}
END_TEST

// ---- the process ----------------------------------------------------------------------------------------------------

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

START_TEST(test_no_descriptors)
{
    unsigned before = count_descriptors();
    begin();
    ck_assert_uint_eq(count_descriptors(), before);
    // The thread holds nothing of the program either: a pipe ends when the program closes it.
    int ends[2];
    char byte;
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 0);
}
END_TEST

START_TEST(test_exit)
{
    begin();
    hs_control__exit();
    ck_assert_int_ne(access(socket_of(getpid()), F_OK), 0);
    hs_control__exit();
}
END_TEST

// Ends before the thread has begun to listen.
START_TEST(test_exit_at_once)
{
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            hs_control__start();
            hs_control__exit();
            _exit(0);
        }
        expect_child_success(child);
        ck_assert_int_ne(access(socket_of(child), F_OK), 0);
    }
}
END_TEST

static unsigned count_threads(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

// The kernel lists a thread a little longer than it takes to tell whoever waits for it that it has ended.
static bool is_alone(void)
{
    for (int i = 0; i < 150000 && count_threads() != 1; i++)
        poll(NULL, 0, 1);
    return count_threads() == 1;
}

START_TEST(test_stop_and_restart)
{
    begin();
    for (int i = 0; i < 20; i++) {
        hs_control__stop();
        ck_assert(is_alone());
        ck_assert_int_ne(access(socket_of(getpid()), F_OK), 0);
        hs_control__stop();
        hs_control__restart();
        hs_control__restart();
        if (i % 2)
            expect_part("status\n", "ok\n");
    }
}
END_TEST

// Where this process sees all users, which control wants to know before it trusts the user nobody.
static bool sees_everybody(void)
{
    char map[128] = "";
    FILE *file = fopen("/proc/self/uid_map", "r");
    bool read = file && fgets(map, sizeof map, file);
    if (file)
        fclose(file);
    return read && strstr(map, "4294967295");
}

START_TEST(test_credentials)
{
    if (geteuid() != 0 || !sees_everybody())
        return;
    pid_t child = fork();
    if (child == 0) {
        begin();
        hs_control__stop();
        become_nobody();
        hs_control__restart();
        char path[128];
        snprintf(path, sizeof path, "/tmp/heapsonde-%d/%ld.sock", NOBODY, (long)getpid());
        char *answer = ask_at(path, "status\n", 7);
        ck_assert_int_eq(strncmp(answer, "ok\n", 3), 0);
        hs_control__exit();
        ck_assert_int_ne(access(path, F_OK), 0);
        _exit(0);
    }
    expect_child_success(child);
}
END_TEST

START_TEST(test_fork)
{
    begin();
    expect_part("start one\n", "ok\n");
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        hs_control__after_fork();
        hs_control__after_fork();
        close(ends[1]);
        ck_assert_int_eq(read(ends[0], &byte, 1), 0); // until the parent has asked
        hs_control__exit();
        _exit(0);
    }
    close(ends[0]);
    char *answer = ask_at(socket_of(child), "status\n", 7);
    char pid[32];
    snprintf(pid, sizeof pid, "\npid %ld\n", (long)child);
    ck_assert_msg(strstr(answer, pid) != NULL, "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "sessions one\n"));
    free(answer);
    answer = ask_at(socket_of(child), "stop-all\n", 9);
    ck_assert_ptr_nonnull(strstr(answer, "result stopped\n"));
    free(answer);
    close(ends[1]);
    expect_child_success(child);
    ck_assert_int_ne(access(socket_of(child), F_OK), 0);
    // The parent's is another.
    expect_part("status\n", "prof.active true\n");
    ck_assert(hs_sampler.active);
}
END_TEST

// Children come in the middle of requests, and most of them end at once.
START_TEST(test_fork_during_requests)
{
    fake_dump_bytes = 1 << 20;
    begin();
    for (int i = 0; i < 50; i++) {
        int fd = i % 2 ? begin_answer(socket_of(getpid()), "get-dump heap_v2\n") : connect_to(socket_of(getpid()));
        if (i % 2 == 0)
            send(fd, "get-dump heap_v2\n", 17, MSG_NOSIGNAL);
        pid_t child = fork();
        if (child == 0) {
            hs_control__after_fork();
            if (i % 8 == 0) {
                char *answer = ask_at(socket_of(getpid()), "get-dump text\n", 14);
                ck_assert_uint_gt(strlen(answer), 50);
            }
            hs_control__exit();
            _exit(0);
        }
        size_t length;
        char *answer = receive(fd, &length);
        ck_assert(length > fake_dump_bytes || !strcmp(answer, LATE));
        free(answer);
        expect_child_success(child);
        ck_assert_int_ne(access(socket_of(child), F_OK), 0);
    }
}
END_TEST

// A connection whose request for a dump is being carried out.
static int ask_for_paused_dump(void)
{
    for (;;) {
        int fd = connect_to(socket_of(getpid()));
        struct pollfd answer = {.fd = fd, .events = POLLIN};
        send(fd, "get-dump heap_v2\n", 17, MSG_NOSIGNAL);
        while (fake_dump_pause == 1 && !poll(&answer, 1, 1))
            continue;
        if (fake_dump_pause != 1)
            return fd;
        close(fd); // it was late
    }
}

// What the parent was carrying out, and does not end, is nothing to the child.
START_TEST(test_fork_within_request)
{
    begin();
    fake_dump_pause = 1;
    int fd = ask_for_paused_dump();
    pid_t child = fork();
    if (child == 0) {
        fake_dump_pause = 0;
        hs_control__after_fork();
        expect_part("get-dump text\n", "heap profile:");
        hs_control__exit();
        _exit(0);
    }
    expect_child_success(child);
    fake_dump_pause = 0;
    size_t length;
    free(receive(fd, &length));
}
END_TEST

// The connection of a process that is killed ends; its socket stays and refuses.
START_TEST(test_killed)
{
    fake_dump_bytes = 16 << 20;
    pid_t child = fork();
    if (child == 0) {
        hs_control__start();
        for (;;)
            pause();
    }
    int fd = begin_answer(socket_of(child), "get-dump heap_v2\n");
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    size_t length;
    free(receive(fd, &length));
    ck_assert_uint_lt(length, fake_dump_bytes);
    ck_assert_int_eq(try_connect(socket_of(child)), -ECONNREFUSED);
}
END_TEST

// No descriptor is left for a connection: it waits, and others after it are served again.
START_TEST(test_no_descriptors_left)
{
    struct rlimit limit;
    begin();
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {4, limit.rlim_max};
    expect_part("status\n", "ok\n");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_of(getpid()));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(write(fd, "status\n", 7), 7);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    char *answer = receive(fd, NULL);
    ck_assert_int_eq(strncmp(answer, "ok\n", 3), 0);
    free(answer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ctl_control");
    TCase *tests = tcase_create("ctl_control");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_status);
    tcase_add_test(tests, test_twice_is_no_error);
    tcase_add_test(tests, test_sessions);
    tcase_add_test(tests, test_changes);
    tcase_add_test(tests, test_dump);
    tcase_add_test(tests, test_bodies);
    tcase_add_test(tests, test_slow_reader);
    tcase_add_test(tests, test_malformed);
    tcase_add_test(tests, test_oversized);
    tcase_add_test(tests, test_slow_request);
    tcase_add_test(tests, test_crowd);
    tcase_add_test(tests, test_other_user);
    tcase_add_test(tests, test_place);
    tcase_add_test(tests, test_bad_places);
    tcase_add_test(tests, test_stale_socket);
    tcase_add_test(tests, test_no_descriptors);
    tcase_add_test(tests, test_exit);
    tcase_add_test(tests, test_exit_at_once);
    tcase_add_test(tests, test_stop_and_restart);
    tcase_add_test(tests, test_credentials);
    tcase_add_test(tests, test_fork);
    tcase_add_test(tests, test_fork_during_requests);
    tcase_add_test(tests, test_fork_within_request);
    tcase_add_test(tests, test_killed);
    tcase_add_test(tests, test_no_descriptors_left);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
