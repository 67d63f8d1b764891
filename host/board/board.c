// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/board/board.h"

#include "host/base/text_stream.h"
#include "host/board/interrupt.h"
#include "host/board/stripped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { ROOM_KIB = 512, ROOM_TO_ATTACH_KIB = 1536, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
enum { NO_STATUS = -1, WAS_CUT = -2 }; // in place of an exit status

// ---- connecting ----------------------------------------------------------------------------------------------------

static int prepare(struct hs_board *board, struct hs_error *error)
{
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return hs_error__set(error, EIO, "the kernel provides no random numbers");
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(board->nonce + 2 * i, 3, "%02x", random[i]);
    board->errors = memfd_create("errors", MFD_CLOEXEC);
    if (board->errors >= 0 && !fcntl(board->errors, F_SETFL, O_APPEND))
        return 0;
    return hs_error__set(error, errno, "cannot create a temporary file: %s", strerror(errno));
}

int hs_board__start(struct hs_board *board, struct hs_session *session, char *script, enum hs_session_role role,
                    int input, int output, int errors)
{
    bool in_front = role == HS_SESSION_TERMINAL;
    if (!script)
        return -ENOMEM;
    int result = hs_session__start(session, &board->address, script, role, input, output,
                                   errors < 0 ? board->errors : errors, in_front);
    free(script);
    return result;
}

// The last line of standard error, or advice if the error is a known one.
static void last_words(const struct hs_board *board, char *text, size_t size)
{
    char all[8192];
    ssize_t length = pread(board->errors, all, sizeof(all) - 1, 0);
    all[length > 0 ? length : 0] = 0;
    for (size_t end = strlen(all); end && strchr("\r\n", all[end - 1]);)
        all[--end] = 0;
    const char *line = strrchr(all, '\n');
    const char *advice = hs_board_address__advice(&board->address, all);
    snprintf(text, size, "%s", *advice ? advice : line ? line + 1 : all);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
}

static int no_connection(struct hs_board *board, struct hs_error *error)
{
    char text[512];
    hs_session__close_input(&board->keeper);
    int status = hs_session__wait(&board->keeper);
    last_words(board, text, sizeof(text));
    if (*text)
        return hs_error__set(error, ECONNREFUSED, "%s cannot be reached: %s", board->address.text, text);
    return hs_error__set(error, ECONNREFUSED,
                         "%s cannot be reached: no shell script ran there (exit status %d); check that 'echo hello' "
                         "works over this connection",
                         board->address.text, status);
}

// ---- examining the board
// ------------------------------------------------------------------------------------------------

static void take(char *to, size_t size, const char *value)
{
    snprintf(to, size, "%s", value);
}

static int read_program(struct hs_board *board, const char *count)
{
    size_t size = strtoul(count, NULL, 10);
    if (size > HS_BOARD_PROGRAM_BYTES)
        return -EPROTO;
    uint8_t *bytes = malloc(size + 1);
    int result = !bytes ? -ENOMEM : fread(bytes, 1, size, board->words) != size ? -EPROTO : 0;
    if (!result && size)
        hs_probe__bytes(&board->probe, bytes, size);
    free(bytes);
    return result;
}

// "FOLDER WHY", where WHY is a word or the number of KiB that are free.
static void take_refused(struct hs_board *board, char *value)
{
    static const char *const reasons[][2] = {{"name", "has a space, a colon or a quote in its name"},
                                             {"absent", "does not exist"},
                                             {"read-only", "is not writable"},
                                             {"full", "is full"},
                                             {"unseen", "is not visible to the process, which sees other folders"},
                                             {"noexec", "does not allow programs (noexec)"}};
    size_t used = strlen(board->refused), room = sizeof(board->refused) - used;
    char *to = board->refused + used, *why = strrchr(value, ' ');
    const char *comma = used ? ", " : "";
    if (!why)
        return;
    *why++ = 0;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (!strcmp(why, reasons[i][0])) {
            snprintf(to, room, "%s%s %s", comma, value, reasons[i][1]);
            return;
        }
    }
    snprintf(to, room, "%s%s has only %s KiB free", comma, value, why);
}

