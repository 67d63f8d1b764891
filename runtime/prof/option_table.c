// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/option_table.h"

#include "runtime/config.h"
#include "runtime/prof/option_values.h"

#include <stddef.h>

struct hs_prof_options hs_prof_options = {
    .active = true,
    .thread_active_init = true,
    .unbias = true,
    .lg_sample = 19,
    .lg_interval = -1,
    .max_frames = 1024,
    .stats_interval = -1,
};

struct hs_prof_texts hs_prof_texts;

#define ANY  UINT64_MAX
#define MOST INT64_MAX

#define MOST_MS 18446744072000        // of jemalloc's times
#define LARGEST 0x7000000000000000ull // size class

// A list of OPTION(key, text, choices, minimum, maximum, place, object, field, kind, limits).
#define NUMBER(key, field, kind, limits, minimum, maximum)                                                             \
    OPTION(key, "", "", minimum, maximum, SAMPLER, hs_prof_options, field, kind, limits)
#define BOOLEAN(key, field)         NUMBER(key, field, BOOLEAN, REJECTS, 0, 0)
#define TEXT(key, field)            OPTION(key, "", "", 0, 0, TEXTS, hs_prof_texts, field, TEXT, REJECTS)
#define LETTERS(key, field)         NUMBER(key, field, LETTERS, REJECTS, 0, 0)
#define CHOICE(key, field, choices) OPTION(key, "", choices, 0, 0, SAMPLER, hs_prof_options, field, CHOICE, REJECTS)
#define SIZE(key, field, minimum)   NUMBER(key, field, SIZE, REJECTS, minimum, ANY)

// Options that the recording shim reads only from the environment.
#define CONFIGURED(key, field, choices, kind) OPTION(key, "", choices, 0, ANY, CONFIG, hs_config, field, kind, REJECTS)

// Options of the allocator, which have no effect here: checked like in jemalloc, and stored.
#define OTHER(key, initial, choices, kind, limits, minimum, maximum)                                                   \
    OPTION(key, initial, choices, minimum, maximum, NOWHERE, hs_prof_options, prof, kind, limits)
#define IGNORED(key, initial, kind, limits, minimum, maximum) OTHER(key, initial, "", kind, limits, minimum, maximum)
#define IGNORED_BOOLEAN(key, initial)                         IGNORED(key, initial, BOOLEAN, REJECTS, 0, 0)
#define IGNORED_UNSIGNED(key, initial, limits, minimum, maximum)                                                       \
    IGNORED(key, initial, UNSIGNED, limits, minimum, maximum)
#define IGNORED_SIGNED(key, initial, minimum, maximum) IGNORED(key, initial, SIGNED, REJECTS, minimum, maximum)
#define IGNORED_TEXT(key, initial)                     IGNORED(key, initial, TEXT, REJECTS, 0, 0)
#define IGNORED_RANGES(key, initial)                   IGNORED(key, initial, RANGES, REJECTS, 0, 0)
#define IGNORED_CHOICE(key, initial, choices)          OTHER(key, initial, choices, CHOICE, REJECTS, 0, 0)

