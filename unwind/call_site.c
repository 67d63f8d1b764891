// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unwind/call_site.h"

#include "arch/arch.h"
#include "arch/decoder.h"
#include "unwind/rule_cache.h"
#include "unwind/stack_memory.h"

static bool is_behind_call(const struct hs_range *text, uintptr_t pc)
{
    const uint8_t *code = (const uint8_t *)hs_rule_address(pc, true);
    return HS_ARCH_DECODER(pc)->ends_with_call(code, (size_t)(code - text->start));
}

bool hs_call_site__in_module(const struct hs_module *module, uintptr_t pc)
{
    struct hs_range text;
    return !module->anonymous && hs_module_segment(module, (const void *)hs_rule_address(pc, true), &text) &&
           is_behind_call(&text, pc);
}

// The bytes between V8's functions say so. Compilers fill with others.
static bool starts_function_of_v8(const struct hs_range *text, uintptr_t code)
{
    enum { ALIGNMENT = 32, BETWEEN = 0xcc };
    return code % ALIGNMENT == 0 && code > (uintptr_t)text->start && ((const uint8_t *)code)[-1] == BETWEEN;
}

bool hs_call_site__in_chain(uintptr_t pc, uintptr_t caller, bool may_go)
{
    enum { LONGEST_CALL = 8 };
    uint8_t copy[LONGEST_CALL];
    struct hs_module module;
    struct hs_range text;
    uintptr_t code = hs_rule_address(pc, true);
    if (!pc || !hs_module_find(hs_rule_address(pc, false), &module))
        return false;
    if (!module.anonymous) {
        if (!hs_module_segment(&module, (const void *)code, &text) || is_behind_call(&text, pc))
            return true;
        return starts_function_of_v8(&text, code) && caller && hs_module_find(hs_rule_address(caller, true), &module);
    }
    if (caller && hs_module_find(hs_rule_address(caller, true), &module))
        return true;
    return !hs_memory_copy(code - sizeof copy, copy, sizeof copy, may_go) ||
           HS_ARCH_DECODER(pc)->ends_with_call(copy + sizeof copy, sizeof copy);
}
