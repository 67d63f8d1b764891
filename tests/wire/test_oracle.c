// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The cipher of the targets against libsodium: what one seals, the other seals and opens alike.
#include "format/wire_cipher.h"

#include "tests/runtime/random.h"
#include "tests/suite.h"

#include <check.h>
#include <sodium.h>
#include <string.h>

enum { TAG = 16, LONGEST = 16388, ROUNDS = 4000 };

static struct random_numbers numbers;

static void draw(void *to, size_t length)
{
    uint8_t *bytes = to;
    // Runs of ones and zeros reach carries that random bytes do not.
    unsigned manner = (unsigned)random_below(&numbers, 4);
    for (size_t i = 0; i < length; i++)
        bytes[i] = manner == 0 ? 0xff : manner == 1 ? 0 : (uint8_t)random_next(&numbers);
}

START_TEST(both_make_and_take_the_same_bytes)
{
    static uint8_t plain[LONGEST], ours[LONGEST + TAG], theirs[LONGEST + TAG], opened[LONGEST];
    uint8_t key[32], nonce[12], header[16];
    numbers = random_from(8439);
    ck_assert_int_ge(sodium_init(), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t length = (size_t)random_below(&numbers, round % 50 == 0 ? LONGEST + 1 : 300);
        size_t header_length = (size_t)random_below(&numbers, sizeof header + 1);
        draw(key, sizeof key);
        draw(nonce, sizeof nonce);
        draw(header, sizeof header);
        draw(plain, length);
        memcpy(ours, plain, length);
        struct hs_wire_sealed sealed = {.key = key,
                                        .nonce = nonce,
                                        .header = header,
                                        .header_length = header_length,
                                        .data = ours,
                                        .length = length};
        hs_wire_cipher__seal(&sealed);
        crypto_aead_chacha20poly1305_ietf_encrypt(theirs, NULL, plain, length, header, header_length, NULL, nonce, key);
        ck_assert_mem_eq(ours, theirs, length + TAG);
        ck_assert_int_eq(crypto_aead_chacha20poly1305_ietf_decrypt(opened, NULL, NULL, ours, length + TAG, header,
                                                                   header_length, nonce, key),
                         0);
        ck_assert_mem_eq(opened, plain, length);
        sealed.data = theirs;
        ck_assert(hs_wire_cipher__open(&sealed));
        ck_assert_mem_eq(theirs, plain, length);
    }
}
END_TEST

START_TEST(both_refuse_the_same)
{
    uint8_t key[32], nonce[12], header[4], data[64 + TAG], opened[64];
    numbers = random_from(5869);
    ck_assert_int_ge(sodium_init(), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t length = (size_t)random_below(&numbers, 65), at = (size_t)random_below(&numbers, length + TAG);
        draw(key, sizeof key);
        draw(nonce, sizeof nonce);
        draw(header, sizeof header);
        draw(data, length);
        struct hs_wire_sealed sealed = {.key = key,
                                        .nonce = nonce,
                                        .header = header,
                                        .header_length = sizeof header,
                                        .data = data,
                                        .length = length};
        hs_wire_cipher__seal(&sealed);
        data[at] ^= (uint8_t)(1u << random_below(&numbers, 8));
        ck_assert_int_ne(crypto_aead_chacha20poly1305_ietf_decrypt(opened, NULL, NULL, data, length + TAG, header,
                                                                   sizeof header, nonce, key),
                         0);
        ck_assert(!hs_wire_cipher__open(&sealed));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oracle");
    TCase *tests = tcase_create("oracle");
    tcase_add_test(tests, both_make_and_take_the_same_bytes);
    tcase_add_test(tests, both_refuse_the_same);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