#define OPTIONS                                                                                                        \
    BOOLEAN(prof, prof)                                                                                                \
    BOOLEAN(prof_active, active)                                                                                       \
    BOOLEAN(prof_thread_active_init, thread_active_init)                                                               \
    TEXT(prof_prefix, prefix)                                                                                          \
    NUMBER(lg_prof_sample, lg_sample, UNSIGNED, CLIPS, 0, 63)                                                          \
    NUMBER(lg_prof_interval, lg_interval, SIGNED, REJECTS, -1, 63)                                                     \
    BOOLEAN(prof_gdump, gdump)                                                                                         \
    BOOLEAN(prof_final, final)                                                                                         \
    BOOLEAN(prof_leak, leak)                                                                                           \
    BOOLEAN(prof_leak_error, leak_error)                                                                               \
    BOOLEAN(prof_accum, accum)                                                                                         \
    NUMBER(prof_bt_max, max_frames, UNSIGNED, CLIPS, 1, UINT32_MAX)                                                    \
    BOOLEAN(prof_log, log)                                                                                             \
    NUMBER(prof_recent_alloc_max, recent_max, SIGNED, REJECTS, -1, MOST)                                               \
    BOOLEAN(prof_stats, stats)                                                                                         \
    BOOLEAN(prof_sys_thread_name, sys_thread_name)                                                                     \
    CHOICE(prof_time_resolution, time_high, "default|high")                                                            \
    BOOLEAN(prof_unbias, unbias)                                                                                       \
    BOOLEAN(prof_pid_namespace, pid_namespace)                                                                         \
    BOOLEAN(abort, abort)                                                                                              \
    BOOLEAN(abort_conf, abort_conf)                                                                                    \
    BOOLEAN(confirm_conf, confirm_conf)                                                                                \
    BOOLEAN(stats_print, stats_print)                                                                                  \
    LETTERS(stats_print_opts, stats_print_letters)                                                                     \
    NUMBER(stats_interval, stats_interval, SIGNED, REJECTS, -1, MOST)                                                  \
    LETTERS(stats_interval_opts, stats_interval_letters)                                                               \
    CHOICE(zero_realloc, zero_realloc, "|free|alloc|abort")                                                            \
    SIZE(experimental_hs_sample, sample_bytes, 1)                                                                      \
    SIZE(experimental_hs_interval, interval_bytes, 0)                                                                  \
    CHOICE(experimental_hs_size_model, size_model, "usable|request|jemalloc")                                          \
    CHOICE(experimental_hs_format, dump_format, "heap_v2|text|proto|symbolized|collapsed")                             \
    NUMBER(experimental_hs_seed, seed, UNSIGNED, REJECTS, 0, ANY)                                                      \
    TEXT(experimental_hs_name, name_template)                                                                          \
    SIZE(experimental_hs_peak_floor, peak_floor, 0)                                                                    \
    OPTION(experimental_hs_peak_step, "", "", 0, ANY, SAMPLER, hs_prof_options, peak_step, STEP, REJECTS)              \
    BOOLEAN(experimental_hs_peak_keep, peak_keep_highest)                                                              \
    NUMBER(experimental_hs_max_files, max_files, UNSIGNED, REJECTS, 0, ANY)                                            \
    SIZE(experimental_hs_max_bytes, max_total, 0)                                                                      \
    NUMBER(experimental_hs_min_seconds, min_seconds, UNSIGNED, REJECTS, 0, ANY)                                        \
    BOOLEAN(experimental_hs_final_always, dump_on_exit_paths)                                                          \
    BOOLEAN(experimental_hs_control, control)                                                                          \
    TEXT(experimental_hs_control_path, control_path)                                                                   \
    CONFIGURED(experimental_hs_connect, connect, "", TEXT)                                                             \
    CONFIGURED(experimental_hs_enable_server, server, "", BOOLEAN)                                                     \
    CONFIGURED(experimental_hs_enable_broadcast, broadcast, "", BOOLEAN)                                               \
    CONFIGURED(experimental_hs_base_server_port, base_server_port, "", UNSIGNED)                                       \
    CONFIGURED(experimental_hs_key_file, key_file, "", TEXT)                                                           \
    CONFIGURED(experimental_hs_insecure, insecure, "", BOOLEAN)                                                        \
    CONFIGURED(experimental_hs_device, device, "", TEXT)                                                               \
    CONFIGURED(experimental_hs_stream_policy, policy, "block|drop|spill", CHOICE)                                      \
    CONFIGURED(experimental_hs_stream_buffer, stream_buffer, "", SIZE)                                                 \
    CONFIGURED(experimental_hs_memory, memory, "", SIZE)                                                               \
    CONFIGURED(experimental_hs_spill_file, spill_file, "", TEXT)                                                       \
    CONFIGURED(experimental_hs_spill_size, spill_size, "", SIZE)                                                       \
    IGNORED_BOOLEAN(background_thread, "false")                                                                        \
    IGNORED_RANGES(bin_shards, "")                                                                                     \
    IGNORED_BOOLEAN(cache_oblivious, "true")                                                                           \
    IGNORED_UNSIGNED(calloc_madvise_threshold, "0", CLIPS, 0, ANY)                                                     \
    IGNORED_UNSIGNED(debug_double_free_max_scan, "0", CLIPS, 0, ANY)                                                   \
    IGNORED_SIGNED(dirty_decay_ms, "10000", -1, MOST_MS)                                                               \
    IGNORED_BOOLEAN(disable_large_size_classes, "false")                                                               \
    IGNORED_CHOICE(dss, "secondary", "disabled|primary|secondary")                                                     \
    IGNORED_BOOLEAN(experimental_hpa_start_huge_if_thp_always, "false")                                                \
    IGNORED_BOOLEAN(experimental_hpa_enforce_hugify, "false")                                                          \
    IGNORED_TEXT(experimental_hpa_max_purge_nhp, "")                                                                   \
    IGNORED_BOOLEAN(experimental_infallible_new, "false")                                                              \
    IGNORED_BOOLEAN(experimental_tcache_gc, "true")                                                                    \
    IGNORED_BOOLEAN(hpa, "false")                                                                                      \
    IGNORED(hpa_dirty_mult, "0.25", FRACTION, REJECTS, 0, 0)                                                           \
    IGNORED_UNSIGNED(hpa_hugification_threshold, "1992294", CLIPS, 4096, 2097152)                                      \
    IGNORED(hpa_hugification_threshold_ratio, "0.95", FRACTION, REJECTS, 0, 0)                                         \
    IGNORED_UNSIGNED(hpa_hugify_delay_ms, "10000", REJECTS, 0, ANY)                                                    \
    IGNORED_TEXT(hpa_hugify_style, "")                                                                                 \
    IGNORED_UNSIGNED(hpa_min_purge_delay_ms, "0", REJECTS, 0, ANY)                                                     \
    IGNORED_UNSIGNED(hpa_min_purge_interval_ms, "5000", REJECTS, 0, ANY)                                               \
    IGNORED_TEXT(hpa_purge_threshold, "")                                                                              \
    IGNORED_TEXT(hpa_purge_threshold_ratio, "")                                                                        \
    IGNORED_UNSIGNED(hpa_sec_batch_fill_extra, "0", CLIPS, 0, 512)                                                     \
    IGNORED_UNSIGNED(hpa_sec_bytes_after_flush, "131072", CLIPS, 4096, ANY)                                            \
    IGNORED_UNSIGNED(hpa_sec_max_alloc, "32768", CLIPS, 4096, ANY)                                                     \
    IGNORED_UNSIGNED(hpa_sec_max_bytes, "262144", CLIPS, 4096, ANY)                                                    \
    IGNORED_UNSIGNED(hpa_sec_nshards, "4", CLIPS, 0, ANY)                                                              \
    IGNORED_UNSIGNED(hpa_slab_max_alloc, "65536", CLIPS, 4096, 2097152)                                                \
    IGNORED_BOOLEAN(huge_arena_pac_thp, "false")                                                                       \
    IGNORED_CHOICE(junk, "false", "true|alloc|free|false")                                                             \
    IGNORED_UNSIGNED(lg_extent_max_active_fit, "6", REJECTS, 0, 64)                                                    \
    IGNORED_UNSIGNED(lg_san_uaf_align, "0", REJECTS, 0, 64)                                                            \
    IGNORED_UNSIGNED(lg_tcache_flush_large_div, "1", CLIPS, 1, 16)                                                     \
    IGNORED_UNSIGNED(lg_tcache_flush_small_div, "1", CLIPS, 1, 16)                                                     \
    IGNORED_UNSIGNED(lg_tcache_max, "15", CLIPS, 0, 23)                                                                \
    IGNORED_SIGNED(lg_tcache_nslots_mul, "1", -16, 16)                                                                 \
    IGNORED_UNSIGNED(max_background_threads, "4", CLIPS, 1, 4)                                                         \
    IGNORED_CHOICE(metadata_thp, "disabled", "disabled|auto|always")                                                   \
    IGNORED_SIGNED(muzzy_decay_ms, "0", -1, MOST_MS)                                                                   \
    IGNORED_SIGNED(mutex_max_spin, "600", -1, MOST)                                                                    \
    IGNORED_UNSIGNED(narenas, "default", REJECTS, 1, ANY)                                                              \
    IGNORED(narenas_ratio, "4", FRACTION, REJECTS, 0, 0)                                                               \
    IGNORED_UNSIGNED(oversize_threshold, "8388608", REJECTS, 0, LARGEST)                                               \
    IGNORED_CHOICE(percpu_arena, "disabled", "percpu|phycpu|disabled")                                                 \
    IGNORED_UNSIGNED(process_madvise_max_batch, "0", CLIPS, 0, ANY)                                                    \
    IGNORED_BOOLEAN(retain, "true")                                                                                    \
    IGNORED_UNSIGNED(san_guard_large, "0", REJECTS, 0, ANY)                                                            \
    IGNORED_UNSIGNED(san_guard_small, "0", REJECTS, 0, ANY)                                                            \
    IGNORED_RANGES(slab_sizes, "")                                                                                     \
    IGNORED_BOOLEAN(tcache, "true")                                                                                    \
    IGNORED_UNSIGNED(tcache_gc_delay_bytes, "0", CLIPS, 0, ANY)                                                        \
    IGNORED_UNSIGNED(tcache_gc_incr_bytes, "65536", CLIPS, 1024, ANY)                                                  \
    IGNORED_UNSIGNED(tcache_max, "32768", CLIPS, 0, 8388608)                                                           \
    IGNORED_TEXT(tcache_ncached_max, "")                                                                               \
    IGNORED_UNSIGNED(tcache_nslots_large, "20", CLIPS, 1, 2048)                                                        \
    IGNORED_UNSIGNED(tcache_nslots_small_max, "200", CLIPS, 1, 2048)                                                   \
    IGNORED_UNSIGNED(tcache_nslots_small_min, "20", CLIPS, 1, 2048)                                                    \
    IGNORED_CHOICE(thp, "default", "default|always|never")                                                             \
    IGNORED_BOOLEAN(trust_madvise, "false")                                                                            \
    IGNORED_BOOLEAN(utrace, "false")                                                                                   \
    IGNORED_BOOLEAN(xmalloc, "false")                                                                                  \
    IGNORED_BOOLEAN(zero, "false")

