// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/cli/doctor_on.h"

#include <elf.h>
#include <string.h>

static void look_for_program(struct hs_board_scene *scene, const char *address, const char *folder)
{
    // Without a program, check the shell: its ABI is that of most programs there.
    const char *looked_at = scene->name ? scene->name : "sh";
    scene->is_connected = !hs_board__open(&scene->board, address, looked_at, folder, &scene->connection);
    if (scene->is_connected) {
        scene->is_recordable = !hs_board__check_program(&scene->board, looked_at, &scene->program);
        scene->is_sent = scene->is_recordable && !hs_board__send_library(&scene->board, &scene->library);
    }
}

static void look_for_process(struct hs_board_scene *scene, const char *address, const char *folder)
{
    scene->is_connected = !hs_board__open_process(&scene->board, address, scene->pid, folder, &scene->connection);
    if (scene->is_connected) {
        scene->is_recordable = !hs_board__check_process(&scene->board, scene->pid, HS_SHIM_TRACE, &scene->program);
        scene->is_sent = scene->is_recordable && !hs_board__send_attach(&scene->board, &scene->library);
    }
}

void hs_board_scene__look(struct hs_board_scene *scene, const char *address, const char *folder)
{
    int status = 0;
    if (scene->pid)
        look_for_process(scene, address, folder);
    else
        look_for_program(scene, address, folder);
    hs_board__close(&scene->board, &status);
}

static void look_at_connection(const struct hs_doctor_scene *all, struct hs_doctor_finding *finding)
{
    const struct hs_board_scene *scene = all->board;
    if (scene->is_connected)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s, %s, as user %s", scene->board.kernel, scene->board.machine,
                       scene->board.user);
    else
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->connection.message);
}

static bool begins_with_one_of(const char *text, const char *words)
{
    for (size_t length; *words; words += length + strspn(words + length, " ")) {
        length = strcspn(words, " ");
        if (!strncmp(text, words, length))
            return true;
    }
    return false;
}

// A kernel names its machine or, to 32-bit programs, the 32-bit form of that.
static bool is_foreign(const struct hs_board *board)
{
    static const struct {
        uint16_t machine;
        const char *names; // as they begin
    } kinds[] = {{EM_X86_64, "x86_64 i386 i486 i586 i686"},
                 {EM_AARCH64, "aarch64 arm"},
                 {EM_ARM, "arm aarch64"},
                 {EM_MIPS, "mips"}};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const bool is_here = begins_with_one_of(board->machine, kinds[i].names);
        if (is_here && kinds[i].machine == board->probe.machine)
            return false;
        is_known = is_known || is_here;
    }
    return is_known;
}

static void look_at_program(const struct hs_doctor_scene *all, struct hs_doctor_finding *finding)
{
    const struct hs_board_scene *scene = all->board;
    const struct hs_probe *probe = &scene->board.probe;
    if (!scene->is_connected)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "there is no connection");
    else if (!scene->name && !scene->pid && !scene->is_recordable)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "no program was named");
    else if (!scene->is_recordable)
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->program.message);
    else if (scene->pid)
        hs_doctor__say(finding, HS_DOCTOR_WORKS,
                       "process %d, for %s; whether its kernel allows it is known when 'heapsonde attach' begins: if "
                       "not, it changes nothing",
                       (int)scene->pid, scene->board.abi->what);
    else if (is_foreign(&scene->board)) {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED, "%s is for %s, but the machine is %s", scene->board.program,
                       scene->board.abi->what, scene->board.machine);
        hs_doctor__advise(finding, "name a program for that machine; this one runs there only in an emulator");
    } else
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s, for %s, %s", scene->board.program, scene->board.abi->what,
                       probe->interpreter);
}

static void look_at_library(const struct hs_doctor_scene *all, struct hs_doctor_finding *finding)
{
    const struct hs_board_scene *scene = all->board;
    if (!scene->is_recordable)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "the ABI is not known");
    else if (!*scene->board.folder || scene->is_sent)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%s", scene->board.library);
    else
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", scene->library.message);
}

static void look_at_folder(const struct hs_doctor_scene *all, struct hs_doctor_finding *finding)
{
    const struct hs_board *board = &((const struct hs_board_scene *)all->board)->board;
    const char *end = strrchr(board->folder, '/');
    if (!((const struct hs_board_scene *)all->board)->is_connected)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "there is no connection");
    else if (end)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "%.*s takes the library%s%s", (int)(end - board->folder),
                       board->folder, *board->refused ? "; " : "", board->refused);
    else {
        hs_doctor__say(finding, HS_DOCTOR_FAILS, "%s", *board->refused ? board->refused : "no suitable folder exists");
        hs_doctor__advise(finding,
                          "use --board-folder to name a writable folder with free space that is not mounted noexec");
    }
}

static void look_at_stream(const struct hs_doctor_scene *all, struct hs_doctor_finding *finding)
{
    const struct hs_board *board = &((const struct hs_board_scene *)all->board)->board;
    if (!*board->folder)
        hs_doctor__say(finding, HS_DOCTOR_UNASKED, "there is no folder for a pipe");
    else if (board->streams)
        hs_doctor__say(finding, HS_DOCTOR_WORKS, "the trace is sent through a pipe; no part of it is stored there");
    else {
        hs_doctor__say(finding, HS_DOCTOR_LIMITED,
                       "no pipe can be created there: the trace is kept in a file until the program ends");
        hs_doctor__advise(finding,
                          "use --board-folder to name a folder on another file system; mkfifo or mknod is needed");
    }
}

const struct hs_doctor_check hs_board_checks[] = {
    {"connection", "a shell on the other machine", true, look_at_connection},
    {"program", "whether it can be recorded", true, look_at_program},
    {"library", "the recording library for its ABI", true, look_at_library},
    {"folder", "the folder for the library while the program runs", true, look_at_folder},
    {"stream", "the pipe through which the trace is sent", true, look_at_stream},
};

const size_t hs_board_check_count = sizeof(hs_board_checks) / sizeof(hs_board_checks[0]);
