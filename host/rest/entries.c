// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/entries.h"

#include "host/base/array.h"
#include "host/base/path.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum entries_known { NOT_KNOWN, HAS_NOT, HAS };

struct entries_finding {
    const struct hs_frame_table *table;
    const struct hs_node_tree *nodes;
    const struct hs_entries_wanted *wanted;
    uint64_t *inside; // a bit for each node: what is wanted is at it or further out
    uint8_t *known;   // by place: whether it has what is wanted
    size_t places;
    struct hs_function_start *entry;
    size_t count, room;
};

static bool is_path(const char *path, const char *name)
{
    return path && *path && (!strcmp(path, name) || !strcmp(hs_path__name(path), name));
}

static bool is_it(const struct entries_finding *finding, const struct hs_frame *frame)
{
    const struct hs_entries_wanted *wanted = finding->wanted;
    if (wanted->by == HS_ENTRIES_BY_LIBRARY)
        return is_path(frame->module, wanted->name);
    if (wanted->by == HS_ENTRIES_BY_SOURCE)
        return is_path(frame->file, wanted->name);
    if (strcmp(frame->function, wanted->name) != 0)
        return false;
    const char *declared = wanted->declared ? hs_frame__declared(frame) : NULL;
    return !wanted->declared || (declared && !strcmp(declared, wanted->declared));
}

// The outermost frame that is wanted; -1: none.
static int32_t frame_of(const struct entries_finding *finding, const struct hs_frames *frames)
{
    int32_t i = (int32_t)frames->count - 1;
    while (i >= 0 && !is_it(finding, &frames->frame[i]))
        i--;
    return i;
}

static int make_room(struct entries_finding *finding, uint32_t place)
{
    if (place < finding->places)
        return 0;
    const size_t places = 2 * (size_t)place + 1024;
    uint8_t *known = realloc(finding->known, places);
    if (!known)
        return -ENOMEM;
    memset(known + finding->places, NOT_KNOWN, places - finding->places);
    finding->known = known;
    finding->places = places;
    return 0;
}

static int add_entry(struct entries_finding *finding, uint32_t at, int32_t frame)
{
    if (!HS_ARRAY_HAS_ROOM(finding->entry, finding->count, finding->room))
        return -ENOMEM;
    finding->entry[finding->count++] = (struct hs_function_start){
        .at = at, .frame = frame, .first = finding->nodes->first[at], .value = finding->nodes->paths.at[at].value};
    return 0;
}

static bool is_inside(const struct entries_finding *finding, uint32_t at)
{
    return finding->inside[at / 64] >> (at % 64) & 1;
}

static int look_at(struct entries_finding *finding, uint32_t at)
{
    const uint32_t node = finding->nodes->paths.at[at].place, place = hs_frame_table__place(finding->table, node);
    bool inside = is_inside(finding, finding->nodes->paths.at[at].parent);
    int failed = inside ? 0 : make_room(finding, place);
    if (!inside && !failed && finding->known[place] != HAS_NOT) {
        const int32_t frame = frame_of(finding, hs_frame_table__node(finding->table, node));
        inside = frame >= 0;
        finding->known[place] = inside ? HAS : HAS_NOT;
        failed = inside ? add_entry(finding, at, frame) : 0;
    }
    finding->inside[at / 64] |= (uint64_t)inside << (at % 64);
    return failed;
}

int hs_entries__find(const struct hs_frame_table *table, const struct hs_node_tree *nodes,
                     const struct hs_entries_wanted *wanted, struct hs_function_start **entries, size_t *count)
{
    struct entries_finding finding = {.table = table, .nodes = nodes, .wanted = wanted};
    finding.inside = calloc(nodes->paths.count / 64 + 1, sizeof(*finding.inside));
    int failed = finding.inside ? 0 : -ENOMEM;
    for (uint32_t at = 1; at < nodes->paths.count && !failed; at++)
        failed = look_at(&finding, at);
    free(finding.inside);
    free(finding.known);
    *entries = finding.entry;
    *count = finding.count;
    if (!failed)
        return 0;
    free(finding.entry);
    *entries = NULL;
    return failed;
}
