// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/aggregate/stack_sums.h"

#include "runtime/aggregate/blocks.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/shared_word.h"

enum { FIRST_BITS = 8, LEAVE_BELOW = 4, MEASURES = 3 };

struct sums {
    uint64_t value[HS_SUM_COUNT];
};

// Of a stack. Value ALLOCATED_COUNT 0: nothing here.
struct entry {
    struct sums sums;
    uint32_t stack;
    uint32_t told; // place in the list of what was told + 1; 0: part of stack 0
};

struct told {
    struct sums sums;
    uint32_t stack; // 0: nothing here
    uint32_t name;  // in the trace
    bool leaves;    // its sums go back into stack 0
};

struct domain {
    struct entry *table; // open addressing
    uint32_t bits, count;
    uint64_t folded; // no longer in the table
    struct told *told;
    uint32_t told_count, told_used; // used: places up to the last one in use
    struct sums all;                // of all stacks
    struct sums rest;               // told as stack 0
};

static struct domain domains[HS_SUMS_DOMAINS];

// No more can have a share that is large enough, of any of the three measures: to stay, and beside them to begin.
static size_t told_room(void)
{
    return (size_t)MEASURES * (LEAVE_BELOW + 1) * hs_config.aggregate_stacks;
}

static uint32_t mask(const struct domain *domain)
{
    return (1u << domain->bits) - 1;
}

static size_t table_size(const struct domain *domain)
{
    return domain->table ? sizeof *domain->table << domain->bits : 0;
}

size_t hs_stack_sums__memory(void)
{
    size_t size = 0;
    for (unsigned i = 0; i < HS_SUMS_DOMAINS; i++)
        size += table_size(&domains[i]);
    return size;
}

static bool has_room(size_t more)
{
    return hs_blocks__memory() + hs_stack_sums__memory() + more <= hs_config.aggregate_memory;
}

static uint32_t home_of(const struct domain *domain, uint32_t stack)
{
    return stack * 0x9e3779b1u >> (32 - domain->bits);
}

static struct entry *place_of(const struct domain *domain, uint32_t stack)
{
    uint32_t place = home_of(domain, stack);
    while (domain->table[place].sums.value[HS_SUM_ALLOCATED_COUNT] && domain->table[place].stack != stack)
        place = (place + 1) & mask(domain);
    return &domain->table[place];
}

static bool grow(struct domain *domain)
{
    struct domain bigger = *domain;
    bigger.bits = domain->table ? domain->bits + 1 : FIRST_BITS;
    size_t size = sizeof *domain->table << bigger.bits;
    bigger.table = has_room(size - table_size(domain)) ? hs_memory__map(size) : NULL;
    if (!bigger.table)
        return false;
    for (uint32_t i = 0; domain->table && i <= mask(domain); i++)
        if (domain->table[i].sums.value[HS_SUM_ALLOCATED_COUNT])
            *place_of(&bigger, domain->table[i].stack) = domain->table[i];
    if (domain->table)
        hs_memory__unmap(domain->table, table_size(domain));
    *domain = bigger;
    return true;
}

static bool is_over(const struct entry *entry)
{
    const uint64_t *value = entry->sums.value;
    return !entry->told && value[HS_SUM_ALLOCATED_COUNT] == value[HS_SUM_FREED_COUNT];
}

static void take_out(struct domain *domain, uint32_t gap)
{
    for (uint32_t place = (gap + 1) & mask(domain); domain->table[place].sums.value[HS_SUM_ALLOCATED_COUNT];
         place = (place + 1) & mask(domain)) {
        uint32_t home = home_of(domain, domain->table[place].stack);
        // Stays when its home lies behind the gap on the way to its place.
        if (((place - home) & mask(domain)) < ((place - gap) & mask(domain)))
            continue;
        domain->table[gap] = domain->table[place];
        gap = place;
    }
    domain->table[gap] = (struct entry){0};
    domain->count--;
}

// Without room the stacks that have nothing live and are not told of become part of stack 0 for good; should they come
// again, they begin anew.
static bool fold_for_good(struct domain *domain)
{
    uint32_t before = domain->count;
    for (uint32_t i = 0; i <= mask(domain);) {
        struct entry *entry = &domain->table[i];
        if (entry->sums.value[HS_SUM_ALLOCATED_COUNT] && is_over(entry))
            take_out(domain, i);
        else
            i++;
    }
    domain->folded += before - domain->count;
    return domain->count < before;
}

// NULL: there is no room; the stack is part of the rest from then on.
static struct entry *entry_of(struct domain *domain, uint32_t stack)
{
    if (!domain->table && !grow(domain))
        return NULL;
    struct entry *entry = place_of(domain, stack);
    if (entry->sums.value[HS_SUM_ALLOCATED_COUNT])
        return entry;
    if (domain->count >= mask(domain) / 4 * 3) {
        if (!grow(domain) && !fold_for_good(domain))
            return NULL;
        entry = place_of(domain, stack);
    }
    domain->count++;
    entry->stack = stack;
    return entry;
}

