// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/journal.h"

#include "arch/system.h"
#include "format/meta.h"
#include "runtime/aggregate/nodes.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/lock.h"
#include "runtime/slot_source.h"
#include "runtime/text.h"

struct journal {
    struct hs_slot *slot;
    struct hs_meta_writer writer;
};

static struct journal code;   // nodes and modules, in the order they came; under the stack table's lock
static struct journal others; // under others_lock
static struct hs_lock others_lock;

static struct hs_slot *take(struct journal *journal)
{
    struct hs_slot *slot = journal->slot;
    if (slot)
        hs_slot__header(slot)->used = (uint64_t)(journal->writer.at - (uint8_t *)hs_slot__records(slot));
    journal->slot = NULL;
    return slot;
}

static void flush(struct journal *journal)
{
    struct hs_slot *slot = take(journal);
    if (slot)
        hs_slots__submit(slot);
}

static bool next_slot(struct journal *journal)
{
    if (journal->slot) {
        flush(journal);
        hs_slot_source__notify();
    }
    journal->slot = hs_slot_source__take(HS_SLOT_META, 0, hs_clock__now());
    if (!journal->slot)
        return false;
    if (journal == &others)
        journal->slot->filled = HS_SLOT_RECORDS_SIZE; // copies of stacks are long
    hs_meta_begin(&journal->writer, hs_slot__records(journal->slot), journal->slot->filled);
    return true;
}

// Writes a record with `w`, the journal's writer, on a fresh slot when the present one is full.
#define APPEND_TO(journal, write)                                                                                      \
    (((journal)->slot || next_slot(journal)) && ((write) || (next_slot(journal) && (write))))

static bool lock_others(void)
{
    return hs_lock__acquire(&others_lock, (uint32_t)hs_system_gettid());
}

#define APPEND(write)                                                                                                  \
    do {                                                                                                               \
        if (!lock_others())                                                                                            \
            return false;                                                                                              \
        struct hs_meta_writer *w = &others.writer;                                                                     \
        bool done = APPEND_TO(&others, write);                                                                         \
        hs_lock__release(&others_lock);                                                                                \
        return done;                                                                                                   \
    } while (0)

static bool write_node(uint32_t id, uint32_t parent, uintptr_t pc)
{
    struct hs_meta_writer *w = &code.writer;
    return APPEND_TO(&code, hs_meta_node(w, id, parent, pc));
}

// A node is written to the trace when it is created or, in aggregate mode, when it is needed.
bool hs_journal__node(uint32_t id, uint32_t parent, uintptr_t pc)
{
    return hs_aggregate__is_on() ? hs_nodes__keep(id, parent, pc) : write_node(id, parent, pc);
}

// Nodes that the trace may need later have to be written before the unload of their module.
void hs_journal__code_ends(const struct hs_code_range *gone, uint32_t count)
{
    uintptr_t pc;
    for (uint32_t id = 1; hs_aggregate__is_on() && (pc = hs_nodes__pc(id)); id++)
        if (hs_code_ranges__hold(gone, count, pc))
            hs_nodes__name(id, write_node);
}

bool hs_journal__module(uint64_t time, uint64_t start, uint64_t end, uint64_t bias, const void *build_id,
                        size_t build_id_length, const char *path)
{
    struct hs_meta_writer *w = &code.writer;
    size_t length = hs_text__length(path);
    return APPEND_TO(&code, hs_meta_module(w, time, start, end, bias, build_id, build_id_length, path, length));
}

bool hs_journal__layout(uint32_t hash, uint64_t inode)
{
    struct hs_meta_writer *w = &code.writer;
    return APPEND_TO(&code, hs_meta_layout(w, hash, inode));
}

bool hs_journal__unload(uint64_t start)
{
    struct hs_meta_writer *w = &code.writer;
    return APPEND_TO(&code, hs_meta_unload(w, hs_clock__now(), start));
}

bool hs_journal__thread(uint32_t stream, uint32_t tid, const char *name)
{
    APPEND(hs_meta_thread(w, stream, tid, hs_clock__now(), name, hs_text__length(name)));
}

bool hs_journal__toggle(bool on)
{
    APPEND(hs_meta_toggle(w, hs_clock__now(), on));
}

bool hs_journal__info(const char *key, const char *value)
{
    APPEND(hs_meta_info(w, key, hs_text__length(key), value, hs_text__length(value)));
}

bool hs_journal__mark(uint32_t stream, uint64_t value, const char *text)
{
    APPEND(hs_meta_mark(w, hs_clock__now(), stream, value, text, hs_text__length(text)));
}

bool hs_journal__code(const struct hs_meta_code *function)
{
    APPEND(hs_meta_code(w, function));
}

bool hs_journal__snapshot(uint32_t number, const void *words, size_t length)
{
    APPEND(hs_meta_snapshot(w, number, hs_clock__now(), words, length));
}

void hs_journal__flush_code(void)
{
    flush(&code);
}

struct hs_slot *hs_journal__take_code(void)
{
    return take(&code);
}

void hs_journal__flush_others(void)
{
    if (!lock_others())
        return;
    flush(&others);
    hs_lock__release(&others_lock);
}

void hs_journal__reset(void)
{
    others_lock = (struct hs_lock){0};
    code.slot = others.slot = NULL;
}
