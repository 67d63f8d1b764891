// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Mappings as things that are there for a time, each with its regions: what is left when a part of one is unmapped are
// rows of their own in the store, and regions of the same map here.
#ifndef HEAPSONDE_REST_MAP_LIST_H
#define HEAPSONDE_REST_MAP_LIST_H

#include "host/query/query.h"

struct hs_map_usage {
    uint64_t time, mapped, resident; // bytes
};

struct hs_map {
    uint32_t row;          // the first region; its number is the map's
    uint32_t last;         // the region that ended last
    size_t first, regions; // of hs_map_list.region
    uint64_t end;          // HS_NEVER while one of its regions is there
    bool wanted;
    uint64_t peak_resident;
    struct hs_map_usage *usage; // where what is resident changed: when there are very many, some of them
    uint32_t usages, step, skipped;
};

struct hs_map_region {
    uint32_t row, root; // root: the row of its map
    uint64_t ended;
};

struct hs_map_list {
    struct hs_map *map; // by row
    size_t count;
    uint32_t *region; // rows, by map and then by number
    struct hs_map_region *by_row;
    size_t regions;
    bool knows_resident;
};

// All maps of a store. Returns 0 or a negative errno with a message.
int hs_map_list__create(struct hs_map_list *list, const struct hs_store *store, const struct hs_query_control *control,
                        struct hs_error *error);
void hs_map_list__free(struct hs_map_list *list);

// The map that a row is a region of; NULL: it is none's.
struct hs_map *hs_map_list__of(const struct hs_map_list *list, uint32_t row);

// Where page faults were recorded: the most that was resident of each wanted map and, with `history`, how that changed.
int hs_map_list__follow(struct hs_map_list *list, const struct hs_store *store, bool history,
                        const struct hs_query_control *control, struct hs_error *error);

struct hs_mapping;
// What the call said that made a row; of others everything is 0 and there is no file.
const struct hs_mapping *hs_mapping_of(const struct hs_store *store, uint64_t row);

#endif
