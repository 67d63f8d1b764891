// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/database.h"

#include "host/fleet/curl_library.h"
#include "host/fleet/gzip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_SECONDS = 5,
    SILENT_SECONDS = 120, // without a byte from the server
    ANSWER_MOST = 1 << 30,
    ERROR_MOST = 300
};

struct hs_database {
    const struct hs_curl_library *lib;
    CURL *curl;
    char *url;     // of the server: http://HOST:PORT/
    char *name;    // of the database
    char *address; // without the password
    char *user, *password;
    char curl_error[CURL_ERROR_SIZE];
};

// ---- addresses -----------------------------------------------------------------------------------------------------

static bool is_database_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return *name && strlen(name) < 64 && name[strspn(name, letters)] == 0;
}

static char *part(const struct hs_curl_library *lib, CURLU *url, CURLUPart which)
{
    char *text = NULL, *copy;
    if (lib->curl_url_get(url, which, &text, CURLU_URLDECODE) != CURLUE_OK)
        return NULL;
    copy = strdup(text);
    lib->curl_free(text);
    return copy;
}

static int take_address(struct hs_database *database, CURLU *url, const char *text, struct hs_error *error)
{
    const struct hs_curl_library *lib = database->lib;
    bool secure = !strncmp(text, "clickhouses://", 14);
    if (!secure && strncmp(text, "clickhouse://", 13))
        return hs_error__set(error, EINVAL, "%s: an address begins with clickhouse:// or clickhouses://", text);
    if (lib->curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return hs_error__set(error, EINVAL, "%s: not of the form clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
                             text);
    char *host = part(lib, url, CURLUPART_HOST), *port = part(lib, url, CURLUPART_PORT),
         *path = part(lib, url, CURLUPART_PATH);
    database->user = part(lib, url, CURLUPART_USER);
    database->password = part(lib, url, CURLUPART_PASSWORD);
    int failed = 0;
    if (!host || !path || !is_database_name(path + (*path == '/')))
        failed = hs_error__set(
            error, EINVAL,
            "%s: the name of the database is missing after the host; it has letters, digits and underscores", text);
    const char *port_text = port ? port : secure ? "8443" : "8123";
    if (!failed && (asprintf(&database->url, "%s://%s:%s/", secure ? "https" : "http", host, port_text) < 0 ||
                    asprintf(&database->address, "%s://%s:%s%s", secure ? "clickhouses" : "clickhouse", host, port_text,
                             path) < 0 ||
                    !(database->name = strdup(path + 1))))
        failed = -ENOMEM;
    free(host);
    free(port);
    free(path);
    return failed;
}

int hs_database__open(const char *address, struct hs_database **result, struct hs_error *error)
{
    const struct hs_curl_library *lib = hs_curl_library__get(error);
    if (!lib)
        return -ENOENT;
    struct hs_database *database = calloc(1, sizeof(*database));
    if (database)
        database->lib = lib;
    CURLU *url = lib->curl_url();
    int failed = database && url && (database->curl = lib->curl_easy_init())
                     ? take_address(database, url, address, error)
                     : hs_error__set(error, ENOMEM, "out of memory");
    lib->curl_url_cleanup(url);
    if (failed) {
        hs_database__close(database);
        return failed;
    }
    *result = database;
    return 0;
}

void hs_database__close(struct hs_database *database)
{
    if (!database)
        return;
    if (database->curl)
        database->lib->curl_easy_cleanup(database->curl);
    free(database->url);
    free(database->name);
    free(database->address);
    free(database->user);
    free(database->password);
    free(database);
}

const char *hs_database__name(const struct hs_database *database)
{
    return database->name;
}

const char *hs_database__address(const struct hs_database *database)
{
    return database->address;
}

// ---- requests ------------------------------------------------------------------------------------------------------

static size_t take_answer(char *bytes, size_t size, size_t count, void *to)
{
    struct hs_buffer *answer = to;
    if (answer->count + size * count > ANSWER_MOST)
        return 0;
    hs_buffer__put(answer, bytes, size * count);
    return answer->failed ? 0 : size * count;
}

// The server's words in one line, without its version and position numbers at the end of long ones.
static int refused(const struct hs_database *database, long status, const struct hs_buffer *answer,
                   struct hs_error *error)
{
    char words[ERROR_MOST + 1];
    size_t length = answer->count < ERROR_MOST ? answer->count : ERROR_MOST;
    memcpy(words, answer->bytes, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)words[i] < ' ')
            words[i] = ' ';
    while (length && words[length - 1] == ' ')
        length--;
    words[length] = 0;
    if (status == 401 || status == 403 || strstr(words, "Code: 193") || strstr(words, "Code: 516"))
        return hs_error__set(error, EREMOTEIO, "%s: the server does not accept this user and password: %s",
                             database->address, words);
    return hs_error__set(error, EREMOTEIO, "%s: the server refuses: %s", database->address, words);
}

