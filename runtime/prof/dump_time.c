// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/dump_time.h"

#include <stdbool.h>

static void add_padded(struct hs_text *text, uint32_t number, uint32_t smallest_longer)
{
    for (uint32_t limit = smallest_longer / 10; limit > 1 && number < limit; limit /= 10)
        hs_text__add_character(text, '0');
    hs_text__add_number(text, number);
}

// Years that begin in March end with the leap day; 146097 days are 400 of them.
static void add_date(struct hs_text *text, uint32_t days_since_1970, const char *separator)
{
    uint32_t days = days_since_1970 + 719468; // since 0000-03-01
    uint32_t era = days / 146097, in_era = days % 146097;
    uint32_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    uint32_t in_year = in_era - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * in_year + 2) / 153; // 0: March
    uint32_t day = in_year - (153 * month + 2) / 5 + 1;
    add_padded(text, era * 400 + year + (month >= 10), 10000);
    hs_text__add(text, separator);
    add_padded(text, month < 10 ? month + 3 : month - 9, 100);
    hs_text__add(text, separator);
    add_padded(text, day, 100);
}

void hs_dump_time__add(struct hs_text *text, uint64_t real_ns, enum hs_dump_time_form form)
{
    bool iso = form == HS_DUMP_TIME_ISO;
    uint64_t seconds = real_ns / 1000000000;
    uint32_t in_day = (uint32_t)(seconds % 86400);
    add_date(text, (uint32_t)(seconds / 86400), iso ? "-" : "");
    hs_text__add_character(text, 'T');
    add_padded(text, in_day / 3600, 100);
    hs_text__add(text, iso ? ":" : "");
    add_padded(text, in_day / 60 % 60, 100);
    hs_text__add(text, iso ? ":" : "");
    add_padded(text, in_day % 60, 100);
    if (form != HS_DUMP_TIME_SECONDS) {
        hs_text__add_character(text, '.');
        add_padded(text, (uint32_t)(real_ns % 1000000000 / 1000), 1000000);
    }
    hs_text__add_character(text, 'Z');
}
