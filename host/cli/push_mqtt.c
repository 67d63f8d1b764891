// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/push_mqtt.h"

#include "host/base/clock.h"
#include "host/base/path.h"
#include "host/base/text_stream.h"
#include "host/cli/mqtt_options.h"
#include "host/cli/wire_options.h"
#include "host/gather/sent_trace.h"
#include "host/report/text.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 256, STEP_MS = 50, LOOK_MS = 250 };
#define SILENCE_SAID (20 * HS_SECOND)
#define UNREADABLE   UINT64_MAX

// What is over is not begun again, unless the file has grown or is another one.
struct sent {
    struct sent *next;
    uint64_t size;
    ino_t inode;
    struct timespec changed;
    char path[];
};

struct push_mqtt {
    const struct hs_arguments *arguments;
    const char *topic, *device, *url;
    char *labels, *answers;
    bool follow, is_folder;
    struct hs_shared_key key;
    struct hs_parcel_from from;
    struct hs_broker *broker;
    struct hs_sent_trace *traces;
    unsigned count;
    struct sent *sent;
    uint64_t looked, ready_since, answered; // 0: not
    bool silence_said, stranger_said, found, failed;
    bool more;    // traces than are sent at once
    bool awaited; // the one file gets another trace
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

// ---- the files -----------------------------------------------------------------------------------------------------

static struct sent *find_sent(const struct push_mqtt *push, const char *path)
{
    struct sent *sent = push->sent;
    while (sent && strcmp(sent->path, path) != 0)
        sent = sent->next;
    return sent;
}

static void remember(struct push_mqtt *push, const char *path, uint64_t size, int fd)
{
    struct stat status = {0};
    struct sent *sent = find_sent(push, path);
    if (!sent) {
        sent = malloc(sizeof(*sent) + strlen(path) + 1);
        if (!sent)
            return;
        memcpy(sent->path, path, strlen(path) + 1);
        sent->next = push->sent;
        push->sent = sent;
    }
    if (fd >= 0)
        fstat(fd, &status);
    sent->size = size;
    sent->inode = status.st_ino;
    sent->changed = status.st_mtim;
}

static bool is_known(const struct push_mqtt *push, const char *path)
{
    struct stat status;
    for (const struct hs_sent_trace *at = push->traces; at; at = at->next)
        if (!strcmp(at->path, path))
            return true;
    const struct sent *sent = find_sent(push, path);
    if (!sent || !push->follow || sent->size == UNREADABLE)
        return sent != NULL;
    if (stat(path, &status))
        return true;
    return (uint64_t)status.st_size == sent->size && status.st_ino == sent->inode &&
           status.st_mtim.tv_sec == sent->changed.tv_sec && status.st_mtim.tv_nsec == sent->changed.tv_nsec;
}

static int add(struct push_mqtt *push, const char *path, bool say)
{
    struct hs_error error;
    struct hs_sent_trace *trace;
    int failed = hs_sent_trace__open(&trace, path, push->device, push->labels, &error);
    bool may_become_one = failed == -EBADMSG || failed == -ENODATA;
    if (failed && (!may_become_one || (say && !(push->follow && failed == -ENODATA)))) {
        hs_complain(push->arguments->command, "%s", error.message);
        remember(push, path, UNREADABLE, -1);
    }
    if (failed)
        return failed;
    trace->next = push->traces;
    push->traces = trace;
    push->count++;
    push->found = true;
    return 0;
}

static bool is_trace_name(const char *name)
{
    const char *end = strrchr(name, '.');
    return *name != '.' && end && !strcmp(end, ".dat");
}

static int look_into(struct push_mqtt *push, const char *folder)
{
    DIR *directory = opendir(folder);
    if (!directory) {
        hs_complain(push->arguments->command, "%s: %s", folder, strerror(errno));
        return HS_EXIT_FAILURE;
    }
    push->more = false;
    for (struct dirent *entry; !push->more && (entry = readdir(directory));) {
        char *path;
        if (!is_trace_name(entry->d_name) || asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
            continue;
        bool known = is_known(push, path);
        push->more = !known && push->count >= MOST_AT_ONCE;
        if (!known && !push->more)
            add(push, path, false);
        free(path);
    }
    closedir(directory);
    return 0;
}

static int look(struct push_mqtt *push, uint64_t now)
{
    if (push->looked && now - push->looked < LOOK_MS * HS_MILLISECOND)
        return 0;
    push->looked = now;
    const char *path = push->arguments->operands[0];
    int status = push->is_folder ? look_into(push, path) : 0;
    if (push->awaited) {
        int failed = add(push, path, false);
        push->awaited = failed == -EBADMSG || failed == -ENODATA;
    }
    for (struct hs_sent_trace *trace = push->traces; trace; trace = trace->next)
        hs_sent_trace__look(trace, now);
    return status;
}

// ---- what comes ----------------------------------------------------------------------------------------------------

static void take_answer(void *data, const char *topic, uint8_t *bytes, size_t size)
{
    struct push_mqtt *push = data;
    struct hs_parcel_answer answer;
    if (strcmp(topic, push->answers) != 0)
        return;
    if (!hs_parcel_answer__open(&push->key, bytes, size, &answer) ||
        memcmp(answer.to.session, push->from.session, HS_PARCEL_SESSION_SIZE) != 0) {
        if (!push->stranger_said)
            hs_complain(push->arguments->command, "an answer is damaged or has another key; it is ignored");
        push->stranger_said = true;
        return;
    }
    uint64_t now = push->answered = hs_clock__now();
    for (struct hs_sent_trace *trace = push->traces; trace; trace = trace->next)
        if (!memcmp(trace->outbox.trace_id, answer.trace_id, HS_TRACE_ID_SIZE))
            hs_outbox__answer(&trace->outbox, &answer, push->from.number, now);
}

static void take_state(void *data, const char *lost)
{
    struct push_mqtt *push = data;
    push->ready_since = lost ? 0 : hs_clock__now();
    push->silence_said = false;
    if (lost)
        hs_complain(push->arguments->command, "broker %s: %s; trying again", push->url, lost);
}

static void say_silence(struct push_mqtt *push, uint64_t now)
{
    uint64_t since = push->answered > push->ready_since ? push->answered : push->ready_since;
    // A trace that does not grow is not spoken of so often.
    if (!push->ready_since || push->silence_said || !push->traces || now < since || now - since < SILENCE_SAID)
        return;
    push->silence_said = true;
    hs_complain(
        push->arguments->command,
        "no gather answers: either none receives from %s with the topic %s, or it has another key; trying again",
        push->url, push->topic);
}

// ---- what goes -----------------------------------------------------------------------------------------------------

static void print_line(const struct hs_sent_trace *trace, const char *word)
{
    const char *name = hs_path__name(trace->path);
    hs_text__print(stdout, name, strlen(name));
    printf(": %s, %s\n", word, hs_text__bytes(trace->outbox.acknowledged).text);
    fflush(stdout);
}

static void say_broken(struct push_mqtt *push, const struct hs_sent_trace *trace, bool done)
{
    if (trace->replaced)
        hs_complain(push->arguments->command, "%s does not hold the same trace any more; %s were sent", trace->path,
                    hs_text__bytes(trace->outbox.acknowledged).text);
    else
        hs_complain(push->arguments->command, "%s cannot be read", trace->path);
    push->failed |= !trace->replaced || !done;
}

// Whether a trace needs nothing more now.
static bool is_over(struct push_mqtt *push, struct hs_sent_trace *trace)
{
    const struct hs_outbox *outbox = &trace->outbox;
    bool done = outbox->size && hs_outbox__is_done(outbox);
    if (trace->broken)
        hs_sent_trace__look(trace, hs_clock__now());
    if (trace->broken || trace->replaced) {
        say_broken(push, trace, done);
        return true;
    }
    if (outbox->ended && done) {
        print_line(trace, "sent");
        return true;
    }
    // Others have its place until it grows.
    if (push->follow)
        return push->more && done;
    if (outbox->refused) {
        hs_complain(push->arguments->command, "%s: gather refuses it: %s", trace->path, outbox->why);
        push->failed = true;
        return true;
    }
    if (trace->in_place) {
        hs_complain(push->arguments->command, "%s: its process still changes it; with --follow it is sent after that",
                    trace->path);
        return true;
    }
    if (done)
        print_line(trace, "sent so far, it has not ended");
    return done;
}

static void remove_over(struct push_mqtt *push)
{
    for (struct hs_sent_trace **place = &push->traces; *place;) {
        struct hs_sent_trace *trace = *place;
        if (!is_over(push, trace)) {
            place = &trace->next;
            continue;
        }
        *place = trace->next;
        push->count--;
        if (!trace->replaced || !push->follow)
            remember(push, trace->path, trace->outbox.size, trace->outbox.fd);
        else
            push->awaited = !push->is_folder;
        hs_sent_trace__close(trace);
    }
}

// A message of each trace. Whether there was one.
static bool send_some(struct push_mqtt *push, uint8_t *room)
{
    bool some = false;
    for (struct hs_sent_trace *trace = push->traces; trace && hs_broker__is_free(push->broker); trace = trace->next) {
        if (!trace->outbox.size)
            continue;
        long size = hs_outbox__next(&trace->outbox, &push->key, &push->from, hs_clock__now(), room);
        trace->broken = size < 0;
        if (size > 0)
            some |= hs_broker__publish(push->broker, push->topic, room, (size_t)size);
    }
    return some;
}

static bool goes_on(const struct push_mqtt *push)
{
    if (interrupted)
        return false;
    return push->traces || push->more || push->awaited || (push->follow && push->is_folder);
}

static int send_all(struct push_mqtt *push)
{
    uint8_t *room = malloc(HS_OUTBOX_ROOM);
    int status = room ? look(push, hs_clock__now()) : HS_EXIT_FAILURE;
    while (!status && goes_on(push)) {
        bool some = send_some(push, room);
        hs_broker__step(push->broker, some ? 0 : STEP_MS);
        remove_over(push);
        status = look(push, hs_clock__now());
        say_silence(push, hs_clock__now());
    }
    free(room);
    if (status)
        return status;
    if (!push->found && !push->follow)
        hs_complain(push->arguments->command, "%s: there is no trace", push->arguments->operands[0]);
    for (const struct hs_sent_trace *trace = push->traces; trace && !push->follow; trace = trace->next)
        hs_complain(push->arguments->command, "%s has not been sent completely", trace->path);
    return push->failed || (!push->follow && (push->traces || !push->found)) ? HS_EXIT_FAILURE : HS_EXIT_OK;
}

// ---- what was asked for --------------------------------------------------------------------------------------------

static int join_labels(struct push_mqtt *push)
{
    struct hs_text_stream stream;
    size_t count;
    const char **texts = hs_arguments__texts(push->arguments, "label", &count);
    FILE *out = texts ? hs_text_stream__open(&stream) : NULL;
    for (size_t i = 0; out && i < count; i++)
        fprintf(out, "%s%s", i ? "," : "", texts[i]);
    push->labels = out ? hs_text_stream__close(&stream) : NULL;
    free(texts);
    return push->labels ? 0 : HS_EXIT_FAILURE;
}

static int prepare(struct push_mqtt *push, struct hs_broker_options *options)
{
    static char host[256];
    struct stat status;
    const char *path = push->arguments->operands[0];
    char answers[1024];
    if (!gethostname(host, sizeof(host) - 1))
        push->device = host;
    push->device = hs_arguments__text(push->arguments, "device", push->device ? push->device : "");
    push->follow = hs_arguments__flag(push->arguments, "follow");
    int failed = hs_wire_options__key(push->arguments, &push->key);
    if (!failed)
        failed = hs_mqtt_options__read(push->arguments, &push->key, false, options);
    if (!failed)
        failed = join_labels(push);
    if (failed)
        return failed;
    push->topic = options->filter;
    push->url = options->url;
    hs_parcel_from__begin(&push->from);
    hs_parcel__answer_topic(answers, sizeof(answers), push->topic, push->from.session);
    push->answers = strdup(answers);
    options->filter = push->answers;
    options->message = take_answer;
    options->state = take_state;
    options->data = push;
    push->is_folder = !stat(path, &status) && S_ISDIR(status.st_mode);
    if (!push->answers)
        return HS_EXIT_FAILURE;
    if (push->is_folder)
        return 0;
    failed = add(push, path, true);
    if (failed == -ENODATA && push->follow) {
        hs_complain(push->arguments->command, "%s has no complete header yet; waiting for it", path);
        push->awaited = true;
        return 0;
    }
    return failed ? HS_EXIT_FAILURE : 0;
}

static void free_all(struct push_mqtt *push)
{
    while (push->traces) {
        struct hs_sent_trace *trace = push->traces;
        push->traces = trace->next;
        hs_sent_trace__close(trace);
    }
    while (push->sent) {
        struct sent *sent = push->sent;
        push->sent = sent->next;
        free(sent);
    }
    free(push->labels);
    free(push->answers);
    hs_shared_key__forget(&push->key);
}

int hs_push_mqtt__run(const struct hs_arguments *arguments)
{
    struct push_mqtt push = {.arguments = arguments};
    struct hs_broker_options options;
    struct hs_error error;
    const struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    int status = prepare(&push, &options);
    if (!status && hs_broker__open(&push.broker, &options, &error)) {
        hs_complain(arguments->command, "%s", error.message);
        status = HS_EXIT_FAILURE;
    }
    if (!status)
        status = send_all(&push);
    if (push.broker)
        hs_broker__close(push.broker);
    free_all(&push);
    return status;
}
