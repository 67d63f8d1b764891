// SPDX-License-Identifier: MIT OR Apache-2.0
#define CONVERT hs_convert__heaptrack
#include "fuzz_convert.h"
