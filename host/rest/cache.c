// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024 };

struct hs_cached {
    struct hs_cached *before, *behind; // a ring, the most recently used one first
    struct hs_cached *next;            // of the bucket
    char *key;
    void *value;
    void (*destroy)(void *value);
    size_t bytes;
    unsigned holders;
    bool making;
    bool failed;
    bool listed; // in the table and the ring
};

struct hs_cache {
    pthread_mutex_t lock;
    pthread_cond_t made;
    size_t bytes, most_bytes;
    struct hs_cached ring;
    struct hs_cached *bucket[BUCKETS];
};

struct hs_cache *hs_cache__create(size_t most_bytes)
{
    struct hs_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return NULL;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->made, NULL);
    cache->most_bytes = most_bytes;
    cache->ring.before = cache->ring.behind = &cache->ring;
    return cache;
}

// ---- the table, under the lock -------------------------------------------------------------------------------------

static struct hs_cached **bucket_of(struct hs_cache *cache, const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3u;
    return &cache->bucket[(hash >> 32) % BUCKETS];
}

static void to_front(struct hs_cache *cache, struct hs_cached *cached)
{
    cached->before = &cache->ring;
    cached->behind = cache->ring.behind;
    cached->behind->before = cached;
    cache->ring.behind = cached;
}

static void leave_ring(struct hs_cached *cached)
{
    cached->before->behind = cached->behind;
    cached->behind->before = cached->before;
}

static void free_cached(struct hs_cached *cached)
{
    if (cached->value)
        cached->destroy(cached->value);
    free(cached->key);
    free(cached);
}

static void unlist(struct hs_cache *cache, struct hs_cached *cached)
{
    struct hs_cached **at = bucket_of(cache, cached->key);
    while (*at != cached)
        at = &(*at)->next;
    *at = cached->next;
    leave_ring(cached);
    cache->bytes -= cached->bytes;
    cached->listed = false;
}

static void drop(struct hs_cache *cache, struct hs_cached *cached)
{
    unlist(cache, cached);
    if (!cached->holders)
        free_cached(cached);
}

static void make_room(struct hs_cache *cache)
{
    for (struct hs_cached *cached = cache->ring.before; cached != &cache->ring && cache->bytes > cache->most_bytes;) {
        struct hs_cached *before = cached->before;
        if (!cached->making)
            drop(cache, cached);
        cached = before;
    }
}

static struct hs_cached *find(struct hs_cache *cache, const char *key)
{
    struct hs_cached *cached = *bucket_of(cache, key);
    while (cached && strcmp(cached->key, key) != 0)
        cached = cached->next;
    if (!cached)
        return NULL;
    leave_ring(cached);
    to_front(cache, cached);
    return cached;
}

static struct hs_cached *add(struct hs_cache *cache, const char *key, void (*destroy)(void *value))
{
    struct hs_cached *cached = calloc(1, sizeof(*cached));
    char *copy = strdup(key);
    if (!cached || !copy) {
        free(cached);
        free(copy);
        return NULL;
    }
    struct hs_cached **bucket = bucket_of(cache, key);
    *cached = (struct hs_cached){.key = copy, .destroy = destroy, .next = *bucket, .listed = true};
    *bucket = cached;
    to_front(cache, cached);
    return cached;
}

static void account(struct hs_cache *cache, struct hs_cached *cached, size_t bytes)
{
    cached->bytes = bytes + sizeof(*cached) + strlen(cached->key);
    if (!cached->listed)
        return;
    cache->bytes += cached->bytes;
    // A value that exceeds the limit by itself must not drop all others.
    if (cached->bytes > cache->most_bytes)
        drop(cache, cached);
    else
        make_room(cache);
}

// ---- values --------------------------------------------------------------------------------------------------------

static void release(struct hs_cache *cache, struct hs_cached *cached)
{
    (void)cache;
    if (!--cached->holders && !cached->listed)
        free_cached(cached);
}

// If another thread fails to compute a value, each waiting thread computes it itself: the failure may have been that of
// the other request.
static struct hs_cached *wait_for(struct hs_cache *cache, struct hs_cached *cached)
{
    cached->holders++;
    while (cached->making)
        pthread_cond_wait(&cache->made, &cache->lock);
    if (!cached->failed)
        return cached;
    release(cache, cached);
    return NULL;
}

static int make(struct hs_cache *cache, struct hs_cached *cached, const struct hs_cache_maker *maker,
                struct hs_error *error)
{
    size_t bytes = 0;
    cached->making = true;
    cached->holders++;
    pthread_mutex_unlock(&cache->lock);
    int result = maker->make(maker->context, &cached->value, &bytes, error);
    pthread_mutex_lock(&cache->lock);
    cached->making = false;
    cached->failed = result != 0;
    pthread_cond_broadcast(&cache->made);
    if (!result) {
        account(cache, cached, bytes);
        return 0;
    }
    cached->value = NULL; // whatever was in it, it is the maker's
    if (cached->listed)
        unlist(cache, cached);
    release(cache, cached);
    return result;
}

int hs_cache__get(struct hs_cache *cache, const char *key, const struct hs_cache_maker *maker,
                  struct hs_cached **result, struct hs_error *error)
{
    struct hs_cached *cached;
    int failed = 0;
    pthread_mutex_lock(&cache->lock);
    *result = NULL;
    while (!*result && !failed && (cached = find(cache, key)))
        *result = wait_for(cache, cached);
    if (!*result && !failed) {
        cached = add(cache, key, maker->destroy);
        failed = cached ? make(cache, cached, maker, error) : hs_error__set(error, ENOMEM, "out of memory");
        *result = failed ? NULL : cached;
    }
    pthread_mutex_unlock(&cache->lock);
    return failed;
}

struct hs_cached *hs_cache__find(struct hs_cache *cache, const char *key)
{
    pthread_mutex_lock(&cache->lock);
    struct hs_cached *cached = find(cache, key);
    if (cached && cached->making)
        cached = NULL;
    if (cached)
        cached->holders++;
    pthread_mutex_unlock(&cache->lock);
    return cached;
}

void hs_cache__put(struct hs_cache *cache, const char *key, void *value, size_t bytes, void (*destroy)(void *value))
{
    pthread_mutex_lock(&cache->lock);
    struct hs_cached *cached = find(cache, key) ? NULL : add(cache, key, destroy);
    if (cached) {
        cached->value = value;
        account(cache, cached, bytes);
    }
    pthread_mutex_unlock(&cache->lock);
    if (!cached)
        destroy(value);
}

void *hs_cached__value(const struct hs_cached *cached)
{
    return cached->value;
}

void hs_cache__release(struct hs_cache *cache, struct hs_cached *cached)
{
    pthread_mutex_lock(&cache->lock);
    release(cache, cached);
    pthread_mutex_unlock(&cache->lock);
}

void hs_cache__forget(struct hs_cache *cache, const char *prefix)
{
    size_t length = strlen(prefix);
    pthread_mutex_lock(&cache->lock);
    for (struct hs_cached *cached = cache->ring.behind; cached != &cache->ring;) {
        struct hs_cached *behind = cached->behind;
        if (!strncmp(cached->key, prefix, length) && !cached->making)
            drop(cache, cached);
        cached = behind;
    }
    pthread_mutex_unlock(&cache->lock);
}

void hs_cache__destroy(struct hs_cache *cache)
{
    if (!cache)
        return;
    hs_cache__forget(cache, "");
    pthread_cond_destroy(&cache->made);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