// Returns 1 after the last line.
static int take_line(struct hs_board *board, const char *key, char *value)
{
    if (!strcmp(key, "kernel"))
        take(board->kernel, sizeof(board->kernel), value);
    else if (!strcmp(key, "machine"))
        take(board->machine, sizeof(board->machine), value);
    else if (!strcmp(key, "user"))
        take(board->user, sizeof(board->user), value);
    else if (!strcmp(key, "program"))
        take(board->program, sizeof(board->program), value);
    else if (!strcmp(key, "interpreter"))
        take(board->interpreter, sizeof(board->interpreter), value);
    else if (!strcmp(key, "instead"))
        take(board->instead, sizeof(board->instead), value);
    else if (!strcmp(key, "state"))
        take(board->program_state, sizeof(board->program_state), value);
    else if (!strcmp(key, "folder"))
        take(board->folder, sizeof(board->folder), value);
    else if (!strcmp(key, "stream"))
        board->streams = !strcmp(value, "yes");
    else if (!strcmp(key, "refused"))
        take_refused(board, value);
    else if (!strcmp(key, "bytes"))
        return read_program(board, value);
    return !strcmp(key, "ready");
}

static int look(struct hs_board *board)
{
    char *line = NULL;
    size_t room = 0;
    int result = 0;
    bool greeted = false;
    while (result == 0) {
        ssize_t length = getline(&line, &room, board->words);
        if (length <= 0) {
            result = -EPIPE;
            break;
        }
        while (length && strchr("\r\n", line[length - 1]))
            line[--length] = 0;
        char *value = strchr(line, ' ');
        if (value)
            *value++ = 0;
        // A login shell may print something before the greeting.
        greeted |= !strcmp(line, "heapsonde-board");
        if (greeted)
            result = take_line(board, line, value ? value : line + strlen(line));
    }
    free(line);
    return result < 0 ? result : 0;
}

// The scripts put the folder between single quotes, and LD_PRELOAD separates its words at spaces and colons.
static bool is_plain(const char *folder)
{
    return !strpbrk(folder, "': \n");
}

static bool is_usable(const char *folder)
{
    return *folder == '/' && is_plain(folder);
}

static int open_board(struct hs_board *board, const char *address, struct hs_board_wish wish, struct hs_error *error)
{
    const char *folder = wish.folder;
    *board = (struct hs_board){.keeper = {.input = -1, .output = -1}, .errors = -1, .status = WAS_CUT};
    if (folder && !is_usable(folder))
        return hs_error__set(error, EINVAL,
                             "--board-folder cannot be '%s'; name an absolute path without spaces, colons and quotes",
                             folder);
    int result = prepare(board, error);
    if (!result)
        result = hs_board_address__read(&board->address, address, error);
    if (result)
        return result;
    wish.nonce = board->nonce;
    result = hs_board__start(board, &board->keeper, hs_board_script__keep(&wish), HS_SESSION_FIRST, HS_SESSION_PIPE,
                             HS_SESSION_PIPE, -1);
    board->words = result ? NULL : fdopen(board->keeper.output, "r");
    if (!board->words)
        return hs_error__set(error, ENOMEM, "%s cannot be reached: %s", address, strerror(result ? -result : errno));
    board->keeper.output = -1;
    return look(board) || !is_plain(board->folder) ? no_connection(board, error) : 0;
}

int hs_board__open(struct hs_board *board, const char *address, const char *program, const char *folder,
                   struct hs_error *error)
{
    const struct hs_board_wish wish = {.program = program, .folder = folder, .need_kib = ROOM_KIB};
    return open_board(board, address, wish, error);
}

int hs_board__open_process(struct hs_board *board, const char *address, pid_t pid, const char *folder,
                           struct hs_error *error)
{
    const struct hs_board_wish wish = {.pid = pid, .folder = folder, .need_kib = ROOM_TO_ATTACH_KIB};
    return open_board(board, address, wish, error);
}

// ---- the program ---------------------------------------------------------------------------------------------------

