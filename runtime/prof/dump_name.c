// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/dump_name.h"

#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/prof/dump_time.h"
#include "runtime/prof/options.h"
#include "runtime/prof/streaming.h"
#include "runtime/text.h"

#include <fcntl.h>
#include <stdatomic.h>

// ---- names ----------------------------------------------------------------------------------------------------------

static struct {
    struct hs_lock lock; // of the prefix
    bool prefix_was_set;
    char prefix[HS_PROF_PATH];
    uint32_t next;            // number of the next automatic name
    uint32_t next_of_kind[4]; // i, m, u, f
} names;

static uint32_t *next_of(enum hs_dump_kind kind)
{
    switch (kind) {
    case HS_DUMP_INTERVAL:
        return &names.next_of_kind[0];
    case HS_DUMP_MANUAL:
        return &names.next_of_kind[1];
    case HS_DUMP_PEAK:
        return &names.next_of_kind[2];
    default:
        return &names.next_of_kind[3];
    }
}

void hs_dump_name__set_prefix(const char *prefix)
{
    struct hs_signal_set signals;
    struct hs_text text;
    hs_system_block_signals(&signals);
    if (hs_lock__acquire(&names.lock, (uint32_t)hs_system_gettid())) {
        hs_text__start(&text, names.prefix, sizeof names.prefix);
        hs_text__add(&text, prefix);
        names.prefix_was_set = true;
        hs_lock__release(&names.lock);
    }
    hs_system_restore_signals(&signals);
}

const char *hs_dump_name__prefix(void)
{
    return names.prefix_was_set ? names.prefix : hs_prof_texts.prefix;
}

bool hs_dump_name__is_wanted(void)
{
    return !hs_streaming__replaces_files() && (hs_dump_name__prefix()[0] != 0 || hs_prof_texts.name_template[0] != 0);
}

static void add_namespace(struct hs_text *text)
{
    struct hs_file_status status;
    if (hs_system_status_of("/proc/self/ns/pid", 0, &status) != 0)
        return;
    hs_text__add_character(text, '.');
    hs_text__add_number(text, status.inode);
}

// <prefix>[.<namespace>].<pid>.<seq>.<kind>[<number>].heap
static void add_standard(struct hs_text *text, enum hs_dump_kind kind, uint32_t sequence, uint32_t number)
{
    if (hs_lock__acquire(&names.lock, (uint32_t)hs_system_gettid())) {
        hs_text__add(text, hs_dump_name__prefix());
        hs_lock__release(&names.lock);
    }
    if (hs_prof_options.pid_namespace)
        add_namespace(text);
    hs_text__add_character(text, '.');
    hs_text__add_number(text, hs_streaming__pid());
    hs_text__add_character(text, '.');
    hs_text__add_number(text, sequence);
    hs_text__add_character(text, '.');
    hs_text__add_character(text, (char)kind);
    if (kind != HS_DUMP_FINAL)
        hs_text__add_number(text, number);
    hs_text__add(text, ".heap");
}

// A part of a name is no folder.
static void add_without_slashes(struct hs_text *text, const char *part)
{
    for (; *part; part++)
        hs_text__add_character(text, *part == '/' ? '_' : *part);
}

static void add_host(struct hs_text *text)
{
    char host[6][65];
    if (HS_SYSTEM1(SYS_uname, host) == 0)
        add_without_slashes(text, host[1]);
}

static void add_executable(struct hs_text *text)
{
    char path[256]; // of longer paths nothing is known
    long length = hs_system_executable(path, sizeof path);
    if (length <= 0 || length == sizeof path)
        return;
    path[length] = 0;
    hs_text__add(text, hs_text__base_name(path));
}

static void add_part(struct hs_text *text, char letter, enum hs_dump_kind kind, uint32_t sequence, uint32_t number)
{
    switch (letter) {
    case 'p':
        hs_text__add_number(text, hs_streaming__pid());
        break;
    case 't':
        hs_dump_time__add(text, hs_clock__realtime_ns(), HS_DUMP_TIME_SECONDS);
        break;
    case 'T':
        hs_dump_time__add(text, hs_clock__realtime_ns(), HS_DUMP_TIME_MICROS);
        break;
    case 's':
        hs_text__add_number(text, sequence);
        break;
    case 'n':
        hs_text__add_number(text, number);
        break;
    case 'k':
        hs_text__add_character(text, (char)kind);
        break;
    case 'h':
        add_host(text);
        break;
    case 'e':
        add_executable(text);
        break;
    case '%':
        hs_text__add_character(text, '%');
        break;
    default: // as it is
        hs_text__add_character(text, '%');
        hs_text__add_character(text, letter);
    }
}

