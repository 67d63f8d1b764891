// SPDX-License-Identifier: MIT OR Apache-2.0
#include "subject.h"

#include "host/symbols/elf_probe.h"

#include <check.h>
#include <elf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool have(const char *tool)
{
    return system(text("command -v %s >/dev/null", tool)) == 0;
}

size_t instructions(const char *tools, const char *path, uint64_t *addresses, size_t most)
{
    char line[512];
    size_t count = 0;
    FILE *pipe = popen(text("%sobjdump -d -j .text '%s'", tools, path), "r");
    while (pipe && count < most && fgets(line, sizeof(line), pipe)) {
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        // Padding belongs to no function.
        bool padding = strstr(line, "nop") || strstr(line, "xchg   %ax,%ax") || strstr(line, "int3");
        bool has_mnemonic = strrchr(line, '\t') != strchr(line, '\t');
        if (line[0] == ' ' && *end == ':' && has_mnemonic && !padding)
            addresses[count++] = address;
    }
    ck_assert_int_eq(pclose(pipe), 0);
    return count;
}

uint64_t symbol(const char *path, const char *name)
{
    char line[1024];
    uint64_t address = 0;
    FILE *pipe = popen(text("nm '%s'", path), "r");
    while (pipe && fgets(line, sizeof(line), pipe)) {
        line[strcspn(line, "\n")] = 0;
        const char *space = strrchr(line, ' ');
        if (space && !strcmp(space + 1, name))
            address = strtoull(line, NULL, 16);
    }
    pclose(pipe);
    ck_assert_msg(address, "%s has no symbol %s", path, name);
    return address;
}

void open_session(struct session *session, const struct hs_symbols_options *options, const char *described,
                  const char *path, uint64_t bias)
{
    struct hs_probe probe;
    ck_assert_int_eq(hs_probe__file(&probe, described), 0);
    memcpy(session->build_id, probe.build_id, sizeof(session->build_id));
    session->described_machine = probe.machine;
    session->symbols = hs_symbols__create(options);
    struct hs_symbols_module module = {.start = bias,
                                       .bias = bias,
                                       .path = path,
                                       .build_id = session->build_id,
                                       .build_id_length = probe.build_id_length};
    session->module = hs_symbols__add_module(session->symbols, &module);
    ck_assert_int_eq(session->module, 0);
}

void close_session(struct session *session)
{
    hs_symbols__destroy(session->symbols);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The shortest call returns that far behind its first byte; on MIPS an instruction stands between.
static uint64_t return_address(const struct session *session, uint64_t address)
{
    switch (session->described_machine) {
    case EM_MIPS:
        return address + 5;
    case EM_AARCH64:
        return address + 4;
    case EM_ARM:
        return (address + 2) | 1; // as from Thumb code, where bit 0 of a return address is set
    default:
        return address + 1;
    }
}

const char *frames_at(struct session *session, uint64_t address)
{
    static char buffer[1 << 16];
    uint64_t pc = return_address(session, address);
    uint64_t plain = session->described_machine == EM_ARM ? pc & ~(uint64_t)1 : pc;
    const struct hs_frames *frames = hs_symbols__resolve(session->symbols, session->module, pc);
    size_t used = 0;
    ck_assert_ptr_nonnull(frames);
    ck_assert_uint_ge(frames->count, 1);
    for (uint32_t i = 0; i < frames->count; i++) {
        const struct hs_frame *frame = &frames->frame[i];
        ck_assert_int_eq(frame->inlined, i + 1 < frames->count);
        ck_assert_uint_eq(frame->address, plain);
        used += (size_t)snprintf(buffer + used, sizeof(buffer) - used, "%s|%s:%" PRIu32 "\n", frame->function,
                                 frame->file ? base_name(frame->file) : "?", frame->line);
        ck_assert_uint_lt(used, sizeof(buffer));
    }
    return buffer;
}
