// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/json.h"
#include "host/cli/commands.h"
#include "host/cli/doctor_on.h"
#include "host/cli/library.h"
#include "host/cli/program.h"
#include "host/cli/variables.h"
#include "host/doctor/doctor.h"
#include "host/gather/shared_key.h"
#include "host/inject/inject.h"
#include "host/report/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_text(const char *text)
{
    hs_text__print(stdout, text, strlen(text));
    putchar('\n');
}

static void print_finding(const struct hs_doctor_check *check, const struct hs_doctor_finding *finding)
{
    static const char *const marks[] = {"ok", "so-so", "no", "-"};
    printf("%-5s  %-14s ", marks[finding->state], check->name);
    print_text(finding->detail);
    if (!finding->advice[0])
        return;
    printf("%22s-> ", "");
    print_text(finding->advice);
}

static void write_finding(struct hs_json *json, const struct hs_doctor_check *check,
                          const struct hs_doctor_finding *finding)
{
    hs_json__open_object(json, NULL);
    hs_json__string(json, "name", check->name);
    hs_json__string(json, "what", check->what);
    hs_json__boolean(json, "needed", check->needed);
    hs_json__string(json, "state", hs_doctor_state_name(finding->state));
    hs_json__string(json, "detail", finding->detail);
    hs_json__string(json, "advice", finding->advice[0] ? finding->advice : NULL);
    hs_json__close_object(json);
}

// Runs the table; whether recording works.
static bool examine(const struct hs_doctor_scene *scene, struct hs_json *json)
{
    bool works = true;
    size_t count = scene->board ? hs_board_check_count : hs_doctor_check_count;
    for (size_t i = 0; i < count; i++) {
        const struct hs_doctor_check *check = scene->board ? &hs_board_checks[i] : &hs_doctor_checks[i];
        struct hs_doctor_finding finding = {.state = HS_DOCTOR_UNASKED};
        check->look(scene, &finding);
        works = works && !(check->needed && finding.state == HS_DOCTOR_FAILS);
        if (json)
            write_finding(json, check, &finding);
        else
            print_finding(check, &finding);
    }
    return works;
}

static bool report(const struct hs_doctor_scene *scene, bool as_json)
{
    struct hs_json json;
    if (!as_json) {
        bool works = examine(scene, NULL);
        printf("\nRecording %s.\n", works ? "works" : "does not work");
        return works;
    }
    hs_json__start(&json, stdout, true);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "checks");
    bool works = examine(scene, &json);
    hs_json__close_array(&json);
    hs_json__boolean(&json, "recording", works);
    hs_json__close_object(&json);
    putchar('\n');
    return works;
}

static const char *key_problem(const char *path, struct hs_error *error)
{
    struct hs_shared_key key;
    if (!path)
        return NULL;
    int result = hs_shared_key__read(&key, path, error);
    hs_shared_key__forget(&key);
    return result ? error->message : NULL;
}

// 0: the operand is a program.
static pid_t process_number(const struct hs_arguments *arguments)
{
    if (arguments->operand_count != 1 || strspn(arguments->operands[0], "0123456789") != strlen(arguments->operands[0]))
        return 0;
    long number = strtol(arguments->operands[0], NULL, 10);
    return number <= INT_MAX ? (pid_t)number : 0;
}

static int run_on(const struct hs_arguments *arguments)
{
    struct hs_board_scene board = {.pid = process_number(arguments)};
    const struct hs_doctor_scene scene = {.board = &board};
    if (!board.pid && arguments->operand_count)
        board.name = arguments->operands[0];
    hs_board_scene__look(&board, hs_arguments__text(arguments, "on", ""),
                         hs_arguments__text(arguments, "board-folder", NULL));
    return report(&scene, hs_arguments__flag(arguments, "json")) ? HS_EXIT_OK : HS_EXIT_FAILURE;
}

