// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/said.h"

#include <stdio.h>
#include <string.h>

static const char *done(bool samples)
{
    return samples ? "sampled" : "recorded";
}

static const char *threads_were(const struct hs_inject_result *result)
{
    return result->threads == 1 ? "thread was" : "threads were";
}

static double pause_ms(const struct hs_inject_result *result)
{
    return (double)result->pause_ns / 1e6;
}

void hs_said__attached(const struct hs_inject_request *request, const struct hs_inject_result *result)
{
    fprintf(stderr, "heapsonde: process %d is %s: %u functions of %s; %u %s stopped for %.2f ms\n", (int)request->pid,
            done(request->samples), result->patches, result->allocator, result->threads, threads_were(result),
            pause_ms(result));
}

void hs_said__allocators(const struct hs_inject_request *request, const struct hs_inject_result *result)
{
    if (strcmp(result->allocators, "malloc") != 0)
        fprintf(stderr, "heapsonde: %s allocators: %s\n", done(request->samples), result->allocators);
    if (result->unpatched[0])
        fprintf(stderr, "heapsonde: not %s, because they cannot be patched: %s\n", done(request->samples),
                result->unpatched);
}

void hs_said__detached(pid_t pid, const struct hs_inject_result *result)
{
    fprintf(stderr, "heapsonde: process %d is not %s any more; %u %s stopped for %.2f ms\n", (int)pid,
            done(result->samples), result->threads, threads_were(result), pause_ms(result));
}

void hs_said__ended(pid_t pid)
{
    fprintf(stderr, "heapsonde: process %d has ended\n", (int)pid);
}
