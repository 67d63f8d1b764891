// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/curl_request.h"

#include "host/report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SILENT_SECONDS = 120 }; // without a byte in either direction

static size_t take_answer(char *bytes, size_t size, size_t count, void *to)
{
    const struct hs_curl_request *request = to;
    struct hs_buffer *answer = request->answer;
    if (answer->count + size * count > request->answer_most)
        return 0;
    hs_buffer__put(answer, bytes, size * count);
    return answer->failed ? 0 : size * count;
}

// libcurl asks at least once a second.
static int is_cancelled(void *from, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    const struct hs_curl_request *request = from;
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return __atomic_load_n(request->cancel, __ATOMIC_RELAXED) != 0;
}

static void limit(struct hs_curl_request *request)
{
    const struct hs_curl_library *lib = request->lib;
    lib->curl_easy_setopt(request->curl, CURLOPT_TIMEOUT, request->most_seconds);
    lib->curl_easy_setopt(request->curl, CURLOPT_NOPROGRESS, (long)!request->cancel);
    if (!request->cancel)
        return;
    lib->curl_easy_setopt(request->curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
    lib->curl_easy_setopt(request->curl, CURLOPT_XFERINFODATA, request);
}

CURLcode hs_curl_request__perform(struct hs_curl_request *request)
{
    const struct hs_curl_library *lib = request->lib;
    CURL *curl = request->curl;
    request->problem[0] = 0;
    lib->curl_easy_setopt(curl, CURLOPT_URL, request->url);
    lib->curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    lib->curl_easy_setopt(curl, CURLOPT_NETRC, (long)(request->has_user ? CURL_NETRC_IGNORED : CURL_NETRC_OPTIONAL));
    lib->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, request->connect_seconds);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    lib->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, request->problem);
    lib->curl_easy_setopt(curl, CURLOPT_HTTPHEADER, request->headers);
    lib->curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    lib->curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEDATA, request);
    limit(request);
    CURLcode result = lib->curl_easy_perform(curl);
    lib->curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &request->status);
    lib->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL); // `curl` may live longer than this request
    if (result != CURLE_OK && !request->problem[0])
        snprintf(request->problem, sizeof(request->problem), "%s", lib->curl_easy_strerror(result));
    return result;
}

void hs_curl__words(char words[HS_CURL_WORDS + 1], const struct hs_buffer *answer)
{
    size_t length = answer->count < HS_CURL_WORDS ? answer->count : HS_CURL_WORDS;
    if (length)
        memcpy(words, answer->bytes, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)words[i] < ' ')
            words[i] = ' ';
    while (length && words[length - 1] == ' ')
        length--;
    words[length] = 0;
    hs_text__clean(words);
}

char *hs_curl__url_part(const struct hs_curl_library *lib, CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    if (lib->curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return NULL;
    char *copy = strdup(text);
    lib->curl_free(text);
    return copy;
}
