// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/importing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct one {
    struct one *next;
    uint64_t done, total;
    char path[];
};

struct hs_importing {
    pthread_mutex_t lock;
    struct one *first;
};

struct hs_importing *hs_importing__create(void)
{
    struct hs_importing *importing = calloc(1, sizeof(*importing));
    if (importing)
        pthread_mutex_init(&importing->lock, NULL);
    return importing;
}

void hs_importing__destroy(struct hs_importing *importing)
{
    if (!importing)
        return;
    while (importing->first) {
        struct one *one = importing->first;
        importing->first = one->next;
        free(one);
    }
    pthread_mutex_destroy(&importing->lock);
    free(importing);
}

static struct one **find(struct hs_importing *importing, const char *path)
{
    struct one **at = &importing->first;
    while (*at && (!path || strcmp((*at)->path, path)))
        at = &(*at)->next;
    return at;
}

int hs_importing__expect(struct hs_importing *importing, const char *path)
{
    struct one *one = calloc(1, sizeof(*one) + strlen(path) + 1);
    if (!one)
        return -ENOMEM;
    strcpy(one->path, path);
    pthread_mutex_lock(&importing->lock);
    *find(importing, NULL) = one;
    pthread_mutex_unlock(&importing->lock);
    return 0;
}

void hs_importing__end(struct hs_importing *importing, const char *path)
{
    pthread_mutex_lock(&importing->lock);
    struct one **at = find(importing, path);
    struct one *one = *at;
    if (one)
        *at = one->next;
    pthread_mutex_unlock(&importing->lock);
    free(one);
}

bool hs_importing__any(struct hs_importing *importing)
{
    pthread_mutex_lock(&importing->lock);
    const bool any = importing->first;
    pthread_mutex_unlock(&importing->lock);
    return any;
}

static void keep(void *context, uint64_t done, uint64_t total)
{
    const struct hs_importing_one *one = context;
    pthread_mutex_lock(&one->importing->lock);
    struct one *kept = *find(one->importing, one->path);
    if (kept) {
        kept->done = done;
        kept->total = total;
    }
    pthread_mutex_unlock(&one->importing->lock);
    if (one->outer && one->outer->progress)
        one->outer->progress(one->outer->context, done, total);
}

struct hs_query_control hs_importing__control(struct hs_importing_one *one)
{
    struct hs_query_control control = {0};
    if (one->outer)
        control = *one->outer;
    control.progress = keep;
    control.context = one;
    return control;
}

struct hs_importing_rows {
    struct one *first;
};

static struct one *copy(const struct one *one)
{
    struct one *copied = malloc(sizeof(*copied) + strlen(one->path) + 1);
    if (copied) {
        *copied = (struct one){.done = one->done, .total = one->total};
        strcpy(copied->path, one->path);
    }
    return copied;
}

struct hs_importing_rows *hs_importing__rows(struct hs_importing *importing)
{
    struct hs_importing_rows *rows = calloc(1, sizeof(*rows));
    struct one **last = rows ? &rows->first : NULL;
    pthread_mutex_lock(&importing->lock);
    for (const struct one *one = importing->first; one && last; one = one->next)
        if ((*last = copy(one)))
            last = &(*last)->next;
    pthread_mutex_unlock(&importing->lock);
    return rows;
}

static void write_row(struct hs_json *json, const struct one *one)
{
    hs_json__open_object(json, NULL);
    hs_json__string(json, "id", "");
    hs_json__string(json, "path", one->path);
    hs_json__open_object(json, "progress");
    hs_json__number(json, "done", one->done);
    hs_json__number(json, "total", one->total);
    hs_json__close_object(json);
    hs_json__close_object(json);
}

void hs_importing_rows__write(struct hs_importing_rows *rows, bool (*is_written)(void *context, const char *path),
                              void *context, struct hs_json *json)
{
    while (rows && rows->first) {
        struct one *one = rows->first;
        rows->first = one->next;
        if (!is_written(context, one->path))
            write_row(json, one);
        free(one);
    }
    free(rows);
}
