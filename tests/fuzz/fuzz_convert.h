// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Any bytes as another tool's recording: the trace that is made of them is a whole one.
#include "host/convert/convert.h"
#include "host/import/import.h"

#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/heapsonde-fuzz-XXXXXX";
    struct hs_error error = {.message = ""};
    int fd = mkstemp(path);
    FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
    FILE *out = fd < 0 ? NULL : fdopen(fd, "wb+");
    if (!in || !out)
        abort();
    int result = CONVERT("input", in, out, &error);
    fclose(in);
    fclose(out);
    if (!result) {
        struct hs_trace *trace;
        if (hs_trace__open(path, &trace, &error))
            abort();
        const struct hs_trace_info *info = hs_trace__info(trace);
        for (int i = 0; i < HS_DAMAGE_COUNT; i++) {
            if (info->damage[i])
                abort();
        }
        hs_trace__close(trace);
    } else if (!*error.message) {
        abort();
    }
    unlink(path);
    return 0;
}
