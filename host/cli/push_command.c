// SPDX-License-Identifier: MIT OR Apache-2.0
//
// heapsonde push: to the servers of others.
#include "host/base/clock.h"
#include "host/base/path.h"
#include "host/base/secret_file.h"
#include "host/base/text_stream.h"
#include "host/base/utf8.h"
#include "host/cli/commands.h"
#include "host/cli/mqtt_options.h"
#include "host/cli/push_mqtt.h"
#include "host/cli/subject.h"
#include "host/cli/wire_options.h"
#include "host/dump/protobuf.h"
#include "host/dump/write.h"
#include "host/fleet/gzip.h"
#include "host/fleet/post.h"
#include "host/report/text.h"
#include "host/store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { TOKEN_MOST = 8192 };
#define NS_2001 (978307200 * HS_SECOND)

struct push_label {
    const char *name, *value;
    size_t name_length;
};

struct push {
    const struct hs_arguments *arguments;
    struct hs_dump *dump;
    const char *program;
    char *name; // of the application
    struct push_label *labels;
    size_t label_count;
    const char **headers;
    size_t header_count;
    char *token;               // its header
    uint64_t begin_ns, end_ns; // since 1970
};

static int fail(const struct push *push, const struct hs_error *error)
{
    hs_complain(push->arguments->command, "%s", error->message);
    return HS_EXIT_FAILURE;
}

// ---- what was asked for --------------------------------------------------------------------------------------------

static bool is_text(const char *text)
{
    size_t length = strlen(text), at = 0, sequence;
    while (at < length && (unsigned char)text[at] >= ' ' && (sequence = hs_utf8__length(text + at, length - at)))
        at += sequence;
    return length && at == length;
}

// As Prometheus and Pyroscope want it; OpenTelemetry takes more.
static bool is_label_name(const char *name, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    if (!length || !strchr(letters, *name))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!strchr(letters, name[i]) && !(name[i] >= '0' && name[i] <= '9') && name[i] != '.')
            return false;
    return true;
}

static int read_labels(struct push *push)
{
    size_t count;
    const char **texts = hs_arguments__texts(push->arguments, "label", &count);
    push->labels = calloc(count + 1, sizeof(*push->labels));
    int status = texts && push->labels ? 0 : HS_EXIT_FAILURE;
    for (size_t i = 0; i < count && !status; i++) {
        const char *sign = strchr(texts[i], '=');
        size_t length = sign ? (size_t)(sign - texts[i]) : 0;
        if (!sign || !is_label_name(texts[i], length) || !is_text(sign + 1) || sign[1 + strcspn(sign + 1, ",{}")]) {
            hs_complain(
                push->arguments->command,
                "--label %s: a label is NAME=VALUE, with letters, digits, dots and underscores in the name, and "
                "no comma or brace in the value",
                texts[i]);
            status = HS_EXIT_USAGE;
        } else {
            push->labels[push->label_count++] = (struct push_label){texts[i], sign + 1, length};
        }
    }
    free(texts);
    return status;
}

// What can stand in a header, of one word.
static bool is_token(const char *token, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return false;
    return length && length < TOKEN_MOST;
}

static int read_token(struct push *push)
{
    static const char head[] = "Authorization: Bearer ";
    char token[TOKEN_MOST];
    struct hs_error error;
    const char *path = hs_arguments__text(push->arguments, "token-file", NULL);
    if (!path)
        return 0;
    ssize_t length = hs_secret_file__read(path, "token", token, sizeof(token), &error);
    if (length < 0)
        return fail(push, &error);
    int status = HS_EXIT_FAILURE;
    if (!is_token(token, (size_t)length))
        hs_complain(push->arguments->command, "the token %s has to be one line of printable characters without spaces",
                    path);
    else if (asprintf(&push->token, "%s%.*s", head, (int)length, token) >= 0)
        status = 0;
    explicit_bzero(token, sizeof(token));
    return status;
}

