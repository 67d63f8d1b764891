// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Limits the bytes of the folder and of each device.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_QUOTA_H
#define HEAPSONDE_HOST_GATHER_TRACE_QUOTA_H

#include "host/gather/trace_registry.h"

// The first requires the mutex of the folder; the second takes it.
enum hs_refusal hs_trace_quota__take_locked(struct hs_traces *traces, struct hs_account *account, uint64_t bytes);
enum hs_refusal hs_trace_quota__take(struct hs_traces *traces, struct hs_account *account, uint64_t bytes);
void hs_trace_quota__give_back(struct hs_traces *traces, struct hs_account *account, uint64_t bytes);

// Removes the file of a trace that has ended and that no connection uses. The mutex of the folder is held.
bool hs_trace_quota__remove_locked(struct hs_traces *traces, const uint8_t id[HS_TRACE_ID_SIZE]);

#endif
