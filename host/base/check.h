// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Assertions of the host half. They state what our own code guarantees. Input is never checked with them: a damaged
// trace or a wrong request is an error with a message, not a failed check.
//
//   HS_CHECK(EXPRESSION)       in every build. For checks that cost nothing compared with the work around them.
//   HS_CHECK_SLOW(EXPRESSION)  only in builds with HEAPSONDE_CHECKS (those with sanitizers, in which scripts/test runs
//                              all unit tests). For inner loops. Other builds test the libraries of the command as
//                              they are shipped: there EXPRESSION is parsed, but never evaluated.
//
// The third level are the invariants of the target half, arch/invariant.h: the shims have none.
//
// EXPRESSION may not have side effects. A false one writes its place in the sources to standard error and aborts. Any
// thread may use them.
#ifndef HEAPSONDE_BASE_CHECK_H
#define HEAPSONDE_BASE_CHECK_H

_Noreturn void hs_check__failed(const char *expression, const char *file, int line);

#define HS_CHECK(expression)                                                                                           \
    (__builtin_expect((expression) ? 1 : 0, 1) ? (void)0 : hs_check__failed(#expression, __FILE__, __LINE__))
#ifdef HEAPSONDE_CHECKS
#define HS_CHECK_SLOW(expression) HS_CHECK(expression)
#else
#define HS_CHECK_SLOW(expression) ((void)sizeof((expression) ? 1 : 0))
#endif

#endif
