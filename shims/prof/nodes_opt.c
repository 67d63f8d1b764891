// SPDX-License-Identifier: MIT OR Apache-2.0
//
// opt.*: what the options were set to. Those of the program's allocator are read back as they were given.
#include "runtime/prof/options.h"
#include "runtime/text.h"
#include "shims/prof/nodes.h"

static uint64_t remembered_text(const struct hs_call *call)
{
    return (uintptr_t)hs_prof_options__text(call->node->name);
}

static uint64_t remembered_boolean(const struct hs_call *call)
{
    return hs_text__equal(hs_prof_options__text(call->node->name), "true");
}

static uint64_t remembered_number(const struct hs_call *call)
{
    const char *text = hs_prof_options__text(call->node->name);
    uint64_t number = 0;
    hs_prof_options__number(text, text + hs_text__length(text), &number, NULL);
    return number;
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
    HS_VALUE("abort", HS_TYPE_BOOL, &hs_prof_options.abort),
    HS_VALUE("abort_conf", HS_TYPE_BOOL, &hs_prof_options.abort_conf),
    HS_READS("cache_oblivious", HS_TYPE_BOOL, remembered_boolean),
    HS_READS("trust_madvise", HS_TYPE_BOOL, remembered_boolean),
    HS_VALUE("confirm_conf", HS_TYPE_BOOL, &hs_prof_options.confirm_conf),
    HS_READS("hpa", HS_TYPE_BOOL, remembered_boolean),
    HS_READS("hpa_slab_max_alloc", HS_TYPE_SIZE, remembered_number),
    HS_READS("hpa_hugification_threshold", HS_TYPE_SIZE, remembered_number),
    HS_READS("hpa_hugify_delay_ms", HS_TYPE_64, remembered_number),
    HS_READS("hpa_min_purge_interval_ms", HS_TYPE_64, remembered_number),
    HS_READS("hpa_dirty_mult", HS_TYPE_UNSIGNED, remembered_fraction),
    HS_READS("hpa_sec_nshards", HS_TYPE_SIZE, remembered_number),
    HS_READS("hpa_sec_max_alloc", HS_TYPE_SIZE, remembered_number),
    HS_READS("hpa_sec_max_bytes", HS_TYPE_SIZE, remembered_number),
    HS_READS("hpa_sec_bytes_after_flush", HS_TYPE_SIZE, remembered_number),
    HS_READS("hpa_sec_batch_fill_extra", HS_TYPE_SIZE, remembered_number),
    HS_READS("metadata_thp", HS_TYPE_TEXT, remembered_text),
    HS_READS("retain", HS_TYPE_BOOL, remembered_boolean),
    HS_READS("dss", HS_TYPE_TEXT, remembered_text),
    HS_READS("narenas", HS_TYPE_UNSIGNED, arenas),
    HS_READS("percpu_arena", HS_TYPE_TEXT, remembered_text),
    HS_READS("oversize_threshold", HS_TYPE_SIZE, remembered_number),
    HS_READS("mutex_max_spin", HS_TYPE_64, remembered_number),
    HS_READS("background_thread", HS_TYPE_BOOL, remembered_boolean),
    HS_READS("max_background_threads", HS_TYPE_SIZE, remembered_number),
    HS_READS("dirty_decay_ms", HS_TYPE_SIZE, remembered_number),
    HS_READS("muzzy_decay_ms", HS_TYPE_SIZE, remembered_number),
    HS_VALUE("stats_print", HS_TYPE_BOOL, &hs_prof_options.stats_print),
    HS_VALUE("stats_print_opts", HS_TYPE_TEXT, hs_prof_options.stats_print_letters),
    HS_VALUE("stats_interval", HS_TYPE_64, &hs_prof_options.stats_interval),
    HS_VALUE("stats_interval_opts", HS_TYPE_TEXT, hs_prof_options.stats_interval_letters),
    HS_READS("junk", HS_TYPE_TEXT, remembered_text),
    HS_READS("zero", HS_TYPE_BOOL, remembered_boolean),
    HS_ABSENT("utrace"),
    HS_ABSENT("xmalloc"),
    HS_READS("experimental_infallible_new", HS_TYPE_BOOL, remembered_boolean),
    HS_READS("tcache", HS_TYPE_BOOL, remembered_boolean),
    HS_READS("tcache_max", HS_TYPE_SIZE, remembered_number),
    HS_READS("tcache_nslots_small_min", HS_TYPE_UNSIGNED, remembered_number),
    HS_READS("tcache_nslots_small_max", HS_TYPE_UNSIGNED, remembered_number),
    HS_READS("tcache_nslots_large", HS_TYPE_UNSIGNED, remembered_number),
    HS_READS("lg_tcache_nslots_mul", HS_TYPE_SIZE, remembered_number),
    HS_READS("tcache_gc_incr_bytes", HS_TYPE_SIZE, remembered_number),
    HS_READS("tcache_gc_delay_bytes", HS_TYPE_SIZE, remembered_number),
    HS_READS("lg_tcache_flush_small_div", HS_TYPE_UNSIGNED, remembered_number),
    HS_READS("lg_tcache_flush_large_div", HS_TYPE_UNSIGNED, remembered_number),
    HS_READS("thp", HS_TYPE_TEXT, remembered_text),
    HS_READS("lg_extent_max_active_fit", HS_TYPE_SIZE, remembered_number),
    HS_VALUE("prof", HS_TYPE_BOOL, &hs_prof_options.prof),
    HS_VALUE("prof_prefix", HS_TYPE_TEXT, hs_prof_options.prefix),
    HS_VALUE("prof_active", HS_TYPE_BOOL, &hs_prof_options.active),
    HS_VALUE("prof_thread_active_init", HS_TYPE_BOOL, &hs_prof_options.thread_active_init),
    HS_READS("lg_prof_sample", HS_TYPE_SIZE, lg_sample),
    HS_READS("lg_prof_interval", HS_TYPE_SIZE, lg_interval),
    HS_VALUE("prof_gdump", HS_TYPE_BOOL, &hs_prof_options.gdump),
    HS_VALUE("prof_final", HS_TYPE_BOOL, &hs_prof_options.final),
    HS_VALUE("prof_leak", HS_TYPE_BOOL, &hs_prof_options.leak),
    HS_VALUE("prof_leak_error", HS_TYPE_BOOL, &hs_prof_options.leak_error),
    HS_VALUE("prof_accum", HS_TYPE_BOOL, &hs_prof_options.accum),
    HS_READS("prof_recent_alloc_max", HS_TYPE_SIZE, recent_max),
    HS_VALUE("prof_stats", HS_TYPE_BOOL, &hs_prof_options.stats),
    HS_VALUE("prof_sys_thread_name", HS_TYPE_BOOL, &hs_prof_options.sys_thread_name),
    HS_READS("prof_time_resolution", HS_TYPE_TEXT, time_resolution),
    HS_ABSENT("lg_san_uaf_align"),
    HS_READS("zero_realloc", HS_TYPE_TEXT, zero_realloc),
    HS_READS("prof_bt_max", HS_TYPE_UNSIGNED, max_frames),
    HS_VALUE("prof_pid_namespace", HS_TYPE_BOOL, &hs_prof_options.pid_namespace),
};
