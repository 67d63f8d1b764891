// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/trace_format.h"
#include "host/report/report.h"
#include "host/report/text.h"

#include <elf.h>
#include <string.h>

const char *hs_arch_name(const struct hs_summary *summary)
{
    bool big = summary->byte_order == HS_BYTE_ORDER_BIG;
    switch (summary->machine) {
    case EM_X86_64:
        return "x86_64";
    case EM_386:
        return "i386";
    case EM_AARCH64:
        return big ? "aarch64_be" : "aarch64";
    case EM_ARM:
        return big ? "armeb" : "arm";
    case EM_MIPS:
        if (summary->pointer_size == 8)
            return big ? "mips64" : "mips64el";
        return big ? "mips" : "mipsel";
    default:
        return "unknown";
    }
}

const char *hs_arch_words(const struct hs_summary *summary)
{
    bool big = summary->byte_order == HS_BYTE_ORDER_BIG;
    switch (summary->machine) {
    case EM_X86_64:
        return "amd64";
    case EM_AARCH64:
        return big ? "aarch64, big-endian" : "aarch64";
    case EM_ARM:
        return big ? "arm, big-endian" : "arm";
    case EM_MIPS: // both are common
        if (summary->pointer_size == 8)
            return big ? "mips64, big-endian" : "mips64, little-endian";
        return big ? "mips, big-endian" : "mips, little-endian";
    default:
        return hs_arch_name(summary);
    }
}

const char *hs_program_name(const struct hs_store *store)
{
    const char *name = hs_store__info(store, "executable");
    return name ? name : "";
}

void hs_command_line(const struct hs_store *store, char *text, size_t size)
{
    const char *command = hs_store__info(store, "command");
    snprintf(text, size, "%s", command && *command ? command : hs_program_name(store));
    size_t length = strlen(text);
    while (length && text[length - 1] == ' ')
        text[--length] = 0;
    hs_text__clean(text);
}

static const struct {
    const char *name;
    const char *explanation;
} drops[] = {
    [HS_DROP_NESTED] = {"nested", "a signal handler allocated while its thread was inside the recorder"},
    [HS_DROP_BUFFER] = {"buffer", "no buffer became free in time"},
    [HS_DROP_MEMORY] = {"memory", "the recorder had no memory"},
    [HS_DROP_STOPPED] = {"stopped", "recording had ended early"},
    [HS_DROP_SMALL_STACK] = {"small_stack", "a thread's stack had no room for the recorder"},
    [HS_DROP_LINK] = {"link", "the link to the host was slower than the program"},
    [HS_DROP_BLOCK_TABLE] = {"block_table",
                             "no room to track more live blocks: they count as allocated and immediately freed"},
    [HS_DROP_SAMPLES] = {"samples", "samples for which the kernel had no room in its ring"},
    [HS_DROP_UNLOADING] = {"unloading", "samples while code was being unloaded: counted, but without their stacks"},
    [HS_DROP_NO_REGISTERS] = {"no_registers", "samples of threads that were ending: counted, but without their stacks"},
    [HS_DROP_META] = {"meta", "the link left no room for stacks, modules or files: frames may be missing"},
    [HS_DROP_NO_ROOM] = {"no_room", "a thread's stack had no room for the unwinder: counted, but without their stacks"},
    [HS_DROP_CHILDREN] = {"children", "child processes that could not create a trace"},
    [HS_DROP_MODULES] = {"modules", "no room for more modules: functions there have no names"},
    [HS_DROP_FILES] = {"files", "too large or too many to be embedded in the trace"},
    [HS_DROP_STACK_TABLE] = {"stack_table", "the stack table was full: counted, but without their stacks"},
};

const char *hs_drop_reason(unsigned reason)
{
    return reason < sizeof(drops) / sizeof(drops[0]) ? drops[reason].name : "unknown";
}

const char *hs_drop_explanation(unsigned reason)
{
    return reason < sizeof(drops) / sizeof(drops[0]) ? drops[reason].explanation
                                                     : "a reason that this version does not know";
}

const char *hs_drop_unit(unsigned reason)
{
    switch (reason) {
    case HS_DROP_META:
        return "chunks";
    case HS_DROP_CHILDREN:
        return "processes";
    case HS_DROP_MODULES:
        return "pieces of code";
    case HS_DROP_FILES:
        return "files";
    default:
        return "events";
    }
}

const char *hs_truncation_name(unsigned reason)
{
    static const char *const names[] = {"complete", "no_rule", "bad_rule", "bad_stack", "too_deep", "cut_copy"};
    return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}
