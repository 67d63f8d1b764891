// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/own_mapping.h"

#include <stdlib.h>

enum { OWN_MAPPING_SIZE = 128 << 10, OWN_MAPPING_OFFSET = 32, FALLBACK_PAGE = 4096 };

uint64_t hs_store__page_size(const struct hs_store *store)
{
    const char *text = hs_store__info(store, "page-size");
    uint64_t page = text ? strtoull(text, NULL, 10) : 0;
    return page && !(page & (page - 1)) ? page : FALLBACK_PAGE;
}

bool hs_own_mapping__is_one(uint8_t kind, uint64_t address, uint64_t size, uint64_t page)
{
    return hs_kind_domain(kind) == HS_DOMAIN_MAP ||
           (size >= OWN_MAPPING_SIZE && (address & (page - 1)) <= OWN_MAPPING_OFFSET);
}

bool hs_row__has_own_mapping(const struct hs_store *store, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(store);
    return hs_own_mapping__is_one(hs_row__kind(columns, row), hs_row__address(columns, row), hs_row__size(columns, row),
                                  hs_store__page_size(store));
}
