// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/live_sites.h"

#include "host/base/path.h"
#include "host/base/text_stream.h"
#include "host/fleet/keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct live_member {
    struct hs_live_site *site;
    struct hs_follow_sums last;
};

static struct hs_live_site **all(const struct hs_live_sites *sites)
{
    return sites->sites.data;
}

static void free_site(struct hs_live_site *site)
{
    free(site->program);
    free(site->firmware);
    free(site->frames);
    free(site);
}

void hs_live_sites__free(struct hs_live_sites *sites)
{
    for (size_t i = 0; i < sites->sites.count; i++)
        free_site(all(sites)[i]);
    free(sites->sites.data);
    hs_id_map__free(&sites->site_of);
}

// ---- sites ---------------------------------------------------------------------------------------------------------

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 1;
    for (; *text; text++)
        hash = hs_fleet_key__mixed(hash + (unsigned char)*text);
    return hash;
}

static char *frames_text(const struct hs_follow *follow, const struct hs_follow_frame *frames, size_t count)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    for (size_t i = 0; out && i < count && i < HS_LIVE_SITE_FRAMES; i++) {
        const char *path = frames[i].module == UINT32_MAX ? "" : hs_follow__module(follow, frames[i].module)->path;
        const char *name = hs_path__name(path);
        fprintf(out, "%s%s", i ? " < " : "", *name ? name : "[no file]");
        if (*name)
            fprintf(out, "+0x%" PRIx64, frames[i].offset);
    }
    if (out && !count)
        fputs("[no stack]", out);
    return hs_text_stream__close(&stream);
}

static struct hs_live_site *add_site(struct hs_live_sites *sites, const struct hs_live_site *site)
{
    struct hs_live_site *added = malloc(sizeof(*added));
    struct hs_live_site **place = NULL;
    if (added && site->program && site->firmware && site->frames)
        place = hs_array__add(&sites->sites, sizeof(*place));
    if (place && hs_id_map__set(&sites->site_of, site->key, (uint32_t)sites->sites.count - 1)) {
        sites->sites.count--;
        place = NULL;
    }
    if (!place) {
        free(added);
        free(site->program);
        free(site->firmware);
        free(site->frames);
        return NULL;
    }
    *added = *site;
    *place = added;
    return added;
}

// Frees the sites that no process has now.
static int sweep(struct hs_live_sites *sites)
{
    size_t kept = 0;
    hs_id_map__free(&sites->site_of);
    for (size_t i = 0; i < sites->sites.count; i++) {
        struct hs_live_site *site = all(sites)[i];
        if (!i || site->users)
            all(sites)[kept++] = site;
        else
            free_site(site);
    }
    sites->sites.count = kept;
    int failed = 0;
    for (size_t i = 0; i < kept && !failed; i++)
        failed = hs_id_map__set(&sites->site_of, all(sites)[i]->key, (uint32_t)i);
    return failed;
}

static int begin(struct hs_live_sites *sites)
{
    const struct hs_live_site others = {.program = strdup(""), .firmware = strdup(""), .frames = strdup("[others]")};
    return add_site(sites, &others) ? 0 : -ENOMEM;
}

static struct hs_live_site *site_of(struct hs_live_sites *sites, const struct hs_live_process *process,
                                    const struct hs_follow *follow, uint32_t stack)
{
    struct hs_follow_frame frames[HS_FOLLOW_FRAMES];
    size_t count = hs_follow__frames(follow, stack, frames);
    struct hs_live_site site = {.stack = hs_fleet_key__stack(follow, frames, count)};
    site.key = hs_fleet_key__mixed(site.stack + text_hash(process->program)) + text_hash(process->firmware);
    if (!sites->sites.count && begin(sites))
        return NULL;
    uint32_t known = hs_id_map__find(&sites->site_of, site.key);
    if (known != UINT32_MAX)
        return all(sites)[known];
    if (sites->sites.count >= HS_LIVE_SITES_MOST && sweep(sites))
        return NULL;
    if (sites->sites.count >= HS_LIVE_SITES_MOST)
        return all(sites)[0];
    site.program = strdup(process->program);
    site.firmware = strdup(process->firmware);
    site.frames = frames_text(follow, frames, count);
    return add_site(sites, &site);
}

