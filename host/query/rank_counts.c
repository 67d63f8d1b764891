// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/rank_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_rank_counts_limits hs_rank_counts_limits = {65536, (uint64_t)4 << 20};

// With fewer a walk along the list is not much shorter.
enum { LEAST_STRETCHES = 8 };

static int cut_part(struct hs_rank_counts *rank_counts, const struct hs_sorted_part *part, uint64_t length, size_t room)
{
    uint64_t *first = rank_counts->first;
    uint64_t at = part->first;
    const bool may_cut = part->keys.least == part->keys.most;
    while (at < part->end) {
        if (!rank_counts->stretches || at - first[rank_counts->stretches - 1] >= length) {
            if (rank_counts->stretches == room)
                return -EIO; // the store's files are being changed
            first[rank_counts->stretches++] = at;
        }
        const uint64_t next = first[rank_counts->stretches - 1] + length;
        at = may_cut && next < part->end ? next : part->end;
    }
    return 0;
}

// Each stretch but the last has `length` rows at least.
static int cut(struct hs_rank_counts *rank_counts, const struct hs_sorted_index *sorted_index)
{
    const size_t parts = hs_sorted_index__parts(sorted_index);
    const uint64_t rows = parts ? hs_sorted_index__part(sorted_index, parts - 1).end : 0;
    uint64_t most = hs_rank_counts_limits.numbers / (rank_counts->dictionary->count + 1);
    if (most < LEAST_STRETCHES)
        return -E2BIG;
    uint64_t length = rows / most + 1;
    length = length < hs_rank_counts_limits.rows ? hs_rank_counts_limits.rows : length;
    const size_t room = rows / length + 2;
    rank_counts->first = malloc((room + 1) * sizeof(*rank_counts->first));
    int failed = rank_counts->first ? 0 : -ENOMEM;
    for (size_t i = 0; !failed && i < parts; i++) {
        const struct hs_sorted_part part = hs_sorted_index__part(sorted_index, i);
        failed = cut_part(rank_counts, &part, length, room);
    }
    if (!failed)
        rank_counts->first[rank_counts->stretches] = rows;
    return failed;
}

// Codes lie all over: they are fetched some rows before they are needed.
enum { AHEAD = 16 };

static void count_block(struct hs_rank_counts *rank_counts, const struct hs_sorted_index *sorted_index, uint64_t block,
                        size_t *stretch)
{
    const struct hs_packed *codes = &rank_counts->dictionary->of_row;
    uint64_t row[HS_PACKED_BLOCK], rank = block * HS_PACKED_BLOCK;
    const size_t rows = hs_sorted_index__read(sorted_index, block, row);
    for (size_t i = 0; i < rows; i++, rank++) {
        while (rank >= rank_counts->first[*stretch + 1])
            ++*stretch;
        hs_packed__fetch(codes, row[i + AHEAD < rows ? i + AHEAD : i]);
        rank_counts->count[*stretch * rank_counts->dictionary->count + hs_packed__at(codes, row[i])]++;
    }
}

// So that what is resident of the codes of many rows stays small.
enum { DROP_BLOCKS = 1024 };

static int count(struct hs_rank_counts *rank_counts, const struct hs_sorted_index *sorted_index, const int *cancel)
{
    const uint64_t rows = rank_counts->first[rank_counts->stretches];
    size_t stretch = 0;
    rank_counts->count =
        calloc(rank_counts->stretches * rank_counts->dictionary->count + 1, sizeof(*rank_counts->count));
    if (!rank_counts->count)
        return -ENOMEM;
    for (uint64_t block = 0; block * HS_PACKED_BLOCK < rows; block++) {
        if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
        count_block(rank_counts, sorted_index, block, &stretch);
        if (block % DROP_BLOCKS)
            continue;
        hs_packed__drop_pages(&rank_counts->dictionary->of_row, 0, UINT64_MAX);
        hs_sorted_index__drop_pages(sorted_index);
    }
    return 0;
}

int hs_rank_counts__make(struct hs_rank_counts **result, const struct hs_sorted_index *sorted_index,
                         const struct hs_dictionary *dictionary, const struct hs_query_control *control,
                         struct hs_error *error)
{
    struct hs_rank_counts *rank_counts = calloc(1, sizeof(*rank_counts));
    int failed = rank_counts ? 0 : -ENOMEM;
    *result = NULL;
    if (!failed) {
        rank_counts->dictionary = dictionary;
        failed = cut(rank_counts, sorted_index);
    }
    if (!failed)
        failed = count(rank_counts, sorted_index, control ? control->cancel : NULL);
    hs_packed__drop_pages(&dictionary->of_row, 0, UINT64_MAX);
    hs_sorted_index__drop_pages(sorted_index);
    if (!failed) {
        *result = rank_counts;
        return 0;
    }
    hs_rank_counts__destroy(rank_counts);
    return hs_error__set(error, -failed, "rank counts: %s", strerror(-failed));
}

uint64_t hs_rank_counts__bytes(const struct hs_rank_counts *rank_counts)
{
    return rank_counts->stretches *
           (sizeof(*rank_counts->first) + rank_counts->dictionary->count * sizeof(*rank_counts->count));
}

void hs_rank_counts__destroy(struct hs_rank_counts *rank_counts)
{
    if (!rank_counts)
        return;
    free(rank_counts->first);
    free(rank_counts->count);
    free(rank_counts);
}

uint64_t hs_rank_counts__matches(const struct hs_rank_counts *rank_counts, size_t stretch, const uint32_t *mask)
{
    const size_t codes = rank_counts->dictionary->count;
    const uint32_t *count = rank_counts->count + stretch * codes;
    uint32_t matches = 0;
    for (size_t i = 0; i < codes; i++)
        matches += count[i] & mask[i];
    return matches;
}