static void add(struct sums *sums, enum hs_sum first, size_t size, uint32_t slack)
{
    sums->value[first]++;
    sums->value[first + 1] += size;
    if (first != HS_SUM_TEMPORARY_COUNT)
        sums->value[first + 2] += slack;
}

void hs_stack_sums__add(unsigned number, uint32_t stack, enum hs_sum first, size_t size, uint32_t slack)
{
    struct domain *domain = &domains[number];
    add(&domain->all, first, size, slack);
    if (!stack)
        return;
    // What ends or was temporary began here; a stack that had no room then has none now.
    bool begins = first == HS_SUM_ALLOCATED_COUNT;
    struct entry *entry = begins ? entry_of(domain, stack) : domain->table ? place_of(domain, stack) : NULL;
    if (entry && (begins || entry->sums.value[HS_SUM_ALLOCATED_COUNT]))
        add(&entry->sums, first, size, slack);
    else if (begins)
        hs_shared_word__add(&hs_output__live()->dropped[HS_DROP_STACK_TABLE], 1);
}

uint64_t hs_stack_sums__folded(unsigned domain)
{
    return domains[domain].folded + domains[domain].count - domains[domain].told_count;
}

// ---- what is told --------------------------------------------------------------------------------------------------

static uint64_t live_bytes(const struct sums *sums)
{
    return sums->value[HS_SUM_ALLOCATED_BYTES] - sums->value[HS_SUM_FREED_BYTES];
}

static bool has_share(uint64_t value, uint64_t all, uint64_t parts)
{
    return value && value >= all / parts;
}

// At least one of `parts` equal parts of something.
static bool matters(const struct domain *domain, const struct sums *sums, uint64_t parts)
{
    const uint64_t *all = domain->all.value;
    return has_share(live_bytes(sums), live_bytes(&domain->all), parts) ||
           has_share(sums->value[HS_SUM_ALLOCATED_BYTES], all[HS_SUM_ALLOCATED_BYTES], parts) ||
           has_share(sums->value[HS_SUM_ALLOCATED_COUNT], all[HS_SUM_ALLOCATED_COUNT], parts);
}

static void begin_to_tell(struct domain *domain, struct entry *entry, uint32_t (*name)(uint32_t stack))
{
    if (domain->told_used == told_room())
        return;
    if (!domain->told)
        domain->told = hs_memory__map(told_room() * sizeof *domain->told);
    if (!domain->told)
        return;
    uint32_t named = name(entry->stack);
    if (!named)
        return;
    domain->told[domain->told_used++] = (struct told){.stack = entry->stack, .name = named};
    entry->told = domain->told_used;
    domain->told_count++;
}

void hs_stack_sums__choose(unsigned number, uint32_t (*name)(uint32_t stack))
{
    struct domain *domain = &domains[number];
    uint64_t parts = hs_config.aggregate_stacks;
    bool few = domain->count <= parts;
    for (uint32_t i = 0; domain->table && i <= mask(domain); i++) {
        struct entry *entry = &domain->table[i];
        if (!entry->sums.value[HS_SUM_ALLOCATED_COUNT])
            continue;
        if (entry->told)
            domain->told[entry->told - 1].leaves = !few && !matters(domain, &entry->sums, parts * LEAVE_BELOW);
        else if (few || matters(domain, &entry->sums, parts))
            begin_to_tell(domain, entry, name);
    }
}

// What moves the trace from `told` to `now`.
static void make_record(struct hs_sums_record *record, uint32_t name, struct sums *told, const struct sums *now)
{
    record->stack = name;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        record->change[i] = now->value[i] - told->value[i];
    *told = *now;
}

static void leave(struct domain *domain, struct told *told)
{
    place_of(domain, told->stack)->told = 0;
    *told = (struct told){0};
    domain->told_count--;
}

// Closes the gaps that were left.
static void close_up(struct domain *domain)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < domain->told_used; i++) {
        if (!domain->told[i].stack)
            continue;
        domain->told[used++] = domain->told[i];
        place_of(domain, domain->told[used - 1].stack)->told = used;
    }
    domain->told_used = used;
}

void hs_stack_sums__tell(unsigned number, void (*put)(const struct hs_sums_record *record))
{
    struct domain *domain = &domains[number];
    struct hs_sums_record record;
    struct sums rest = domain->all, nothing = {{0}};
    for (uint32_t i = 0; i < domain->told_used; i++) {
        struct told *told = &domain->told[i];
        const struct sums *now = told->leaves ? &nothing : &place_of(domain, told->stack)->sums;
        make_record(&record, told->name, &told->sums, now);
        for (unsigned k = 0; k < HS_SUM_COUNT; k++)
            rest.value[k] -= now->value[k];
        put(&record);
        if (told->leaves)
            leave(domain, told);
    }
    close_up(domain);
    make_record(&record, 0, &domain->rest, &rest);
    put(&record);
}

void hs_stack_sums__reset(void)
{
    for (unsigned i = 0; i < HS_SUMS_DOMAINS; i++) {
        struct domain *domain = &domains[i];
        if (domain->table)
            hs_memory__unmap(domain->table, table_size(domain));
        if (domain->told)
            hs_memory__unmap(domain->told, told_room() * sizeof *domain->told);
        *domain = (struct domain){0};
    }
}
