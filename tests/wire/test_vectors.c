// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The vendored ciphers and hashes against the vectors of the RFCs that define them.
#include "tests/suite.h"
#include "third_party/bearssl/bearssl_block.h"
#include "third_party/bearssl/bearssl_kdf.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512 };

struct bytes {
    uint8_t data[MOST];
    size_t length;
};

static struct bytes from_hex(const char *text)
{
    struct bytes bytes = {.length = strlen(text) / 2};
    ck_assert_uint_le(bytes.length, MOST);
    for (size_t i = 0; i < bytes.length; i++) {
        unsigned value;
        ck_assert_int_eq(sscanf(text + 2 * i, "%2x", &value), 1);
        bytes.data[i] = (uint8_t)value;
    }
    return bytes;
}

static struct bytes from_text(const char *text)
{
    struct bytes bytes = {.length = strlen(text)};
    memcpy(bytes.data, text, bytes.length);
    return bytes;
}

static struct bytes repeated(uint8_t byte, size_t length)
{
    struct bytes bytes = {.length = length};
    memset(bytes.data, byte, length);
    return bytes;
}

static struct bytes counting(uint8_t from, size_t length)
{
    struct bytes bytes = {.length = length};
    for (size_t i = 0; i < length; i++)
        bytes.data[i] = (uint8_t)(from + i);
    return bytes;
}

static void check_is(const void *data, const char *hex)
{
    struct bytes expected = from_hex(hex);
    ck_assert_mem_eq(data, expected.data, expected.length);
}

