// SPDX-License-Identifier: MIT OR Apache-2.0
//
// opt.*: what the options were set to. Those of the program's allocator are read back as they were given.
#include "runtime/prof/options.h"
#include "runtime/text.h"
#include "shims/prof/nodes.h"

static uint64_t remembered_number(const struct hs_call *call)
{
    const char *text = hs_prof_options__text(call->node->name);
    uint64_t number = 0;
    hs_prof_options__number(text, text + hs_text__length(text), &number, NULL);
    return number;
}

uint64_t hs_node__remembered(const struct hs_call *call)
{
    const char *text = hs_prof_options__text(call->node->name);
    switch (call->node->type) {
    case HS_TYPE_TEXT:
        return (uintptr_t)text;
    case HS_TYPE_BOOL:
        return hs_text__equal(text, "true");
    default:
        return remembered_number(call);
    }
}

// "0.25" in 1/65536, as jemalloc keeps it; "-1" has all bits set.
static uint64_t remembered_fraction(const struct hs_call *call)
{
    const char *text = hs_prof_options__text(call->node->name);
    if (*text == '-')
        return UINT32_MAX;
    uint32_t whole = (uint32_t)hs_text__parse(&text, 10), numerator = 0, denominator = 1;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9' && denominator < 10000; text++) {
            numerator = numerator * 10 + (uint32_t)(*text - '0');
            denominator *= 10;
        }
    return (whole << 16) + (numerator << 16) / denominator;
}

// "default" is four arenas for each processor; here there is the one of the program's allocator.
static uint64_t arenas(const struct hs_call *call)
{
    uint64_t number = remembered_number(call);
    return number ? number : 1;
}

static uint64_t lg_sample(const struct hs_call *call)
{
    (void)call;
    return hs_prof_options.lg_sample;
}

static uint64_t lg_interval(const struct hs_call *call)
{
    (void)call;
    return (uint64_t)hs_prof_options.lg_interval;
}

static uint64_t recent_max(const struct hs_call *call)
{
    (void)call;
    return (uint64_t)hs_prof_options.recent_max;
}

static uint64_t time_resolution(const struct hs_call *call)
{
    (void)call;
    return (uintptr_t)(hs_prof_options.time_high ? "high" : "default");
}

static uint64_t zero_realloc(const struct hs_call *call)
{
    (void)call;
    switch (hs_prof_options.zero_realloc) {
    case HS_ZERO_REALLOC_ALLOC:
        return (uintptr_t) "alloc";
    case HS_ZERO_REALLOC_ABORT:
        return (uintptr_t) "abort";
    default:
        return (uintptr_t) "free";
    }
}

// Behind jemalloc 5.3.0's come those of later versions.
static uint64_t max_frames(const struct hs_call *call)
{
    (void)call;
    return hs_prof_options.max_frames;
}

