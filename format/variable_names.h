// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The variables of the environment that both halves know and only the command reads, and those of other recorders that
// have no effect here. What the recorder itself reads is in runtime/config.c; the limits of its numbers are here.
#ifndef HEAPSONDE_FORMAT_VARIABLE_NAMES_H
#define HEAPSONDE_FORMAT_VARIABLE_NAMES_H

// The lowest and the highest value of numbers. `run` refuses others; the recorder takes the nearer limit.
#define HS_LIMITS_OF_MAX_DEPTH          16, 65536
#define HS_LIMITS_OF_AGGREGATE_INTERVAL 1, 86400
#define HS_LIMITS_OF_AGGREGATE_STACKS   16, 65536
#define HS_LIMITS_OF_CPU_FREQUENCY      1, 10000
#define HS_LIMITS_OF_ONE_IN_N           1, 1048576 // FAULT_STACKS, SWITCH_STACKS
#define HS_LIMITS_OF_STACK_COPY         512, 61440
#define HS_LIMITS_OF_BOARD_PATIENCE     1, 86400

// COMMAND(name, kind, argument, help, lowest, highest), NO_EFFECT(name). `kind` is that of host/cli/variables.h.
#define HS_OTHER_VARIABLES(COMMAND, NO_EFFECT)                                                                         \
    COMMAND("LIBRARY", TEXT, "FILE", "the recording library that run preloads", 0, 0)                                  \
    COMMAND("SHIMS", TEXT, "DIR", "the folder of the libraries for targets: ABI/libheapsonde-trace.so", 0, 0)          \
    COMMAND("RUN_OPTIONS", TEXT, "OPTIONS", "more options of run --wrapper, written as for a shell", 0, 0)             \
    COMMAND("TOKEN", TEXT, "TEXT",                                                                                     \
            "the token of server, ctl serve and gather --metrics, if --token is not given; top "                       \
            "sends it to the server",                                                                                  \
            0, 0)                                                                                                      \
    COMMAND("BOARD_PATIENCE", NUMBER, "SECONDS",                                                                       \
            "with run --on, how long the machine may not answer before its connection counts as cut; default 15",      \
            HS_LIMITS_OF_BOARD_PATIENCE)                                                                               \
    COMMAND("CACHE_SIZE", SIZE, "SIZE",                                                                                \
            "how large the folder of stores in the user's cache becomes before stores that were not used for the "     \
            "longest time are removed, such as 500M or 10G; default 2G",                                               \
            0, 0)                                                                                                      \
    COMMAND("ANNOUNCE_PORT", PORT, "N", "the port where gather listens for announcements of devices", 0, 0)            \
    NO_EFFECT("BACKTRACE_CACHE_SIZE")                                                                                  \
    NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_1")                                                                          \
    NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_2")                                                                          \
    NO_EFFECT("BASE_BROADCAST_PORT")                                                                                   \
    NO_EFFECT("DISABLE_PR_SET_VMA_ANON_NAME")                                                                          \
    NO_EFFECT("EMIT_PARTIAL_BACKTRACES")                                                                               \
    NO_EFFECT("PRECISE_TIMESTAMPS")                                                                                    \
    NO_EFFECT("USE_PERF_EVENT_OPEN")

#endif
