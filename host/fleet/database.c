// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/database.h"

#include "host/fleet/curl_request.h"
#include "host/fleet/gzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

// The server ends a statement that takes too long. If it does not answer, it is left GRACE seconds later.
enum { CONNECT_SECONDS = 5, GRACE_SECONDS = 5, ANSWER_MOST = 1 << 30, STATEMENT_MOST = 262144 };

struct hs_database {
    const struct hs_curl_library *lib;
    CURL *curl;
    char *url;     // of the server: http://HOST:PORT/
    char *name;    // of the database
    char *address; // without the password
    char *user, *password;
    const int *cancel;
    unsigned seconds;
    uint64_t random, number; // of statements
};

// ---- addresses -----------------------------------------------------------------------------------------------------

static bool is_database_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return *name && strlen(name) < 64 && name[strspn(name, letters)] == 0;
}

// What is shown of an address that cannot be read: all but the user and the password.
static const char *without_password(const char *text)
{
    const char *host = strrchr(text, '@');
    return host ? host + 1 : text;
}

static int take_address(struct hs_database *database, CURLU *url, const char *text, struct hs_error *error)
{
    const struct hs_curl_library *lib = database->lib;
    const char *shown = without_password(text);
    bool secure = !strncmp(text, "clickhouses://", 14);
    if (!secure && strncmp(text, "clickhouse://", 13))
        return hs_error__set(error, EINVAL, "%s: an address begins with clickhouse:// or clickhouses://", shown);
    if (lib->curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return hs_error__set(error, EINVAL, "%s: not of the form clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
                             shown);
    char *host = hs_curl__url_part(lib, url, CURLUPART_HOST, CURLU_URLDECODE),
         *port = hs_curl__url_part(lib, url, CURLUPART_PORT, CURLU_URLDECODE),
         *path = hs_curl__url_part(lib, url, CURLUPART_PATH, CURLU_URLDECODE);
    database->user = hs_curl__url_part(lib, url, CURLUPART_USER, CURLU_URLDECODE);
    database->password = hs_curl__url_part(lib, url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    int failed = 0;
    if (!host || !path || !is_database_name(path + (*path == '/')))
        failed = hs_error__set(
            error, EINVAL,
            "%s: the name of the database is missing after the host; it has letters, digits and underscores", shown);
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
    if (database && getrandom(&database->random, sizeof(database->random), 0) < 0)
        database->random = (uintptr_t)database;
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

void hs_database__limit(struct hs_database *database, const int *cancel, unsigned seconds)
{
    database->cancel = cancel;
    database->seconds = seconds;
}

bool hs_database__is_cancelled(const struct hs_database *database)
{
    return database->cancel && __atomic_load_n(database->cancel, __ATOMIC_RELAXED);
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

static int too_slow(const struct hs_database *database, struct hs_error *error)
{
    return hs_error__set(error, ETIMEDOUT,
                         "%s: the answer took more than %u s; ask for a program, a firmware or a device alone, or "
                         "allow more time with --fleet-timeout",
                         database->address, database->seconds);
}

// The server's words in one line, without its version and position numbers at the end of long ones.
static int refused(const struct hs_database *database, long status, const struct hs_buffer *answer,
                   struct hs_error *error)
{
    char words[HS_CURL_WORDS + 1];
    hs_curl__words(words, answer);
    if (status == 401 || status == 403 || strstr(words, "Code: 193") || strstr(words, "Code: 516"))
        return hs_error__set(error, EREMOTEIO, "%s: the server does not accept this user and password: %s",
                             database->address, words);
    if (strstr(words, "Code: 159") || strstr(words, "Code: 160"))
        return too_slow(database, error);
    return hs_error__set(error, EREMOTEIO, "%s: the server refuses: %s", database->address, words);
}

static int failed_to_ask(const struct hs_database *database, CURLcode result, const char *problem,
                         struct hs_error *error)
{
    if (result == CURLE_ABORTED_BY_CALLBACK)
        return hs_error__set(error, ECANCELED, "cancelled");
    if (result == CURLE_OPERATION_TIMEDOUT && database->seconds && strncmp(problem, "Connection", 10))
        return too_slow(database, error);
    return hs_error__set(error, ECONNREFUSED, "%s: %s", database->address, problem);
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
    struct hs_curl_request request = {.lib = lib,
                                      .curl = database->curl,
                                      .has_user = database->user,
                                      .body = body,
                                      .length = length,
                                      .connect_seconds = CONNECT_SECONDS,
                                      .answer = answer,
                                      .answer_most = ANSWER_MOST,
                                      .cancel = database->cancel,
                                      .most_seconds = database->seconds ? database->seconds + GRACE_SECONDS : 0};
    char *url = NULL;
    if (asprintf(&url, "%s?%s", database->url, query) < 0)
        return -ENOMEM;
    request.url = url;
    request.headers = headers_of(database, packed);
    lib->curl_easy_reset(database->curl);
    CURLcode result = hs_curl_request__perform(&request);
    lib->curl_slist_free_all(request.headers);
    free(url);
    if (answer->failed)
        return hs_error__set(error, ENOMEM, "%s: out of memory", database->address);
    if (result != CURLE_OK)
        return failed_to_ask(database, result, request.problem, error);
    return request.status == 200 ? 0 : refused(database, request.status, answer, error);
}

// Statements with a limit have an id, by which they are ended.
static void write_query(struct hs_database *database, bool named, char *query, size_t size)
{
    const size_t used = (size_t)snprintf(query, size, "%s%s", named ? "database=" : "", named ? database->name : "");
    database->number += database->seconds > 0;
    if (database->seconds)
        snprintf(query + used, size - used, "%smax_execution_time=%u&query_id=heapsonde-%016" PRIx64 "-%" PRIu64,
                 named ? "&" : "", database->seconds, database->random, database->number);
}

// Ends the last statement, for which nobody waits now. Servers do not notice that by themselves.
static void end_statement(struct hs_database *database)
{
    char statement[128];
    const int *cancel = database->cancel;
    const unsigned seconds = database->seconds;
    struct hs_buffer answer = {0};
    struct hs_error error;
    snprintf(statement, sizeof(statement), "KILL QUERY WHERE query_id = 'heapsonde-%016" PRIx64 "-%" PRIu64 "'",
             database->random, database->number);
    database->cancel = NULL;
    database->seconds = GRACE_SECONDS;
    post(database, "", statement, strlen(statement), false, &answer, &error);
    hs_buffer__free(&answer);
    database->cancel = cancel;
    database->seconds = seconds;
}

static int ask(struct hs_database *database, bool named, const char *setting, const char *statement,
               struct hs_buffer *answer, struct hs_error *error)
{
    struct hs_buffer own = {0}, *to = answer ? answer : &own;
    char query[512];
    write_query(database, named, query, sizeof(query));
    if (setting)
        snprintf(query + strlen(query), sizeof(query) - strlen(query), "&%s", setting);
    const size_t length = strlen(statement);
    int failed = post(database, query, statement, length, false, to, error);
    if (failed == -ECANCELED || failed == -ETIMEDOUT)
        end_statement(database);
    if (failed == -EREMOTEIO && length > STATEMENT_MOST)
        hs_error__set(error, EREMOTEIO,
                      "%s: the server refuses a statement of %zu bytes, such as those of long filters; give fewer or "
                      "shorter ones. Servers accept 262,144 bytes unless max_query_size is set",
                      database->address, length);
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
    return ask(database, true, NULL, statement, answer, error);
}

int hs_database__ask_with(struct hs_database *database, const char *setting, const char *statement,
                          struct hs_error *error)
{
    return ask(database, true, setting, statement, NULL, error);
}

int hs_database__ask_server(struct hs_database *database, const char *statement, struct hs_buffer *answer,
                            struct hs_error *error)
{
    return ask(database, false, NULL, statement, answer, error);
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
