// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_tally_limits hs_tally_limits = {65536, (uint64_t)4 << 20};

// With fewer a walk along the list is not much shorter.
enum { LEAST_STRETCHES = 8 };

static int cut_part(struct hs_tally *tally, const struct hs_ranked_part *part, uint64_t length, size_t room)
{
    uint64_t *first = tally->first;
    uint64_t at = part->first;
    const bool may_cut = part->keys.least == part->keys.most;
    while (at < part->end) {
        if (!tally->stretches || at - first[tally->stretches - 1] >= length) {
            if (tally->stretches == room)
                return -EIO; // the store's files are being changed
            first[tally->stretches++] = at;
        }
        const uint64_t next = first[tally->stretches - 1] + length;
        at = may_cut && next < part->end ? next : part->end;
    }
    return 0;
}

// Each stretch but the last has `length` rows at least.
static int cut(struct hs_tally *tally, const struct hs_ranking *ranking)
{
    const size_t parts = hs_ranking__parts(ranking);
    const uint64_t rows = parts ? hs_ranking__part(ranking, parts - 1).end : 0;
    uint64_t most = hs_tally_limits.numbers / (tally->dictionary->count + 1);
    if (most < LEAST_STRETCHES)
        return -E2BIG;
    uint64_t length = rows / most + 1;
    length = length < hs_tally_limits.rows ? hs_tally_limits.rows : length;
    const size_t room = rows / length + 2;
    tally->first = malloc((room + 1) * sizeof(*tally->first));
    int failed = tally->first ? 0 : -ENOMEM;
    for (size_t i = 0; !failed && i < parts; i++) {
        const struct hs_ranked_part part = hs_ranking__part(ranking, i);
        failed = cut_part(tally, &part, length, room);
    }
    if (!failed)
        tally->first[tally->stretches] = rows;
    return failed;
}

// Codes lie all over: they are fetched some rows before they are needed.
enum { AHEAD = 16 };

static void count_block(struct hs_tally *tally, const struct hs_ranking *ranking, uint64_t block, size_t *stretch)
{
    const struct hs_packed *codes = &tally->dictionary->of_row;
    uint64_t row[HS_PACKED_BLOCK], rank = block * HS_PACKED_BLOCK;
    const size_t rows = hs_ranking__read(ranking, block, row);
    for (size_t i = 0; i < rows; i++, rank++) {
        while (rank >= tally->first[*stretch + 1])
            ++*stretch;
        hs_packed__fetch(codes, row[i + AHEAD < rows ? i + AHEAD : i]);
        tally->count[*stretch * tally->dictionary->count + hs_packed__at(codes, row[i])]++;
    }
}

// So that what is resident of the codes of many rows stays small.
enum { LEAVE_BLOCKS = 1024 };

static int count(struct hs_tally *tally, const struct hs_ranking *ranking, const int *cancel)
{
    const uint64_t rows = tally->first[tally->stretches];
    size_t stretch = 0;
    tally->count = calloc(tally->stretches * tally->dictionary->count + 1, sizeof(*tally->count));
    if (!tally->count)
        return -ENOMEM;
    for (uint64_t block = 0; block * HS_PACKED_BLOCK < rows; block++) {
        if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
            return -ECANCELED;
        count_block(tally, ranking, block, &stretch);
        if (block % LEAVE_BLOCKS)
            continue;
        hs_packed__leave(&tally->dictionary->of_row, 0, UINT64_MAX);
        hs_ranking__leave(ranking);
    }
    return 0;
}

int hs_tally__make(struct hs_tally **result, const struct hs_ranking *ranking, const struct hs_dictionary *dictionary,
                   const struct hs_query_control *control, struct hs_error *error)
{
    struct hs_tally *tally = calloc(1, sizeof(*tally));
    int failed = tally ? 0 : -ENOMEM;
    *result = NULL;
    if (!failed) {
        tally->dictionary = dictionary;
        failed = cut(tally, ranking);
    }
    if (!failed)
        failed = count(tally, ranking, control ? control->cancel : NULL);
    hs_packed__leave(&dictionary->of_row, 0, UINT64_MAX);
    hs_ranking__leave(ranking);
    if (!failed) {
        *result = tally;
        return 0;
    }
    hs_tally__destroy(tally);
    return hs_error__set(error, -failed, "tally: %s", strerror(-failed));
}

void hs_tally__destroy(struct hs_tally *tally)
{
    if (!tally)
        return;
    free(tally->first);
    free(tally->count);
    free(tally);
}

uint64_t hs_tally__matches(const struct hs_tally *tally, size_t stretch, const uint32_t *mask)
{
    const size_t codes = tally->dictionary->count;
    const uint32_t *count = tally->count + stretch * codes;
    uint32_t matches = 0;
    for (size_t i = 0; i < codes; i++)
        matches += count[i] & mask[i];
    return matches;
}
