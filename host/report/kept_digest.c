// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The digest as a file that is kept with the store.
#include "host/base/hash_index.h"
#include "host/report/digest.h"

#include "host/base/buffer.h"
#include "host/report/frames.h"
#include "host/store/torn_pages.h"

#include <string.h>

// To be raised when what is kept changes, or what makes stacks one site.
#define VERSION 1

// If nearly every node is its own place, as with names from another tool, reading them is not faster.
#define MOST_PLACES ((size_t)1 << 18)

struct kept_digest_head {
    uint64_t version;
    uint64_t look; // of the places that were looked at
    uint64_t stacks;
    struct hs_total sum;
    struct hs_cut_stacks cut;
    uint32_t places, modules, sites, reserved;
};

struct kept_digest_place {
    uint64_t nodes;
    uint32_t node;
    uint8_t behind_the_start, looked_at, reserved[2];
};

struct kept_digest_module {
    uint64_t stacks, bytes;
    uint32_t module, reserved;
};

struct site {
    struct hs_total sum;
    uint32_t stacks, more;
};

// The parts, in this order.
struct parts {
    const struct kept_digest_head *head;
    const struct kept_digest_place *place;
    const struct kept_digest_module *module;
    const struct site *site;
};

static bool is_of_all(const struct hs_subject *subject)
{
    return !subject->kind && !subject->restriction && subject->events == HS_EVENTS_HEAP;
}

// ---- what places look like -----------------------------------------------------------------------------------------

static uint64_t mix_text(uint64_t hash, const char *text)
{
    uint64_t word = 0;
    size_t length = text ? strlen(text) : 0;
    hash = hs_hash__mix(hash, text ? length : UINT64_MAX);
    for (size_t i = 0; i < length; i += sizeof(word)) {
        word = 0;
        memcpy(&word, text + i, length - i < sizeof(word) ? length - i : sizeof(word));
        hash = hs_hash__mix(hash, word);
    }
    return hash;
}

// All that decides which frames are left out and which look the same.
static uint64_t mix_frames(uint64_t hash, const struct hs_frames *frames)
{
    hash = hs_hash__mix(hash, frames->count);
    for (uint32_t i = 0; i < frames->count; i++) {
        const struct hs_frame *frame = &frames->frame[i];
        hash = mix_text(mix_text(hash, frame->function), frame->file);
        hash = hs_hash__mix(hash, (uint64_t)frame->role << 32 | frame->line);
    }
    return hash;
}

// ---- keeping -------------------------------------------------------------------------------------------------------

static void put_places(struct hs_buffer *to, struct kept_digest_head *head, const struct hs_digest *digest,
                       const struct hs_subject *subject)
{
    for (size_t i = 0; i < digest->uses.place_count; i++) {
        const struct hs_place_use *from = &digest->uses.places[i];
        const struct hs_frames *frames = hs_trace_symbols__known(subject->symbols, from->node);
        const struct kept_digest_place place = {.nodes = from->nodes,
                                                .node = from->node,
                                                .behind_the_start = from->behind_the_start,
                                                .looked_at = frames != NULL};
        if (frames)
            head->look = mix_frames(head->look, frames);
        hs_buffer__put(to, &place, sizeof(place));
        head->places++;
    }
}

static void put_modules(struct hs_buffer *to, struct kept_digest_head *head, const struct hs_digest *digest)
{
    for (size_t i = 0; i < digest->uses.count; i++) {
        const struct hs_module_use *use = &digest->uses.use[i];
        const struct kept_digest_module module = {.stacks = use->stacks, .bytes = use->bytes, .module = use->module};
        hs_buffer__put(to, &module, sizeof(module));
        head->modules++;
    }
}

static int choose(uint8_t *chosen, const struct hs_sites *sites)
{
    int result = 0;
    for (int cost = 0; !result && cost < HS_COST_COUNT; cost++) {
        struct hs_top top;
        result = hs_sites__top(sites, (enum hs_cost)cost, HS_DIGEST_SITES, &top);
        for (size_t i = 0; !result && i < top.count; i++)
            chosen[top.number[i]] = 1;
        hs_top__free(&top);
    }
    return result;
}

static int put_sites(struct hs_buffer *to, struct kept_digest_head *head, const struct hs_sites *sites)
{
    uint8_t *chosen = calloc(sites->count + 1, 1);
    int result = chosen ? choose(chosen, sites) : -1;
    for (size_t i = 0; !result && i < sites->count; i++) {
        if (!chosen[i])
            continue;
        const struct site site = {
            .sum = sites->site[i].sum, .stacks = sites->site[i].stack_count, .more = sites->site[i].more};
        hs_buffer__put(to, &site, sizeof(site));
        head->sites++;
    }
    free(chosen);
    return result;
}