static bool is_authorization(const char *header)
{
    return !strncasecmp(header, "authorization:", strlen("authorization:"));
}

static int read_headers(struct push *push)
{
    size_t count;
    const char **texts = hs_arguments__texts(push->arguments, "header", &count);
    push->headers = calloc(count + 2, sizeof(*push->headers));
    if (texts && push->headers)
        memcpy(push->headers, texts, count * sizeof(*texts));
    push->header_count = count;
    free(texts);
    if (!texts || !push->headers)
        return HS_EXIT_FAILURE;
    for (size_t i = 0; i < push->header_count; i++) {
        const char *colon = strchr(push->headers[i], ':');
        if (push->token && is_authorization(push->headers[i])) {
            hs_complain(push->arguments->command, "--token-file and --header 'Authorization: ...' exclude each other");
            return HS_EXIT_USAGE;
        }
        if (colon && colon > push->headers[i] && is_text(push->headers[i]))
            continue;
        // Not the whole text, which may be a secret.
        hs_complain(push->arguments->command, "--header takes 'NAME: VALUE'");
        return HS_EXIT_USAGE;
    }
    if (push->token)
        push->headers[push->header_count++] = push->token;
    return 0;
}

static int read_name(struct push *push)
{
    const char *given = hs_arguments__text(push->arguments, "name", NULL);
    const char *name = given ? given : *push->program ? push->program : "heapsonde";
    push->name = strdup(name);
    if (!push->name)
        return HS_EXIT_FAILURE;
    if (given && (!is_text(given) || given[strcspn(given, "{},=")])) {
        hs_complain(push->arguments->command, "--name %s: braces, commas and = cannot be in a name", given);
        return HS_EXIT_USAGE;
    }
    // What a program is called is no choice of the user.
    hs_text__clean(push->name);
    for (char *at = push->name; *at; at++)
        if (strchr("{},= ", *at))
            *at = '_';
    return 0;
}

// A clock that was never set begins in 1970.
static bool is_date(uint64_t ns)
{
    return ns >= NS_2001 && ns <= INT64_MAX;
}

static void take_time(struct push *push, const char *path)
{
    struct stat status;
    const struct hs_dump *dump = push->dump;
    const uint64_t length = dump->duration_ns <= INT64_MAX ? dump->duration_ns : 0;
    if (hs_arguments__flag(push->arguments, "now"))
        push->end_ns = hs_clock__realtime();
    else if (is_date(dump->time_ns))
        push->end_ns = dump->time_ns + length;
    else if (!stat(path, &status) && status.st_mtim.tv_sec > 0)
        push->end_ns = (uint64_t)status.st_mtim.tv_sec * HS_SECOND;
    push->begin_ns = length < push->end_ns ? push->end_ns - length : 0;
}

// ---- Pyroscope -----------------------------------------------------------------------------------------------------

static char *name_and_labels(const struct push *push)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    if (out)
        fputs(push->name, out);
    for (size_t i = 0; out && i < push->label_count; i++)
        fprintf(out, "%c%.*s=%s", i ? ',' : '{', (int)push->labels[i].name_length, push->labels[i].name,
                push->labels[i].value);
    if (out && push->label_count)
        fputc('}', out);
    return hs_text_stream__close(&stream);
}

static int write_profile(const struct push *push, struct hs_buffer *body)
{
    struct hs_text_stream stream;
    FILE *out = hs_text_stream__open(&stream);
    int failed = out ? hs_dump__write(out, push->dump, HS_DUMP_TO_PPROF) : -ENOMEM;
    char *bytes = hs_text_stream__close(&stream);
    *body = (struct hs_buffer){.bytes = (uint8_t *)bytes, .count = stream.size, .room = stream.size};
    return bytes ? failed : -ENOMEM;
}