static struct curl_slist *headers_of(const struct hs_database *database, bool packed)
{
    const struct hs_curl_library *lib = database->lib;
    struct curl_slist *headers = lib->curl_slist_append(NULL, "Expect:"); // no pause before the body
    char line[512];
    if (database->user) {
        snprintf(line, sizeof(line), "X-ClickHouse-User: %s", database->user);
        headers = lib->curl_slist_append(headers, line);
        snprintf(line, sizeof(line), "X-ClickHouse-Key: %s", database->password ? database->password : "");
        headers = lib->curl_slist_append(headers, line);
    }
    return packed ? lib->curl_slist_append(headers, "Content-Encoding: gzip") : headers;
}

// `query` is the part behind the question mark, escaped.
static int post(struct hs_database *database, const char *query, const void *body, size_t length, bool packed,
                struct hs_buffer *answer, struct hs_error *error)
{
    const struct hs_curl_library *lib = database->lib;
    CURL *curl = database->curl;
    char *url = NULL;
    if (asprintf(&url, "%s?%s", database->url, query) < 0)
        return -ENOMEM;
    struct curl_slist *headers = headers_of(database, packed);
    lib->curl_easy_reset(curl);
    lib->curl_easy_setopt(curl, CURLOPT_URL, url);
    lib->curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    lib->curl_easy_setopt(curl, CURLOPT_NETRC, (long)(database->user ? CURL_NETRC_IGNORED : CURL_NETRC_OPTIONAL));
    lib->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
    lib->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, database->curl_error);
    lib->curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    lib->curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    lib->curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    database->curl_error[0] = 0;
    CURLcode result = lib->curl_easy_perform(curl);
    long status = 0;
    lib->curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    lib->curl_slist_free_all(headers);
    free(url);
    if (answer->failed)
        return hs_error__set(error, ENOMEM, "%s: out of memory", database->address);
    if (result != CURLE_OK)
        return hs_error__set(error, ECONNREFUSED, "%s: %s", database->address,
                             database->curl_error[0] ? database->curl_error : lib->curl_easy_strerror(result));
    return status == 200 ? 0 : refused(database, status, answer, error);
}

static int ask(struct hs_database *database, bool named, const char *statement, struct hs_buffer *answer,
               struct hs_error *error)
{
    struct hs_buffer own = {0}, *to = answer ? answer : &own;
    char query[128];
    snprintf(query, sizeof(query), "%s%s", named ? "database=" : "", named ? database->name : "");
    int failed = post(database, query, statement, strlen(statement), false, to, error);
    if (!failed) {
        hs_buffer__put(to, "", 1);
        to->count -= !to->failed;
        failed = to->failed ? -ENOMEM : 0;
    }
    if (failed || !answer)
        hs_buffer__free(to);
    return failed;
}

int hs_database__ask(struct hs_database *database, const char *statement, struct hs_buffer *answer,
                     struct hs_error *error)
{
    return ask(database, true, statement, answer, error);
}

int hs_database__ask_server(struct hs_database *database, const char *statement, struct hs_buffer *answer,
                            struct hs_error *error)
{
    return ask(database, false, statement, answer, error);
}

// ---- rows ----------------------------------------------------------------------------------------------------------

int hs_database__insert(struct hs_database *database, const char *into, const struct hs_buffer *rows,
                        struct hs_error *error)
{
    struct hs_buffer packed = {0}, answer = {0};
    char *statement = NULL, *escaped = NULL, *query = NULL;
    int failed = rows->failed ? -ENOMEM : hs_gzip__pack(rows, &packed);
    if (!failed && asprintf(&statement, "INSERT INTO %s FORMAT RowBinary", into) >= 0)
        escaped = database->lib->curl_easy_escape(database->curl, statement, 0);
    if (!failed && (!escaped || asprintf(&query, "database=%s&query=%s", database->name, escaped) < 0))
        failed = -ENOMEM;
    if (failed)
        hs_error__set(error, ENOMEM, "%s: out of memory", database->address);
    else
        failed = post(database, query, packed.bytes, packed.count, true, &answer, error);
    free(statement);
    free(query);
    database->lib->curl_free(escaped);
    hs_buffer__free(&packed);
    hs_buffer__free(&answer);
    return failed;
}
