// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The files `resume` and `partial` of a random trace, changed in any way and with the checksum of what they then are.
// The first byte chooses the file; behind it come changes: place (3 bytes), how many bytes, the bytes. Whatever comes
// of it, a store that is made can be read.
#include "format/crc32c.h"
#include "host/import/resume.h"
#include "host/import/row_ends.h"
#include "host/import/run.h"
#include "host/store/attach.h"
#include "host/store/seal.h"
#include "tests/store/growing_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EVENTS = 30000, CRC_AT = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

struct kept {
    char directory[64], file[80];
    uint8_t *bytes, *changed;
    size_t size;
};

static char folder[] = "/dev/shm/heapsonde-fuzz-XXXXXX";
static char trace_path[64], made[64];
static struct kept kept[2];
static struct hs_trace *trace;

static void require(bool right)
{
    if (!right)
        abort();
}

static void open_trace(void)
{
    hs_trace__close(trace);
    require(!hs_trace__open(trace_path, &trace, NULL));
}

static int import(const struct hs_import_options *options, const struct hs_resume *resume, const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(fd >= 0);
    int failed = hs_import__run(trace, options, resume, fd);
    if (!failed)
        failed = hs_seal__write(fd, false);
    close(fd);
    return failed;
}

static void read_kept(struct kept *of, const char *name)
{
    snprintf(of->file, sizeof of->file, "%s/%s", of->directory, name);
    FILE *file = fopen(of->file, "rb");
    require(file && !fseek(file, 0, SEEK_END));
    of->size = (size_t)ftell(file);
    rewind(file);
    of->bytes = malloc(of->size);
    of->changed = malloc(of->size);
    require(of->bytes && of->changed && fread(of->bytes, 1, of->size, file) == of->size);
    fclose(file);
}

static void remove_all(void)
{
    hs_trace__close(trace);
    hs_store__remove(kept[0].directory);
    hs_store__remove(kept[1].directory);
    unlink(trace_path);
    rmdir(folder);
}

// Half of the trace is imported while it grows; of all of it the import is one that does not end, as its head cannot be
// made.
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static struct recorder recorder;
    char head[80];
    (void)argc, (void)argv;
    hs_row_ends_limits = (struct hs_row_ends_limits){.blocks = 1, .live_part = 1}; // rows leave memory
    require(mkdtemp(folder) != NULL);
    snprintf(trace_path, sizeof trace_path, "%s/trace", folder);
    snprintf(made, sizeof made, "%s/made", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(kept[i].directory, sizeof kept[i].directory, "%s/kept%d", folder, i);
        require(!mkdir(kept[i].directory, 0700));
    }
    begin_recording(&recorder, trace_path, 1, EVENTS, HS_CLOCK_COUNTER);
    record_until(&recorder, EVENTS / 2);
    show(&recorder);
    open_trace();
    require(!import(NULL, NULL, kept[0].directory));
    read_kept(&kept[0], "resume");
    record_until(&recorder, EVENTS);
    end_recording(&recorder);
    open_trace();
    snprintf(head, sizeof head, "%s/head", kept[1].directory);
    require(!mkdir(head, 0700));
    const struct hs_import_options options = {.partial_every = EVENTS / 3};
    require(import(&options, NULL, kept[1].directory) != 0);
    rmdir(head);
    read_kept(&kept[1], "partial");
    atexit(remove_all);
    return 0;
}

static void change(const struct kept *of, const uint8_t *data, size_t size)
{
    memcpy(of->changed, of->bytes, of->size);
    while (size > 4) {
        size_t at = (data[0] | data[1] << 8 | (size_t)data[2] << 16) % of->size, count = data[3] % 9;
        data += 4, size -= 4;
        count = count < size ? count : size;
        memcpy(of->changed + at, data, count < of->size - at ? count : of->size - at);
        data += count, size -= count;
    }
    memset(of->changed + CRC_AT, 0, 4);
    uint32_t crc = hs_crc32c(0, of->changed, of->size);
    memcpy(of->changed + CRC_AT, &crc, sizeof crc);
    int fd = open(of->file, O_WRONLY | O_CLOEXEC);
    require(fd >= 0 && write(fd, of->changed, of->size) == (ssize_t)of->size);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    const bool partial = data[0] & 1;
    const struct kept *of = &kept[partial];
    change(of, data + 1, size - 1);
    struct hs_resume *resume =
        partial ? hs_resume__open_partial(of->directory, trace) : hs_resume__open(of->directory, trace);
    if (!resume)
        return 0;
    require(!mkdir(made, 0700));
    struct hs_store *store;
    int failed = import(NULL, resume, made);
    require(!failed || failed == -ESTALE);
    if (!failed) {
        require(!hs_store__open_unsealed(made, &store, NULL));
        hs_store__close(store);
    }
    hs_resume__close(resume);
    hs_store__remove(made);
    return 0;
}
