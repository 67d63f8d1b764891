// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/option_table.h"

#include "runtime/config.h"
#include "runtime/prof/option_values.h"

struct hs_prof_options hs_prof_options = {
    .active = true,
    .thread_active_init = true,
    .unbias = true,
    .lg_sample = 19,
    .lg_interval = -1,
    .max_frames = 1024,
    .stats_interval = -1,
    .prefix = "jeprof",
};

#define ANY  UINT64_MAX
#define MOST INT64_MAX

#define MOST_MS 18446744072000        // of jemalloc's times
#define LARGEST 0x7000000000000000ull // size class

#define BOOLEAN(key, field)                                                                                            \
    {                                                                                                                  \
        key, 0, 0, 0, 0, &hs_prof_options.field, HS_OPTION_BOOLEAN, HS_OPTION_REJECTS, sizeof hs_prof_options.field    \
    }
#define NUMBER(key, field, kind, limits, minimum, maximum)                                                             \
    {                                                                                                                  \
        key, 0, 0, minimum, maximum, &hs_prof_options.field, kind, limits, sizeof hs_prof_options.field                \
    }
#define TEXT(key, field)                                                                                               \
    {                                                                                                                  \
        key, 0, 0, 0, 0, &hs_prof_options.field, HS_OPTION_TEXT, HS_OPTION_REJECTS, sizeof hs_prof_options.field       \
    }
#define LETTERS(key, field)                                                                                            \
    {                                                                                                                  \
        key, 0, 0, 0, 0, &hs_prof_options.field, HS_OPTION_LETTERS, HS_OPTION_REJECTS, sizeof hs_prof_options.field    \
    }
#define CHOICE(key, field, choices)                                                                                    \
    {                                                                                                                  \
        key, 0, choices, 0, 0, &hs_prof_options.field, HS_OPTION_CHOICE, HS_OPTION_REJECTS,                            \
            sizeof hs_prof_options.field                                                                               \
    }
#define SIZE(key, field, minimum) NUMBER(key, field, HS_OPTION_SIZE, HS_OPTION_REJECTS, minimum, ANY)

// Options that the recording shim reads only from the environment.
#define CONFIGURED(key, field, choices, kind)                                                                          \
    {                                                                                                                  \
        key, 0, choices, 0, ANY, &hs_config.field, kind, HS_OPTION_REJECTS, sizeof hs_config.field                     \
    }

// Options of the allocator, which have no effect here: checked like in jemalloc, and stored.
#define IGNORED(key, initial, kind, limits, minimum, maximum)                                                          \
    {                                                                                                                  \
        key, initial, 0, minimum, maximum, 0, kind, limits, 0                                                          \
    }
#define IGNORED_BOOLEAN(key, initial) IGNORED(key, initial, HS_OPTION_BOOLEAN, HS_OPTION_REJECTS, 0, 0)
#define IGNORED_UNSIGNED(key, initial, limits, minimum, maximum)                                                       \
    IGNORED(key, initial, HS_OPTION_UNSIGNED, limits, minimum, maximum)
#define IGNORED_SIGNED(key, initial, minimum, maximum)                                                                 \
    IGNORED(key, initial, HS_OPTION_SIGNED, HS_OPTION_REJECTS, minimum, maximum)
#define IGNORED_TEXT(key, initial)   IGNORED(key, initial, HS_OPTION_TEXT, HS_OPTION_REJECTS, 0, 0)
#define IGNORED_RANGES(key, initial) IGNORED(key, initial, HS_OPTION_RANGES, HS_OPTION_REJECTS, 0, 0)
#define IGNORED_CHOICE(key, initial, choices)                                                                          \
    {                                                                                                                  \
        key, initial, choices, 0, 0, 0, HS_OPTION_CHOICE, HS_OPTION_REJECTS, 0                                         \
    }

