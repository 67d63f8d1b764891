// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_TESTS_CTL_FAKE_SAMPLER_H
#define HEAPSONDE_TESTS_CTL_FAKE_SAMPLER_H

// How much a dump holds beside its first lines; a multiple of 65536.
extern unsigned long fake_dump_bytes;

// 1: the next dump does not go on until this is 0. 2: it has begun.
extern _Atomic int fake_dump_pause;

#endif
