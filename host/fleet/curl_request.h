// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What all requests by libcurl have in common: one POST, its answer, and the parts of addresses.
#ifndef HEAPSONDE_HOST_FLEET_CURL_REQUEST_H
#define HEAPSONDE_HOST_FLEET_CURL_REQUEST_H

#include "host/base/buffer.h"
#include "host/fleet/curl_library.h"

#include <stdbool.h>
#include <stddef.h>

enum { HS_CURL_WORDS = 300 };

struct hs_curl_request {
    const struct hs_curl_library *lib;
    CURL *curl; // with the options that only some requests have
    const char *url;
    bool has_user; // the caller says who it is; else ~/.netrc may
    struct curl_slist *headers;
    const void *body;
    size_t length;
    long connect_seconds;
    struct hs_buffer *answer;
    size_t answer_most; // a longer one fails with CURLE_WRITE_ERROR
    const int *cancel;  // it ends soon after this becomes not 0, with CURLE_ABORTED_BY_CALLBACK; NULL: never
    long most_seconds;  // then it ends with CURLE_OPERATION_TIMEDOUT; 0: as long as something is sent or received

    // Set by hs_curl_request__perform:
    long status; // 0: none was received
    char problem[CURL_ERROR_SIZE];
};

// Sends it and receives the answer. If this fails, `problem` says why.
CURLcode hs_curl_request__perform(struct hs_curl_request *request);

// The first words of an answer, in one line that may be printed.
void hs_curl__words(char words[HS_CURL_WORDS + 1], const struct hs_buffer *answer);

// A part of an address, which the caller frees. NULL: it has none.
char *hs_curl__url_part(const struct hs_curl_library *lib, CURLU *url, CURLUPart part, unsigned flags);

#endif
