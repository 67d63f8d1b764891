// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/post.h"

#include "host/fleet/curl_library.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    CONNECT_SECONDS = 10,
    SILENT_SECONDS = 120, // without a byte in either direction
    ANSWER_MOST = 1 << 20,
    WORDS_MOST = 300
};

struct posting {
    const struct hs_curl_library *lib;
    CURL *curl;
    char *url;   // whole
    char *shown; // without user, password and query
    char *user, *password;
    char curl_error[CURL_ERROR_SIZE];
};

// ---- the address ---------------------------------------------------------------------------------------------------

static char *part(const struct hs_curl_library *lib, CURLU *url, CURLUPart which, unsigned flags)
{
    char *text = NULL;
    if (lib->curl_url_get(url, which, &text, flags) != CURLUE_OK)
        return NULL;
    char *copy = strdup(text);
    lib->curl_free(text);
    return copy;
}

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
    char *of_url = part(posting->lib, url, CURLUPART_PATH, 0);
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
    posting->user = part(lib, url, CURLUPART_USER, CURLU_URLDECODE);
    posting->password = part(lib, url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    char *query = part(lib, url, CURLUPART_QUERY, 0);
    free(query);
    if (query)
        return hs_error__set(error, EINVAL, "the address has a query; leave out what follows the question mark");
    lib->curl_url_set(url, CURLUPART_USER, NULL, 0);
    lib->curl_url_set(url, CURLUPART_PASSWORD, NULL, 0);
    lib->curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    if (set_path(posting, url, post->path) || !(posting->shown = part(lib, url, CURLUPART_URL, 0)))
        return hs_error__set(error, ENOMEM, "out of memory");
    hs_text__clean(posting->shown);
    return 0;
}

static char *whole_url(struct posting *posting, CURLU *url, const struct hs_post *post)
{
    const struct hs_curl_library *lib = posting->lib;
    struct hs_buffer to = {0};
    char *base = part(lib, url, CURLUPART_URL, 0);
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

static size_t take_answer(char *bytes, size_t size, size_t count, void *to)
{
    struct hs_buffer *answer = to;
    if (answer->count + size * count > ANSWER_MOST)
        return 0;
    hs_buffer__put(answer, bytes, size * count);
    return answer->failed ? 0 : size * count;
}

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

// The server's words, in one line.
static void take_words(char words[WORDS_MOST + 1], const struct hs_buffer *answer)
{
    size_t length = answer->count < WORDS_MOST ? answer->count : WORDS_MOST;
    if (length)
        memcpy(words, answer->bytes, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)words[i] <= ' ')
            words[i] = ' ';
    while (length && words[length - 1] == ' ')
        length--;
    words[length] = 0;
    hs_text__clean(words);
}

static int judge(const struct posting *posting, long status, const struct hs_buffer *answer, struct hs_error *error)
{
    char words[WORDS_MOST + 1];
    char *to = NULL;
    if (status >= 200 && status < 300)
        return 0;
    take_words(words, answer);
    posting->lib->curl_easy_getinfo(posting->curl, CURLINFO_REDIRECT_URL, &to);
    if (status >= 300 && status < 400 && to) {
        char elsewhere[WORDS_MOST + 1];
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
    CURL *curl = posting->curl;
    struct curl_slist *headers = headers_of(posting, post);
    lib->curl_easy_setopt(curl, CURLOPT_URL, posting->url);
    lib->curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    lib->curl_easy_setopt(curl, CURLOPT_NETRC, (long)(posting->user ? CURL_NETRC_IGNORED : CURL_NETRC_OPTIONAL));
    if (posting->user) {
        lib->curl_easy_setopt(curl, CURLOPT_USERNAME, posting->user);
        lib->curl_easy_setopt(curl, CURLOPT_PASSWORD, posting->password ? posting->password : "");
    }
    lib->curl_easy_setopt(curl, CURLOPT_USERAGENT, "heapsonde");
    lib->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    lib->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, posting->curl_error);
    lib->curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    lib->curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body->bytes);
    lib->curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->body->count);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    CURLcode result = lib->curl_easy_perform(curl);
    long status = 0;
    lib->curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    lib->curl_slist_free_all(headers);
    // What a server says beyond the limit, it says in vain.
    if (result != CURLE_OK && (result != CURLE_WRITE_ERROR || status < 300))
        return hs_error__set(error, ECONNREFUSED, "%s: %s", posting->shown,
                             posting->curl_error[0] ? posting->curl_error : lib->curl_easy_strerror(result));
    return judge(posting, status, answer, error);
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