static int send_profile(struct push *push, const char *url, const struct hs_buffer *body, const char *name)
{
    char from[24], until[24];
    struct hs_error error;
    struct hs_buffer answer = {0};
    snprintf(from, sizeof(from), "%" PRIu64, push->begin_ns / HS_SECOND);
    snprintf(until, sizeof(until), "%" PRIu64, push->end_ns / HS_SECOND);
    const char *const query[] = {"name",   name,    "from",    from,        "until", until,
                                 "format", "pprof", "spyName", "heapsonde", NULL};
    const struct hs_post post = {.url = url,
                                 .path = "/ingest",
                                 .query = query,
                                 .type = "application/octet-stream",
                                 .headers = push->headers,
                                 .header_count = push->header_count,
                                 .body = body};
    int failed = hs_post__send(&post, &answer, &error);
    hs_buffer__free(&answer);
    return failed == -EINVAL ? (fail(push, &error), HS_EXIT_USAGE) : failed ? fail(push, &error) : 0;
}

static int push_pyroscope(struct push *push, const char *url)
{
    struct hs_buffer body = {0};
    char *name = name_and_labels(push);
    int status = HS_EXIT_FAILURE;
    if (name && !write_profile(push, &body))
        status = send_profile(push, url, &body, name);
    else
        hs_complain(push->arguments->command, "out of memory");
    hs_buffer__free(&body);
    free(name);
    return status;
}

// ---- OpenTelemetry -------------------------------------------------------------------------------------------------

// NULL: out of memory. The names are in one block behind the array.
static const char **attributes_of(const struct push *push)
{
    size_t count = 2 * (push->label_count + 2) + 1, length = 0, used = 0;
    for (size_t i = 0; i < push->label_count; i++)
        length += push->labels[i].name_length + 1;
    const char **attributes = malloc(count * sizeof(*attributes) + length);
    if (!attributes)
        return NULL;
    char *names = (char *)(attributes + count);
    attributes[used++] = "service.name";
    attributes[used++] = push->name;
    for (size_t i = 0; i < push->label_count; i++) {
        const struct push_label *label = &push->labels[i];
        memcpy(names, label->name, label->name_length);
        names[label->name_length] = 0;
        attributes[used++] = names;
        attributes[used++] = label->value;
        names += label->name_length + 1;
    }
    attributes[used] = NULL;
    return attributes;
}

// Reads ExportProfilesServiceResponse: how many profiles the server left out, and why.
static bool is_partial(const struct hs_buffer *answer, char *words, size_t size)
{
    struct hs_proto whole = {answer->bytes, answer->bytes + answer->count}, partial;
    struct hs_field field;
    uint64_t left_out = 0;
    *words = 0;
    while (hs_proto__field(&whole, &field)) {
        if (field.number != 1 || field.wire != HS_WIRE_BYTES)
            continue;
        for (partial = field.bytes; hs_proto__field(&partial, &field);) {
            if (field.number == 1 && field.wire == HS_WIRE_NUMBER)
                left_out = field.value;
            else if (field.number == 2 && field.wire == HS_WIRE_BYTES)
                snprintf(words, size, "%.*s", (int)(field.bytes.end - field.bytes.at), (const char *)field.bytes.at);
        }
    }
    hs_text__clean(words);
    return left_out != 0;
}

static int send_request(struct push *push, const char *url, const struct hs_buffer *body)
{
    char words[300];
    struct hs_error error;
    struct hs_buffer answer = {0};
    const struct hs_post post = {.url = url,
                                 .path = "/v1development/profiles",
                                 .type = "application/x-protobuf",
                                 .packed = true,
                                 .headers = push->headers,
                                 .header_count = push->header_count,
                                 .body = body};
    int failed = hs_post__send(&post, &answer, &error);
    if (!failed && is_partial(&answer, words, sizeof(words)))
        failed = hs_error__set(&error, EREMOTEIO, "the server took only a part of the profiles%s%s", *words ? ": " : "",
                               words);
    hs_buffer__free(&answer);
    return failed == -EINVAL ? (fail(push, &error), HS_EXIT_USAGE) : failed ? fail(push, &error) : 0;
}

