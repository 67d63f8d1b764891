// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/control_answer.h"

#include "arch/system.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/control_sessions.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/streaming.h"

#include <errno.h>
#include <fcntl.h>

#ifndef HEAPSONDE_VERSION
#define HEAPSONDE_VERSION "unknown"
#endif

void (*hs_control_statistics)(hs_control_write_piece *write, void *data);

// ---- text -----------------------------------------------------------------------------------------------------------

static void restart_text(struct hs_control_answer *answer, const char *first)
{
    hs_text__start(&answer->writer, answer->text, sizeof answer->text);
    hs_text__add(&answer->writer, first);
}

static void add_text(struct hs_control_answer *answer, const char *key, const char *value)
{
    hs_text__add(&answer->writer, key);
    hs_text__add(&answer->writer, " ");
    hs_text__add(&answer->writer, value);
    hs_text__add(&answer->writer, "\n");
}

void hs_control_answer__error(struct hs_control_answer *answer, const char *word, const char *text)
{
    restart_text(answer, "error ");
    add_text(answer, word, text);
}

static void system_error(struct hs_control_answer *answer, int number, const char *text)
{
    char word[24];
    struct hs_text writer;
    hs_text__start(&writer, word, sizeof word);
    hs_text__add(&writer, "system-");
    hs_text__add_number(&writer, (uint64_t)number);
    hs_control_answer__error(answer, word, text);
}

static void add_number(struct hs_control_answer *answer, const char *key, uint64_t value)
{
    hs_text__add(&answer->writer, key);
    hs_text__add(&answer->writer, " ");
    hs_text__add_number(&answer->writer, value);
    hs_text__add(&answer->writer, "\n");
}

static void add_flag(struct hs_control_answer *answer, const char *key, bool value)
{
    add_text(answer, key, value ? "true" : "false");
}

// ---- sessions -------------------------------------------------------------------------------------------------------

static bool is_active(void)
{
    return hs_sampler__is_on() && atomic_load(&hs_sampler.active);
}

static void add_sessions(struct hs_control_answer *answer)
{
    hs_text__add(&answer->writer, "sessions ");
    hs_sessions__print(&answer->writer);
    hs_text__add(&answer->writer, "\n");
}

static void add_change(struct hs_control_answer *answer, const char *result)
{
    add_text(answer, "result", result);
    add_number(answer, "since_ns", hs_sampler.active_since_ns);
    add_sessions(answer);
}

static void start(struct hs_control_answer *answer, const char *session)
{
    hs_sampler__switch_on();
    if (!hs_sampler__is_on()) {
        hs_control_answer__error(answer, "memory", "sampling cannot be switched on");
        return;
    }
    bool active = is_active();
    hs_sessions__meet(active);
    bool held = hs_sessions__holds(session);
    if (!hs_sessions__add(session)) {
        hs_control_answer__error(answer, "busy", "there are too many sessions");
        return;
    }
    if (!active)
        hs_sampler__set_active(true);
    add_change(answer, !active ? "started" : held ? "already-active" : "joined");
}

static void stop(struct hs_control_answer *answer, const char *session, bool all)
{
    bool active = is_active();
    hs_sessions__meet(active);
    if (all)
        hs_sessions__clear();
    else
        hs_sessions__remove(session);
    bool over = active && !hs_sessions__any();
    if (over)
        hs_sampler__set_active(false);
    add_change(answer, !active ? "already-stopped" : over ? "stopped" : "still-active");
}

// ---- status ---------------------------------------------------------------------------------------------------------