void hs_digest__keep(const struct hs_digest *digest, const struct hs_subject *subject)
{
    struct hs_buffer bytes = {0};
    struct kept_digest_head head = {
        .version = VERSION, .stacks = digest->stacks, .sum = digest->sum, .cut = digest->cut};
    if (!is_of_all(subject) || digest->uses.place_count > MOST_PLACES)
        return;
    hs_buffer__put(&bytes, &head, sizeof(head));
    put_places(&bytes, &head, digest, subject);
    put_modules(&bytes, &head, digest);
    int failed = put_sites(&bytes, &head, &digest->sites);
    // Data that was read from a truncated file is worthless.
    if (!failed && !bytes.failed && !hs_torn_pages__found() && hs_store__is_whole(subject->store)) {
        memcpy(bytes.bytes, &head, sizeof(head));
        hs_store__keep(subject->store, bytes.bytes, bytes.count);
    }
    hs_buffer__free(&bytes);
}

// ---- reading -------------------------------------------------------------------------------------------------------

static bool take_apart(struct parts *parts, const uint8_t *bytes, size_t count)
{
    const struct kept_digest_head *head = parts->head = (const struct kept_digest_head *)bytes;
    if (count < sizeof(*head) || head->version != VERSION)
        return false;
    uint64_t expected = sizeof(*head) + (uint64_t)head->places * sizeof(struct kept_digest_place) +
                        (uint64_t)head->modules * sizeof(struct kept_digest_module) +
                        (uint64_t)head->sites * sizeof(struct site);
    parts->place = (const struct kept_digest_place *)(head + 1);
    parts->module = (const struct kept_digest_module *)(parts->place + head->places);
    parts->site = (const struct site *)(parts->module + head->modules);
    return count == expected;
}

static bool looks_the_same(const struct parts *parts, const struct hs_subject *subject)
{
    uint64_t look = 0;
    for (uint32_t i = 0; i < parts->head->places; i++) {
        if (parts->place[i].looked_at)
            look = mix_frames(look, hs_trace_symbols__node(subject->symbols, parts->place[i].node));
    }
    return look == parts->head->look;
}

static bool add_sums(struct hs_module_uses *uses, const struct parts *parts)
{
    if (uses->count != parts->head->modules)
        return false;
    for (size_t i = 0; i < uses->count; i++) {
        const struct kept_digest_module *module = parts->module, *end = module + parts->head->modules;
        while (module < end && module->module != uses->use[i].module)
            module++;
        if (module == end)
            return false;
        uses->use[i].stacks = module->stacks;
        uses->use[i].bytes = module->bytes;
    }
    hs_module_uses__sort(uses);
    return true;
}

static bool read_uses(struct hs_module_uses *uses, const struct parts *parts, const struct hs_subject *subject)
{
    struct hs_place_use *places = calloc(parts->head->places + (size_t)1, sizeof(*places));
    for (uint32_t i = 0; places && i < parts->head->places; i++)
        places[i] = (struct hs_place_use){.nodes = parts->place[i].nodes,
                                          .node = parts->place[i].node,
                                          .behind_the_start = parts->place[i].behind_the_start};
    bool good = places && !hs_module_uses__of_places(uses, subject, places, parts->head->places);
    free(places);
    return good && add_sums(uses, parts);
}

// Sites are built from the first stack of each, and then get their totals.
static bool read_sites(struct hs_sites *sites, const struct parts *parts, const struct hs_subject *subject)
{
    struct hs_totals totals = {.total = calloc(parts->head->sites + (size_t)1, sizeof(*totals.total)),
                               .count = parts->head->sites};
    for (uint32_t i = 0; totals.total && i < parts->head->sites; i++)
        totals.total[i] = parts->site[i].sum;
    bool good = totals.total && !hs_sites__build(sites, subject->symbols, &totals, HS_DIGEST_FRAMES) &&
                sites->count == totals.count;
    for (size_t i = 0; good && i < sites->count; i++) {
        sites->site[i].stack_count = parts->site[i].stacks;
        sites->site[i].more = parts->site[i].more;
    }
    free(totals.total);
    return good;
}

static bool read_parts(struct hs_digest *digest, const struct parts *parts, const struct hs_subject *subject)
{
    *digest = (struct hs_digest){.sum = parts->head->sum, .stacks = parts->head->stacks, .cut = parts->head->cut};
    bool good = looks_the_same(parts, subject) && read_uses(&digest->uses, parts, subject) &&
                read_sites(&digest->sites, parts, subject);
    if (!good)
        hs_digest__free(digest);
    return good;
}

bool hs_digest__read(struct hs_digest *digest, const struct hs_subject *subject)
{
    uint8_t *bytes;
    size_t count;
    struct parts parts;
    if (!is_of_all(subject) || hs_store__read_kept(subject->store, &bytes, &count))
        return false;
    bool good = take_apart(&parts, bytes, count) && read_parts(digest, &parts, subject);
    free(bytes);
    return good;
}
