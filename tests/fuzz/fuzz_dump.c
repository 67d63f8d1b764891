// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Everything that reads a heap dump, given anything; then what is made of a dump: its stacks as a tree, a comparison
// with another one, and every format to write. What was written has to be readable and to say the same.
#include "host/dump/compare.h"
#include "host/dump/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char other[] = "heap_v2/1024\n  t*: 1: 64 [2: 128]\n@ 0x5500001233 0x5500001301\n  t*: 1: 64 [2: 128]\n\n"
                            "MAPPED_LIBRARIES:\n5500001000-5500002000 r-xp 00001000 00:00 0 /nowhere/sensord\n";

static void compare(const struct hs_dump *dump, FILE *out)
{
    struct hs_dump *second = NULL;
    struct hs_dump_view view;
    const struct hs_symbols_options options = {0};
    struct hs_compare_options how = {.cost = HS_COST_LIVE, .top = 3};
    if (hs_dump__parse("other", other, sizeof(other) - 1, LARGEST, &second, NULL))
        abort();
    if (!hs_dump_view__open(&view, dump, second, &options)) {
        hs_dump_view__compare(&view);
        hs_compare__text(out, &view, &how);
        hs_dump_view__close(&view);
    }
    if (!hs_dump_view__open(&view, dump, dump, &options)) {
        if (hs_dump_view__compare(&view) || view.subject.totals.count)
            abort();
        hs_dump_view__close(&view);
    }
    hs_dump__close(second);
}

static void read_back(const struct hs_dump *dump, enum hs_dump_output output)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct hs_dump *again = NULL;
    struct hs_error error = {.message = ""};
    if (!out || hs_dump__write(out, dump, output) || fclose(out))
        abort();
    if (hs_dump__parse("again", text, length, 64 * LARGEST, &again, &error)) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    // Whole numbers: each context may lose half a byte. Names that hold line feeds make other dumps of text.
    double before = hs_dump__sum(dump).live_bytes;
    double after = hs_dump__sum(again).live_bytes;
    bool exact = output == HS_DUMP_TO_PPROF && before < 0x1p50;
    if (exact && fabs(before - after) > (double)dump->context_count)
        abort();
    hs_dump__close(again);
    free(text);
}

static void use(struct hs_dump *dump)
{
    struct hs_dump_view view;
    const struct hs_symbols_options options = {0};
    FILE *out = fopen("/dev/null", "w");
    if (!out || hs_dump_view__open(&view, dump, NULL, &options) || hs_dump_view__add_up(&view, NULL))
        abort();
    for (uint32_t i = 0; i < dump->location_count && i < 64; i++) {
        if (!hs_dump_view__location(&view, 0, i))
            abort();
    }
    view.subject.kind->write_summary(out, &view.subject);
    hs_dump_view__close(&view);
    compare(dump, out);
    fclose(out);
    read_back(dump, HS_DUMP_TO_PPROF);
    read_back(dump, HS_DUMP_TO_SYMBOLIZED);
    if (!hs_dump__obstacle(dump, HS_DUMP_TO_HEAP_V2)) {
        read_back(dump, HS_DUMP_TO_HEAP_V2);
        read_back(dump, HS_DUMP_TO_HEAP_PROFILE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hs_dump *dump = NULL;
    struct hs_error error = {.message = ""};
    if (size > LARGEST)
        return 0;
    int result = hs_dump__parse("input", data, size, LARGEST, &dump, &error);
    if (!result != !!dump || (result && !error.message[0]))
        abort();
    if (dump)
        use(dump);
    hs_dump__close(dump);
    return 0;
}
