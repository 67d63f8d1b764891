// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/aggregate/stack_aggregates.h"

#include "runtime/aggregate/blocks.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/shared_word.h"

enum { FIRST_BITS = 8, LEAVE_BELOW = 4, MEASURES = 3 };

struct sums {
    uint64_t value[HS_SUM_COUNT];
};

// The sums of a stack. ALLOCATED_COUNT 0: an empty entry.
struct stack_aggregates_entry {
    struct sums sums;
    uint32_t stack;
    uint32_t emitted; // index in the list of written stacks + 1; 0: part of stack 0
};

struct emitted {
    struct sums sums;
    uint32_t stack; // 0: nothing here
    uint32_t name;  // in the trace
    bool leaves;    // its sums go back into stack 0
};

struct domain {
    struct stack_aggregates_entry *table; // open addressing
    uint32_t bits, count;
    uint64_t folded; // no longer in the table
    struct emitted *emitted;
    uint32_t emitted_count, emitted_used; // used: places up to the last one in use
    struct sums all;                      // of all stacks
    struct sums rest;                     // written as stack 0
};

static struct domain domains[HS_AGGREGATE_DOMAINS];

// No more can have a share that is large enough, of any of the three measures: to stay, and beside them to begin.
static size_t emitted_room(void)
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

static bool has_room(size_t more)
{
    return hs_blocks__memory() + hs_blocks_elsewhere + more <= hs_config.aggregate_memory;
}

static uint32_t home_of(const struct domain *domain, uint32_t stack)
{
    return stack * 0x9e3779b1u >> (32 - domain->bits);
}

static struct stack_aggregates_entry *place_of(const struct domain *domain, uint32_t stack)
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
    hs_blocks_elsewhere += size - table_size(domain);
    *domain = bigger;
    return true;
}

static bool is_over(const struct stack_aggregates_entry *entry)
{
    const uint64_t *value = entry->sums.value;
    return !entry->emitted && value[HS_SUM_ALLOCATED_COUNT] == value[HS_SUM_FREED_COUNT];
}

static void take_out(struct domain *domain, uint32_t gap)
{
    for (uint32_t place = (gap + 1) & mask(domain); domain->table[place].sums.value[HS_SUM_ALLOCATED_COUNT];
         place = (place + 1) & mask(domain)) {
        uint32_t home = home_of(domain, domain->table[place].stack);
        // An entry stays if its home is behind the gap.
        if (((place - home) & mask(domain)) < ((place - gap) & mask(domain)))
            continue;
        domain->table[gap] = domain->table[place];
        gap = place;
    }
    domain->table[gap] = (struct stack_aggregates_entry){0};
    domain->count--;
}

// If the table cannot grow, stacks without live blocks that were not written become part of stack 0 permanently. If
// such a stack occurs again, it starts with new sums.
static bool fold_for_good(struct domain *domain)
{
    uint32_t before = domain->count;
    for (uint32_t i = 0; i <= mask(domain);) {
        struct stack_aggregates_entry *entry = &domain->table[i];
        if (entry->sums.value[HS_SUM_ALLOCATED_COUNT] && is_over(entry))
            take_out(domain, i);
        else
            i++;
    }
    domain->folded += before - domain->count;
    return domain->count < before;
}