const struct hs_option hs_option_table[] = {
    BOOLEAN("prof", prof),
    BOOLEAN("prof_active", active),
    BOOLEAN("prof_thread_active_init", thread_active_init),
    TEXT("prof_prefix", prefix),
    NUMBER("lg_prof_sample", lg_sample, HS_OPTION_UNSIGNED, HS_OPTION_CLIPS, 0, 63),
    NUMBER("lg_prof_interval", lg_interval, HS_OPTION_SIGNED, HS_OPTION_REJECTS, -1, 63),
    BOOLEAN("prof_gdump", gdump),
    BOOLEAN("prof_final", final),
    BOOLEAN("prof_leak", leak),
    BOOLEAN("prof_leak_error", leak_error),
    BOOLEAN("prof_accum", accum),
    NUMBER("prof_bt_max", max_frames, HS_OPTION_UNSIGNED, HS_OPTION_CLIPS, 1, UINT32_MAX),
    BOOLEAN("prof_log", log),
    NUMBER("prof_recent_alloc_max", recent_max, HS_OPTION_SIGNED, HS_OPTION_REJECTS, -1, MOST),
    BOOLEAN("prof_stats", stats),
    BOOLEAN("prof_sys_thread_name", sys_thread_name),
    CHOICE("prof_time_resolution", time_high, "default|high"),
    BOOLEAN("prof_unbias", unbias),
    BOOLEAN("prof_pid_namespace", pid_namespace),
    BOOLEAN("abort", abort),
    BOOLEAN("abort_conf", abort_conf),
    BOOLEAN("confirm_conf", confirm_conf),
    BOOLEAN("stats_print", stats_print),
    LETTERS("stats_print_opts", stats_print_letters),
    NUMBER("stats_interval", stats_interval, HS_OPTION_SIGNED, HS_OPTION_REJECTS, -1, MOST),
    LETTERS("stats_interval_opts", stats_interval_letters),
    CHOICE("zero_realloc", zero_realloc, "|free|alloc|abort"),

    SIZE("experimental_hs_sample", sample_bytes, 1),
    SIZE("experimental_hs_interval", interval_bytes, 0),
    CHOICE("experimental_hs_size_model", size_model, "usable|request|jemalloc"),
    CHOICE("experimental_hs_format", dump_format, "heap_v2|text|proto|symbolized|collapsed"),
    NUMBER("experimental_hs_seed", seed, HS_OPTION_UNSIGNED, HS_OPTION_REJECTS, 0, ANY),
    TEXT("experimental_hs_name", name_template),
    SIZE("experimental_hs_peak_floor", peak_floor, 0),
    {"experimental_hs_peak_step", 0, 0, 0, ANY, &hs_prof_options.peak_step, HS_OPTION_STEP, HS_OPTION_REJECTS, 8},
    BOOLEAN("experimental_hs_peak_keep", peak_keep_highest),
    NUMBER("experimental_hs_max_files", max_files, HS_OPTION_UNSIGNED, HS_OPTION_REJECTS, 0, ANY),
    SIZE("experimental_hs_max_bytes", max_total, 0),
    NUMBER("experimental_hs_min_seconds", min_seconds, HS_OPTION_UNSIGNED, HS_OPTION_REJECTS, 0, ANY),
    BOOLEAN("experimental_hs_final_always", dump_on_exit_paths),
    BOOLEAN("experimental_hs_control", control),
    TEXT("experimental_hs_control_path", control_path),

    CONFIGURED("experimental_hs_connect", connect, 0, HS_OPTION_TEXT),
    CONFIGURED("experimental_hs_enable_server", server, 0, HS_OPTION_BOOLEAN),
    CONFIGURED("experimental_hs_enable_broadcast", broadcast, 0, HS_OPTION_BOOLEAN),
    CONFIGURED("experimental_hs_base_server_port", base_server_port, 0, HS_OPTION_UNSIGNED),
    CONFIGURED("experimental_hs_key_file", key_file, 0, HS_OPTION_TEXT),
    CONFIGURED("experimental_hs_insecure", insecure, 0, HS_OPTION_BOOLEAN),
    CONFIGURED("experimental_hs_device", device, 0, HS_OPTION_TEXT),
    CONFIGURED("experimental_hs_stream_policy", policy, "block|drop|spill", HS_OPTION_CHOICE),
    CONFIGURED("experimental_hs_stream_buffer", stream_buffer, 0, HS_OPTION_SIZE),
    CONFIGURED("experimental_hs_memory", memory, 0, HS_OPTION_SIZE),
    CONFIGURED("experimental_hs_spill_file", spill_file, 0, HS_OPTION_TEXT),
    CONFIGURED("experimental_hs_spill_size", spill_size, 0, HS_OPTION_SIZE),

    IGNORED_BOOLEAN("background_thread", "false"),
    IGNORED_RANGES("bin_shards", ""),
    IGNORED_BOOLEAN("cache_oblivious", "true"),
    IGNORED_UNSIGNED("calloc_madvise_threshold", "0", HS_OPTION_CLIPS, 0, ANY),
    IGNORED_UNSIGNED("debug_double_free_max_scan", "0", HS_OPTION_CLIPS, 0, ANY),
    IGNORED_SIGNED("dirty_decay_ms", "10000", -1, MOST_MS),
    IGNORED_BOOLEAN("disable_large_size_classes", "false"),
    IGNORED_CHOICE("dss", "secondary", "disabled|primary|secondary"),
    IGNORED_BOOLEAN("experimental_hpa_start_huge_if_thp_always", "false"),
    IGNORED_BOOLEAN("experimental_hpa_enforce_hugify", "false"),
    IGNORED_TEXT("experimental_hpa_max_purge_nhp", ""),
    IGNORED_BOOLEAN("experimental_infallible_new", "false"),
    IGNORED_BOOLEAN("experimental_tcache_gc", "true"),
    IGNORED_BOOLEAN("hpa", "false"),
    IGNORED("hpa_dirty_mult", "0.25", HS_OPTION_FRACTION, HS_OPTION_REJECTS, 0, 0),
    IGNORED_UNSIGNED("hpa_hugification_threshold", "1992294", HS_OPTION_CLIPS, 4096, 2097152),
    IGNORED("hpa_hugification_threshold_ratio", "0.95", HS_OPTION_FRACTION, HS_OPTION_REJECTS, 0, 0),
    IGNORED_UNSIGNED("hpa_hugify_delay_ms", "10000", HS_OPTION_REJECTS, 0, ANY),
    IGNORED_TEXT("hpa_hugify_style", ""),
    IGNORED_UNSIGNED("hpa_min_purge_delay_ms", "0", HS_OPTION_REJECTS, 0, ANY),
    IGNORED_UNSIGNED("hpa_min_purge_interval_ms", "5000", HS_OPTION_REJECTS, 0, ANY),
    IGNORED_TEXT("hpa_purge_threshold", ""),
    IGNORED_TEXT("hpa_purge_threshold_ratio", ""),
    IGNORED_UNSIGNED("hpa_sec_batch_fill_extra", "0", HS_OPTION_CLIPS, 0, 512),
    IGNORED_UNSIGNED("hpa_sec_bytes_after_flush", "131072", HS_OPTION_CLIPS, 4096, ANY),
    IGNORED_UNSIGNED("hpa_sec_max_alloc", "32768", HS_OPTION_CLIPS, 4096, ANY),
    IGNORED_UNSIGNED("hpa_sec_max_bytes", "262144", HS_OPTION_CLIPS, 4096, ANY),
    IGNORED_UNSIGNED("hpa_sec_nshards", "4", HS_OPTION_CLIPS, 0, ANY),
    IGNORED_UNSIGNED("hpa_slab_max_alloc", "65536", HS_OPTION_CLIPS, 4096, 2097152),
    IGNORED_BOOLEAN("huge_arena_pac_thp", "false"),
    IGNORED_CHOICE("junk", "false", "true|alloc|free|false"),
    IGNORED_UNSIGNED("lg_extent_max_active_fit", "6", HS_OPTION_REJECTS, 0, 64),
    IGNORED_UNSIGNED("lg_san_uaf_align", "0", HS_OPTION_REJECTS, 0, 64),
    IGNORED_UNSIGNED("lg_tcache_flush_large_div", "1", HS_OPTION_CLIPS, 1, 16),
    IGNORED_UNSIGNED("lg_tcache_flush_small_div", "1", HS_OPTION_CLIPS, 1, 16),
    IGNORED_UNSIGNED("lg_tcache_max", "15", HS_OPTION_CLIPS, 0, 23),
    IGNORED_SIGNED("lg_tcache_nslots_mul", "1", -16, 16),
    IGNORED_UNSIGNED("max_background_threads", "4", HS_OPTION_CLIPS, 1, 4),
    IGNORED_CHOICE("metadata_thp", "disabled", "disabled|auto|always"),
    IGNORED_SIGNED("muzzy_decay_ms", "0", -1, MOST_MS),
    IGNORED_SIGNED("mutex_max_spin", "600", -1, MOST),
    IGNORED_UNSIGNED("narenas", "default", HS_OPTION_REJECTS, 1, ANY),
    IGNORED("narenas_ratio", "4", HS_OPTION_FRACTION, HS_OPTION_REJECTS, 0, 0),
    IGNORED_UNSIGNED("oversize_threshold", "8388608", HS_OPTION_REJECTS, 0, LARGEST),
    IGNORED_CHOICE("percpu_arena", "disabled", "percpu|phycpu|disabled"),
    IGNORED_UNSIGNED("process_madvise_max_batch", "0", HS_OPTION_CLIPS, 0, ANY),
    IGNORED_BOOLEAN("retain", "true"),
    IGNORED_UNSIGNED("san_guard_large", "0", HS_OPTION_REJECTS, 0, ANY),
    IGNORED_UNSIGNED("san_guard_small", "0", HS_OPTION_REJECTS, 0, ANY),
    IGNORED_RANGES("slab_sizes", ""),
    IGNORED_BOOLEAN("tcache", "true"),
    IGNORED_UNSIGNED("tcache_gc_delay_bytes", "0", HS_OPTION_CLIPS, 0, ANY),
    IGNORED_UNSIGNED("tcache_gc_incr_bytes", "65536", HS_OPTION_CLIPS, 1024, ANY),
    IGNORED_UNSIGNED("tcache_max", "32768", HS_OPTION_CLIPS, 0, 8388608),
    IGNORED_TEXT("tcache_ncached_max", ""),
    IGNORED_UNSIGNED("tcache_nslots_large", "20", HS_OPTION_CLIPS, 1, 2048),
    IGNORED_UNSIGNED("tcache_nslots_small_max", "200", HS_OPTION_CLIPS, 1, 2048),
    IGNORED_UNSIGNED("tcache_nslots_small_min", "20", HS_OPTION_CLIPS, 1, 2048),
    IGNORED_CHOICE("thp", "default", "default|always|never"),
    IGNORED_BOOLEAN("trust_madvise", "false"),
    IGNORED_BOOLEAN("utrace", "false"),
    IGNORED_BOOLEAN("xmalloc", "false"),
    IGNORED_BOOLEAN("zero", "false"),
};

const uint32_t hs_option_count = sizeof hs_option_table / sizeof *hs_option_table;