static void status(struct hs_control_answer *answer)
{
    struct hs_profile_snapshot snapshot;
    if (!hs_profile_snapshot__take(&snapshot, true)) {
        hs_control_answer__error(answer, "memory", "the counts cannot be copied");
        return;
    }
    hs_sessions__meet(is_active());
    add_text(answer, "version", HEAPSONDE_VERSION);
    add_number(answer, "pid", hs_streaming__pid());
    add_flag(answer, "opt.prof", hs_prof_options.prof);
    add_flag(answer, "on", hs_sampler__is_on());
    add_flag(answer, "prof.active", is_active());
    add_flag(answer, "prof.thread_active_init", atomic_load(&hs_sampler.thread_active_init));
    add_flag(answer, "prof.gdump", atomic_load(&hs_sampler.gdump));
    add_sessions(answer);
    add_number(answer, "since_ns", hs_sampler.active_since_ns);
    add_number(answer, "counting_since_ns", snapshot.since_ns);
    add_number(answer, "now_ns", snapshot.real_ns);
    add_number(answer, "sample_bytes", hs_sampler.sample_bytes);
    add_number(answer, "samples", snapshot.live.objects);
    add_number(answer, "samples_total", snapshot.total.objects);
    add_number(answer, "samples_dropped", snapshot.samples_dropped);
    add_number(answer, "samples_shortened", snapshot.samples_shortened);
    add_number(answer, "stacks", snapshot.stack_count);
    add_number(answer, "threads", snapshot.thread_count);
    add_number(answer, "live_bytes", snapshot.live.estimated_bytes);
    add_number(answer, "live_objects", snapshot.live.estimated_objects_q16 >> 16);
    add_number(answer, "sampled_bytes", snapshot.total.estimated_bytes);
    add_number(answer, "sampled_objects", snapshot.total.estimated_objects_q16 >> 16);
    add_number(answer, "allocated_bytes", hs_sampler__total_allocated());
    add_number(answer, "deallocated_bytes", hs_sampler__total_deallocated());
    hs_profile_snapshot__free(&snapshot);
}

// ---- bodies ---------------------------------------------------------------------------------------------------------

// Kernels before 3.17 have no files without a name in memory: there it is one that loses its name at once.
static long open_temporary(void)
{
    char path[64];
    struct hs_text text;
    hs_text__start(&text, path, sizeof path);
    hs_text__add(&text, "/tmp/.heapsonde-body-");
    hs_text__add_number(&text, (uint64_t)hs_system_gettid());
    long fd = hs_system_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        HS_SYSTEM3(SYS_unlinkat, -100, path, 0);
    return fd;
}

static bool open_body(struct hs_control_answer *answer)
{
    long fd = HS_SYSTEM2(SYS_memfd_create, "heapsonde", 1);
    if (fd < 0)
        fd = open_temporary();
    if (fd < 0)
        system_error(answer, (int)-fd, "there is no file to write the answer to");
    answer->body = fd < 0 ? -1 : (int)fd;
    return fd >= 0;
}

