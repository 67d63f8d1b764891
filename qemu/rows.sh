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
row_tests='^(shim\.text_size$|safety\.|recorder\.|profiled\.|prof\.|ctl\.|stream\.|target\.|single_step\.|unwind_|runtime_|sampler_|format_|wire_)'

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

# Its programs load the shims that the build of the architecture's glibc has. That musl's headers do, too, the build for
# this machine shows.
is_emulated_musl()
{
    [[ $1 == *-musl ]]
}

# "yes": with what another row says, too, which is else left out (said_elsewhere.txt).
rows_are_whole=no
# Of these builds only what the row's own tests and the guests need is built, beside those of an emulated musl.
built_for_tests=''
# What guests run of them (qemu/system), and what the host's command takes from there for them, beside what the rows' tests need.
declare -A guest_targets=(
    [aarch64]='tests/programs/all tests/perf/all heapsonde-attach'
    [armel]='start_command attach_static heapsonde-attach heapsonde-prof'
)

# names_of PRESET CTEST_OPTIONS...: the tests of a build that the options choose.
names_of()
{
    ctest --test-dir "$root/build/$1" -N "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p'
}

# Reads names of tests.
left_out_of()
{
    /usr/bin/python3 "$root/qemu/said_elsewhere.py" pattern "$1"
}

# with_unpacked_names COMMAND...: runs it where the debug information of this machine's C library, which Valgrind's package brings,
# is not compressed: else each command of the tests unpacks it anew, which is more than half of what one does. Only root can do that.
with_unpacked_names()
{
    local identity packed unpacked=$root/build/libc.debug bind="mount --bind \"\$0\" \"\$1\""
    identity=$(readelf -n "$(gcc -print-file-name=libc.so.6)" | sed -n 's/.*Build ID: //p')
    packed=/usr/lib/debug/.build-id/${identity:0:2}/${identity:2}.debug
    if [ -e "$packed" ] && objcopy --decompress-debug-sections "$packed" "$unpacked.$BASHPID" &&
        mv "$unpacked.$BASHPID" "$unpacked" && unshare --mount sh -c "$bind" "$unpacked" "$packed"; then
        set -- unshare --mount sh -c "$bind && shift && exec \"\$@\"" "$unpacked" "$packed" "$@"
    fi
    "$@"
}

# run_tests PRESET CTEST_OPTIONS...: the tests of a build that the options choose. What failed is in the JUnit file.
run_tests()
{
    local preset=$1 results=$logs/tests-$1.xml names='' left_out
    shift
    rm -f "$results"
    [ $rows_are_whole = yes ] || names=$(names_of "$preset" "$@")
    left_out=$(left_out_of "$preset" <<<"$names")
    with_unpacked_names ctest --test-dir "$root/build/$preset" -j "$jobs_per_task" --no-tests=ignore --timeout 600 --output-junit "$results" \
        "${whole_failed_output[@]}" -E "$left_out" "$@" || true
    [ -s "$results" ]
    /usr/bin/python3 "$root/qemu/said_elsewhere.py" add "$preset" "$results" <<<"$names"
}

# build_for_tests PRESET CTEST_OPTIONS...: what run_tests needs, and no more.
build_for_tests()
{
    local preset=$1 left_out targets more
    shift
    configure "$preset" || return
    left_out=$(names_of "$preset" "$@" | left_out_of "$preset")
    mapfile -t targets < <(names_of "$preset" "$@" -E "$left_out" | "$root/qemu/needed.py" "$root/build/$preset")
    read -ra more <<<"${guest_targets[$preset]:-}"
    [ ${#targets[@]} -gt 0 ] && cmake --build "$root/build/$preset" -j "$jobs" --target "${targets[@]}" "${more[@]}"
}

test_row()
{
    [[ $strict == *" $1 "* ]] || export HEAPSONDE_TEST_CUTS=allowed
    run_tests "$1" -R "$row_tests" --test-output-size-passed 65536
}

sysroot_task()
{
    network_task "sysroot-$1" "" "$root/toolchains/sysroot" "$1"
}

row_build_task()
{
    local architecture=$1 preset=$2 how=(build "$2")
    if [ $rows_are_whole = no ] && { is_emulated_musl "$preset" || [[ $built_for_tests == *" $preset "* ]]; }; then
        how=(build_for_tests "$preset" -R "$row_tests")
    elif is_emulated_musl "$preset"; then
        how+=(--target tests/all)
    fi
    build_task "build-$preset" "$([ "$architecture" = amd64 ] || echo "sysroot-$architecture")" "${how[@]}"
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