// NULL: there is no room; the stack is part of the rest from then on.
static struct stack_aggregates_entry *entry_of(struct domain *domain, uint32_t stack)
{
    if (!domain->table && !grow(domain))
        return NULL;
    struct stack_aggregates_entry *entry = place_of(domain, stack);
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

void hs_stack_aggregates__add(unsigned number, uint32_t stack, enum hs_sum first, size_t size, uint32_t slack)
{
    struct domain *domain = &domains[number];
    add(&domain->all, first, size, slack);
    if (!stack)
        return;
    // Blocks that end or were temporary began in the same entry, so a stack without an entry here never got one.
    bool begins = first == HS_SUM_ALLOCATED_COUNT;
    struct stack_aggregates_entry *entry = begins          ? entry_of(domain, stack)
                                           : domain->table ? place_of(domain, stack)
                                                           : NULL;
    if (entry && (begins || entry->sums.value[HS_SUM_ALLOCATED_COUNT]))
        add(&entry->sums, first, size, slack);
    else if (begins)
        hs_shared_word__add(&hs_output__live()->dropped[HS_DROP_STACK_TABLE], 1);
}

uint64_t hs_stack_aggregates__folded(unsigned domain)
{
    return domains[domain].folded + domains[domain].count - domains[domain].emitted_count;
}

// ---- writing -------------------------------------------------------------------------------------------------------

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

static void begin_to_emit(struct domain *domain, struct stack_aggregates_entry *entry, uint32_t (*name)(uint32_t stack))
{
    if (domain->emitted_used == emitted_room())
        return;
    if (!domain->emitted)
        domain->emitted = hs_memory__map(emitted_room() * sizeof *domain->emitted);
    if (!domain->emitted)
        return;
    uint32_t named = name(entry->stack);
    if (!named)
        return;
    domain->emitted[domain->emitted_used++] = (struct emitted){.stack = entry->stack, .name = named};
    entry->emitted = domain->emitted_used;
    domain->emitted_count++;
}

void hs_stack_aggregates__choose(unsigned number, uint32_t (*name)(uint32_t stack))
{
    struct domain *domain = &domains[number];
    uint64_t parts = hs_config.aggregate_stacks;
    bool few = domain->count <= parts;
    for (uint32_t i = 0; domain->table && i <= mask(domain); i++) {
        struct stack_aggregates_entry *entry = &domain->table[i];
        if (!entry->sums.value[HS_SUM_ALLOCATED_COUNT])
            continue;
        if (entry->emitted)
            domain->emitted[entry->emitted - 1].leaves = !few && !matters(domain, &entry->sums, parts * LEAVE_BELOW);
        else if (few || matters(domain, &entry->sums, parts))
            begin_to_emit(domain, entry, name);
    }
}

// The difference between the sums in the trace (`told`) and the current ones (`now`).
static void make_record(struct hs_aggregate_record *record, uint32_t name, struct sums *emitted, const struct sums *now)
{
    record->stack = name;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        record->change[i] = now->value[i] - emitted->value[i];
    *emitted = *now;
}

static void leave(struct domain *domain, struct emitted *emitted)
{
    place_of(domain, emitted->stack)->emitted = 0;
    *emitted = (struct emitted){0};
    domain->emitted_count--;
}

// Closes the gaps that were left.
static void close_up(struct domain *domain)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < domain->emitted_used; i++) {
        if (!domain->emitted[i].stack)
            continue;
        domain->emitted[used++] = domain->emitted[i];
        place_of(domain, domain->emitted[used - 1].stack)->emitted = used;
    }
    domain->emitted_used = used;
}

void hs_stack_aggregates__emit(unsigned number, void (*put)(const struct hs_aggregate_record *record))
{
    struct domain *domain = &domains[number];
    struct hs_aggregate_record record;
    struct sums rest = domain->all, nothing = {{0}};
    for (uint32_t i = 0; i < domain->emitted_used; i++) {
        struct emitted *emitted = &domain->emitted[i];
        const struct sums *now = emitted->leaves ? &nothing : &place_of(domain, emitted->stack)->sums;
        make_record(&record, emitted->name, &emitted->sums, now);
        for (unsigned k = 0; k < HS_SUM_COUNT; k++)
            rest.value[k] -= now->value[k];
        put(&record);
        if (emitted->leaves)
            leave(domain, emitted);
    }
    close_up(domain);
    make_record(&record, 0, &domain->rest, &rest);
    put(&record);
}

void hs_stack_aggregates__reset(void)
{
    for (unsigned i = 0; i < HS_AGGREGATE_DOMAINS; i++) {
        struct domain *domain = &domains[i];
        if (domain->table)
            hs_memory__unmap(domain->table, table_size(domain));
        if (domain->emitted)
            hs_memory__unmap(domain->emitted, emitted_room() * sizeof *domain->emitted);
        *domain = (struct domain){0};
    }
    hs_blocks_elsewhere = 0;
}
