// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/jit_variables.h"

#include "host/base/text_stream.h"
#include "host/shims/shims.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jit_variable {
    const char *name, *value;
    const char *separator; // of options; NULL: it is a single value
    const char *abis;      // only on these; NULL: on all
};

// LuaJIT writes no file. It executes this before the program; other versions of Lua do, too, and have no `jit`. Written
// without what a shell would expand between double quotes.
#define LUAJIT_MAP                                                                                                     \
    "if jit then pcall(function() local info, where = require'jit.util', '?' "                                         \
    "local map = io.open('/tmp/perf-'..io.open'/proc/self/stat':read'*n'..'.map', 'w') map:setvbuf'line' "             \
    "jit.attach(function(what, trace, func, pc) if what == 'start' then where = info.funcinfo(func, pc).loc or '?' "   \
    "elseif what == 'stop' then local code, address = info.tracemc(trace) "                                            \
    "map:write(('%x %x TRACE_%d::%s\\n'):format(address, #code, trace, where)) end end, 'trace') end) end"

// Ruby has no variable that is safe: RUBYOPT=--yjit-perf ends versions that do not know the option.
static const struct jit_variable variables[] = {
    {"NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack", " ", NULL},
    // HotSpot before version 17 cannot write a map and ends with an error without the first option.
    {"JAVA_TOOL_OPTIONS",
     "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer "
     "-XX:+DumpPerfMapAtExit",
     " ", NULL},
    {"PYTHONPERFSUPPORT", "1", NULL, NULL},
    {"DOTNET_PerfMapEnabled", "1", NULL, NULL},
    {"COMPlus_PerfMapEnabled", "1", NULL, NULL}, // before version 6
    {"MONO_ENV_OPTIONS", "--jitmap", " ", NULL},
    {"MONO_DEBUG", "disable_omit_fp", ",", NULL},
    {"ENABLE_JITPROFILING", "1", NULL, NULL}, // Julia
    {"LUA_INIT", LUAJIT_MAP, NULL, NULL},
    // Without a compiler, Erlang does not start with this option.
    {"ERL_FLAGS", "+JPperf true", " ", "amd64 aarch64"},
};

static int set(const struct jit_variable *variable)
{
    const char *before = getenv(variable->name);
    char *value = NULL;
    if (!before || !*before)
        return setenv(variable->name, variable->value, 1) ? -ENOMEM : 0;
    if (!variable->separator || strstr(before, variable->value))
        return 0;
    if (asprintf(&value, "%s%s%s", before, variable->separator, variable->value) < 0)
        return -ENOMEM;
    int result = setenv(variable->name, value, 1) ? -ENOMEM : 0;
    free(value);
    return result;
}

static bool is_for(const struct jit_variable *variable, const char *abi)
{
    return !variable->abis || strstr(variable->abis, abi);
}

int hs_jit_variables__set(void)
{
    const struct hs_abi *here = hs_abi__of_this_machine();
    int result = 0;
    for (size_t i = 0; !result && i < sizeof(variables) / sizeof(variables[0]); i++)
        if (is_for(&variables[i], here ? here->name : "none"))
            result = set(&variables[i]);
    return result;
}

char *hs_jit_variables__for_shell(const char *abi)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    for (size_t i = 0; out && i < sizeof(variables) / sizeof(variables[0]); i++) {
        const struct jit_variable *one = &variables[i];
        if (!is_for(one, abi))
            continue;
        if (one->separator)
            fprintf(out, " \"%s=${%s:+$%s%s}%s\"", one->name, one->name, one->name, one->separator, one->value);
        else
            fprintf(out, " \"%s=${%s:-%s}\"", one->name, one->name, one->value);
    }
    return out ? hs_text_stream__close(&stream) : NULL;
}
