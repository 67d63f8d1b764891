# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# The tests of the host half for AArch64. Sourced behind scripts/lib.sh, never run.

# What scripts/test builds and runs of them, and packaging/check-builds for this machine.
# shellcheck disable=SC2034
host_quick_targets=(heapsonde heapsonde-trace golden_trace test_json test_report test_export test_dump_readers test_store_packed
    test_store_import)
# What qemu/system attaches to.
# shellcheck disable=SC2034
host_guest_targets=(heapsonde-prof heapsonde-attach attach_dynamic attach_static attach_static_pie allocators_toy
    follow_tree_dynamic follow_tree_static)
# shellcheck disable=SC2034
host_quick_tests='^(exchange|json|report|export|dump_readers|store_packed|store_import)$'

# run_host_tests OPTIONS OF ctest...
run_host_tests()
{
    local left_out
    left_out=$(sed -e '/^#/d' -e '/^ *$/d' -e 's/ .*//' -e '/:/d' "$root/qemu/host_unsupported.txt" | paste -sd '|')
    ctest --test-dir "$root/build/aarch64-host" -j "${jobs_per_task:-$jobs}" -E "^($left_out)\$" --output-on-failure --timeout 600 \
        --output-junit "$logs/tests-aarch64-host.xml" "${whole_failed_output[@]}" "$@"
}