static void finish_body(struct hs_control_answer *answer, int error, const char *text)
{
    struct hs_file_status file = {0};
    if (!error)
        error = (int)-hs_system_status(answer->body, &file);
    if (error) {
        hs_system_close(answer->body);
        answer->body = -1;
        system_error(answer, error, text);
        return;
    }
    answer->body_length = file.size;
    add_number(answer, "length", file.size);
    hs_text__add(&answer->writer, "\n");
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        long written = hs_system_write(fd, bytes, length);
        if (written <= 0)
            return written < 0 ? (int)-written : EIO;
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

static void get_dump(struct hs_control_answer *answer, enum hs_dump_format format)
{
    if (open_body(answer))
        finish_body(answer, hs_dump__to_descriptor(answer->body, format), "the dump could not be written");
}

static void get_file(struct hs_control_answer *answer, const char *path)
{
    char buffer[4096];
    if (!open_body(answer))
        return;
    long fd = hs_system_open(path, O_RDONLY | O_CLOEXEC, 0);
    long got = fd;
    int error = 0;
    while (fd >= 0 && !error && (got = hs_system_read((int)fd, buffer, sizeof buffer)) > 0)
        error = write_all(answer->body, buffer, (size_t)got);
    if (fd >= 0)
        hs_system_close((int)fd);
    finish_body(answer, got < 0 ? (int)-got : error, "the file in /proc could not be read");
}

// ---- statistics -----------------------------------------------------------------------------------------------------

struct body_writer {
    int fd, error;
};

static void write_piece(void *data, const char *text)
{
    struct body_writer *writer = data;
    if (!writer->error)
        writer->error = write_all(writer->fd, text, hs_text__length(text));
}

static uint64_t resident_bytes(void)
{
    char buffer[128];
    const char *at = buffer;
    hs_text__read_own("/proc/thread-self/statm", "/proc/self/statm", buffer, sizeof buffer);
    hs_text__parse(&at, 10);
    if (*at == ' ')
        at++;
    return hs_text__parse(&at, 10) * hs_memory__page_size();
}

// For a library whose statistics cannot be had without libc.
static void own_statistics(struct body_writer *writer)
{
    char buffer[512];
    struct hs_text text;
    uint64_t resident = resident_bytes();
    uint64_t allocated = hs_sampler__total_allocated() - hs_sampler__total_deallocated();
    const struct {
        const char *key;
        uint64_t value;
    } members[] = {{"allocated", allocated}, {"active", allocated}, {"metadata", 0},
                   {"resident", resident},   {"mapped", resident},  {"retained", 0}};
    hs_text__start(&text, buffer, sizeof buffer);
    hs_text__add(&text, "{\"jemalloc\":{\"stats\":{");
    for (unsigned i = 0; i < sizeof members / sizeof *members; i++) {
        hs_text__add(&text, i ? ",\"" : "\"");
        hs_text__add(&text, members[i].key);
        hs_text__add(&text, "\":");
        hs_text__add_number(&text, members[i].value);
    }
    hs_text__add(&text, "}}}\n");
    write_piece(writer, buffer);
}

static void statistics(struct hs_control_answer *answer)
{
    if (!open_body(answer))
        return;
    struct body_writer writer = {.fd = answer->body};
    if (hs_control_statistics)
        hs_control_statistics(write_piece, &writer);
    else
        own_statistics(&writer);
    finish_body(answer, writer.error, "the statistics could not be written");
}

// ---- requests -------------------------------------------------------------------------------------------------------

static void dump(struct hs_control_answer *answer, const char *path)
{
    static char name[HS_PROF_PATH]; // one thread
    static char folder[HS_PROF_PATH];
    int error = path ? hs_dump__to_file(path, hs_prof_options.dump_format) : hs_dump__automatic(HS_DUMP_MANUAL, name);
    if (error) {
        bool nameless = !path && error == EFAULT;
        system_error(answer, error,
                     nameless
                         ? "there is no automatic name, since the prefix is empty, or the file could not be written"
                         : "the dump could not be written");
        return;
    }
    if (!path && !name[0]) {
        add_text(answer, "result", "streamed");
        return;
    }
    hs_text__add(&answer->writer, "path ");
    if (!path && name[0] != '/' && HS_SYSTEM2(SYS_getcwd, folder, sizeof folder) > 0) {
        hs_text__add(&answer->writer, folder);
        hs_text__add(&answer->writer, "/");
    }
    hs_text__add(&answer->writer, path ? path : name);
    hs_text__add(&answer->writer, "\n");
}

static void change_rate(struct hs_control_answer *answer, uint64_t bytes)
{
    uint64_t before = hs_sampler.sample_bytes;
    hs_sampler__set_rate(bytes);
    if (hs_sampler.sample_bytes != bytes) {
        hs_control_answer__error(answer, "busy", "the lock of the samples is not available");
        return;
    }
    add_text(answer, "result", before == bytes ? "unchanged" : "changed");
    add_number(answer, "before", before);
    add_number(answer, "sample_bytes", bytes);
}

static void carry_out(struct hs_control_answer *answer, const struct hs_control_request *request)
{
    switch (request->kind) {
    case HS_CONTROL_START:
        start(answer, request->session);
        break;
    case HS_CONTROL_STOP:
    case HS_CONTROL_STOP_ALL:
        stop(answer, request->session, request->kind == HS_CONTROL_STOP_ALL);
        break;
    case HS_CONTROL_STATUS:
        status(answer);
        break;
    case HS_CONTROL_DUMP:
        dump(answer, request->path);
        break;
    case HS_CONTROL_RESET:
        hs_sampler__reset();
        add_text(answer, "result", "reset");
        add_number(answer, "counting_since_ns", hs_sampler.reset_at_ns);
        break;
    case HS_CONTROL_RATE:
        change_rate(answer, request->bytes);
        break;
    case HS_CONTROL_GET_DUMP:
        get_dump(answer, request->format);
        break;
    case HS_CONTROL_STATISTICS:
        statistics(answer);
        break;
    case HS_CONTROL_COMMAND_LINE:
        get_file(answer, "/proc/self/cmdline");
        break;
    case HS_CONTROL_MAPS:
        get_file(answer, "/proc/self/maps");
        break;
    }
}

// The control thread and the sender of a stream take turns.
static struct hs_lock turn;

void hs_control_answer__after_fork(void)
{
    turn = (struct hs_lock){0};
}

void hs_control_answer__carry_out(struct hs_control_answer *answer, const struct hs_control_request *request)
{
    restart_text(answer, "ok\n");
    answer->body = -1;
    if (!hs_lock__acquire(&turn, (uint32_t)hs_system_gettid())) {
        hs_control_answer__error(answer, "busy", "another request is being carried out");
        return;
    }
    carry_out(answer, request);
    hs_lock__release(&turn);
}
