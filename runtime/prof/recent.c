// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/memory.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/options.h"
#include "runtime/prof/records.h"
#include "runtime/prof/sampler.h"
#include "runtime/text.h"

enum { FRAMES = 1024, LINE = 4096 };

// Under hs_table_lock.
static struct {
    int64_t limit; // -1: none
    uint64_t count;
    uint32_t newest, oldest;
} recent;

// ---- the list -------------------------------------------------------------------------------------------------------

static void drop_oldest(void)
{
    uint32_t index = recent.oldest;
    struct hs_sampled_block *record = hs_records__at(index);
    recent.oldest = record->newer;
    if (recent.oldest)
        hs_records__at(recent.oldest)->older = 0;
    else
        recent.newest = 0;
    recent.count--;
    record->recent = false;
    hs_records__let_go(index);
}

static void trim(void)
{
    while (recent.limit >= 0 && recent.count > (uint64_t)recent.limit)
        drop_oldest();
}

void hs_recent__add(uint32_t index)
{
    struct hs_sampled_block *record = hs_records__at(index);
    if (recent.limit == 0)
        return;
    record->recent = true;
    record->older = recent.newest;
    if (recent.newest)
        hs_records__at(recent.newest)->newer = index;
    else
        recent.oldest = index;
    recent.newest = index;
    recent.count++;
    trim();
}

int64_t hs_recent__limit(void)
{
    return recent.limit;
}

int64_t hs_recent__set_limit(int64_t limit)
{
    if (!hs_table__lock())
        return recent.limit;
    int64_t before = recent.limit;
    recent.limit = limit;
    trim();
    hs_records__want(HS_EVENTS_RECENT, limit != 0);
    hs_table__unlock();
    return before;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

struct recent_printer {
    void (*write)(void *opaque, const char *text);
    void *opaque;
    struct hs_text text;
    char line[LINE];
};

static void flush(struct recent_printer *printer)
{
    if (printer->text.at > printer->line && printer->write)
        printer->write(printer->opaque, printer->line);
    else if (printer->text.at > printer->line)
        hs_prof_options_message(printer->line);
    hs_text__start(&printer->text, printer->line, sizeof printer->line);
}

static void add(struct recent_printer *printer, const char *text)
{
    if (printer->text.last - printer->text.at < 128)
        flush(printer);
    hs_text__add(&printer->text, text);
}

static void add_number(struct recent_printer *printer, const char *key, uint64_t number)
{
    add(printer, key);
    hs_text__add_number(&printer->text, number);
}

static void add_hexadecimal(struct recent_printer *printer, uintptr_t number)
{
    char digits[2 * sizeof number + 1];
    unsigned i = sizeof digits - 1;
    digits[i] = 0;
    do
        digits[--i] = "0123456789abcdef"[number & 15];
    while (number >>= 4);
    add(printer, "\"0x");
    add(printer, digits + i);
    add(printer, "\"");
}

// Names may hold any graphic character: quotes and backslashes are escaped.
static void add_name(struct recent_printer *printer, const char *key, const char *name)
{
    if (!*name)
        return;
    add(printer, key);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            hs_text__add_character(&printer->text, '\\');
        hs_text__add_character(&printer->text, *name == '\t' ? ' ' : *name);
    }
    add(printer, "\"");
}

static void add_stack(struct recent_printer *printer, const char *key, uint32_t stack, uintptr_t *frames)
{
    bool cut;
    uint32_t count = stack ? hs_profile_snapshot__frames(stack, frames, FRAMES, &cut) : 0;
    add(printer, key);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            add(printer, ",");
        add_hexadecimal(printer, frames[i]);
    }
    add(printer, "]");
}

static void add_record(struct recent_printer *printer, const struct hs_sampled_block *record, uintptr_t *frames)
{
    add_number(printer, "{\"size\":", record->requested);
    add_number(printer, ",\"usize\":", record->usable);
    add(printer, record->live ? ",\"released\":false" : ",\"released\":true");
    add_number(printer, ",\"alloc_thread_uid\":", record->allocated.thread);
    add_name(printer, ",\"alloc_thread_name\":\"", record->allocated.name);
    add_number(printer, ",\"alloc_time\":", record->allocated.time_ns);
    add_stack(printer, ",\"alloc_trace\":[", record->allocated.stack, frames);
    if (!record->live) {
        add_number(printer, ",\"dalloc_thread_uid\":", record->released.thread);
        add_name(printer, ",\"dalloc_thread_name\":\"", record->released.name);
        add_number(printer, ",\"dalloc_time\":", record->released.time_ns);
        add_stack(printer, ",\"dalloc_trace\":[", record->released.stack, frames);
    }
    add(printer, "}");
}

// Room for a copy of the list and the frames of one stack.
struct copy {
    uint64_t count, room;
    size_t size;
    struct hs_sampled_block *records;
    uintptr_t *frames;
};

// Copies the current list. If it has grown meanwhile, the buffer is enlarged and the copy repeated.
static bool take_copy(struct copy *copy, int64_t *limit)
{
    for (uint64_t room = recent.count + 64;; room = recent.count + recent.count / 4 + 64) {
        copy->size = (size_t)(room * sizeof(struct hs_sampled_block)) + FRAMES * sizeof(uintptr_t);
        copy->frames = hs_memory__map(copy->size);
        if (!copy->frames)
            return false;
        copy->records = (struct hs_sampled_block *)(void *)(copy->frames + FRAMES);
        copy->count = 0;
        bool locked = hs_table__lock();
        if (locked && recent.count <= room)
            for (uint32_t i = recent.oldest; i; i = hs_records__at(i)->newer)
                copy->records[copy->count++] = *hs_records__at(i);
        bool whole = locked && recent.count <= room;
        *limit = recent.limit;
        if (locked)
            hs_table__unlock();
        if (whole)
            return true;
        hs_memory__unmap(copy->frames, copy->size);
        if (!locked)
            return false;
    }
}

void hs_recent__print(void (*write)(void *opaque, const char *text), void *opaque)
{
    struct recent_printer printer = {.write = write, .opaque = opaque};
    hs_text__start(&printer.text, printer.line, sizeof printer.line);
    struct copy copy;
    int64_t limit;
    if (!take_copy(&copy, &limit))
        return;
    add_number(&printer, "{\"sample_interval\":", hs_sampler.sample_bytes);
    add(&printer, limit < 0 ? ",\"recent_alloc_max\":-1" : "");
    if (limit >= 0)
        add_number(&printer, ",\"recent_alloc_max\":", (uint64_t)limit);
    add(&printer, ",\"recent_alloc\":[");
    for (uint64_t i = 0; i < copy.count; i++) {
        if (i)
            add(&printer, ",");
        add_record(&printer, &copy.records[i], copy.frames);
    }
    add(&printer, "]}");
    flush(&printer);
    hs_memory__unmap(copy.frames, copy.size);
}
