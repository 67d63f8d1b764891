// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Invariants of the target half. HS_INVARIANT(EXPRESSION) states what always holds; a false one stops the process at
// once, by the processor's own trap. It is compiled only with HEAPSONDE_CHECKS: in the unit tests of runtime/ of every
// build, and in builds with sanitizers. The shims have none: there EXPRESSION is parsed, but never evaluated, so it may
// not have side effects.
#ifndef HEAPSONDE_ARCH_INVARIANT_H
#define HEAPSONDE_ARCH_INVARIANT_H

#ifdef HEAPSONDE_CHECKS
#define HS_INVARIANT(expression) ((expression) ? (void)0 : __builtin_trap())
#else
#define HS_INVARIANT(expression) ((void)sizeof((expression) ? 1 : 0))
#endif

#endif
