# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# The rows of qemu/matrix as tasks: for each architecture and C library one that builds, and one that runs the tests.
# Sourced behind scripts/lib.sh and scripts/tasks.sh, never run.

# Of the stacks of every real program, this share has to be whole.
whole_share=99.5
whole_share_is_enforced=yes
# The builds whose test programs may not have a single cut stack or missing frame. In the others some still have: stacks
# of musl's start-up code and its threads.
strict=' host aarch64 armhf armhf-musl armel armel-musl mips64el mips64 mips64el-musl '

architectures_all=(amd64 aarch64 armhf armel mips64el mips64)
row_tests='^(shim\.text_size$|safety\.|recorder\.|profiled\.|prof\.|ctl\.|stream\.|target\.|single_step\.|unwind_|runtime_|sampler_|format_)'

# presets_of ARCHITECTURE: "libc preset" lines.
presets_of()
{
    case $1 in
    amd64) printf 'glibc host\nmusl musl\n' ;;
    mips64) printf 'glibc mips64\n' ;; # Debian has no musl for it
    *) printf 'glibc %s\nmusl %s-musl\n' "$1" "$1" ;;
    esac
}

# row_list ARCHITECTURE...: "architecture libc preset" lines.
row_list()
{
    local architecture
    for architecture in "$@"; do
        presets_of "$architecture" | sed "s/^/$architecture /"
    done
}

# What need not be said again where a processor is emulated and the C library is musl: of modules, and of the shim's own dumps and
# descriptors, in which no libc takes part, the row of glibc says it, and with musl that of amd64 does.
said_elsewhere='^(shim\.|unwind_|runtime_(stacks|cull)$|prof\.(formats|names|limits|peak)\.|(recorder|profiled)\.close-all\.)'

# Its programs load the shims that the build of the architecture's glibc has. That musl's headers do, too, the build for
# this machine shows.
is_emulated_musl()
{
    [[ $1 == *-musl ]]
}

test_row()
{
    local preset=$1 results=$logs/tests-$1.xml left_out='^$'
    ! is_emulated_musl "$preset" || left_out=$said_elsewhere
    [[ $strict == *" $preset "* ]] || export HEAPSONDE_TEST_CUTS=allowed
    rm -f "$results"
    ctest --test-dir "$root/build/$preset" -j "$jobs_per_task" -R "$row_tests" -E "$left_out" --no-tests=ignore --timeout 600 \
        --test-output-size-passed 65536 --test-output-size-failed 65536 --output-junit "$results" || true
    [ -s "$results" ]
}

sysroot_task()
{
    network_task "sysroot-$1" "" "$root/toolchains/sysroot" "$1"
}

row_build_task()
{
    local architecture=$1 preset=$2 target=all
    ! is_emulated_musl "$preset" || target=tests/all
    build_task "build-$preset" "$([ "$architecture" = amd64 ] || echo "sysroot-$architecture")" "$preset" --target $target
}

row_test_task()
{
    task "tests-$1" "build-host build-${1%-musl} build-$1" test_row "$1"
}

# The table of the rows that row_list says on the standard input. Fails when something failed.
print_rows()
{
    local architecture libc preset words=()
    while read -r architecture libc preset; do
        words+=("$architecture:$libc:$logs/tests-$preset.xml")
    done
    rm -rf "$logs/matrix"
    /usr/bin/python3 "$root/qemu/results.py" "$logs" $whole_share $whole_share_is_enforced "${words[@]}"
}
