// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/embed.h"

void hs_embed__included_files(void)
{
}