static int push_otlp(struct push *push, const char *url)
{
    struct hs_buffer request = {0}, packed = {0};
    const char **attributes = attributes_of(push);
    const struct hs_dump_source source = {attributes, push->begin_ns, push->end_ns - push->begin_ns};
    int status = HS_EXIT_FAILURE;
    if (attributes && !hs_dump__write_otlp(&request, push->dump, &source) && !hs_gzip__pack(&request, &packed))
        status = send_request(push, url, &packed);
    else
        hs_complain(push->arguments->command, "out of memory");
    free(attributes);
    hs_buffer__free(&request);
    hs_buffer__free(&packed);
    return status;
}

// ---- the command ---------------------------------------------------------------------------------------------------

// The dump that was opened, or one that is made of a trace. The caller closes `made`.
static int take_dump(struct push *push, struct hs_opened *opened, struct hs_dump **made)
{
    int failed;
    const char *obstacle = opened->dump ? hs_dump__obstacle(opened->dump, HS_DUMP_TO_PPROF) : NULL;
    *made = NULL;
    if (obstacle) {
        hs_complain(push->arguments->command, "%s cannot be sent: %s", opened->subject.path, obstacle);
        return HS_EXIT_FAILURE;
    }
    if (opened->dump) {
        struct hs_dump_choice choice = hs_opened__choice(opened);
        push->dump = opened->dump;
        push->program = hs_path__name(opened->dump->executable);
        failed = hs_dump__keep(opened->dump, &opened->view, &choice);
        if (!failed)
            failed = hs_dump__add_names(opened->dump, &opened->view, false);
    } else {
        failed = hs_dump__of_trace(&opened->subject, made);
        push->dump = *made;
        push->program = failed ? "" : hs_path__name((*made)->executable);
    }
    if (failed)
        hs_complain(push->arguments->command, "%s: out of memory; a narrower filter needs less", opened->subject.path);
    return failed ? HS_EXIT_FAILURE : hs_opened__check(opened, push->arguments);
}

static int push_dump(struct push *push, const char *path)
{
    const char *pyroscope = hs_arguments__text(push->arguments, "pyroscope", NULL);
    const char *otlp = hs_arguments__text(push->arguments, "otlp", NULL);
    int status = read_name(push);
    if (status)
        return status;
    take_time(push, path);
    if (pyroscope)
        status = push_pyroscope(push, pyroscope);
    if (!status && otlp)
        status = push_otlp(push, otlp);
    return status;
}

static int push_file(struct push *push)
{
    struct hs_opened opened;
    struct hs_dump *made;
    int status = hs_opened__open(&opened, push->arguments);
    if (status)
        return status;
    status = take_dump(push, &opened, &made);
    if (!status)
        status = push_dump(push, opened.subject.path);
    hs_dump__close(made);
    if (!status)
        hs_trace_symbols__print_problems(opened.subject.symbols, stderr, 5);
    hs_opened__close(&opened);
    return status;
}

static bool is_filtered(const struct hs_arguments *arguments)
{
    for (size_t i = 0; i < arguments->given_count; i++)
        if (arguments->given[i].option->kind == HS_OPTION_FILTER)
            return true;
    return false;
}

static int push(const struct hs_arguments *arguments)
{
    struct push push = {.arguments = arguments};
    bool mqtt = hs_arguments__given(arguments, "mqtt");
    bool profile = hs_arguments__given(arguments, "pyroscope") || hs_arguments__given(arguments, "otlp");
    if (mqtt == profile) {
        hs_complain(arguments->command,
                    mqtt ? "--mqtt sends the trace, --pyroscope and --otlp a profile; give only one of both kinds"
                         : "needs --pyroscope URL, --otlp URL or --mqtt URL");
        return HS_EXIT_USAGE;
    }
    if (mqtt && is_filtered(arguments)) {
        hs_complain(arguments->command, "--mqtt sends whole traces: filters are for --pyroscope and --otlp");
        return HS_EXIT_USAGE;
    }
    int status = read_labels(&push);
    if (mqtt) {
        free(push.labels);
        return status ? status : hs_push_mqtt__run(arguments);
    }
    if (!status)
        status = read_token(&push);
    if (!status)
        status = read_headers(&push);
    if (!status)
        status = push_file(&push);
    free(push.name);
    free(push.labels);
    free(push.headers);
    if (push.token)
        explicit_bzero(push.token, strlen(push.token));
    free(push.token);
    return status;
}

