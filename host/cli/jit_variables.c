// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/jit_variables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jit_variable {
    const char *name, *value;
    bool is_list; // options, separated by blanks
};

// Ruby has no variable that is safe: RUBYOPT=--yjit-perf ends versions that do not know the option.
static const struct jit_variable variables[] = {
    {"NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack", true},
    // HotSpot before version 17 cannot write a map and ends with an error without the first option.
    {"JAVA_TOOL_OPTIONS",
     "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer "
     "-XX:+DumpPerfMapAtExit",
     true},
    {"PYTHONPERFSUPPORT", "1", false},
    {"DOTNET_PerfMapEnabled", "1", false},
    {"ENABLE_JITPROFILING", "1", false}, // Julia
#if defined(__x86_64__) || defined(__aarch64__)
    // Without a compiler, Erlang does not start with this option.
    {"ERL_FLAGS", "+JPperf true", true},
#endif
};

static int set(const struct jit_variable *variable)
{
    const char *before = getenv(variable->name);
    char *value = NULL;
    if (!before || !*before)
        return setenv(variable->name, variable->value, 1) ? -ENOMEM : 0;
    if (!variable->is_list || strstr(before, variable->value))
        return 0;
    if (asprintf(&value, "%s %s", before, variable->value) < 0)
        return -ENOMEM;
    int result = setenv(variable->name, value, 1) ? -ENOMEM : 0;
    free(value);
    return result;
}

int hs_jit_variables__set(void)
{
    int result = 0;
    for (size_t i = 0; !result && i < sizeof(variables) / sizeof(variables[0]); i++)
        result = set(&variables[i]);
    return result;
}
