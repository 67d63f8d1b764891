// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_TESTS_CTL_FAKE_SAMPLER_H
#define HEAPSONDE_TESTS_CTL_FAKE_SAMPLER_H

// How much a dump holds beside its first lines; a multiple of 65536.
extern unsigned long fake_dump_bytes;

#endif
