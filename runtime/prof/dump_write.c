// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/dump_write.h"

#include "arch/system.h"
#include "runtime/held_signals.h"
#include "runtime/memory.h"
#include "runtime/prof/streaming.h"
#include "runtime/stream/dump_pieces.h"
#include "runtime/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { FILE_MODE = 0644, ATTEMPTS = 16 };

struct hs_dump_job *hs_dump_job__new(void)
{
    struct hs_dump_job *job = hs_memory__map(sizeof *job);
    if (job)
        job->output.facts = &job->facts;
    return job;
}

void hs_dump_job__free(struct hs_dump_job *job)
{
    if (job->has_snapshot)
        hs_profile_snapshot__free(&job->snapshot);
    hs_dump_facts__free(&job->facts);
    hs_memory__unmap(job, sizeof *job);
}

int hs_dump_job__take(struct hs_dump_job *job)
{
    if (hs_table__is_ours())
        return EAGAIN;
    job->has_snapshot = hs_profile_snapshot__take(&job->snapshot, hs_prof_options.accum);
    if (!job->has_snapshot)
        return ENOMEM;
    hs_dump_facts__gather(&job->facts);
    return 0;
}

// ---- the contents ---------------------------------------------------------------------------------------------------

static void write_format(struct hs_dump_output *output, const struct hs_profile_snapshot *snapshot,
                         enum hs_dump_format format)
{
    switch (format) {
    case HS_DUMP_TEXT:
        hs_dump_write__text(output, snapshot);
        break;
    case HS_DUMP_PROTO:
        hs_dump_write__proto(output, snapshot);
        break;
    case HS_DUMP_SYMBOLIZED:
        hs_dump_write__symbolized(output, snapshot);
        break;
    case HS_DUMP_COLLAPSED:
        hs_dump_write__collapsed(output, snapshot);
        break;
    default:
        hs_dump_write__heap_v2(output, snapshot);
    }
    hs_dump_output__flush(output);
}

int hs_dump_job__write_descriptor(struct hs_dump_job *job, int fd, enum hs_dump_format format)
{
    struct hs_held_signals held;
    struct hs_dump_output *output = &job->output;
    output->fd = fd;
    output->pid = job->facts.pid;
    output->error = 0;
    output->used = 0;
    output->written = 0;
    output->streamed = job->streamed_as && hs_dump_pieces__begin(job->streamed_as, !hs_streaming__is_sender());
    hs_held_signals__hold(&held);
    write_format(output, &job->snapshot, format);
    hs_held_signals__release(&held, output->error);
    if (output->streamed && output->error != ECANCELED)
        hs_dump_pieces__end(true);
    return output->error;
}

int hs_dump_job__write_stream(struct hs_dump_job *job, enum hs_dump_format format)
{
    return hs_streaming__is_open() ? hs_dump_job__write_descriptor(job, -1, format) : EFAULT;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static struct hs_dump_result failed(enum hs_dump_stage stage, long error)
{
    return (struct hs_dump_result){error < 0 ? (int)-error : (int)error, stage};
}

// It does not depend on the length of the other.
static void make_temporary_name(char *name, size_t size, uint32_t attempt)
{
    struct hs_text text;
    hs_text__start(&text, name, size);
    hs_text__add(&text, ".heapsonde-dump.");
    hs_text__add_number(&text, (uint64_t)hs_system_getpid());
    hs_text__add_character(&text, '.');
    hs_text__add_number(&text, (uint64_t)hs_system_gettid());
    hs_text__add_character(&text, '.');
    hs_text__add_number(&text, attempt);
}

static long create_temporary(struct hs_dump_job *job)
{
    long fd = -EEXIST;
    for (uint32_t i = 0; i < ATTEMPTS && fd == -EEXIST; i++) {
        make_temporary_name(job->temporary, sizeof job->temporary, i);
        fd = hs_place__open(&job->place, job->temporary, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
    }
    return fd;
}

static bool is_other_process(const struct hs_dump_job *job)
{
    return job->facts.pid != hs_streaming__pid();
}

static struct hs_dump_result write_and_rename(struct hs_dump_job *job, long fd, enum hs_dump_format format)
{
    long error = hs_dump_job__write_descriptor(job, (int)fd, format);
    long closed = hs_system_close((int)fd);
    if (is_other_process(job))
        return failed(HS_DUMP_STAGE_WRITE, ECANCELED);
    if (!error)
        error = closed == -EINTR ? 0 : closed;
    if (error) {
        hs_place__remove(&job->place, job->temporary);
        return failed(HS_DUMP_STAGE_WRITE, error);
    }
    long renamed = hs_place__rename(&job->place, job->temporary, job->place.name);
    if (renamed)
        hs_place__remove(&job->place, job->temporary);
    return failed(HS_DUMP_STAGE_OPEN, renamed);
}

static struct hs_dump_result write_through(struct hs_dump_job *job, const char *path, enum hs_dump_format format)
{
    long fd = hs_place__write_to(path, O_TRUNC, FILE_MODE);
    if (fd < 0)
        return failed(HS_DUMP_STAGE_OPEN, fd);
    long error = hs_dump_job__write_descriptor(job, (int)fd, format);
    long closed = hs_system_close((int)fd);
    return failed(HS_DUMP_STAGE_WRITE, error ? error : closed == -EINTR ? 0 : closed);
}

// What exists under the name: nothing, a regular file, or something that is written to directly.
enum found { NOTHING, PLAIN_FILE, OTHER };

static enum found look(const struct hs_place *place)
{
    struct hs_file_status status;
    if (hs_place__status(place, place->name, &status) != 0)
        return NOTHING;
    return S_ISREG(status.mode) ? PLAIN_FILE : OTHER;
}

static struct hs_dump_result write_to_place(struct hs_dump_job *job, const char *path, enum hs_dump_format format,
                                            bool may_write_through)
{
    enum found found = may_write_through ? look(&job->place) : NOTHING;
    if (found == OTHER)
        return write_through(job, path, format);
    long fd = create_temporary(job);
    if (fd >= 0)
        return write_and_rename(job, fd, format);
    // The file may be the program's to write while its folder is not.
    if (found == PLAIN_FILE)
        return write_through(job, path, format);
    return failed(HS_DUMP_STAGE_OPEN, fd);
}

struct hs_dump_result hs_dump_job__write_file(struct hs_dump_job *job, const char *path, enum hs_dump_format format,
                                              bool may_write_through)
{
    if (!path[0])
        return failed(HS_DUMP_STAGE_OPEN, ENOENT);
    long error = hs_place__find(&job->place, path, may_write_through);
    struct hs_dump_result result = failed(HS_DUMP_STAGE_OPEN, error);
    if (!error) {
        result = write_to_place(job, path, format, may_write_through);
        hs_place__leave(&job->place);
    }
    if (result.error && result.stage == HS_DUMP_STAGE_OPEN)
        hs_dump_job__write_stream(job, format); // at least
    return result;
}