static int refuse_state(const struct hs_board *board, const char *name, struct hs_error *error)
{
    const char *state = board->program_state, *where = board->address.text;
    if (strchr(name, '=')) {
        hs_error__set(error, EINVAL,
                      "heapsonde cannot record %s: env starts it, and reads a name with '=' as a variable; make a link "
                      "to it with another name",
                      name);
        return EXIT_CANNOT_RUN;
    }
    if (!strcmp(state, "missing")) {
        hs_error__set(error, ENOENT, "%s was not found on %s; give its path on that machine", name, where);
        return EXIT_NOT_FOUND;
    }
    if (!strcmp(state, "no-interpreter")) {
        hs_error__set(error, ENOENT, "%s, which the #! line of %s names, cannot be run on %s; install it there",
                      board->interpreter, name, where);
        return EXIT_NOT_FOUND;
    }
    if (!strcmp(state, "folder"))
        hs_error__set(error, EISDIR, "%s is a folder on %s; name a program in it", name, where);
    else if (!strcmp(state, "not-executable"))
        hs_error__set(error, EACCES, "%s is not executable by user %s on %s; 'chmod +x' it there", name, board->user,
                      where);
    else if (!strcmp(state, "set-uid"))
        hs_error__set(
            error, EPERM,
            "heapsonde cannot record %s: it is set-uid, and for set-uid programs the loader ignores LD_PRELOAD; "
            "log in to %s as its owner",
            name, where);
    else
        return 0;
    return EXIT_CANNOT_RUN;
}

static int refuse_kind(const struct hs_board *board, const char *name, struct hs_error *error)
{
    char buffer[32];
    const struct hs_probe *probe = &board->probe;
    if (!strcmp(board->program_state, "unreadable") || probe->kind == HS_PROBE_OTHER)
        return hs_error__set(
            error, ENOEXEC,
            "%s on %s cannot be read, or is not a program of a known kind; name a readable program, or "
            "the interpreter that runs it",
            name, board->address.text);
    if (probe->kind == HS_PROBE_SCRIPT)
        return hs_error__set(error, ENOEXEC,
                             "%s on %s is a script, and so is the interpreter in its #! line; name the program that "
                             "runs it in front of it",
                             name, board->address.text);
    if (!hs_abi__of(probe))
        return hs_error__set(error, ENOEXEC,
                             "heapsonde cannot record %s: there is no recording library for %d-bit %s programs; "
                             "'heapsonde shims' lists the available ones",
                             name, probe->pointer_size * 8, hs_machine_name(probe->machine, buffer));
    if (!probe->has_interpreter)
        return hs_error__set(error, ENOEXEC,
                             "heapsonde cannot record %s: it is statically linked, so no loader can add the recording "
                             "library to it; link it dynamically, or link libheapsonde-trace.so into it",
                             name);
    return 0;
}

int hs_board__check_program(struct hs_board *board, const char *name, struct hs_error *error)
{
    struct hs_error reason = {.message = ""};
    int status = refuse_state(board, name, error);
    if (status)
        return status;
    if (refuse_kind(board, name, error))
        return EXIT_CANNOT_RUN;
    board->abi = hs_abi__of(&board->probe);
    if (!hs_shim__find(board->abi, HS_SHIM_TRACE, board->library, sizeof(board->library), &reason))
        return 0;
    hs_error__set(error, ENOENT, "heapsonde cannot record %s: %s", name, reason.message);
    return EXIT_CANNOT_RUN;
}

int hs_board__check_process(struct hs_board *board, pid_t pid, enum hs_shim shim, struct hs_error *error)
{
    char buffer[32];
    struct hs_error reason = {.message = ""};
    const struct hs_probe *probe = &board->probe;
    if (!strcmp(board->program_state, "missing"))
        return hs_error__set(error, ESRCH, "there is no process %d on %s", (int)pid, board->address.text);
    if (strcmp(board->program_state, "good") != 0 || probe->kind != HS_PROBE_ELF)
        return hs_error__set(error, EACCES,
                             "user %s cannot read the program of process %d on %s: the process is another user's, or a "
                             "thread of the kernel; log in as its user or as root",
                             board->user, (int)pid, board->address.text);
    board->abi = hs_abi__of(probe);
    if (!board->abi)
        return hs_error__set(error, ENOEXEC,
                             "process %d is a %d-bit %s program, for which there is no recording library; "
                             "'heapsonde shims' lists the available ones",
                             (int)pid, probe->pointer_size * 8, hs_machine_name(probe->machine, buffer));
    if (hs_shim__find(board->abi, shim, board->library, sizeof(board->library), &reason))
        return hs_error__set(error, ENOENT, "process %d cannot be attached to: %s", (int)pid, reason.message);
    return 0;
}

// ---- the library ---------------------------------------------------------------------------------------------------

