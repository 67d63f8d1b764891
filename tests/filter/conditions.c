// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/filter/conditions.h"

#include "host/filter/parameters.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct maker {
    struct slow_condition *condition;
    const struct hs_store *store;
    const struct hs_columns *columns;
    struct random_state *random;
    uint64_t row; // that the value is near
};

#define PICK(maker, list) ((list)[random_below((maker)->random, sizeof(list) / sizeof((list)[0]))])

static uint64_t near(struct maker *maker, uint64_t value)
{
    uint64_t choice = random_below(maker->random, 4);
    return choice == 0 ? value + 1 : choice == 1 && value ? value - 1 : value;
}

static void set(struct maker *maker, enum slow_form form, uint64_t number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void set(struct maker *maker, enum slow_form form, uint64_t number, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    maker->condition->form = form;
    maker->condition->number = number;
    vsnprintf(maker->condition->text, sizeof(maker->condition->text), format, list);
    va_end(list);
}

static void set_text(struct maker *maker, const char *text)
{
    set(maker, SLOW_TEXT, 0, "%s", text);
}

static void set_percent(struct maker *maker)
{
    uint64_t thousandths = random_below(maker->random, 101) * 1000;
    if (random_below(maker->random, 2)) {
        set(maker, SLOW_PERCENT, thousandths, "%" PRIu64 "%%", thousandths / 1000);
        return;
    }
    thousandths = random_below(maker->random, 110000);
    set(maker, SLOW_PERCENT, thousandths, "%" PRIu64 ".%03" PRIu64 "%%", thousandths / 1000, thousandths % 1000);
}

// A length of time, written in one of the ways it may be.
static void set_length(struct maker *maker, uint64_t ns)
{
    uint64_t choice = random_below(maker->random, 4);
    if (choice == 0)
        set(maker, SLOW_NUMBER, ns, "%" PRIu64 "ns", ns);
    else if (choice == 1)
        set(maker, SLOW_NUMBER, ns, "%" PRIu64 ".%09" PRIu64 "s", ns / 1000000000, ns % 1000000000);
    else if (choice == 2)
        set(maker, SLOW_NUMBER, ns / 1000 * 1000, "%" PRIu64 "s %" PRIu64 "US", ns / 1000000000,
            ns % 1000000000 / 1000);
    else
        set(maker, SLOW_NUMBER, ns / 1000000 * 1000000, "0h0m%" PRIu64 "ms", ns / 1000000);
}

static void set_time(struct maker *maker)
{
    uint64_t time = near(maker, hs_row__time(maker->columns, maker->row));
    uint64_t realtime = hs_store__realtime_ns(maker->store, time);
    uint64_t choice = random_below(maker->random, 8);
    uint64_t odd = choice == 0 ? random_below(maker->random, 3) : 0; // long before, shortly before
    if (odd)
        realtime = odd == 1 ? 5000000000u : hs_store__summary(maker->store)->start_realtime_ns - 1;
    if (choice <= 1 && odd != 1)
        set(maker, SLOW_SECONDS, realtime / 1000000000, "%" PRIu64, realtime / 1000000000);
    else if (choice <= 3 && odd != 1)
        set(maker, SLOW_MILLISECONDS, realtime / 1000000, "%" PRIu64, realtime / 1000000);
    else if (choice <= 5)
        set_percent(maker);
    else
        set_length(maker, time);
}

static uint64_t lifetime_of(const struct maker *maker)
{
    uint64_t time = hs_row__time(maker->columns, maker->row), end = hs_row__free_time(maker->columns, maker->row);
    return (end == HS_NEVER ? hs_store__summary(maker->store)->end_time : end) - time;
}

static void set_size(struct maker *maker)
{
    uint64_t size = near(maker, hs_row__size(maker->columns, maker->row));
    if (random_below(maker->random, 4) == 0)
        set(maker, SLOW_NUMBER, size / 1024 * 1024, "%" PRIu64 "K", size / 1024);
    else
        set(maker, SLOW_NUMBER, size, "%" PRIu64, size);
}

static void set_address(struct maker *maker)
{
    uint64_t address = near(maker, hs_row__address(maker->columns, maker->row));
    bool hexadecimal = random_below(maker->random, 2);
    set(maker, SLOW_NUMBER, address, hexadecimal ? "0x%" PRIX64 : "%" PRIu64, address);
}

static void set_number(struct maker *maker, uint64_t number)
{
    set(maker, SLOW_NUMBER, number, "%" PRIu64, number);
}

static void set_group_count(struct maker *maker)
{
    if (hs_parameter__find(maker->condition->name)->kind == HS_PARAMETER_COUNT_OR_PERCENT &&
        random_below(maker->random, 2))
        set_percent(maker);
    else
        set_number(maker, random_below(maker->random, random_below(maker->random, 2) ? 60 : 5));
}

static void set_word(struct maker *maker, const struct hs_parameter *parameter)
{
    char words[512];
    unsigned count = 1, choice;
    snprintf(words, sizeof(words), "%s", parameter->choices);
    for (const char *at = words; *at; at++)
        count += *at == ' ';
    choice = (unsigned)random_below(maker->random, count);
    char *word = strtok(words, " ");
    while (choice--)
        word = strtok(NULL, " ");
    set_text(maker, word);
}

static bool set_map(struct maker *maker)
{
    for (unsigned tries = 0; tries < 100000; tries++) {
        uint64_t row = random_below(maker->random, maker->columns->rows);
        if (hs_kind_domain(hs_row__kind(maker->columns, row)) != HS_DOMAIN_MAP)
            continue;
        set_number(maker, row);
        return true;
    }
    return false;
}

static void set_name(struct maker *maker)
{
    static const char *const functions[] = {"^main$",  "main",  "parse_(header|body)", "cache",   "^$", "",
                                            "std::.*", "o[pr]", "[(]int[*][)]",        "^a.*[)]$"};
    static const char *const sources[] = {"parser", "[.]c$", "/src/cache", "stl_vector", "", "^/usr/", "body.cc$"};
    static const char *const libraries[] = {"example",           "libparts.so.*", "libparts.so.1",
                                            "/opt/*/libparts.*", "parts",         "/usr/bin/example"};
    static const char *const threads[] = {"main", "worker", "4711", "4713", "4714"};
    const char *name = maker->condition->name;
    if (strstr(name, "function"))
        set_text(maker, PICK(maker, functions));
    else if (strstr(name, "source"))
        set_text(maker, PICK(maker, sources));
    else if (strstr(name, "library"))
        set_text(maker, PICK(maker, libraries));
    else if (!strcmp(name, "thread"))
        set_text(maker, PICK(maker, threads));
    else
        set_text(maker, "");
}

// Parameters whose kind does not say what their numbers are about.
static void set_some_number(struct maker *maker)
{
    static const uint64_t markers[] = {0, 1, 7, 4294967295u, 3};
    const char *name = maker->condition->name;
    if (!strcmp(name, "backtraces"))
        set_number(maker, hs_row__stack(maker->columns, maker->row));
    else if (!strcmp(name, "deallocation_backtraces"))
        set_number(maker, hs_row__free_stack(maker->columns, maker->row));
    else if (!strcmp(name, "marker"))
        set_number(maker, PICK(maker, markers));
    else if (!strncmp(name, "group_", 6))
        set_group_count(maker);
    else
        set_number(maker, random_below(maker->random, 8));
}

bool condition__make(struct slow_condition *condition, const char *name, const struct hs_store *store,
                     struct random_state *random)
{
    const struct hs_parameter *parameter = hs_parameter__find(name);
    const struct hs_columns *columns = hs_store__columns(store);
    struct maker maker = {condition, store, columns, random, random_below(random, columns->rows)};
    *condition = (struct slow_condition){.name = parameter->name};
    switch (parameter->kind) {
    case HS_PARAMETER_TIME:
    case HS_PARAMETER_TIME_END:
        set_time(&maker);
        break;
    case HS_PARAMETER_INTERVAL:
        set_length(&maker, near(&maker, lifetime_of(&maker)));
        break;
    case HS_PARAMETER_INTERVAL_OR_PERCENT:
        if (random_below(random, 2))
            set_percent(&maker);
        else
            set_length(&maker, random_below(random, hs_store__summary(store)->end_time + 1));
        break;
    case HS_PARAMETER_COUNT_OR_PERCENT:
        set_group_count(&maker);
        break;
    case HS_PARAMETER_SIZE:
        set_size(&maker);
        break;
    case HS_PARAMETER_ADDRESS:
        set_address(&maker);
        break;
    case HS_PARAMETER_NUMBER:
        set_some_number(&maker);
        break;
    case HS_PARAMETER_NUMBER_64:
        return set_map(&maker);
    case HS_PARAMETER_CHOICE:
        set_word(&maker, parameter);
        break;
    case HS_PARAMETER_EXPRESSION:
        return false;
    default:
        set_name(&maker);
    }
    return true;
}