static void add_template(struct hs_text *text, enum hs_dump_kind kind, uint32_t sequence, uint32_t number)
{
    for (const char *at = hs_prof_texts.name_template; *at; at++) {
        if (*at == '%' && at[1])
            add_part(text, *++at, kind, sequence, number);
        else
            hs_text__add_character(text, *at);
    }
}

bool hs_dump_name__next(enum hs_dump_kind kind, char *name, uint32_t *number)
{
    struct hs_text text;
    if (!hs_dump_name__is_wanted())
        return false;
    uint32_t sequence = names.next++;
    *number = (*next_of(kind))++;
    hs_text__start(&text, name, HS_PROF_PATH);
    if (hs_prof_texts.name_template[0])
        add_template(&text, kind, sequence, *number);
    else
        add_standard(&text, kind, sequence, *number);
    return text.at < text.last;
}

// ---- files that are kept --------------------------------------------------------------------------------------------

// Records of files, the oldest first, one behind the other in a buffer: size, kind, name, NUL.
enum { FILES_MEMORY = 1 << 20, RECORD_HEAD = 9 };

static struct {
    char *records;
    uint32_t used, count;
    uint64_t bytes;
} files;

static uint64_t size_of(const char *record)
{
    uint64_t size;
    __builtin_memcpy(&size, record, sizeof size);
    return size;
}

static uint32_t length_of(const char *record)
{
    return RECORD_HEAD + (uint32_t)hs_text__length(record + RECORD_HEAD) + 1;
}

static void drop(char *record)
{
    uint32_t length = length_of(record);
    files.bytes -= size_of(record);
    files.count--;
    files.used -= length;
    __builtin_memmove(record, record + length, files.used - (size_t)(record - files.records));
}

static void remove_file(char *record)
{
    HS_SYSTEM3(SYS_unlinkat, AT_FDCWD, record + RECORD_HEAD, 0);
    drop(record);
}

static void append(enum hs_dump_kind kind, const char *name, uint64_t size)
{
    uint32_t length = RECORD_HEAD + (uint32_t)hs_text__length(name) + 1;
    while (files.used + length > FILES_MEMORY)
        remove_file(files.records);
    char *record = files.records + files.used;
    __builtin_memcpy(record, &size, sizeof size);
    record[8] = (char)kind;
    __builtin_memcpy(record + RECORD_HEAD, name, length - RECORD_HEAD);
    files.used += length;
    files.bytes += size;
    files.count++;
}

// The same name again replaced the file; the former peak is one too many when only the highest is kept.
static void drop_replaced(enum hs_dump_kind kind, const char *name)
{
    bool only_peak = kind == HS_DUMP_PEAK && hs_prof_options.peak_keep_highest;
    for (char *record = files.records; record < files.records + files.used;) {
        if (hs_text__equal(record + RECORD_HEAD, name))
            drop(record);
        else if (only_peak && record[8] == HS_DUMP_PEAK)
            remove_file(record);
        else
            record += length_of(record);
    }
}

static bool too_much(void)
{
    return (hs_prof_options.max_files && files.count > hs_prof_options.max_files) ||
           (hs_prof_options.max_total && files.bytes > hs_prof_options.max_total);
}

void hs_dump_name__written(enum hs_dump_kind kind, const char *name, uint64_t size)
{
    if (kind == HS_DUMP_MANUAL ||
        (!hs_prof_options.max_files && !hs_prof_options.max_total && !hs_prof_options.peak_keep_highest))
        return;
    if (!files.records && !(files.records = hs_memory__map(FILES_MEMORY)))
        return;
    drop_replaced(kind, name);
    append(kind, name, size);
    while (files.count > 1 && too_much())
        remove_file(files.records);
}

void hs_dump_name__after_fork(void)
{
    atomic_store(&names.lock.word, 0);
    files.used = files.count = 0;
    files.bytes = 0;
}
