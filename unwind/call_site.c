// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/call_site.h"

#include "arch/arch.h"
#include "arch/decoder.h"
#include "unwind/rule_cache.h"
#include "unwind/stack_memory.h"

bool hs_call_site__in_module(const struct hs_module *module, uintptr_t pc)
{
    struct hs_range text;
    const uint8_t *code = (const uint8_t *)hs_rule_address(pc, true);
    return !module->anonymous && hs_module_segment(module, code, &text) &&
           HS_ARCH_DECODER(pc)->ends_with_call(code, (size_t)(code - text.start));
}

bool hs_call_site__in_chain(uintptr_t pc, uintptr_t caller, bool may_go)
{
    enum { LONGEST_CALL = 8, ALIGNMENT_OF_ENTRIES = 32 };
    uint8_t copy[LONGEST_CALL];
    struct hs_module module;
    struct hs_range text;
    uintptr_t code = hs_rule_address(pc, true);
    if (!pc || !hs_module_find(hs_rule_address(pc, false), &module))
        return false;
    const bool is_of_file = !module.anonymous;
    if (is_of_file && (!hs_module_segment(&module, (const void *)code, &text) || hs_call_site__in_module(&module, pc)))
        return true;
    if ((!is_of_file || code % ALIGNMENT_OF_ENTRIES == 0) && caller &&
        hs_module_find(hs_rule_address(caller, true), &module))
        return true;
    return !is_of_file && (!hs_memory_copy(code - sizeof copy, copy, sizeof copy, may_go) ||
                           HS_ARCH_DECODER(pc)->ends_with_call(copy + sizeof copy, sizeof copy));
}
