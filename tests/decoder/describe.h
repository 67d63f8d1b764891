// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A decoded instruction as one line of text, so that suites are tables of encodings and what is expected of them:
//
//   [conditional] [delay|likely] FLOW [TARGET] EFFECTS...      nothing is said of the flow to the next instruction
//   r1=?  r1=#5  r1=r2+4  r1=r2+r3  r1=r2-r3  r1=r2|4  r1=r2<<4  [r2+4]=r1  r1=[r2+4]
//
// and "none" for what is not decoded. The result lasts until the next call.
#ifndef HEAPSONDE_TESTS_DECODER_DESCRIBE_H
#define HEAPSONDE_TESTS_DECODER_DESCRIBE_H

#include "arch/decoder.h"

const char *describe_instruction(const struct hs_instruction *instruction);

// Decodes at address 0x1000 with a context of 0.
const char *describe_bytes(const struct hs_decoder *decoder, const void *bytes, size_t length);

#endif
