// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/doctor/checks.h"

const struct hs_doctor_check hs_doctor_checks[] = {
    {"kernel", "the kernel, or what emulates it", true, hs_doctor__look_kernel},
    {"library", "the recording library", true, hs_doctor__look_library},
    {"output", "the folder for traces", true, hs_doctor__look_output},
    {"mapping", "shared mappings of files, which make a trace survive kill -9", true, hs_doctor__look_mapping},
    {"proc", "/proc/self/maps, the list of mappings", true, hs_doctor__look_proc},
    {"recording", "a trial recording of a program", true, hs_doctor__look_recording},
    {"clock", "the clock of events", false, hs_doctor__look_clock},
    {"seccomp", "filters of system calls", false, hs_doctor__look_seccomp},
    {"ptrace", "permission to inspect processes", false, hs_doctor__look_ptrace},
    {"perf-paranoid", "permissions for perf_event", false, hs_doctor__look_paranoid},
    {"perf-cpu", "CPU samples (HEAPSONDE_EVENTS=cpu)", false, hs_doctor__look_cpu},
    {"perf-faults", "resident memory (HEAPSONDE_EVENTS=faults)", false, hs_doctor__look_faults},
    {"perf-cycles", "samples by the processor's cycles", false, hs_doctor__look_cycles},
    {"perf-kernel", "stacks inside the kernel", false, hs_doctor__look_kernel_stacks},
    {"perf-mlock", "memory for the rings of samples", false, hs_doctor__look_ring},
    {"control", "the folder of control sockets (heapsonde ctl)", false, hs_doctor__look_control},
    {"variables", "the names and values of HEAPSONDE_ variables", true, hs_doctor__look_variables},
    {"key-file", "the key for streams beyond this machine", false, hs_doctor__look_key},
    {"program", "the program, and whether the library can be loaded into it", true, hs_doctor__look_program},
    {"unwind-tables", "the program's unwind tables", false, hs_doctor__look_tables},
    {"symbols", "the program's function names", false, hs_doctor__look_symbols},
    {"build-id", "the program's build id, by which debug files are found", false, hs_doctor__look_build_id},
};

const size_t hs_doctor_check_count = sizeof(hs_doctor_checks) / sizeof(*hs_doctor_checks);
