// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/findings/scene.h"

#include <string.h>

const struct hs_finding_kind hs_finding_kinds[] = {
    {"recording", "What this recording cannot tell",
     "'heapsonde report' and 'heapsonde report --modules' say what is missing.", HS_HARM_TAKES, hs_find__recording},
    {"never_freed", "Memory that is never freed and keeps growing",
     "Find the place that should free these blocks: often an error path, or a list, table or cache from which nothing "
     "is removed.",
     HS_HARM_GROWS, hs_find__never_freed},
    {"bounded", "Memory that grew and then stayed at one size",
     "Usually nothing: this is how a cache with a limit looks. Check only whether the limit is what you want.",
     HS_HARM_NONE, hs_find__bounded},
    {"freed_at_end", "Memory that is freed only when the program ends",
     "If it grows with the work that the program does, free it when each piece of work is done.", HS_HARM_GROWS,
     hs_find__freed_at_end},
    {"rounds", "Memory that each round between marks leaves behind",
     "Compare the blocks of two rounds: what a round allocates should be freed before the next one ends.",
     HS_HARM_GROWS, hs_find__rounds},
    {"high_peak", "A peak far above the usual level",
     "Work in smaller pieces, or free intermediate results earlier: the machine must have room for the peak.",
     HS_HARM_TAKES, hs_find__high_peak},
    {"temporary", "Blocks that are freed at once",
     "Use one buffer again and again, or a local variable, in place of a new block each time.", HS_HARM_TIME,
     hs_find__temporary},
    {"reallocated", "Buffers that grow in small steps",
     "Reserve the final size at once if it is known; otherwise let the buffer grow by a factor, such as 1.5 or 2.",
     HS_HARM_TIME, hs_find__reallocated},
    {"tiny", "Very many very small blocks",
     "Put such objects into arrays or pools: each block costs the allocator additional memory.", HS_HARM_TAKES,
     hs_find__tiny},
    {"rounding", "The allocator gives much more than was requested",
     "Choose sizes that the allocator has a size class for, or another allocator.", HS_HARM_TAKES, hs_find__rounding},
    {"holes", "The heap is full of holes",
     "Allocate long-lived blocks before short-lived ones, or from a pool of their own. malloc_trim(3) gives "
     "back whole free pages.",
     HS_HARM_TAKES, hs_find__holes},
    {"untouched", "Memory that was allocated but never used",
     "Allocate less, or later. Such memory does not take up room in RAM, but a limit of the address space counts it.",
     HS_HARM_TAKES, hs_find__untouched},
    {"resident", "Resident memory that no live block explains",
     "Freed blocks: allocate long-lived blocks apart from short-lived ones, or let the allocator give back free pages "
     "(malloc_trim(3), M_TRIM_THRESHOLD). Other memory: smaller stacks for threads, and mappings that end when they "
     "are no longer needed.",
     HS_HARM_TAKES, hs_find__resident},
    {NULL, NULL, NULL, HS_HARM_NONE, NULL},
};

const struct hs_finding_kind *hs_finding_kind__find(const char *id)
{
    for (const struct hs_finding_kind *kind = hs_finding_kinds; kind->id; kind++)
        if (!strcmp(kind->id, id))
            return kind;
    return NULL;
}

const char *hs_confidence__name(enum hs_confidence confidence)
{
    static const char *const names[] = {"look", "likely", "sure"};
    return names[confidence];
}
