// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/file_header.h"

#include "arch/system.h"
#include "format/chunk.h"
#include "runtime/clock.h"

static void random_id(uint64_t id[2])
{
    if (HS_SYSTEM3(HS_KERNEL_GETRANDOM, id, 16, 1) == 16)
        return;
    id[0] = hs_clock__realtime_ns() * 0x9e3779b97f4a7c15ull;
    id[1] = (uint64_t)hs_system_getpid() << 32 ^ hs_clock__monotonic_ns();
}

void hs_file_header__fill(uint8_t *to, uint8_t content, uint64_t forked_at)
{
    struct hs_file_header header = {
        .version_major = HS_FILE_VERSION_MAJOR,
        .version_minor = HS_FILE_VERSION_MINOR,
        .byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? HS_BYTE_ORDER_LITTLE : HS_BYTE_ORDER_BIG,
        .pointer_size = sizeof(void *),
        .address_shift = HS_ARCH_ADDRESS_SHIFT,
        .clock_source = (uint8_t)hs_clock.source,
        .tick_shift = (uint8_t)hs_clock.shift,
        .content = content,
        .machine = HS_ARCH_ELF_MACHINE,
        .pid = (uint32_t)hs_system_getpid(),
        .parent_pid = (uint32_t)HS_SYSTEM0(SYS_getppid),
        .header_size = HS_FILE_HEADER_SIZE,
        .forked_at = forked_at,
    };
    __builtin_memcpy(header.magic, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH);
    random_id(header.trace_id);
    uint64_t elapsed = hs_clock.start_monotonic_ns;
    header.start_monotonic_ns = elapsed;
    header.start_realtime_ns = hs_clock__realtime_ns() - (hs_clock__monotonic_ns() - elapsed);
    hs_file_header_seal(&header, to);
}
