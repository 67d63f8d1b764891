# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# The tests of the host half for AArch64. Sourced behind scripts/lib.sh, never run.

# What scripts/test builds and runs of them, and packaging/check-builds for this machine.
# shellcheck disable=SC2034
host_quick_targets=(heapsonde golden_trace test_json test_report test_export test_dump_readers test_store_packed test_store_import)
# What qemu/system attaches to.
# shellcheck disable=SC2034
host_guest_targets=(attach_dynamic attach_static attach_static_pie allocators_toy follow_tree_dynamic follow_tree_static)
# What both need beside that, and what the preset aarch64 has, too.
# shellcheck disable=SC2034
host_shim_targets=(heapsonde-trace heapsonde-prof heapsonde-attach)
# shellcheck disable=SC2034
host_quick_tests='^(exchange|json|report|export|dump_readers|store_packed|store_import)$'

# The commands that make them in build/aarch64 are the same, but for folders of headers and libraries that they do not need.
copy_shims_for_host()
{
    local from=$root/build/aarch64/lib to=$root/build/aarch64-host/lib
    mkdir -p "$to"
    cp -a "$from/heapsonde" "$from/libheapsonde-trace.so" "$from/libheapsonde-prof.so" "$to/"
}

# build_host_for_tests: what scripts/test runs of it, behind the build of the preset aarch64.
build_host_for_tests()
{
    build aarch64-host --target "${host_quick_targets[@]}" "${host_guest_targets[@]}" && copy_shims_for_host
}

# run_host_tests OPTIONS OF ctest...
run_host_tests()
{
    local left_out
    left_out=$(sed -e '/^#/d' -e '/^ *$/d' -e 's/ .*//' -e '/:/d' "$root/qemu/host_unsupported.txt" | paste -sd '|')
    ctest --test-dir "$root/build/aarch64-host" -j "${jobs_per_task:-$jobs}" -E "^($left_out)\$" --output-on-failure --timeout 600 \
        --output-junit "$logs/tests-aarch64-host.xml" "${whole_failed_output[@]}" "$@"
}
