// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = HS_ANSWER_STREAM_MEMORY, PIECE = 32 << 10 };

struct hs_answer_stream {
    struct hs_stream_writer writer;
    pthread_mutex_t lock; // of all that follows
    pthread_cond_t changed;
    pthread_t thread;
    bool started, ended, failed, cancelled;
    size_t begin, length; // a ring
    char ring[ROOM];
};

struct hs_answer_stream *hs_answer_stream__create(const struct hs_stream_writer *writer)
{
    struct hs_answer_stream *stream = calloc(1, sizeof(*stream));
    if (!stream) {
        if (writer->done)
            writer->done(writer->context);
        return NULL;
    }
    stream->writer = *writer;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    return stream;
}

static size_t put(struct hs_answer_stream *stream, const char *bytes, size_t size)
{
    size_t end = (stream->begin + stream->length) % ROOM;
    size_t length = ROOM - stream->length;
    if (length > ROOM - end)
        length = ROOM - end;
    if (length > size)
        length = size;
    memcpy(stream->ring + end, bytes, length);
    stream->length += length;
    return length;
}

static ssize_t take_bytes(void *cookie, const char *bytes, size_t size)
{
    struct hs_answer_stream *stream = cookie;
    size_t done = 0;
    pthread_mutex_lock(&stream->lock);
    while (done < size && !stream->cancelled) {
        size_t length = put(stream, bytes + done, size - done);
        done += length;
        if (length)
            pthread_cond_signal(&stream->changed);
        else
            pthread_cond_wait(&stream->changed, &stream->lock);
    }
    bool cancelled = stream->cancelled;
    pthread_mutex_unlock(&stream->lock);
    if (!cancelled)
        return (ssize_t)size;
    errno = EPIPE;
    return 0;
}

static bool write_all(struct hs_answer_stream *stream)
{
    FILE *out = fopencookie(stream, "w", (cookie_io_functions_t){.write = take_bytes});
    if (!out)
        return false;
    setvbuf(out, NULL, _IOFBF, PIECE);
    bool good = !stream->writer.write(stream->writer.context, out) && !ferror(out);
    return !fclose(out) && good;
}

static void *run(void *context)
{
    struct hs_answer_stream *stream = context;
    bool good = write_all(stream);
    pthread_mutex_lock(&stream->lock);
    stream->ended = true;
    stream->failed = !good;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

static size_t take(struct hs_answer_stream *stream, char *to, size_t most)
{
    size_t length = stream->length;
    if (length > ROOM - stream->begin)
        length = ROOM - stream->begin;
    if (length > most)
        length = most;
    memcpy(to, stream->ring + stream->begin, length);
    stream->begin = (stream->begin + length) % ROOM;
    stream->length -= length;
    return length;
}

static bool start(struct hs_answer_stream *stream)
{
    if (!stream->started)
        stream->started = !pthread_create(&stream->thread, NULL, run, stream);
    return stream->started;
}

bool hs_answer_stream__start(struct hs_answer_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    const bool started = start(stream);
    pthread_mutex_unlock(&stream->lock);
    return started;
}

ssize_t hs_answer_stream__read(struct hs_answer_stream *stream, char *to, size_t most)
{
    ssize_t result = -1;
    pthread_mutex_lock(&stream->lock);
    if (start(stream)) {
        while (!stream->length && !stream->ended && !stream->cancelled)
            pthread_cond_wait(&stream->changed, &stream->lock);
        if (!stream->cancelled && (stream->length || !stream->failed))
            result = (ssize_t)take(stream, to, most);
        pthread_cond_signal(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    return result;
}

void hs_answer_stream__cancel(struct hs_answer_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->cancelled = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

void hs_answer_stream__destroy(struct hs_answer_stream *stream)
{
    hs_answer_stream__cancel(stream);
    if (stream->started)
        pthread_join(stream->thread, NULL);
    if (stream->writer.done)
        stream->writer.done(stream->writer.context);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}
