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

// COMMAND(name, argument, help), NO_EFFECT(name).
#define HS_OTHER_VARIABLES(COMMAND, NO_EFFECT)                                                                         \
    COMMAND("LIBRARY", "FILE", "the recording library that run preloads")                                              \
    COMMAND("SHIMS", "DIR", "the folder of the libraries for targets: ABI/libheapsonde-trace.so")                      \
    COMMAND("RUN_OPTIONS", "OPTIONS", "more options of run --wrapper, written as for a shell")                         \
    COMMAND("TOKEN", "TEXT",                                                                                           \
            "the token of server, ctl serve and gather --metrics, if --token is not given; top "                       \
            "sends it to the server")                                                                                  \
    COMMAND("BOARD_PATIENCE", "SECONDS",                                                                               \
            "with run --on, how long the machine may not answer before its connection counts as cut; default 15")      \
    COMMAND("CACHE_SIZE", "BYTES",                                                                                     \
            "how large the folder of stores in the user's cache becomes before stores that were not used for the "     \
            "longest time are removed; default 2 GiB")                                                                 \
    COMMAND("ANNOUNCE_PORT", "N", "the port where gather listens for announcements of devices")                        \
    NO_EFFECT("BACKTRACE_CACHE_SIZE")                                                                                  \
    NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_1")                                                                          \
    NO_EFFECT("BACKTRACE_CACHE_SIZE_LEVEL_2")                                                                          \
    NO_EFFECT("BASE_BROADCAST_PORT")                                                                                   \
    NO_EFFECT("DISABLE_PR_SET_VMA_ANON_NAME")                                                                          \
    NO_EFFECT("EMIT_PARTIAL_BACKTRACES")                                                                               \
    NO_EFFECT("PRECISE_TIMESTAMPS")                                                                                    \
    NO_EFFECT("USE_PERF_EVENT_OPEN")

#endif
