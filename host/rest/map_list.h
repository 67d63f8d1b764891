// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Mappings with their lifetimes and regions. When a part of a mapping is unmapped, the rest is a new row in the store;
// here it is a region of the same map.
#ifndef HEAPSONDE_REST_MAP_LIST_H
#define HEAPSONDE_REST_MAP_LIST_H

#include "host/query/query.h"

struct hs_map_usage {
    uint64_t time, mapped, resident; // bytes
};

struct hs_map {
    uint32_t row;          // the first region; its row number identifies the map
    uint32_t last;         // the region that ended last
    size_t first, regions; // indexes into hs_map_list.region
    uint64_t end;          // HS_NEVER: a region still exists
    bool wanted;
    uint64_t peak_resident;
    struct hs_map_usage *usage; // changes of the resident bytes; thinned out if there are very many
    uint32_t usages, step, skipped;
};

struct hs_map_region {
    uint32_t row, root; // root: the first row of its map
    uint64_t ended;
};

struct hs_map_list {
    struct hs_map *map; // by row
    size_t count;
    uint32_t *region; // rows, sorted by map and then by number
    struct hs_map_region *by_row;
    size_t regions;
    bool knows_resident;
};

// All maps of a store. Returns 0, or a negative errno with a message.
int hs_map_list__create(struct hs_map_list *list, const struct hs_store *store, const struct hs_query_control *control,
                        struct hs_error *error);
void hs_map_list__free(struct hs_map_list *list);

// The map of which a row is a region, or NULL.
struct hs_map *hs_map_list__of(const struct hs_map_list *list, uint32_t row);

// If page faults were recorded: the maximum of resident bytes of each wanted map and, with `history`, the changes.
int hs_map_list__follow(struct hs_map_list *list, const struct hs_store *store, bool history,
                        const struct hs_query_control *control, struct hs_error *error);

struct hs_mapping;
// The arguments of the call that made a row. If there was none, all members are 0 and there is no file.
const struct hs_mapping *hs_mapping_of(const struct hs_store *store, uint64_t row);

#endif
