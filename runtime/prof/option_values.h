// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The values of the options of the sampling shim.
#ifndef HEAPSONDE_RUNTIME_PROF_OPTION_VALUES_H
#define HEAPSONDE_RUNTIME_PROF_OPTION_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_PROF_PATH = 4096 };

// Which size of a block is reported. (Sampling uses the usable size.)
enum hs_size_model {
    HS_SIZE_USABLE,   // malloc_usable_size()
    HS_SIZE_REQUEST,  // the requested size
    HS_SIZE_JEMALLOC, // the size class that jemalloc would have used
};

enum hs_dump_format {
    HS_DUMP_HEAP_V2,    // jemalloc's threaded format
    HS_DUMP_TEXT,       // the older "heap profile:" format, which google-pprof and pprof also read
    HS_DUMP_PROTO,      // profile.proto, not compressed
    HS_DUMP_SYMBOLIZED, // heap_v2 after a table of symbols: jeprof needs no binary
    HS_DUMP_COLLAPSED,  // one line per stack, frames from the outermost
};

// realloc(block, 0). If not given: the behaviour of the program's allocator.
enum hs_zero_realloc { HS_ZERO_REALLOC_NOT_GIVEN, HS_ZERO_REALLOC_FREE, HS_ZERO_REALLOC_ALLOC, HS_ZERO_REALLOC_ABORT };

struct hs_prof_options {
    // Options of jemalloc, with the value that opt.NAME returns
    bool prof;
    bool active;             // prof_active
    bool thread_active_init; // prof_thread_active_init
    bool gdump, final, leak, leak_error, accum, log, stats, sys_thread_name, unbias, pid_namespace;
    bool time_high;      // prof_time_resolution:high
    uint64_t lg_sample;  // lg_prof_sample, 0..63
    int64_t lg_interval; // lg_prof_interval, -1: off
    uint32_t max_frames; // prof_bt_max; the walker itself keeps no more than 1024 (800)
    int64_t recent_max;  // prof_recent_alloc_max, -1: no limit
    bool abort, abort_conf, confirm_conf, stats_print;
    char stats_print_letters[12];    // stats_print_opts
    int64_t stats_interval;          // bytes allocated between prints of the statistics, -1: off
    char stats_interval_letters[12]; // stats_interval_opts
    enum hs_zero_realloc zero_realloc;
    // Our own options
    uint64_t sample_bytes;         // experimental_hs_sample, else 2^lg_sample: mean bytes between samples, at least 1
    uint64_t interval_bytes;       // experimental_hs_interval, else 2^lg_interval: bytes between interval dumps, 0: off
    enum hs_size_model size_model; // experimental_hs_size_model
    enum hs_dump_format dump_format; // experimental_hs_format
    uint64_t seed;                   // experimental_hs_seed, 0: from the kernel
    uint64_t peak_floor;             // experimental_hs_peak_floor: no high-water dump below this many live bytes
    uint64_t peak_step;              // experimental_hs_peak_step: bytes by which the peak has to rise
    uint32_t peak_percent;           // the same as a percentage of the last peak, if the value ended in %
    bool peak_keep_highest;          // experimental_hs_peak_keep: keep only the dump of the highest peak
    uint64_t
        max_files; // experimental_hs_max_files: number of automatic dumps to keep, 0: no limit; the oldest are removed
    uint64_t max_total;      // experimental_hs_max_bytes: bytes of automatic dumps to keep, 0: no limit
    uint64_t min_seconds;    // experimental_hs_min_seconds between automatic dumps of one kind
    bool dump_on_exit_paths; // experimental_hs_final_always: the final dump also on _exit and quick_exit of forked
                             // children
    bool control;            // experimental_hs_control: the control socket; default: as `prof`
};

// Apart from the rest, which is not zero at first: what is zero takes no room in the shim's file.
struct hs_prof_texts {
    char control_path[108];           // experimental_hs_control_path; empty: the default place
    char prefix[HS_PROF_PATH];        // prof_prefix
    char name_template[HS_PROF_PATH]; // experimental_hs_name: file names with %p %t %T %s %k %h %e %n %%; empty:
                                      // jemalloc's
};

extern struct hs_prof_options hs_prof_options;
extern struct hs_prof_texts hs_prof_texts;

#endif
