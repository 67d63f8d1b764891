// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What remains on the stack of somebody who worked with keys: no key. Each piece of work runs on a stack of its own,
// which is then searched.
#include "wire_fixture.h"

#include "runtime/stream/key_file.h"
#include "tests/suite.h"
#include "third_party/bearssl/bearssl_block.h"
#include "third_party/bearssl/bearssl_kdf.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACK_SIZE = 256 * 1024, SEARCHED = 32 * 1024, WINDOW = 8, LENGTH = 1000 };

static struct connection made;
static uint8_t frame[HS_WIRE_FRAME_MAX], datagram[HS_ANNOUNCE_MAX], announce_key[HS_WIRE_KEY_SIZE];
static uint8_t key_read[HS_WIRE_SHARED_KEY_MAX];
static char path[64];
static uint8_t *stack;

static void setup(void)
{
    stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(stack != MAP_FAILED);
    made = connect_with_key();
    hs_announce__derive(announce_key, shared_key, SHARED_KEY_LENGTH);
}

static void run_on_the_stack(void *(*work)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    memset(stack, 0, STACK_SIZE);
    ck_assert_int_eq(pthread_attr_init(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, stack, STACK_SIZE), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, work, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

// As it is, and with the bytes of its words in the other order: hashes work on words.
static bool holds(const uint8_t *secret, size_t length)
{
    for (size_t at = 0; at + WINDOW <= length; at += 4) {
        uint8_t turned[WINDOW];
        for (unsigned i = 0; i < WINDOW; i++)
            turned[i] = secret[at + (i ^ 3)];
        for (size_t i = STACK_SIZE - SEARCHED; i + WINDOW <= STACK_SIZE; i++)
            if (memcmp(stack + i, secret + at, WINDOW) == 0 || memcmp(stack + i, turned, WINDOW) == 0)
                return true;
    }
    return false;
}

static bool holds_the_shared_key(void)
{
    return holds((const uint8_t *)shared_key, SHARED_KEY_LENGTH);
}

// What the keys are derived from, which is as good as they are.
static bool holds_the_secret(const void *salt, size_t salt_length)
{
    br_hmac_key_context keyed;
    br_hmac_context context;
    uint8_t secret[32];
    br_hmac_key_init(&keyed, &br_sha256_vtable, salt, salt_length);
    br_hmac_init(&context, &keyed, 0);
    br_hmac_update(&context, shared_key, SHARED_KEY_LENGTH);
    br_hmac_out(&context, secret);
    return holds(secret, sizeof secret);
}

// The first half of the first block of a frame's key stream: with it another frame with the same number could be
// forged.
static bool holds_the_one_time_key(const struct hs_wire_direction *direction, uint64_t number)
{
    uint8_t nonce[12] = {0}, key[32] = {0};
    hs_wire__put(nonce + 4, number, 8);
    br_chacha20_ct_run(direction->key, nonce, 0, key, sizeof key);
    return holds(key, sizeof key);
}

static void *derive(void *unused)
{
    hs_wire__derive(&made.from_device, &made.from_host, shared_key, SHARED_KEY_LENGTH, made.device_hello,
                    made.host_hello);
    return unused;
}

START_TEST(derivation_leaves_nothing)
{
    uint8_t salt[2 * HS_WIRE_HELLO_SIZE];
    memcpy(salt, made.device_hello, HS_WIRE_HELLO_SIZE);
    memcpy(salt + HS_WIRE_HELLO_SIZE, made.host_hello, HS_WIRE_HELLO_SIZE);
    run_on_the_stack(derive);
    ck_assert(!holds_the_shared_key());
    ck_assert(!holds_the_secret(salt, sizeof salt));
    ck_assert(!holds(made.from_device.key, HS_WIRE_KEY_SIZE));
    ck_assert(!holds(made.from_host.key, HS_WIRE_KEY_SIZE));
}
END_TEST

static void *derive_for_announcements(void *unused)
{
    hs_announce__derive(announce_key, shared_key, SHARED_KEY_LENGTH);
    return unused;
}

START_TEST(derivation_for_announcements_leaves_nothing)
{
    run_on_the_stack(derive_for_announcements);
    ck_assert(!holds_the_shared_key());
    ck_assert(!holds_the_secret("", 0));
    ck_assert(!holds(announce_key, sizeof announce_key));
}
END_TEST

static void *seal_and_open(void *unused)
{
    struct hs_wire_direction *from = &made.from_device;
    size_t size = hs_wire__seal(from, HS_WIRE_DATA, frame, LENGTH);
    from->frames = 0;
    ck_assert(opens(from, frame, size));
    return unused;
}

START_TEST(frames_leave_nothing)
{
    run_on_the_stack(seal_and_open);
    ck_assert(!holds(made.from_device.key, HS_WIRE_KEY_SIZE));
    ck_assert(!holds_the_one_time_key(&made.from_device, 0));
}
END_TEST

static void *announce(void *unused)
{
    static const uint8_t nonce[12] = "once";
    size_t size = hs_announce__seal(datagram, LENGTH, announce_key, nonce);
    ck_assert_int_eq(hs_announce__open(datagram, size, announce_key), LENGTH);
    return unused;
}

START_TEST(announcements_leave_nothing)
{
    run_on_the_stack(announce);
    ck_assert(!holds(announce_key, sizeof announce_key));
}
END_TEST

static void *read_key_file(void *unused)
{
    ck_assert_int_eq(hs_key_file__read(path, key_read, sizeof key_read), SHARED_KEY_LENGTH);
    return unused;
}

START_TEST(key_file_leaves_nothing)
{
    snprintf(path, sizeof path, "/tmp/heapsonde-key-XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, shared_key, SHARED_KEY_LENGTH), SHARED_KEY_LENGTH);
    ck_assert_int_eq(close(file), 0);
    run_on_the_stack(read_key_file);
    unlink(path);
    ck_assert(!holds_the_shared_key());
}
END_TEST

// ---- without wiping there would be something to find ----

static void *inject_and_leave(void *unused)
{
    br_hkdf_context derivation;
    br_hkdf_init(&derivation, &br_sha256_vtable, "", 0);
    br_hkdf_inject(&derivation, shared_key, SHARED_KEY_LENGTH);
    return unused;
}

static void *derive_and_leave(void *unused)
{
    br_hkdf_context derivation;
    br_hkdf_init(&derivation, &br_sha256_vtable, "", 0);
    br_hkdf_inject(&derivation, shared_key, SHARED_KEY_LENGTH);
    br_hkdf_flip(&derivation);
    br_hkdf_produce(&derivation, "heapsonde announce 1", 20, announce_key, sizeof announce_key);
    return unused;
}

static void *encrypt_and_leave(void *unused)
{
    static const uint8_t nonce[12];
    br_poly1305_ctmul_run(made.from_device.key, nonce, frame, LENGTH, frame, 4, datagram, br_chacha20_ct_run, 0);
    return unused;
}

// Where it is left depends on the compiler; that something is left does not.
START_TEST(search_finds_what_is_left)
{
    unsigned found = 0;
    run_on_the_stack(inject_and_leave);
    found += holds_the_shared_key();
    run_on_the_stack(derive_and_leave);
    found += holds_the_secret("", 0);
    found += holds(announce_key, sizeof announce_key);
    ck_assert_uint_gt(found, 0);
    run_on_the_stack(encrypt_and_leave);
    found = holds(made.from_device.key, HS_WIRE_KEY_SIZE);
    found += holds_the_one_time_key(&made.from_device, 0);
    ck_assert_uint_gt(found, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("secrets");
    TCase *tests = tcase_create("secrets");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, search_finds_what_is_left);
    tcase_add_test(tests, derivation_leaves_nothing);
    tcase_add_test(tests, derivation_for_announcements_leaves_nothing);
    tcase_add_test(tests, frames_leave_nothing);
    tcase_add_test(tests, announcements_leave_nothing);
    tcase_add_test(tests, key_file_leaves_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