static int open_file(const struct hs_board *board, const char *path, size_t *size, struct hs_error *error)
{
    if (*board->folder)
        return hs_stripped__open(path, size, error);
    return hs_error__set(error, ENOSPC,
                         "the recording library cannot be put on %s: %s; name another folder with --board-folder",
                         board->address.text, *board->refused ? board->refused : "no suitable folder exists");
}

static int not_sent(const struct hs_board *board, struct hs_error *error)
{
    char text[512];
    last_words(board, text, sizeof(text));
    return hs_error__set(error, EIO, "the recording library cannot be copied to %s on %s: %s", board->folder,
                         board->address.text, *text ? text : "the connection ended");
}

static int send(struct hs_board *board, const char *path, const char *name, struct hs_error *error)
{
    struct hs_session session;
    size_t size = 0;
    int fd = open_file(board, path, &size, error);
    if (fd < 0)
        return fd;
    int result = hs_board__start(board, &session, hs_board_script__send(board->folder, name, size), HS_SESSION_OTHER,
                                 fd, HS_SESSION_NOTHING, -1);
    close(fd);
    return !result && hs_session__wait(&session) == 0 ? 0 : not_sent(board, error);
}

int hs_board__send_library(struct hs_board *board, struct hs_error *error)
{
    return send(board, board->library, HS_BOARD_LIBRARY, error);
}

int hs_board__send_attach(struct hs_board *board, struct hs_error *error)
{
    int result = hs_shim__find(board->abi, HS_SHIM_ATTACH, board->attach, sizeof(board->attach), error);
    return result ? result : send(board, board->attach, HS_BOARD_ATTACH, error);
}

int hs_board__start_receiver(struct hs_board *board, struct hs_session *session, struct hs_error *error)
{
    size_t size = 0;
    int fd = open_file(board, board->library, &size, error);
    if (fd < 0)
        return fd;
    int result = hs_board__start(board, session, hs_board_script__trace(board->folder, size), HS_SESSION_OTHER, fd,
                                 HS_SESSION_PIPE, -1);
    close(fd);
    return result ? not_sent(board, error) : 0;
}

int hs_board__await_receiver(struct hs_board *board, struct hs_session *session, void (*wait)(void *context),
                             void *context, struct hs_error *error)
{
    static const char ready[] = "ready\n";
    for (size_t i = 0; i < sizeof(ready) - 1; i++) {
        char letter;
        ssize_t count;
        wait(context);
        while ((count = read(session->output, &letter, 1)) < 0 && errno == EINTR && !hs_interrupt__came())
            ;
        if (count == 1 && letter == ready[i])
            continue;
        hs_session__close_output(session);
        return not_sent(board, error);
    }
    return 0;
}

// ---- the end -------------------------------------------------------------------------------------------------------

// Reads what the keeper prints until a line begins with `key`. False: it has ended. An interruption ends it, so that
// its last line may come in place of an answer.
static bool read_answer(struct hs_board *board, const char *key, char *line, int size)
{
    while (board->words && fgets(line, size, board->words)) {
        if (!strncmp(line, "status ", 7))
            board->status = line[7] == 'n' ? NO_STATUS : atoi(line + 7);
        if (!strncmp(line, key, strlen(key)))
            return true;
    }
    return false;
}

bool hs_board__has_names(struct hs_board *board, const pid_t *pids, size_t count)
{
    char line[64];
    struct hs_text_stream stream;
    FILE *out = count ? hs_text_stream__open(&stream) : NULL;
    if (!out)
        return false;
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%d%c", (int)pids[i], i + 1 < count ? ' ' : '\n');
    char *question = hs_text_stream__close(&stream);
    size_t size = question ? strlen(question) : 0;
    bool was_asked = size && write(board->keeper.input, question, size) == (ssize_t)size;
    free(question);
    return was_asked && read_answer(board, "names ", line, sizeof(line)) && !strcmp(line, "names yes\n");
}

void hs_board__close(struct hs_board *board, int *status)
{
    char line[64];
    hs_session__close_input(&board->keeper);
    read_answer(board, "status ", line, sizeof(line));
    if (status)
        *status = board->status;
    if (board->words)
        fclose(board->words);
    hs_session__wait(&board->keeper);
    if (board->errors >= 0)
        close(board->errors);
    hs_board_address__free(&board->address);
}