static const struct hs_option options[] = {
    {.name = "pyroscope",
     .kind = HS_OPTION_TEXT,
     .argument = "URL",
     .help = "send a pprof profile to a Pyroscope server, such as http://localhost:4040 (POST /ingest)"},
    {.name = "otlp",
     .kind = HS_OPTION_TEXT,
     .argument = "URL",
     .help = "send OpenTelemetry profiles over HTTP, such as to http://localhost:4318 (POST /v1development/profiles)"},
    {.name = "mqtt",
     .kind = HS_OPTION_TEXT,
     .argument = "URL",
     .help = "send the trace itself, or the traces of a folder, to 'heapsonde gather --mqtt' through an MQTT broker: "
             "tcp://HOST:PORT, or mqtts://HOST:PORT with TLS"},
    {.name = "topic",
     .only_with = "mqtt",
     .kind = HS_OPTION_TEXT,
     .argument = "TOPIC",
     .help = "with --mqtt: publish to this topic; default heapsonde"},
    {.name = "device",
     .only_with = "mqtt",
     .kind = HS_OPTION_TEXT,
     .argument = "NAME",
     .help = "with --mqtt: the name of this device; default the name of the machine"},
    {.name = "follow",
     .only_with = "mqtt",
     .help = "with --mqtt: continue while the trace grows, until it has ended; with a folder, also send traces that "
             "begin later, until this command is interrupted"},
    HS_WIRE_OPTIONS("with --mqtt: ", "gather has", "mqtt"),
    HS_MQTT_OPTIONS,
    {.name = "name",
     .only_with = "pyroscope otlp",
     .kind = HS_OPTION_TEXT,
     .argument = "NAME",
     .help = "the name of the application on the server; default the name of the program"},
    {.name = "label",
     .kind = HS_OPTION_TEXT,
     .argument = "NAME=VALUE",
     .help = "a label of the profile or, with --mqtt, of the traces, such as region=eu",
     .repeatable = true},
    {.name = "header",
     .only_with = "pyroscope otlp",
     .kind = HS_OPTION_TEXT,
     .argument = "'NAME: VALUE'",
     .help = "a further header of the request, such as 'X-Scope-OrgID: team'",
     .repeatable = true},
    {.name = "token-file",
     .only_with = "pyroscope otlp",
     .kind = HS_OPTION_FILE,
     .argument = "FILE",
     .help = "send 'Authorization: Bearer' with the token in this file, to which only its owner may have access"},
    {.name = "now",
     .only_with = "pyroscope otlp",
     .help = "let the profile end now, and not when it was recorded: by default, Pyroscope refuses profiles that are "
             "older than an hour"},
    HS_SUBJECT_OPTIONS,
    HS_MEMORY_OPTION,
    {0},
};

const struct hs_command hs_command_push = {
    .name = "push",
    .synopsis = "--pyroscope URL | --otlp URL | --mqtt URL [OPTIONS] FILE",
    .summary = "send a trace or a heap dump to Pyroscope or OpenTelemetry, or a trace through an MQTT broker",
    .description =
        "Reads a trace or a heap dump and sends the sums of its stacks: blocks and bytes that were allocated, "
        "and those in use at the end. The user and the password are taken from the URL or from ~/.netrc. Redirects are "
        "not followed. With --mqtt, it sends a trace, or the traces of a folder, as they are: in pieces, until "
        "'heapsonde gather --mqtt' has all of them.",
    .operand = HS_OPERAND_TRACE,
    .least_operands = 1,
    .most_operands = 1,
    .options = options,
    .run = push,
};
