// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The checks, by what they look at. The table is in checks.c.
#ifndef HEAPSONDE_HOST_DOCTOR_CHECKS_H
#define HEAPSONDE_HOST_DOCTOR_CHECKS_H

#include "host/doctor/doctor.h"

typedef void hs_doctor_look(const struct hs_doctor_scene *scene, struct hs_doctor_finding *finding);

// machine.c
hs_doctor_look hs_doctor__look_kernel, hs_doctor__look_library, hs_doctor__look_recording, hs_doctor__look_output,
    hs_doctor__look_mapping, hs_doctor__look_proc, hs_doctor__look_clock, hs_doctor__look_control, hs_doctor__look_key,
    hs_doctor__look_variables, hs_doctor__look_ptrace;
// events.c
hs_doctor_look hs_doctor__look_seccomp, hs_doctor__look_paranoid, hs_doctor__look_cpu, hs_doctor__look_faults,
    hs_doctor__look_cycles, hs_doctor__look_kernel_stacks, hs_doctor__look_ring;
// program.c
hs_doctor_look hs_doctor__look_program, hs_doctor__look_tables, hs_doctor__look_symbols, hs_doctor__look_build_id;

#endif
