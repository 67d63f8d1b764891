// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Bytes that the folder and a device may have.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_QUOTA_H
#define HEAPSONDE_HOST_GATHER_TRACE_QUOTA_H

#include "host/gather/trace_registry.h"

// With the folder's mutex held, and without.
enum hs_refusal hs_trace_quota__take_locked(struct hs_traces *traces, struct hs_account *account, uint64_t bytes);
enum hs_refusal hs_trace_quota__take(struct hs_traces *traces, struct hs_account *account, uint64_t bytes);
void hs_trace_quota__give_back(struct hs_traces *traces, struct hs_account *account, uint64_t bytes);

#endif
