// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "judge.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 512, FRAMES = 2 * SHADOW_MAX + 1, WRONG_PLACES = 4000, SHOWN = 24 };

// A place whose step was wrong, and the stacks with it.
struct place {
    uintptr_t pc;
    unsigned count, wanted, found, equal;
    uintptr_t wanted_next, found_next; // the first that are not equal
    enum hs_end end;
    bool guessed;
};

static struct hs_memo *memo;
static uintptr_t wanted[FRAMES + CAPACITY], base[CAPACITY];
static unsigned base_depth;
static unsigned long steps, wrong, lost, guesses;
static struct place places[WRONG_PLACES];
static unsigned place_count;

// The last verdicts, by pc and sp.
enum { KEPT = 1 << 16 };
static struct {
    uintptr_t pc, sp;
    bool wrong, lost;
    struct place *place; // NULL: it was right, or there was no room
} kept[KEPT];

static unsigned kept_place(uintptr_t pc, uintptr_t sp)
{
    unsigned at = (unsigned)((pc ^ sp << 7) * 2654435761u >> 8) % KEPT;
    while (kept[at].pc && (kept[at].pc != pc || kept[at].sp != sp))
        at = (at + 1) % KEPT;
    return at;
}

static uintptr_t frame_of_memo(unsigned innermost_first)
{
    return innermost_first < memo->depth ? memo->pcs[memo->depth - 1 - innermost_first] : 0;
}

static struct place *note_wrong(uintptr_t pc, unsigned count, unsigned equal)
{
    unsigned i = 0;
    wrong++;
    while (i < place_count && places[i].pc != pc)
        i++;
    if (i == WRONG_PLACES)
        return NULL;
    if (i == place_count)
        places[place_count++] = (struct place){.pc = pc,
                                               .wanted = count,
                                               .found = memo->depth,
                                               .equal = equal,
                                               .wanted_next = equal < count ? wanted[equal] : 0,
                                               .found_next = frame_of_memo(equal),
                                               .end = memo->end,
                                               .guessed = memo->guessed};
    places[i].count++;
    return &places[i];
}

static void begin(unsigned known)
{
    for (unsigned i = known; i < memo->depth; i++)
        base[base_depth++] = frame_of_memo(i);
    if (memo->end != HS_END_ROOT || !base_depth) {
        fprintf(stderr, "the first stack is not whole: %u frames, end %d\n", memo->depth, (int)memo->end);
        exit(1);
    }
}

// The kernel does not tell which kind of code ARM executes.
static void take_sample(const struct hs_snapshot *at)
{
    struct hs_snapshot sample = *at;
#if defined(__arm__)
    sample.registers.values[HS_DWARF_PC] &= ~(uintptr_t)1;
#endif
    hs_memo_take_snapshot(memo, &sample);
}

// Whether the caller is nowhere: not in a register, and not on the stack. longjmp() overwrites its own before it moves
// the stack pointer.
static bool is_lost(const struct hs_snapshot *at, uintptr_t caller)
{
    uintptr_t word;
    for (unsigned i = 0; i < HS_DWARF_REGISTERS; i++)
        if (at->registers.values[i] == caller)
            return false;
    for (size_t i = 0; i + sizeof word <= at->size; i += sizeof word) {
        memcpy(&word, at->copy + i, sizeof word);
        if (word == caller)
            return false;
    }
    return true;
}

void judge_step(const struct shadow *shadow, const struct hs_snapshot *at)
{
    if (!memo)
        memo = hs_memo_create(calloc(1, hs_memo_size(CAPACITY)), CAPACITY);
    unsigned count = shadow_stack(shadow, at, wanted), equal = 0;
    take_sample(at);
    if (!steps++)
        begin(count);
    memcpy(wanted + count, base, base_depth * sizeof *base);
    count += base_depth;
    while (equal < count && equal < memo->depth && wanted[equal] == frame_of_memo(equal))
        equal++;
    guesses += memo->guessed;
    uintptr_t pc = at->registers.values[HS_DWARF_PC], sp = at->registers.values[HS_DWARF_SP];
    unsigned place = kept_place(pc, sp);
    kept[place].pc = pc;
    kept[place].sp = sp;
    kept[place].wrong = equal != count || equal != memo->depth || memo->end != HS_END_ROOT;
    kept[place].lost = kept[place].wrong && count > base_depth + 1 && is_lost(at, wanted[1]);
    if (kept[place].lost) {
        kept[place].wrong = false;
        lost++;
    }
    kept[place].place = kept[place].wrong ? note_wrong(equal ? wanted[equal - 1] : pc, count, equal) : NULL;
}

void judge_again(const struct hs_snapshot *at)
{
    unsigned place = kept_place(at->registers.values[HS_DWARF_PC], at->registers.values[HS_DWARF_SP]);
    steps++;
    wrong += kept[place].wrong;
    lost += kept[place].lost;
    if (kept[place].place)
        kept[place].place->count++;
}

static int by_count(const void *a, const void *b)
{
    const struct place *first = a, *second = b;
    return (first->count < second->count) - (first->count > second->count);
}

static const char *name_of_end(enum hs_end end)
{
    static const char *const names[] = {"root", "no rule", "bad rule", "bad stack", "too deep", "cut copy"};
    return names[end];
}

static void print_code(const char *before, uintptr_t pc)
{
    Dl_info where = {0};
    dladdr((void *)pc, &where);
    const char *file = where.dli_fname ? where.dli_fname : "?", *slash = strrchr(file, '/');
    printf("%s%s+%#zx (%s)", before, slash ? slash + 1 : file, (size_t)(pc - (uintptr_t)where.dli_fbase),
           where.dli_sname ? where.dli_sname : "?");
}

static void print_place(const struct place *place)
{
    printf("  %5u ", place->count);
    print_code("at ", place->pc);
    print_code(": called from ", place->wanted_next);
    print_code(", found ", place->found_next);
    printf("; %u frames, found %u, equal up to %u, end: %s%s\n", place->wanted, place->found, place->equal,
           name_of_end(place->end), place->guessed ? ", guessed" : "");
}

int judge_end(const char *name)
{
    enum { LEAST = 5000, ONE_IN = 1000, LOST_ONE_IN = 500 };
    qsort(places, place_count, sizeof *places, by_count);
    for (unsigned i = 0; i < place_count && i < SHOWN; i++)
        print_place(&places[i]);
    printf("%s: %lu stacks, %lu wrong (%.3f %% right) at %u places, %lu with guesses, %lu whose caller nothing holds\n",
           name, steps, wrong, 100 * (1 - (double)wrong / (double)steps), place_count, guesses, lost);
    return steps < LEAST || wrong > steps / ONE_IN || lost > steps / LOST_ONE_IN;
}
