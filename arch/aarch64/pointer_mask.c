// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arch/arch.h"

// 0 until hs_arch_prepare(): every thread that comes first finds the same value.
uintptr_t hs_arch_pointer_mask __attribute__((visibility("hidden")));