static const char sunscreen[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
                                "future, sunscreen would be it.";

// ---- RFC 8439 ----

START_TEST(chacha20_of_rfc_8439)
{
    struct bytes key = counting(0, 32), nonce = from_hex("000000000000004a00000000"), text = from_text(sunscreen);
    ck_assert_uint_eq(br_chacha20_ct_run(key.data, nonce.data, 1, text.data, text.length), 3);
    check_is(text.data,
             "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c5524733ab8f593dabcd62b357"
             "1639d624e65152ab8f530c359f0861d807ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
             "5af90bbf74a35be6b40b8eedf2785e42874d");
}
END_TEST

// Appendix A.1: the key stream of zeros, and with the counter at 1, 1 and 2.
START_TEST(key_stream_of_rfc_8439)
{
    static const struct {
        const char *key, *nonce, *stream;
        uint32_t counter;
    } vectors[] = {
        {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
         "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a376a43b8f41518a"
         "1"
         "1cc387b669b2ee6586",
         0},
        {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
         "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed29b721769ce64e43d57133b074d839d531ed1f28510af"
         "b"
         "45ace10a1f4b794d6f",
         1},
        {"0000000000000000000000000000000000000000000000000000000000000001", "000000000000000000000000",
         "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36"
         "1"
         "25a64addeb006c13a0",
         1},
        {"00ff000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
         "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545e"
         "c"
         "1b7374f4872e99f096",
         2},
        {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000002",
         "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c78a970e0e955c14f3a88e741b97c286f75f8fc299e8148"
         "3"
         "62fa198a39531bed6d",
         0},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct bytes key = from_hex(vectors[i].key), nonce = from_hex(vectors[i].nonce), stream = repeated(0, 64);
        br_chacha20_ct_run(key.data, nonce.data, vectors[i].counter, stream.data, stream.length);
        check_is(stream.data, vectors[i].stream);
    }
}
END_TEST

static void check_aead(const char *key_hex, const char *nonce_hex, const char *header_hex, const char *plain,
                       const char *sealed_hex, const char *tag_hex)
{
    struct bytes key = from_hex(key_hex), nonce = from_hex(nonce_hex), header = from_hex(header_hex);
    struct bytes text = from_text(plain);
    uint8_t tag[16];
    br_poly1305_ctmul_run(key.data, nonce.data, text.data, text.length, header.data, header.length, tag,
                          br_chacha20_ct_run, 1);
    check_is(text.data, sealed_hex);
    check_is(tag, tag_hex);
    memset(tag, 0, sizeof tag);
    br_poly1305_ctmul_run(key.data, nonce.data, text.data, text.length, header.data, header.length, tag,
                          br_chacha20_ct_run, 0);
    check_is(tag, tag_hex);
    ck_assert_mem_eq(text.data, plain, text.length);
}

START_TEST(aead_of_rfc_8439)
{
    check_aead(
        "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f", "070000004041424344454647",
        "50515253c0c1c2c3c4c5c6c7", sunscreen,
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a"
        "9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9d"
        "e576d26586cec64b6116",
        "1ae10b594f09e26a7e902ecbd0600691");
    check_aead("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0", "000000000102030405060708",
               "f33388860000000000004e91",
               "Internet-Drafts are draft documents valid for a maximum of six months and may be updated, replaced, or "
               "obsoleted by other documents at any time. It is inappropriate to use Internet-Drafts as reference "
               "material or to cite them other than as /\xe2\x80\x9cwork in progress./\xe2\x80\x9d",
               "64a0861575861af460f062c79be643bd", "eead9d67890cbb22392336fea1851f38");
}
END_TEST

// ---- Poly1305 where its carries run through all words: the key is given instead of drawn from ChaCha20 ----

static const char *one_time_key;

static uint32_t give_key(const void *key, const void *nonce, uint32_t counter, void *data, size_t length)
{
    (void)key, (void)nonce;
    if (counter == 0)
        memcpy(data, from_hex(one_time_key).data, length);
    return counter;
}

// Computed with whole numbers, from the definition in RFC 8439, 2.5.1.
START_TEST(poly1305_at_its_limits)
{
    static const struct {
        const char *key;
        uint8_t byte;
        size_t length;
        const char *tag;
    } vectors[] = {
#include "poly1305_limits.h"
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct bytes data = repeated(vectors[i].byte, vectors[i].length);
        uint8_t tag[16];
        one_time_key = vectors[i].key;
        br_poly1305_ctmul_run(NULL, NULL, data.data, data.length, data.data, data.length, tag, give_key, 1);
        check_is(tag, vectors[i].tag);
    }
}
END_TEST

// ---- FIPS 180-4, RFC 4231, RFC 5869 ----

static void check_sha256(const void *data, size_t length, unsigned times, const char *hex)
{
    br_sha256_context context;
    uint8_t digest[32];
    br_sha256_init(&context);
    for (unsigned i = 0; i < times; i++)
        br_sha256_update(&context, data, length);
    br_sha256_out(&context, digest);
    check_is(digest, hex);
}

START_TEST(sha256_of_fips_180)
{
    check_sha256("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256("abc", 3, 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 1,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha256("aaaaaaaaaa", 10, 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

static void check_hmac(struct bytes key, struct bytes data, size_t length, const char *hex)
{
    br_hmac_key_context keyed;
    br_hmac_context context;
    uint8_t output[32];
    br_hmac_key_init(&keyed, &br_sha256_vtable, key.data, key.length);
    br_hmac_init(&context, &keyed, length);
    br_hmac_update(&context, data.data, data.length);
    ck_assert_uint_eq(br_hmac_out(&context, output), length);
    check_is(output, hex);
}

START_TEST(hmac_of_rfc_4231)
{
    check_hmac(repeated(0x0b, 20), from_text("Hi There"), 32,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac(from_text("Jefe"), from_text("what do ya want for nothing?"), 32,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    check_hmac(repeated(0xaa, 20), repeated(0xdd, 50), 32,
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    check_hmac(counting(1, 25), repeated(0xcd, 50), 32,
               "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    check_hmac(repeated(0x0c, 20), from_text("Test With Truncation"), 16, "a3b6167473100ee06e0c796c2955552b");
    check_hmac(repeated(0xaa, 131), from_text("Test Using Larger Than Block-Size Key - Hash Key First"), 32,
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    check_hmac(repeated(0xaa, 131),
               from_text("This is a test using a larger than block-size key and a larger than block-size data. The key "
                         "needs to be hashed before being used by the HMAC algorithm."),
               32, "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}
END_TEST

static void check_hkdf(struct bytes salt, struct bytes material, struct bytes purpose, const char *hex)
{
    br_hkdf_context context;
    uint8_t output[MOST];
    br_hkdf_init(&context, &br_sha256_vtable, salt.data, salt.length);
    br_hkdf_inject(&context, material.data, material.length);
    br_hkdf_flip(&context);
    ck_assert_uint_eq(br_hkdf_produce(&context, purpose.data, purpose.length, output, strlen(hex) / 2),
                      strlen(hex) / 2);
    check_is(output, hex);
}

START_TEST(hkdf_of_rfc_5869)
{
    check_hkdf(counting(0, 13), repeated(0x0b, 22), counting(0xf0, 10),
               "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    check_hkdf(counting(0x60, 80), counting(0, 80), counting(0xb0, 80),
               "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da32756"
               "00c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
    check_hkdf(repeated(0, 0), repeated(0x0b, 22), repeated(0, 0),
               "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vectors");
    TCase *tests = tcase_create("vectors");
    tcase_add_test(tests, chacha20_of_rfc_8439);
    tcase_add_test(tests, key_stream_of_rfc_8439);
    tcase_add_test(tests, aead_of_rfc_8439);
    tcase_add_test(tests, poly1305_at_its_limits);
    tcase_add_test(tests, sha256_of_fips_180);
    tcase_add_test(tests, hmac_of_rfc_4231);
    tcase_add_test(tests, hkdf_of_rfc_5869);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