const struct hs_node hs_nodes_opt[HS_OPT_NODES] = {
    HS_OPTION("abort", HS_TYPE_BOOL, abort),
    HS_OPTION("abort_conf", HS_TYPE_BOOL, abort_conf),
    HS_REMEMBERED("cache_oblivious", HS_TYPE_BOOL),
    HS_REMEMBERED("trust_madvise", HS_TYPE_BOOL),
    HS_OPTION("confirm_conf", HS_TYPE_BOOL, confirm_conf),
    HS_REMEMBERED("hpa", HS_TYPE_BOOL),
    HS_REMEMBERED("hpa_slab_max_alloc", HS_TYPE_SIZE),
    HS_REMEMBERED("hpa_hugification_threshold", HS_TYPE_SIZE),
    HS_REMEMBERED("hpa_hugify_delay_ms", HS_TYPE_64),
    HS_REMEMBERED("hpa_min_purge_interval_ms", HS_TYPE_64),
    HS_READS("hpa_dirty_mult", HS_TYPE_UNSIGNED, remembered_fraction),
    HS_REMEMBERED("hpa_sec_nshards", HS_TYPE_SIZE),
    HS_REMEMBERED("hpa_sec_max_alloc", HS_TYPE_SIZE),
    HS_REMEMBERED("hpa_sec_max_bytes", HS_TYPE_SIZE),
    HS_REMEMBERED("hpa_sec_bytes_after_flush", HS_TYPE_SIZE),
    HS_REMEMBERED("hpa_sec_batch_fill_extra", HS_TYPE_SIZE),
    HS_REMEMBERED("metadata_thp", HS_TYPE_TEXT),
    HS_REMEMBERED("retain", HS_TYPE_BOOL),
    HS_REMEMBERED("dss", HS_TYPE_TEXT),
    HS_READS("narenas", HS_TYPE_UNSIGNED, arenas),
    HS_REMEMBERED("percpu_arena", HS_TYPE_TEXT),
    HS_REMEMBERED("oversize_threshold", HS_TYPE_SIZE),
    HS_REMEMBERED("mutex_max_spin", HS_TYPE_64),
    HS_REMEMBERED("background_thread", HS_TYPE_BOOL),
    HS_REMEMBERED("max_background_threads", HS_TYPE_SIZE),
    HS_REMEMBERED("dirty_decay_ms", HS_TYPE_SIZE),
    HS_REMEMBERED("muzzy_decay_ms", HS_TYPE_SIZE),
    HS_OPTION("stats_print", HS_TYPE_BOOL, stats_print),
    HS_OPTION("stats_print_opts", HS_TYPE_TEXT, stats_print_letters),
    HS_OPTION("stats_interval", HS_TYPE_64, stats_interval),
    HS_OPTION("stats_interval_opts", HS_TYPE_TEXT, stats_interval_letters),
    HS_REMEMBERED("junk", HS_TYPE_TEXT),
    HS_REMEMBERED("zero", HS_TYPE_BOOL),
    HS_ABSENT("utrace"),
    HS_ABSENT("xmalloc"),
    HS_REMEMBERED("experimental_infallible_new", HS_TYPE_BOOL),
    HS_REMEMBERED("tcache", HS_TYPE_BOOL),
    HS_REMEMBERED("tcache_max", HS_TYPE_SIZE),
    HS_REMEMBERED("tcache_nslots_small_min", HS_TYPE_UNSIGNED),
    HS_REMEMBERED("tcache_nslots_small_max", HS_TYPE_UNSIGNED),
    HS_REMEMBERED("tcache_nslots_large", HS_TYPE_UNSIGNED),
    HS_REMEMBERED("lg_tcache_nslots_mul", HS_TYPE_SIZE),
    HS_REMEMBERED("tcache_gc_incr_bytes", HS_TYPE_SIZE),
    HS_REMEMBERED("tcache_gc_delay_bytes", HS_TYPE_SIZE),
    HS_REMEMBERED("lg_tcache_flush_small_div", HS_TYPE_UNSIGNED),
    HS_REMEMBERED("lg_tcache_flush_large_div", HS_TYPE_UNSIGNED),
    HS_REMEMBERED("thp", HS_TYPE_TEXT),
    HS_REMEMBERED("lg_extent_max_active_fit", HS_TYPE_SIZE),
    HS_OPTION("prof", HS_TYPE_BOOL, prof),
    HS_VALUE("prof_prefix", HS_TYPE_TEXT, hs_prof_texts.prefix),
    HS_OPTION("prof_active", HS_TYPE_BOOL, active),
    HS_OPTION("prof_thread_active_init", HS_TYPE_BOOL, thread_active_init),
    HS_READS("lg_prof_sample", HS_TYPE_SIZE, lg_sample),
    HS_READS("lg_prof_interval", HS_TYPE_SIZE, lg_interval),
    HS_OPTION("prof_gdump", HS_TYPE_BOOL, gdump),
    HS_OPTION("prof_final", HS_TYPE_BOOL, final),
    HS_OPTION("prof_leak", HS_TYPE_BOOL, leak),
    HS_OPTION("prof_leak_error", HS_TYPE_BOOL, leak_error),
    HS_OPTION("prof_accum", HS_TYPE_BOOL, accum),
    HS_READS("prof_recent_alloc_max", HS_TYPE_SIZE, recent_max),
    HS_OPTION("prof_stats", HS_TYPE_BOOL, stats),
    HS_OPTION("prof_sys_thread_name", HS_TYPE_BOOL, sys_thread_name),
    HS_READS("prof_time_resolution", HS_TYPE_TEXT, time_resolution),
    HS_ABSENT("lg_san_uaf_align"),
    HS_READS("zero_realloc", HS_TYPE_TEXT, zero_realloc),
    HS_READS("prof_bt_max", HS_TYPE_UNSIGNED, max_frames),
    HS_OPTION("prof_pid_namespace", HS_TYPE_BOOL, pid_namespace),
};
