// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/mode.h"

static struct hs_shared before_start;
struct hs_shared *hs_shared = &before_start;
struct hs_recording hs_recording;

void hs_recording__set_mode(uint32_t mode)
{
    hs_recording.mode = mode;
    atomic_store_explicit(&hs_shared->mode, mode, memory_order_release);
}

void hs_recording__give_up(void)
{
    hs_recording__set_mode(0);
    atomic_store(&hs_recording.state, HS_RECORDING_PASSIVE);
}
