// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Writes JSON as it goes: nothing is kept in memory. `key` is NULL inside arrays. Strings may contain any bytes: those
// that are not UTF-8 become U+FFFD.
#ifndef HEAPSONDE_BASE_JSON_H
#define HEAPSONDE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HS_JSON_DEPTH 32

struct hs_json {
    FILE *out;
    unsigned depth;
    bool pretty;                // a line for each member of the outer levels
    bool filled[HS_JSON_DEPTH]; // something was written at that depth
};

void hs_json__start(struct hs_json *json, FILE *out, bool pretty);
void hs_json__open_object(struct hs_json *json, const char *key);
void hs_json__close_object(struct hs_json *json);
void hs_json__open_array(struct hs_json *json, const char *key);
void hs_json__close_array(struct hs_json *json);
void hs_json__string(struct hs_json *json, const char *key, const char *value); // NULL: null
void hs_json__bytes(struct hs_json *json, const char *key, const char *bytes, size_t length);
void hs_json__number(struct hs_json *json, const char *key, uint64_t value);
void hs_json__signed(struct hs_json *json, const char *key, int64_t value);
void hs_json__signed_array(struct hs_json *json, const char *key, const int32_t *numbers, size_t count);
void hs_json__real(struct hs_json *json, const char *key, double value); // not finite: null
void hs_json__boolean(struct hs_json *json, const char *key, bool value);
void hs_json__raw(struct hs_json *json, const char *key, const char *text, size_t length); // is JSON already
void hs_json__null(struct hs_json *json, const char *key);

#endif