static int examine_process(const struct hs_arguments *arguments, pid_t pid)
{
    static const struct hs_doctor_check check = {
        .name = "attach", .what = "heapsonde attach records or samples this process", .needed = true};
    struct hs_error error = {.message = ""};
    struct hs_doctor_finding finding = {.state = HS_DOCTOR_WORKS};
    if (hs_inject__examine(pid, false, &error)) {
        finding.state = HS_DOCTOR_FAILS;
        snprintf(finding.detail, sizeof(finding.detail), "%s", error.message);
    } else if (hs_inject__examine(pid, true, &error)) {
        snprintf(finding.detail, sizeof(finding.detail), "process %d can be recorded; with --sample: %s", (int)pid,
                 error.message);
    } else {
        snprintf(finding.detail, sizeof(finding.detail), "process %d can be recorded, and sampled with --sample",
                 (int)pid);
    }
    bool works = finding.state == HS_DOCTOR_WORKS;
    if (!hs_arguments__flag(arguments, "json")) {
        print_finding(&check, &finding);
        return works ? HS_EXIT_OK : HS_EXIT_FAILURE;
    }
    struct hs_json json;
    hs_json__start(&json, stdout, true);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "checks");
    write_finding(&json, &check, &finding);
    hs_json__close_array(&json);
    hs_json__boolean(&json, "recording", works);
    hs_json__close_object(&json);
    putchar('\n');
    return works ? HS_EXIT_OK : HS_EXIT_FAILURE;
}

static int run(const struct hs_arguments *arguments)
{
    if (hs_arguments__flag(arguments, "on"))
        return run_on(arguments);
    pid_t pid = process_number(arguments);
    if (pid)
        return examine_process(arguments, pid);
    char library[PATH_MAX], variables_problem[1024];
    struct hs_error library_error = {.message = ""}, program_error = {.message = ""}, key_error = {.message = ""};
    struct hs_program program = {0};
    struct hs_doctor_scene scene = {
        .folder = hs_arguments__text(arguments, "folder", "."),
        .runtime_folder = getenv("XDG_RUNTIME_DIR"),
        .key_file = getenv("HEAPSONDE_KEY_FILE"),
    };
    hs_doctor__this_machine(&scene);
    if (hs_library__find(library, sizeof(library), &library_error))
        scene.library_problem = library_error.message;
    else
        scene.library = library;
    if (hs_variables__problem(environ, variables_problem, sizeof(variables_problem)))
        scene.variables_problem = variables_problem;
    scene.key_problem = key_problem(scene.key_file, &key_error);
    if (arguments->operand_count) {
        const char *compared = scene.library ? scene.library : "", *const none[] = {NULL};
        if (hs_program__prepare(&program, arguments->operands, compared, none, false, &program_error))
            scene.program_problem = program_error.message;
        scene.program = program.path;
        scene.program_is_static = program.is_static;
    }
    bool works = report(&scene, hs_arguments__flag(arguments, "json"));
    hs_program__free(&program);
    return works ? HS_EXIT_OK : HS_EXIT_FAILURE;
}

static const struct hs_option options[] = {
    {.name = "json", .help = "write JSON"},
    {.name = "folder",
     .letter = 'o',
     .kind = HS_OPTION_DIRECTORY,
     .argument = "DIR",
     .help = "the folder where traces will be written; default the current one"},
    {.name = "on",
     .kind = HS_OPTION_TEXT,
     .argument = "MACHINE",
     .help = "look at another machine, as run --on and attach --on do before they record there"},
    {.name = "board-folder",
     .only_with = "on",
     .kind = HS_OPTION_TEXT,
     .argument = "DIR",
     .help = "with --on, the folder there for the recording library"},
    {0},
};

const struct hs_command hs_command_doctor = {
    .name = "doctor",
    .synopsis = "[OPTIONS] [--] [PROGRAM | PID]",
    .summary = "check what works on this machine, and which setting would enable the rest",
    .description =
        "Checks what recording and sampling need: the recording library, the folder for traces, the variables, the "
        "clock, perf_event, "
        "the folder of control sockets; and for a PROGRAM, whether it can be recorded and whether its stacks have "
        "names; for the number of a process, whether it can be attached to. Each check prints a line: ok, so-so "
        "(works, but less well), no, or - (not applicable); below it is the "
        "setting that would enable it. The exit status is 0 if recording works.",
    .operand = HS_OPERAND_PROGRAM,
    .least_operands = 0,
    .most_operands = -1,
    .options = options,
    .run = run,
};
