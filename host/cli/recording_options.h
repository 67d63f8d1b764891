// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The options of commands that record: they become variables of the recording library.
#ifndef HEAPSONDE_HOST_CLI_RECORDING_OPTIONS_H
#define HEAPSONDE_HOST_CLI_RECORDING_OPTIONS_H

#include "host/cli/command.h"

#define HS_DEFAULT_OUTPUT "memory-profiling_%e_%t_%p.dat"

// Sets the environment variables of the given options.
void hs_recording_options__set(const struct hs_arguments *arguments);

// A mistyped value would otherwise be ignored silently. False: a message was printed on standard error.
bool hs_recording_options__are_right(const struct hs_arguments *arguments);

// With a wrong key the library would send nothing, and the message would be only in its log. False: a message was
// printed on standard error.
bool hs_recording_options__key_is_good(const struct hs_arguments *arguments);

// Whether the files for the trace are there, also below a system root; not asked for another machine. False: a message
// was printed on standard error.
bool hs_recording_options__included_are_there(const struct hs_arguments *arguments);

// Whether an entry of the environment is for the library.
bool hs_recording_options__is_variable(const char *entry);

// The pattern for the trace: of --output, of the environment, or the usual one.
const char *hs_recording_options__output(const struct hs_arguments *arguments);

// The program may change its folder before the recorder opens the file: the pattern must not depend on it. The caller
// frees the result.
char *hs_recording_options__absolute_pattern(const char *pattern);

// Whether the trace can be written there. Returns 0, or a negative errno after a line on standard error.
int hs_recording_options__check_output(const struct hs_command *command, const char *pattern);
// The same for a trace that a process writes which may have another root folder. Where that cannot be seen, 0.
int hs_recording_options__check_output_of(const struct hs_command *command, const char *pattern, pid_t pid);

#define HS_ALLOCATOR_OPTIONS                                                                                           \
    {.name = "allocator-symbols",                                                                                      \
     .kind = HS_OPTION_TEXT,                                                                                           \
     .argument = "PREFIX,...",                                                                                         \
     .help =                                                                                                           \
         "also record an allocator within the program or a library of it whose functions are PREFIXmalloc, "           \
         "PREFIXfree and so on; 'none': malloc, free. jemalloc, mimalloc, tcmalloc, rpmalloc, snmalloc and Rust's "    \
         "are found without this"},                                                                                    \
    {                                                                                                                  \
        .name = "allocator-at", .kind = HS_OPTION_TEXT, .argument = "malloc=ADDRESS,free=ADDRESS,...",                 \
        .help = "the same for a program without symbols: the addresses of malloc, free, calloc, realloc, "             \
                "posix_memalign, aligned_alloc, memalign and malloc_usable_size in its file"                           \
    }

