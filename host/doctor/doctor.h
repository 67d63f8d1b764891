// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What will work on a machine and why not. A check is an entry of the table in checks.c: it looks at the machine
// through a scene, so that tests can show it another one.
#ifndef HEAPSONDE_HOST_DOCTOR_DOCTOR_H
#define HEAPSONDE_HOST_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_doctor_state {
    HS_DOCTOR_WORKS,
    HS_DOCTOR_LIMITED, // works, but less well
    HS_DOCTOR_FAILS,
    HS_DOCTOR_UNASKED // nothing was named that it could look at
};

enum hs_doctor_event {
    HS_DOCTOR_TASK_CLOCK,
    HS_DOCTOR_PAGE_FAULTS,
    HS_DOCTOR_CYCLES,
    HS_DOCTOR_KERNEL_STACKS // the task clock, with what the kernel does
};

struct hs_board_scene;

// How the machine is asked. All return 0 or a negative errno.
struct hs_doctor_scene {
    const struct hs_board_scene *board; // of another machine, for checks of such alone; the rest is then empty
    const char *root;                   // before /proc and /sys; "" on the machine itself
    const char *folder;                 // in which traces will be written
    const char *library;                // the recording library, NULL when there is none
    const char *library_problem;
    const char *variables_problem; // of the first variable that is unknown or has a wrong value, or NULL
    const char *runtime_folder;    // $XDG_RUNTIME_DIR or NULL
    const char *key_file;          // or NULL
    const char *key_problem;       // why it is no good, or NULL
    const char *program;           // the file that would be executed, or NULL
    bool program_is_static;        // no loader takes the library in: it is put into the program's memory
    const char *program_problem;   // why the library cannot be loaded into it, or NULL
    int (*open_event)(enum hs_doctor_event event);
    int (*record)(const struct hs_doctor_scene *scene, char *problem, size_t size); // a trial
    int (*map_file)(const char *folder);
    int (*read_maps)(const struct hs_doctor_scene *scene);
};

struct hs_doctor_finding {
    enum hs_doctor_state state;
    char detail[512]; // what was found
    char advice[512]; // which setting would allow it, or ""
};

struct hs_doctor_check {
    const char *name;
    const char *what;
    bool needed; // without it nothing is recorded
    void (*look)(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding);
};

extern const struct hs_doctor_check hs_doctor_checks[];
extern const size_t hs_doctor_check_count;

// The scene of this machine: the functions above as they are.
void hs_doctor__this_machine(struct hs_doctor_scene *scene);

const char *hs_doctor_state_name(enum hs_doctor_state state);

// For the checks.
void hs_doctor__say(struct hs_doctor_finding *finding, enum hs_doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void hs_doctor__advise(struct hs_doctor_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The beginning of a file below the scene's root, without its last newline: its length, or a negative errno.
long hs_doctor__read(const struct hs_doctor_scene *scene, const char *path, char *text, size_t size);
// What stands in the line that begins with `key` and a colon; false when there is none.
bool hs_doctor__field(const char *text, const char *key, char *value, size_t size);

#endif
