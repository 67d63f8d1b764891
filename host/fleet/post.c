// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/post.h"

#include "host/fleet/curl_request.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONNECT_SECONDS = 10, ANSWER_MOST = 1 << 20 };

struct posting {
    const struct hs_curl_library *lib;
    CURL *curl;
    char *url;   // whole
    char *shown; // without user, password and query
    char *user, *password;
};

// ---- the address ---------------------------------------------------------------------------------------------------

// The path of the address with `path` behind it, once.
static char *whole_path(const char *of_url, const char *path)
{
    char *whole = NULL;
    size_t length = strlen(of_url), end = strlen(path);
    while (length && of_url[length - 1] == '/')
        length--;
    bool there = length >= end && !memcmp(of_url + length - end, path, end);
    return asprintf(&whole, "%.*s%s", (int)length, of_url, there ? "" : path) < 0 ? NULL : whole;
}

static int set_path(struct posting *posting, CURLU *url, const char *path)
{
    char *of_url = hs_curl__url_part(posting->lib, url, CURLUPART_PATH, 0);
    char *whole = of_url ? whole_path(of_url, path) : NULL;
    int failed = whole && posting->lib->curl_url_set(url, CURLUPART_PATH, whole, 0) == CURLUE_OK ? 0 : -ENOMEM;
    free(of_url);
    free(whole);
    return failed;
}