#define HS_RECORDING_OPTIONS                                                                                           \
    {.name = "free-stacks",                                                                                            \
     .variable = "GRAB_BACKTRACES_ON_FREE",                                                                            \
     .flag_value = "1",                                                                                                \
     .help = "also record where blocks are freed"},                                                                    \
        {.name = "python",                                                                                             \
         .variable = "PYTHON",                                                                                         \
         .flag_value = "1",                                                                                            \
         .help = "record functions and lines of CPython 3.8 to 3.15 in place of the interpreter's own functions"},     \
        {.name = "cull",                                                                                               \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "MS",                                                                                             \
         .variable = "TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD",                                                        \
         .help = "keep only sums of blocks that live for less than this many milliseconds, for long runs; a killed "   \
                 "process "                                                                                            \
                 "loses the sums of its last ten seconds"},                                                            \
        {.name = "cull-pending",                                                                                       \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "N",                                                                                              \
         .variable = "TEMPORARY_ALLOCATION_PENDING_THRESHOLD",                                                         \
         .help = "with --cull, hold back at most this many allocations"},                                              \
        {.name = "aggregate",                                                                                          \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "SECONDS",                                                                                        \
         .variable = "AGGREGATE_INTERVAL",                                                                             \
         .help =                                                                                                       \
             "record sums per stack in place of events, and write the changes at this interval: a few kilobytes per "  \
             "minute, for weeks"},                                                                                     \
        {.name = "aggregate-stacks",                                                                                   \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "N",                                                                                              \
         .variable = "AGGREGATE_STACKS",                                                                               \
         .help = "with --aggregate and more than N stacks, stacks below 1/N of the live bytes, allocated bytes or "    \
                 "allocations are folded together; default 1024"},                                                     \
        {.name = "no-maps",                                                                                            \
         .variable = "GATHER_MAPS",                                                                                    \
         .flag_value = "0",                                                                                            \
         .help = "do not record mmap, munmap, mremap and brk"},                                                        \
        {.name = "embed-binaries",                                                                                     \
         .variable = "WRITE_BINARIES_TO_OUTPUT",                                                                       \
         .flag_value = "1",                                                                                            \
         .help = "put the program and its libraries into the trace, so that it can be read on another machine"},       \
        {.name = "include-file",                                                                                       \
         .kind = HS_OPTION_FILE,                                                                                       \
         .argument = "FILE",                                                                                           \
         .variable = "INCLUDE_FILE",                                                                                   \
         .help = "put this file, or all files that match a pattern, into the trace"},                                  \
        {.name = "inline-writer",                                                                                      \
         .variable = "WRITER",                                                                                         \
         .flag_value = "inline",                                                                                       \
         .help = "no writer thread in the program; each thread writes its own full buffers"},                          \
        {.name = "max-depth",                                                                                          \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "N",                                                                                              \
         .variable = "MAX_DEPTH",                                                                                      \
         .help = "keep at most this many frames of a stack, the innermost"},                                           \
        {.name = "no-memo",                                                                                            \
         .variable = "USE_SHADOW_STACK",                                                                               \
         .flag_value = "0",                                                                                            \
         .help = "walk every stack completely, to find faults in the recorder"},                                       \
        {.name = "connect",                                                                                            \
         .kind = HS_OPTION_TEXT,                                                                                       \
         .argument = "ADDRESS:PORT",                                                                                   \
         .variable = "CONNECT",                                                                                        \
         .help = "also send the trace to this host while the program runs ('heapsonde gather --listen')"},             \
        {.name = "listen",                                                                                             \
         .variable = "ENABLE_SERVER",                                                                                  \
         .flag_value = "1",                                                                                            \
         .help = "let hosts connect and receive the trace while the program runs"},                                    \
        {.name = "port",                                                                                               \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "N",                                                                                              \
         .variable = "BASE_SERVER_PORT",                                                                               \
         .help = "with --listen, the first port to try; default 8100"},                                                \
        {.name = "announce",                                                                                           \
         .variable = "ENABLE_BROADCAST",                                                                               \
         .flag_value = "1",                                                                                            \
         .help = "with --listen, announce this process in the network every second"},                                  \
        {.name = "key-file",                                                                                           \
         .kind = HS_OPTION_FILE,                                                                                       \
         .argument = "FILE",                                                                                           \
         .variable = "KEY_FILE",                                                                                       \
         .help = "the key that the host has, too; needed for hosts beyond loopback"},                                  \
        {.name = "insecure",                                                                                           \
         .variable = "INSECURE",                                                                                       \
         .flag_value = "1",                                                                                            \
         .help = "allow more than loopback without a key: anyone who can reach the network can read and command "      \
                 "everything"},                                                                                        \
        {.name = "device",                                                                                             \
         .kind = HS_OPTION_TEXT,                                                                                       \
         .argument = "NAME",                                                                                           \
         .variable = "DEVICE",                                                                                         \
         .help = "the name of this machine"},                                                                          \
        {.name = "labels",                                                                                             \
         .kind = HS_OPTION_TEXT,                                                                                       \
         .argument = "KEY=VALUE,...",                                                                                  \
         .variable = "LABELS",                                                                                         \
         .help = "labels by which hosts can select this device"},                                                      \
        {.name = "stream-policy",                                                                                      \
         .kind = HS_OPTION_CHOICE,                                                                                     \
         .argument = "WHAT",                                                                                           \
         .variable = "STREAM_POLICY",                                                                                  \
         .choices = "drop block spill",                                                                                \
         .help =                                                                                                       \
             "if the host is slower than the program: drop events and count them, block the program, or spill them "   \
             "into a file"},                                                                                           \
        {.name = "stream-buffer",                                                                                      \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "BYTES",                                                                                          \
         .variable = "STREAM_BUFFER",                                                                                  \
         .help = "size of the send buffer; default 4 MiB"},                                                            \
        {.name = "spill-file",                                                                                         \
         .kind = HS_OPTION_FILE,                                                                                       \
         .argument = "FILE",                                                                                           \
         .variable = "SPILL_FILE",                                                                                     \
         .help = "the spill file"},                                                                                    \
        {.name = "spill-size",                                                                                         \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "BYTES",                                                                                          \
         .variable = "SPILL_SIZE",                                                                                     \
         .help = "size of the spill file"},                                                                            \
        {.name = "chown",                                                                                              \
         .kind = HS_OPTION_NUMBER,                                                                                     \
         .argument = "UID",                                                                                            \
         .variable = "CHOWN_OUTPUT_TO",                                                                                \
         .help = "give the trace to this user"},                                                                       \
        {.name = "log",                                                                                                \
         .kind = HS_OPTION_CHOICE,                                                                                     \
         .argument = "LEVEL",                                                                                          \
         .variable = "LOG",                                                                                            \
         .choices = "off error warn info debug trace",                                                                 \
         .help = "messages of the recorder"},                                                                          \
    {                                                                                                                  \
        .name = "log-file", .kind = HS_OPTION_FILE, .argument = "FILE", .variable = "LOGFILE",                         \
        .help = "file for these messages; default standard error"                                                      \
    }

#endif
