// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Chunks that are decoded ahead are those of the order, whoever decodes them, also where there is no thread to be had.
#include "host/import/decode_ahead.h"
#include "tests/store/no_threads.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNKS 100 // many times what is decoded ahead
#define EVENTS 200

static struct hs_trace *trace;
static const struct hs_trace_chunk *order[CHUNKS];

static void write_trace(const char *path)
{
    struct trace_writer writer;
    static struct hs_event events[EVENTS];
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
        for (uint64_t i = 0; i < EVENTS; i++)
            events[i] = (struct hs_event){.kind = i % 7 ? HS_EVENT_MALLOC : HS_EVENT_MARK,
                                          .time = chunk * EVENTS + i,
                                          .address = (chunk * EVENTS + i) * 32,
                                          .value = i,
                                          .size = 24,
                                          .usable = 24};
        trace_writer__events(&writer, 0, events, EVENTS, false);
    }
    trace_writer__close(&writer, true, CHUNKS * EVENTS);
}

static void open_trace(void)
{
    char path[] = "/tmp/heapsonde-ahead-XXXXXX";
    struct hs_error error;
    size_t count, found = 0;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    write_trace(path);
    ck_assert_int_eq(hs_trace__open(path, &trace, &error), 0);
    unlink(path);
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++)
        if (chunks[i].kind == HS_CHUNK_EVENTS)
            order[found++] = &chunks[i];
    ck_assert_uint_eq(found, CHUNKS);
}

static void check_chunk(const struct hs_decoded *decoded, uint64_t chunk)
{
    ck_assert_int_eq(decoded->failed, 0);
    ck_assert_uint_eq(decoded->count, EVENTS);
    for (uint64_t i = 0; i < EVENTS; i++)
        ck_assert_uint_eq(decoded->events[i].time, chunk * EVENTS + i);
    ck_assert_uint_eq(decoded->wides, (EVENTS + 6) / 7);
    for (uint64_t i = 0; i < decoded->wides; i++)
        ck_assert_uint_eq(decoded->wide[i].value, 7 * i);
}

// Several may be in use at once, as chunks overlap.
START_TEST(chunks_come_in_their_order)
{
    struct hs_decoded *held = NULL;
    no_threads = _i;
    open_trace();
    struct hs_decode_ahead *ahead = hs_decode_ahead__start(trace, order, CHUNKS);
    for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
        struct hs_decoded *decoded = hs_decode_ahead__take(ahead);
        ck_assert_ptr_nonnull(decoded);
        check_chunk(decoded, chunk);
        if (held) {
            check_chunk(held, chunk - 1);
            hs_decode_ahead__give_back(ahead, held);
        }
        held = decoded;
    }
    hs_decode_ahead__give_back(ahead, held);
    hs_decode_ahead__stop(ahead);
    hs_trace__close(trace);
}
END_TEST

START_TEST(it_may_be_left_in_the_middle)
{
    no_threads = _i;
    open_trace();
    for (unsigned taken = 0; taken < 40; taken++) {
        struct hs_decode_ahead *ahead = hs_decode_ahead__start(trace, order, CHUNKS);
        for (unsigned chunk = 0; chunk < taken; chunk++)
            hs_decode_ahead__give_back(ahead, hs_decode_ahead__take(ahead));
        hs_decode_ahead__stop(ahead);
    }
    hs_trace__close(trace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode_ahead");
    TCase *tests = tcase_create("decode_ahead");
    tcase_add_loop_test(tests, chunks_come_in_their_order, 0, 2);
    tcase_add_loop_test(tests, it_may_be_left_in_the_middle, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