static int take_address(struct posting *posting, CURLU *url, const struct hs_post *post, struct hs_error *error)
{
    const struct hs_curl_library *lib = posting->lib;
    if ((strncmp(post->url, "http://", 7) && strncmp(post->url, "https://", 8)) ||
        lib->curl_url_set(url, CURLUPART_URL, post->url, 0) != CURLUE_OK)
        return hs_error__set(error, EINVAL,
                             "the address is not of the form http[s]://[USER:PASSWORD@]HOST[:PORT][/PATH]");
    posting->user = hs_curl__url_part(lib, url, CURLUPART_USER, CURLU_URLDECODE);
    posting->password = hs_curl__url_part(lib, url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    char *query = hs_curl__url_part(lib, url, CURLUPART_QUERY, 0);
    free(query);
    if (query)
        return hs_error__set(error, EINVAL, "the address has a query; leave out what follows the question mark");
    lib->curl_url_set(url, CURLUPART_USER, NULL, 0);
    lib->curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    lib->curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    if (set_path(posting, url, post->path) || !(posting->shown = hs_curl__url_part(lib, url, CURLUPART_URL, 0)))
        return hs_error__set(error, ENOMEM, "out of memory");
    hs_text__clean(posting->shown);
    return 0;
}

static char *whole_url(struct posting *posting, CURLU *url, const struct hs_post *post)
{
    const struct hs_curl_library *lib = posting->lib;
    struct hs_buffer to = {0};
    char *base = hs_curl__url_part(lib, url, CURLUPART_URL, 0);
    if (base)
        hs_buffer__put(&to, base, strlen(base));
    for (size_t i = 0; post->query && post->query[i]; i++) {
        char *escaped = lib->curl_easy_escape(posting->curl, post->query[i], 0);
        hs_buffer__put(&to, !i ? "?" : i % 2 ? "=" : "&", 1);
        if (escaped)
            hs_buffer__put(&to, escaped, strlen(escaped));
        to.failed |= !escaped;
        lib->curl_free(escaped);
    }
    hs_buffer__put(&to, "", 1);
    if (base && !to.failed) {
        free(base);
        return (char *)to.bytes;
    }
    free(base);
    hs_buffer__free(&to);
    return NULL;
}

// ---- the request ---------------------------------------------------------------------------------------------------

static struct curl_slist *headers_of(const struct posting *posting, const struct hs_post *post)
{
    const struct hs_curl_library *lib = posting->lib;
    char type[128];
    snprintf(type, sizeof(type), "Content-Type: %s", post->type);
    struct curl_slist *headers = lib->curl_slist_append(NULL, "Expect:"); // no pause before the body
    headers = lib->curl_slist_append(headers, type);
    if (post->packed)
        headers = lib->curl_slist_append(headers, "Content-Encoding: gzip");
    for (size_t i = 0; i < post->header_count; i++)
        headers = lib->curl_slist_append(headers, post->headers[i]);
    return headers;
}

static int judge(const struct posting *posting, long status, const struct hs_buffer *answer, struct hs_error *error)
{
    char words[HS_CURL_WORDS + 1];
    char *to = NULL;
    if (status >= 200 && status < 300)
        return 0;
    hs_curl__words(words, answer);
    posting->lib->curl_easy_getinfo(posting->curl, CURLINFO_REDIRECT_URL, &to);
    if (status >= 300 && status < 400 && to) {
        char elsewhere[HS_CURL_WORDS + 1];
        snprintf(elsewhere, sizeof(elsewhere), "%s", to);
        elsewhere[strcspn(elsewhere, "?")] = 0; // the query is ours
        hs_text__clean(elsewhere);
        return hs_error__set(error, EREMOTEIO, "%s: the server redirects to %s; give that address if it is right",
                             posting->shown, elsewhere);
    }
    if (status == 401 || status == 403)
        return hs_error__set(error, EREMOTEIO, "%s: the server wants another user, password or header (status %ld)%s%s",
                             posting->shown, status, *words ? ": " : "", words);
    return hs_error__set(error, EREMOTEIO, "%s: the server refuses the profile (status %ld)%s%s", posting->shown,
                         status, *words ? ": " : "", words);
}

static int perform(struct posting *posting, const struct hs_post *post, struct hs_buffer *answer,
                   struct hs_error *error)
{
    const struct hs_curl_library *lib = posting->lib;
    struct hs_curl_request request = {.lib = lib,
                                      .curl = posting->curl,
                                      .url = posting->url,
                                      .has_user = posting->user,
                                      .headers = headers_of(posting, post),
                                      .body = post->body->bytes,
                                      .length = post->body->count,
                                      .connect_seconds = CONNECT_SECONDS,
                                      .answer = answer,
                                      .answer_most = ANSWER_MOST};
    if (posting->user) {
        lib->curl_easy_setopt(posting->curl, CURLOPT_USERNAME, posting->user);
        lib->curl_easy_setopt(posting->curl, CURLOPT_PASSWORD, posting->password ? posting->password : "");
    }
    lib->curl_easy_setopt(posting->curl, CURLOPT_USERAGENT, "heapsonde");
    CURLcode result = hs_curl_request__perform(&request);
    lib->curl_slist_free_all(request.headers);
    // What a server says beyond the limit, it says in vain.
    if (result != CURLE_OK && (result != CURLE_WRITE_ERROR || request.status < 300))
        return hs_error__set(error, ECONNREFUSED, "%s: %s", posting->shown, request.problem);
    return judge(posting, request.status, answer, error);
}

static int prepare(struct posting *posting, CURLU *url, const struct hs_post *post, struct hs_error *error)
{
    if (!url || !(posting->curl = posting->lib->curl_easy_init()))
        return hs_error__set(error, ENOMEM, "out of memory");
    int failed = take_address(posting, url, post, error);
    if (!failed && !(posting->url = whole_url(posting, url, post)))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    return failed;
}

int hs_post__send(const struct hs_post *post, struct hs_buffer *answer, struct hs_error *error)
{
    struct posting posting = {.lib = hs_curl_library__get(error)};
    if (!posting.lib)
        return -ENOENT;
    CURLU *url = posting.lib->curl_url();
    int failed = prepare(&posting, url, post, error);
    if (!failed)
        failed = perform(&posting, post, answer, error);
    hs_buffer__put(answer, "", 1);
    answer->count -= !answer->failed;
    posting.lib->curl_url_cleanup(url);
    if (posting.curl)
        posting.lib->curl_easy_cleanup(posting.curl);
    free(posting.url);
    free(posting.shown);
    free(posting.user);
    free(posting.password);
    return failed;
}
