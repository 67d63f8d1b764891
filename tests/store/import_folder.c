// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/store/import_folder.h"

#include "format/chunk.h"
#include "format/crc32c.h"
#include "host/import/import.h"
#include "host/import/row_ends.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

char folder[64], path[128], whole_store[160];

// In memory where there is room: there it costs the kernel half as much to write mapped files.
static const char *parent(void)
{
    static const char memory[] = "/dev/shm";
    struct statvfs at;
    const bool has_room = !statvfs(memory, &at) && at.f_bavail >= ((fsblkcnt_t)1 << 30) / at.f_frsize;
    return has_room && !access(memory, W_OK | X_OK) ? memory : "/tmp";
}

// Rows leave memory after some thousand and not after millions.
void make_folder(void)
{
    hs_row_ends_limits = (struct hs_row_ends_limits){.blocks = 1, .live_part = 1};
    snprintf(folder, sizeof folder, "%s/heapsonde-import-XXXXXX", parent());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.dat", folder);
    snprintf(whole_store, sizeof whole_store, "%s/whole", folder);
}

void run_shell(const char *format, ...)
{
    char command[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    ck_assert_msg(system(command) == 0, "%s", command);
}

void remove_folder(void)
{
    run_shell("rm -rf '%s'", folder);
}

void import_whole(void)
{
    const struct hs_import_options whole = {.store = whole_store, .force = true};
    const struct hs_row_ends_limits small = hs_row_ends_limits;
    struct hs_store *store;
    hs_row_ends_limits.blocks = 512; // all rows in memory
    ck_assert_int_eq(hs_import__open(path, &whole, &store, NULL), 0);
    hs_row_ends_limits = small;
    hs_store__close(store);
}

void flip_first_events(void)
{
    struct hs_trace *trace;
    size_t count;
    ck_assert_int_eq(hs_trace__open(path, &trace, NULL), 0);
    const struct hs_trace_chunk *chunk = hs_trace__chunks(trace, &count);
    while (chunk->kind != HS_CHUNK_EVENTS)
        chunk++;
    FILE *file = fopen(path, "r+b");
    fseek(file, (long)(chunk->offset + HS_CHUNK_HEADER_SIZE), SEEK_SET);
    int byte = getc(file);
    fseek(file, -1, SEEK_CUR);
    putc(byte ^ 0x55, file);
    fclose(file);
    hs_trace__close(trace);
}

void corrupt(struct random_state *random, uint8_t *bytes, size_t size)
{
    enum { CRC_AT = 16, HEAD = 24 };
    for (uint64_t left = 1 + random_below(random, 4); left--;) {
        size_t at = HEAD + random_below(random, random_below(random, 2) ? 1200 : size - HEAD);
        uint64_t choice = random_below(random, 3);
        if (at + 8 > size)
            continue;
        uint64_t word = choice == 0 ? UINT64_MAX : choice == 1 ? random_next(random) : random_below(random, 100000);
        memcpy(bytes + at / 4 * 4, &word, random_below(random, 2) ? 4 : 8);
    }
    memset(bytes + CRC_AT, 0, 4);
    uint32_t crc = hs_crc32c(0, bytes, size);
    memcpy(bytes + CRC_AT, &crc, 4);
}
