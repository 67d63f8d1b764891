// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A pthread_create that refuses while `no_threads` is set. Not under a sanitizer, which has its own: `no_threads` then
// changes nothing.
#ifndef HEAPSONDE_TESTS_STORE_NO_THREADS_H
#define HEAPSONDE_TESTS_STORE_NO_THREADS_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static bool no_threads;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (no_threads)
        return EAGAIN;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, start, argument);
}
#endif

#endif
