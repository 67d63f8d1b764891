// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Words are written as differences to what is likely near: nothing, the place that the word is at (stack addresses), or
// the last word that was near neither (code). docs/format.md, 5.2.
#include "runtime/perf/deferred.h"

#include "arch/system.h"
#include "format/trace_format.h"
#include "runtime/journal.h"
#include "runtime/memory.h"
#include "runtime/modules.h"
#include "runtime/output.h"
#include "runtime/shared_word.h"
#include "runtime/stacks.h"
#include "unwind/rule_cache.h"

extern char **environ __attribute__((weak));

enum { ROOM = HS_SLOT_RECORDS_SIZE - 64, WORD_MOST = 1 + sizeof(uintptr_t), ZEROS_MOST = 64 };
enum { FROM_ZERO, FROM_PLACE, FROM_LAST, ZEROS };

static struct {
    uint8_t *bytes;
    uint32_t number; // of the last snapshot
} deferred;

struct coder {
    uint8_t *at, *end;
    uint8_t *zeros; // where a run of zeros is counted; NULL: the last word was none
    uintptr_t last;
};

static uintptr_t zigzag(uintptr_t difference)
{
    return difference << 1 ^ (0 - (difference >> (8 * sizeof difference - 1)));
}

static void put_zero(struct coder *coder)
{
    if (!coder->zeros || *coder->zeros >> 2 == ZEROS_MOST - 1) {
        coder->zeros = coder->at++;
        *coder->zeros = ZEROS;
        return;
    }
    *coder->zeros += 4;
}

// False: no room.
static bool put_word(struct coder *coder, uintptr_t word, uintptr_t place)
{
    const uintptr_t values[] = {zigzag(word), zigzag(word - place), zigzag(word - coder->last)};
    unsigned kind = FROM_ZERO, length = 0;
    if (coder->end - coder->at < WORD_MOST)
        return false;
    if (!word) {
        put_zero(coder);
        return true;
    }
    for (unsigned i = 1; i < sizeof values / sizeof *values; i++)
        kind = values[i] < values[kind] ? i : kind;
    coder->zeros = NULL;
    for (uintptr_t left = values[kind]; left; left >>= 8)
        coder->at[++length] = (uint8_t)left;
    *coder->at = (uint8_t)(kind | length << 2);
    coder->at += 1 + length;
    if (kind != FROM_PLACE && length > 2)
        coder->last = word;
    return true;
}

// The first thread's stack goes on with arguments and environment. Where the latter has moved it is no limit.
static size_t used_size(const struct hs_snapshot *snapshot)
{
    uintptr_t below = (&environ ? (uintptr_t)environ : 0) - snapshot->registers.values[HS_DWARF_SP];
    return below < snapshot->size ? below : snapshot->size;
}

static size_t encode(const struct hs_snapshot *snapshot)
{
    const uintptr_t *values = snapshot->registers.values;
    struct coder coder = {.at = deferred.bytes, .end = deferred.bytes + ROOM};
    uintptr_t sp = values[HS_DWARF_SP], word;
    bool done = true;
    put_word(&coder, sp, 0);
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        put_word(&coder, values[i], sp);
    for (size_t size = used_size(snapshot), at = 0; done && size - at >= sizeof word; at += sizeof word) {
        __builtin_memcpy(&word, snapshot->copy + at, sizeof word);
        done = put_word(&coder, word, sp + at);
    }
    return (size_t)(coder.at - deferred.bytes);
}

static bool prepare(void)
{
    if (!deferred.bytes)
        deferred.bytes = hs_memory__map(ROOM);
    return deferred.bytes != NULL;
}

static void see(uintptr_t pc)
{
    if (!hs_stacks__lock((uint32_t)hs_system_gettid()))
        return;
    hs_modules__see(pc);
    hs_stacks__unlock();
}

uint32_t hs_deferred__stack(const struct hs_snapshot *snapshot)
{
    uint32_t number = deferred.number + 1;
    if (prepare() && number < HS_STACK_SNAPSHOT) {
        see(hs_frame_address(snapshot->registers.values[HS_DWARF_PC], true));
        if (hs_journal__snapshot(number, deferred.bytes, encode(snapshot))) {
            deferred.number = number;
            return number | HS_STACK_SNAPSHOT;
        }
    }
    hs_shared_word__add(&hs_output__live()->dropped[HS_DROP_STACK_TABLE], 1);
    return 0;
}

void hs_deferred__emit_modules(void)
{
    if (deferred.number)
        hs_stacks__forget_unloaded((uint32_t)hs_system_gettid());
}

void hs_deferred__reset(void)
{
    if (deferred.bytes)
        hs_memory__unmap(deferred.bytes, ROOM);
    __builtin_memset(&deferred, 0, sizeof deferred);
}