// ---- processes -----------------------------------------------------------------------------------------------------

static struct live_member *member_of(struct hs_live_sites *sites, struct hs_live_process *process,
                                     const struct hs_follow *follow, uint32_t stack)
{
    uint32_t place = hs_id_map__find(&process->member_of, stack);
    if (place != UINT32_MAX)
        return (struct live_member *)process->members.data + place;
    struct hs_live_site *site = site_of(sites, process, follow, stack);
    struct live_member *member = site ? hs_array__add(&process->members, sizeof(*member)) : NULL;
    if (!member)
        return NULL;
    *member = (struct live_member){.site = site};
    if (hs_id_map__set(&process->member_of, stack, (uint32_t)process->members.count - 1)) {
        process->members.count--;
        return NULL;
    }
    site->users++;
    return member;
}

// Modulo 2^64, sums are right again at the end of the tick.
static void change(struct hs_follow_sums *sums, const struct hs_follow_sums *from, const struct hs_follow_sums *to)
{
    sums->in_use_bytes += to->in_use_bytes - from->in_use_bytes;
    sums->in_use_count += to->in_use_count - from->in_use_count;
    sums->allocated_bytes += to->allocated_bytes - from->allocated_bytes;
    sums->allocated_count += to->allocated_count - from->allocated_count;
}

// The part of the sums that the sites contain.
static struct hs_follow_sums shown(const struct hs_live_process *process, struct hs_follow_sums sums)
{
    if (process->apart)
        sums.in_use_bytes = sums.in_use_count = 0;
    return sums;
}

int hs_live_sites__add(struct hs_live_sites *sites, struct hs_live_process *process, const struct hs_follow *follow,
                       const struct hs_follow_tick *tick)
{
    for (size_t i = 0; i < tick->count; i++) {
        struct live_member *member = member_of(sites, process, follow, tick->sums[i].stack);
        if (!member)
            return -ENOMEM;
        const struct hs_follow_sums before = shown(process, member->last), now = shown(process, tick->sums[i]);
        change(&member->site->sums, &before, &now);
        member->last = tick->sums[i];
    }
    process->total = tick->total;
    return 0;
}

void hs_live_process__set_apart(struct hs_live_process *process, bool apart)
{
    struct live_member *members = process->members.data;
    if (process->apart == apart)
        return;
    for (size_t i = 0; i < process->members.count; i++) {
        const struct hs_follow_sums none = {.allocated_bytes = members[i].last.allocated_bytes,
                                            .allocated_count = members[i].last.allocated_count};
        change(&members[i].site->sums, apart ? &members[i].last : &none, apart ? &none : &members[i].last);
    }
    process->apart = apart;
}

void hs_live_process__leave(struct hs_live_process *process)
{
    struct live_member *members = process->members.data;
    hs_live_process__set_apart(process, true);
    for (size_t i = 0; i < process->members.count; i++)
        members[i].site->users--;
    hs_id_map__free(&process->member_of);
    free(process->members.data);
    process->members = (struct hs_array){0};
    process->total = (struct hs_follow_sums){0};
}

// ---- the largest ---------------------------------------------------------------------------------------------------

static bool is_before(const struct hs_live_site *a, const struct hs_live_site *b)
{
    if (a->sums.in_use_bytes != b->sums.in_use_bytes)
        return a->sums.in_use_bytes > b->sums.in_use_bytes;
    return a->key < b->key;
}

size_t hs_live_sites__top(const struct hs_live_sites *sites, const struct hs_live_site **top, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < sites->sites.count; i++) {
        const struct hs_live_site *site = all(sites)[i];
        if (!site->sums.in_use_bytes || (count == most && !is_before(site, top[most - 1])))
            continue;
        count += count < most;
        size_t at = count - 1;
        for (; at && is_before(site, top[at - 1]); at--)
            top[at] = top[at - 1];
        top[at] = site;
    }
    return count;
}
