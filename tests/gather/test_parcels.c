// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Messages of a broker without a broker: their bytes, and both sides over a channel that loses, doubles, delays and
// exchanges.
#include "format/chunk.h"
#include "host/base/clock.h"
#include "host/gather/outbox.h"
#include "host/gather/parcels.h"
#include "tests/rounds.h"
#include "tests/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct hs_shared_key open_key;
static struct hs_shared_key key = {.length = 32, .bytes = "0123456789abcdef0123456789abcdef"};
static struct hs_shared_key other_key = {.length = 32, .bytes = "0123456789abcdef0123456789abcdeF"};

// ---- bytes ---------------------------------------------------------------------------------------------------------

enum { DATA = 40000 };
static uint8_t data[DATA];

static struct hs_parcel make_parcel(uint64_t number)
{
    static const uint8_t pairs[] = "\3\0pid\1\0007";
    struct hs_parcel parcel = {.from = {.session = "this session", .number = number},
                               .trace_id = "a trace",
                               .first = 5000,
                               .end = 5000 + DATA,
                               .ended = true,
                               .pairs = pairs,
                               .pairs_length = sizeof(pairs) - 1,
                               .pieces = {{data, DATA}},
                               .count = 1};
    for (size_t i = 0; i < DATA; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    return parcel;
}

static void check_round_trip(const struct hs_shared_key *with)
{
    static uint8_t bytes[HS_PARCEL_SIZE(DATA)];
    struct hs_parcel sent = make_parcel(77), got;
    size_t size = hs_parcel__write(with, &sent, bytes), at = 0;
    ck_assert_uint_le(size, sizeof(bytes));
    ck_assert_int_eq(hs_parcel__open(with, bytes, size, &got), HS_REFUSAL_NONE);
    ck_assert_mem_eq(&got.from, &sent.from, sizeof(got.from));
    ck_assert_mem_eq(got.trace_id, sent.trace_id, HS_TRACE_ID_SIZE);
    ck_assert_uint_eq(got.first, sent.first);
    ck_assert_uint_eq(got.end, sent.end);
    ck_assert(got.ended);
    ck_assert_uint_eq(got.pairs_length, sent.pairs_length);
    ck_assert_mem_eq(got.pairs, sent.pairs, sent.pairs_length);
    for (int i = 0; i < got.count; at += got.pieces[i++].iov_len)
        ck_assert_mem_eq(got.pieces[i].iov_base, data + at, got.pieces[i].iov_len);
    ck_assert_uint_eq(at, DATA);
}

START_TEST(test_round_trip)
{
    check_round_trip(&key);
    check_round_trip(&open_key);
}
END_TEST

static enum hs_refusal opened(const struct hs_shared_key *with, const uint8_t *bytes, size_t size)
{
    struct hs_parcel parcel;
    uint8_t *copy = malloc(size + !size);
    memcpy(copy, bytes, size);
    enum hs_refusal refusal = hs_parcel__open(with, copy, size, &parcel);
    free(copy);
    return refusal;
}

// A broker that changes a message is found out, whatever it changes.
START_TEST(test_changed)
{
    static uint8_t bytes[HS_PARCEL_SIZE(DATA)];
    struct hs_parcel parcel = make_parcel(3);
    size_t size = hs_parcel__write(&key, &parcel, bytes);
    ck_assert_int_eq(opened(&key, bytes, size), HS_REFUSAL_NONE);
    for (size_t i = 0; i < size; i += i < 256 || i + 256 > size ? 1 : 499) {
        bytes[i] ^= (uint8_t)(1u << i % 8);
        ck_assert_int_ne(opened(&key, bytes, size), HS_REFUSAL_NONE);
        bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    ck_assert_int_eq(opened(&key, bytes, size), HS_REFUSAL_NONE);
    ck_assert_int_eq(opened(&other_key, bytes, size), HS_REFUSAL_KEY);
    ck_assert_int_eq(opened(&open_key, bytes, size), HS_REFUSAL_SECURITY);
}
END_TEST

// Also where a frame ends.
START_TEST(test_cut)
{
    static uint8_t bytes[HS_PARCEL_SIZE(DATA)];
    for (int keyed = 0; keyed < 2; keyed++) {
        const struct hs_shared_key *with = keyed ? &key : &open_key;
        struct hs_parcel parcel = make_parcel(4);
        parcel.ended = false;
        size_t size = hs_parcel__write(with, &parcel, bytes);
        for (size_t cut = 0; cut < size; cut += cut < 256 ? 1 : 499)
            ck_assert_int_ne(opened(with, bytes, cut), HS_REFUSAL_NONE);
        for (size_t at = HS_WIRE_HELLO_SIZE; at < size; at += 4 + hs_wire__get(bytes + at, 4))
            ck_assert_int_ne(opened(with, bytes, at), HS_REFUSAL_NONE);
        bytes[size] = 0;
        ck_assert_int_ne(opened(with, bytes, size + 1), HS_REFUSAL_NONE);
    }
}
END_TEST

// Frames of two messages do not fit together, nor do they in another order.
START_TEST(test_exchanged)
{
    static uint8_t one[HS_PARCEL_SIZE(DATA)], two[HS_PARCEL_SIZE(DATA)];
    enum { AROUND = HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE + HS_WIRE_TAG_SIZE };
    struct hs_parcel parcel = make_parcel(5);
    size_t size = hs_parcel__write(&key, &parcel, one);
    parcel.from.number++;
    ck_assert_uint_eq(hs_parcel__write(&key, &parcel, two), size);
    size_t first = HS_WIRE_HELLO_SIZE + AROUND + HS_WIRE_STREAM_MIN + parcel.pairs_length;
    size_t frame = AROUND + HS_WIRE_PAYLOAD_MAX;
    uint8_t *copy = malloc(size);
    memcpy(copy, one, size);
    memcpy(copy + first, two + first, frame);
    ck_assert_int_ne(opened(&key, copy, size), HS_REFUSAL_NONE);
    memcpy(copy, one, size);
    memcpy(copy + first, one + first + frame, frame);
    memcpy(copy + first + frame, one + first, frame);
    ck_assert_int_ne(opened(&key, copy, size), HS_REFUSAL_NONE);
    memcpy(copy, two, HS_WIRE_HELLO_SIZE);
    memcpy(copy + HS_WIRE_HELLO_SIZE, one + HS_WIRE_HELLO_SIZE, size - HS_WIRE_HELLO_SIZE);
    ck_assert_int_ne(opened(&key, copy, size), HS_REFUSAL_NONE);
    free(copy);
}
END_TEST

START_TEST(test_answers)
{
    uint8_t bytes[HS_PARCEL_ANSWER_MAX], copy[HS_PARCEL_ANSWER_MAX];
    struct hs_parcel_answer sent = {.from = {.session = "gather", .number = 9},
                                    .to = {.session = "device", .number = 8},
                                    .trace_id = "trace",
                                    .kind = HS_WIRE_REFUSED,
                                    .has = 12345,
                                    .text = "there is no room"};
    struct hs_parcel_answer got;
    size_t size = hs_parcel_answer__write(&key, &sent, bytes);
    memcpy(copy, bytes, size);
    ck_assert(hs_parcel_answer__open(&key, copy, size, &got));
    ck_assert_mem_eq(&got.from, &sent.from, sizeof(got.from));
    ck_assert_mem_eq(&got.to, &sent.to, sizeof(got.to));
    ck_assert_uint_eq(got.has, sent.has);
    ck_assert_str_eq(got.text, sent.text);
    for (size_t i = 0; i < size; i++) {
        memcpy(copy, bytes, size);
        copy[i] ^= 1;
        ck_assert(!hs_parcel_answer__open(&key, copy, size, &got));
        memcpy(copy, bytes, size);
        ck_assert(!hs_parcel_answer__open(&key, copy, i, &got));
    }
    // What one side says is nothing that the other could have said.
    ck_assert_int_eq(opened(&key, bytes, size), HS_REFUSAL_ROLE);
    bytes[10] = HS_WIRE_DEVICE;
    ck_assert_int_ne(opened(&key, bytes, size), HS_REFUSAL_NONE);
}
END_TEST

// ---- a channel -----------------------------------------------------------------------------------------------------

enum { GATHERERS = 2, MOST_MESSAGES = 256, TOPIC = 64 };
#define TRACE_SIZE ((uint64_t)3 << 20)

struct message {
    int to; // a gatherer, or -1: the sender
    size_t size;
    uint8_t *bytes;
};

struct gatherer {
    struct channel *channel;
    char folder[64];
    struct hs_traces *traces;
    struct hs_parcels *parcels;
};

struct channel {
    uint64_t random, now;
    bool sure; // nothing is lost or doubled
    struct message message[MOST_MESSAGES];
    int count;
    struct gatherer gatherer[GATHERERS];
    int gatherers;
    FILE *nowhere;
    struct hs_notices *notices;
    struct hs_parcel_from from;
    struct hs_outbox outbox;
};

static uint64_t next_random(struct channel *channel)
{
    channel->random = channel->random * 6364136223846793005u + 1442695040888963407u;
    return channel->random >> 33;
}

static void put(struct channel *channel, int to, const uint8_t *bytes, size_t size)
{
    unsigned copies = channel->sure || next_random(channel) % 8 ? 1 : next_random(channel) % 2 * 2;
    while (copies-- && channel->count < MOST_MESSAGES) {
        struct message *message = &channel->message[channel->count++];
        *message = (struct message){to, size, malloc(size)};
        memcpy(message->bytes, bytes, size);
    }
}

static void answer(void *context, const char *topic, const uint8_t *bytes, size_t size)
{
    struct gatherer *gatherer = context;
    ck_assert(strncmp(topic, "t/ack/", 6) == 0);
    put(gatherer->channel, -1, bytes, size);
}

static void stored(void *context, uint64_t claim)
{
    struct gatherer *gatherer = context;
    hs_parcels__stored(gatherer->parcels, claim);
}

static void begin(struct gatherer *gatherer)
{
    struct hs_error error;
    struct hs_traces_options traces = {.directory = gatherer->folder,
                                       .quota = UINT64_MAX,
                                       .quota_per_device = UINT64_MAX,
                                       .stored = stored,
                                       .context = gatherer};
    ck_assert_msg(!hs_traces__open(&gatherer->traces, &traces, &error), "%s", error.message);
    struct hs_parcels_options parcels = {.context = {.traces = gatherer->traces, .notices = gatherer->channel->notices},
                                         .key = &key,
                                         .answer = answer,
                                         .data = gatherer};
    gatherer->parcels = hs_parcels__create(&parcels);
}

static void end(struct gatherer *gatherer)
{
    hs_parcels__close(gatherer->parcels);
    hs_traces__close(gatherer->traces);
    hs_parcels__free(gatherer->parcels);
}

// One of those that wait, usually the oldest.
static void deliver(struct channel *channel)
{
    if (!channel->count)
        return;
    int at = next_random(channel) % 6 ? 0 : (int)(next_random(channel) % (unsigned)channel->count);
    struct message message = channel->message[at];
    channel->count--;
    memmove(&channel->message[at], &channel->message[at + 1], (size_t)(channel->count - at) * sizeof(message));
    struct hs_parcel_answer text;
    if (message.to >= 0)
        hs_parcels__take(channel->gatherer[message.to].parcels, "t", message.bytes, message.size, channel->now);
    else if (hs_parcel_answer__open(&key, message.bytes, message.size, &text))
        hs_outbox__answer(&channel->outbox, &text, channel->from.number, channel->now);
    free(message.bytes);
}

static void step(struct channel *channel)
{
    static uint8_t room[HS_OUTBOX_ROOM];
    long size = hs_outbox__next(&channel->outbox, &key, &channel->from, channel->now, room);
    ck_assert_int_ge(size, 0);
    for (int i = 0; size && i < channel->gatherers; i++)
        put(channel, i, room, (size_t)size);
    for (int i = 0; i < 3; i++)
        deliver(channel);
    for (int i = 0; i < channel->gatherers; i++)
        hs_parcels__tick(channel->gatherer[i].parcels, channel->now);
    channel->now += 50 * HS_MILLISECOND;
    // The folder's own thread has to come to its turn.
    if (!size && !channel->count)
        usleep(200);
}

static void make_trace(struct channel *channel)
{
    char name[] = "/tmp/heapsonde-parcels-XXXXXX";
    struct hs_file_header header = {.magic = HS_FILE_MAGIC,
                                    .version_major = HS_FILE_VERSION_MAJOR,
                                    .byte_order = HS_BYTE_ORDER_LITTLE,
                                    .pointer_size = 8,
                                    .header_size = HS_FILE_HEADER_SIZE,
                                    .trace_id = {next_random(channel), next_random(channel)}};
    uint8_t *bytes = calloc(1, TRACE_SIZE);
    hs_file_header_seal(&header, bytes);
    for (size_t i = HS_FILE_HEADER_SIZE; i < TRACE_SIZE; i += 8)
        memcpy(bytes + i, &(uint64_t){next_random(channel)}, 8);
    memcpy(channel->outbox.trace_id, bytes + offsetof(struct hs_file_header, trace_id), HS_TRACE_ID_SIZE);
    channel->outbox.fd = mkstemp(name);
    ck_assert_int_ge(channel->outbox.fd, 0);
    unlink(name);
    ck_assert_int_eq(write(channel->outbox.fd, bytes, TRACE_SIZE), (ssize_t)TRACE_SIZE);
    free(bytes);
}

static struct channel *open_channel(uint64_t seed, int gatherers)
{
    static uint8_t pairs[] = "\3\0pid\1\0007";
    struct channel *channel = calloc(1, sizeof(*channel));
    channel->random = seed;
    channel->now = HS_SECOND;
    channel->gatherers = gatherers;
    channel->nowhere = fopen("/dev/null", "w");
    channel->notices = hs_notices__create(HS_NOTICES_LINES, channel->nowhere, channel->nowhere);
    hs_parcel_from__begin(&channel->from);
    make_trace(channel);
    channel->outbox.pairs = pairs;
    channel->outbox.pairs_length = sizeof(pairs) - 1;
    for (int i = 0; i < gatherers; i++) {
        struct gatherer *gatherer = &channel->gatherer[i];
        gatherer->channel = channel;
        strcpy(gatherer->folder, "/tmp/heapsonde-parcels-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(gatherer->folder));
        begin(gatherer);
    }
    return channel;
}

// The one trace is the file, to the byte.
static void check_folder(const struct channel *channel, const char *folder)
{
    DIR *directory = opendir(folder);
    int traces = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[400];
        struct stat status;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (stat(path, &status) || !S_ISREG(status.st_mode))
            continue;
        if (entry->d_name[0] != '.') {
            static uint8_t got[TRACE_SIZE], wanted[TRACE_SIZE];
            int fd = open(path, O_RDONLY);
            ck_assert_int_eq(status.st_size, (off_t)TRACE_SIZE);
            ck_assert_int_eq(pread(fd, got, TRACE_SIZE, 0), (ssize_t)TRACE_SIZE);
            ck_assert_int_eq(pread(channel->outbox.fd, wanted, TRACE_SIZE, 0), (ssize_t)TRACE_SIZE);
            ck_assert_mem_eq(got, wanted, TRACE_SIZE);
            close(fd);
            traces++;
        }
        unlink(path);
    }
    closedir(directory);
    rmdir(folder);
    ck_assert_int_eq(traces, 1);
}

static void close_channel(struct channel *channel)
{
    for (int i = 0; i < channel->gatherers; i++) {
        end(&channel->gatherer[i]);
        check_folder(channel, channel->gatherer[i].folder);
    }
    while (channel->count)
        free(channel->message[--channel->count].bytes);
    hs_notices__destroy(channel->notices);
    fclose(channel->nowhere);
    close(channel->outbox.fd);
    free(channel);
}

static void grow(struct channel *channel)
{
    struct hs_outbox *outbox = &channel->outbox;
    if (next_random(channel) % 3 == 0)
        outbox->size += next_random(channel) % 100000;
    if (outbox->size > TRACE_SIZE)
        outbox->size = TRACE_SIZE;
    outbox->ended = outbox->size == TRACE_SIZE;
}

static void run_channel(uint64_t seed, int gatherers, bool restarts)
{
    struct channel *channel = open_channel(seed, gatherers);
    channel->outbox.size = 1 + next_random(channel) % 10000; // perhaps not even the header
    for (unsigned steps = 0; !hs_outbox__is_done(&channel->outbox) || !channel->outbox.ended; steps++) {
        grow(channel);
        step(channel);
        if (restarts && steps % 60 == 59 && steps < 600) {
            end(&channel->gatherer[0]);
            begin(&channel->gatherer[0]);
        }
    }
    close_channel(channel);
}

START_TEST(test_channel)
{
    run_channel(1000 + (uint64_t)_i, 1, false);
}
END_TEST

START_TEST(test_restarts)
{
    run_channel(2000 + (uint64_t)_i, 1, true);
}
END_TEST

// The sender may not have heard of a gatherer that heard little, so only what is done counts: both have all of it, or
// it goes on.
START_TEST(test_two)
{
    struct channel *channel = open_channel(3000 + (uint64_t)_i, 2);
    channel->outbox.size = TRACE_SIZE;
    channel->outbox.ended = true;
    while (!hs_outbox__is_done(&channel->outbox) || channel->outbox.host_count < 2)
        step(channel);
    close_channel(channel);
}
END_TEST

// Sends [first, end) of the trace to the only gatherer, and returns how much it has then.
static uint64_t say(struct channel *channel, uint64_t first, uint64_t end, bool ended)
{
    static uint8_t bytes[HS_PARCEL_SIZE(1 << 20)], room[1 << 20];
    struct hs_outbox *outbox = &channel->outbox;
    struct hs_parcel parcel = {.from = channel->from,
                               .first = first,
                               .end = end,
                               .ended = ended,
                               .pairs = outbox->pairs,
                               .pairs_length = outbox->pairs_length,
                               .pieces = {{room, (size_t)(end - first)}},
                               .count = 1};
    memcpy(parcel.trace_id, outbox->trace_id, HS_TRACE_ID_SIZE);
    ck_assert_int_eq(pread(outbox->fd, room, (size_t)(end - first), (off_t)first), (ssize_t)(end - first));
    channel->from.number++;
    channel->sure = true;
    while (channel->count)
        free(channel->message[--channel->count].bytes);
    hs_parcels__take(channel->gatherer[0].parcels, "t", bytes, hs_parcel__write(&key, &parcel, bytes), channel->now);
    struct hs_parcel_answer text;
    ck_assert_int_eq(channel->count, 1);
    ck_assert(hs_parcel_answer__open(&key, channel->message[0].bytes, channel->message[0].size, &text));
    ck_assert_uint_eq(text.to.number, parcel.from.number);
    return text.has;
}

START_TEST(test_pieces)
{
    struct channel *channel = open_channel(1, 1);
    const uint64_t much = 1000000;
    ck_assert_uint_eq(say(channel, 4096, 9000, false), 0); // a gap
    ck_assert_uint_eq(say(channel, 0, 100, false), 100);
    ck_assert_uint_eq(hs_traces__claim_of(channel->gatherer[0].traces, ""), 0); // it has no file yet
    ck_assert_uint_eq(say(channel, 0, 0, false), 100);                          // a question
    ck_assert_uint_eq(say(channel, 50, 5000, false), 5000);
    ck_assert_uint_eq(say(channel, 4999, 100000, false), 100000);
    ck_assert_uint_eq(say(channel, 0, 100000, false), 100000);      // twice
    ck_assert_uint_eq(say(channel, 100001, 200000, false), 100000); // a byte is missing
    ck_assert_uint_eq(say(channel, TRACE_SIZE, TRACE_SIZE, true), 100000);
    ck_assert_uint_eq(say(channel, 50000, much, false), much);
    ck_assert_uint_eq(say(channel, much, 2 * much, false), 2 * much);
    ck_assert_uint_eq(say(channel, 2 * much, 3 * much, false), 3 * much);
    ck_assert_uint_eq(say(channel, 3 * much, TRACE_SIZE, true), TRACE_SIZE);
    close_channel(channel);
}
END_TEST

// What comes to the topics of answers is for senders, whatever the topic of the sender is called.
START_TEST(test_answer_topics)
{
    static uint8_t bytes[HS_PARCEL_SIZE(0)], copy[HS_PARCEL_SIZE(0)];
    static const char *const topics[] = {"t", "t/ack/7", "t/ack/ack", "/ack/"};
    struct channel *channel = open_channel(1, 1);
    struct hs_parcel parcel = {.from = channel->from, .pairs = channel->outbox.pairs, .pairs_length = 0};
    memcpy(parcel.trace_id, channel->outbox.trace_id, HS_TRACE_ID_SIZE);
    const size_t size = hs_parcel__write(&key, &parcel, bytes);
    for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
        char topic[TOPIC * 2];
        memcpy(copy, bytes, size);
        ck_assert(hs_parcel__answer_topic(topic, sizeof(topic), topics[i], parcel.from.session));
        hs_parcels__take(channel->gatherer[0].parcels, topic, copy, size, channel->now);
        ck_assert_int_eq(channel->count, 0);
    }
    for (uint64_t at = 0; at < TRACE_SIZE; at += TRACE_SIZE / 4)
        say(channel, at, at + TRACE_SIZE / 4, at + TRACE_SIZE / 4 == TRACE_SIZE);
    close_channel(channel);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parcels");
    TCase *bytes = tcase_create("bytes"), *channel = tcase_create("channel");
    int rounds = (int)test_rounds(8);
    tcase_add_test(bytes, test_round_trip);
    tcase_add_test(bytes, test_changed);
    tcase_add_test(bytes, test_cut);
    tcase_add_test(bytes, test_exchanged);
    tcase_add_test(bytes, test_answers);
    tcase_add_test(channel, test_pieces);
    tcase_add_test(channel, test_answer_topics);
    tcase_add_loop_test(channel, test_channel, 0, rounds);
    tcase_add_loop_test(channel, test_restarts, 0, rounds);
    tcase_add_loop_test(channel, test_two, 0, rounds);
    suite_add_tcase(suite, bytes);
    suite_add_tcase(suite, channel);
    return run_suite(suite);
}