// The texts of each option, one behind the other: key, initial text, choices. The table holds offsets, since each
// address would take a relocation in the shims' files.
#define ALL_TEXTS(key, text, choices) #key "\0" text "\0" choices
#define OPTION(key, text, choices, minimum, maximum, place, object, field, kind, limits)                               \
    char key[sizeof ALL_TEXTS(key, text, choices)];
static const struct texts {
    OPTIONS
#undef OPTION
#define OPTION(key, text, choices, minimum, maximum, place, object, field, kind, limits) ALL_TEXTS(key, text, choices),
} texts = {OPTIONS};
#undef OPTION

#define OPTION(key, text, choices, minimum, maximum, place, object, field, kind, limits)                               \
    {maximum,                                                                                                          \
     minimum,                                                                                                          \
     offsetof(struct texts, key),                                                                                      \
     offsetof(struct object, field),                                                                                   \
     sizeof object.field,                                                                                              \
     HS_OPTION_##kind,                                                                                                 \
     HS_OPTION_##limits,                                                                                               \
     HS_OPTION_##place},
const struct hs_option hs_option_table[] = {OPTIONS};

const uint32_t hs_option_count = sizeof hs_option_table / sizeof *hs_option_table;

const char *hs_option__key(const struct hs_option *option)
{
    return (const char *)&texts + option->texts;
}

static const char *behind(const char *text)
{
    while (*text++)
        continue;
    return text;
}

const char *hs_option__text(const struct hs_option *option)
{
    return behind(hs_option__key(option));
}

const char *hs_option__choices(const struct hs_option *option)
{
    return behind(hs_option__text(option));
}

void *hs_option__value(const struct hs_option *option)
{
    switch (option->place) {
    case HS_OPTION_SAMPLER:
        return (uint8_t *)&hs_prof_options + option->offset;
    case HS_OPTION_TEXTS:
        return (uint8_t *)&hs_prof_texts + option->offset;
    case HS_OPTION_CONFIG:
        return (uint8_t *)&hs_config + option->offset;
    default:
        return NULL;
    }
}
