# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# What the scripts share: the packages, the set-up, the build, steps with progress and logs. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs
jobs=$(nproc)
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
export PATH=$PATH:/usr/sbin:/sbin

# shellcheck disable=SC2034 # Those that source this use them.
# Debian 12's packages. What the host command and recording need:
build_packages=(
    gcc libc6-dev cmake ninja-build pkg-config
    libdw-dev libelf-dev libiberty-dev libpcre2-dev zlib1g-dev libmicrohttpd-dev libsodium-dev libzstd-dev libcurl4-gnutls-dev
    libmosquitto-dev libncurses-dev
    nodejs npm # the page
)
# shellcheck disable=SC2034
# What the tests need beside it, to build, to record, to compare with.
test_packages=(
    g++ make
    gcc-aarch64-linux-gnu g++-aarch64-linux-gnu gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf
    gcc-arm-linux-gnueabi g++-arm-linux-gnueabi gcc-mips64el-linux-gnuabi64 g++-mips64el-linux-gnuabi64
    gcc-mips64-linux-gnuabi64 g++-mips64-linux-gnuabi64 qemu-user
    qemu-system-x86 qemu-system-arm qemu-system-mips
    clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 llvm musl-tools shellcheck
    check libjansson-dev libcapstone-dev libunwind-dev dwz xz-utils chromium chromium-headless-shell man-db
    python3 sqlite3 busybox lua5.4 bzip2 redis-server redis-tools git perl libxml2-utils procps curl iproute2 openssh-server openssh-client dropbear-bin openssl
    heaptrack valgrind
    libjemalloc2 libjemalloc-dev libgoogle-perftools4 libgoogle-perftools-dev libmimalloc2.0 libmimalloc-dev
    clickhouse-server prometheus mosquitto mosquitto-clients google-perftools golang-go lld mold patchelf file python3-jsonschema zsh fish
)
# shellcheck disable=SC2034
# What scripts/package, packaging/check, packaging/check-uclibc and scripts/release need beside the cross compilers.
packaging_packages=(debhelper debootstrap dpkg-dev lintian libbz2-dev uclibc-source)
# What other vendors' packages provide as well is taken as it is when it suffices: the command, and its lowest version.
declare -A suffices=(
    [gcc]='gcc 11' [g++]='g++ 11' [cmake]='cmake 3.22' [ninja-build]='ninja 1.8' [pkg-config]='pkg-config 0.29' [make]='make 4.0'
    [nodejs]='node 18' [npm]='npm 8' [git]='git 2.0'
)

# A script's own first comment is its help.
print_help()
{
    sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$0"
}

# takes MOST ARGUMENT...: with --help, or more arguments than MOST, the script ends with its help.
takes()
{
    local most=$1
    shift
    case " $* " in
    *" --help "* | *" -h "*)
        print_help
        exit 0
        ;;
    esac
    [ $# -le "$most" ] || {
        print_help >&2
        exit 2
    }
}

step_number=0
step_total=1

steps()
{
    step_number=0
    step_total=$1
    mkdir -p "$logs"
}

# step TEXT LOG COMMAND...: runs the command into build/logs/LOG and says how long it took. A failure ends the script
# with the command, its log and the log's last lines.
step()
{
    local text=$1 log=$logs/$2 began=$SECONDS status=0
    shift 2
    step_number=$((step_number + 1))
    printf '[%d/%d] %s ... ' "$step_number" "$step_total" "$text"
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 0 ]; then
        printf '%d s\n' $((SECONDS - began))
        return 0
    fi
    printf 'failed after %d s\n' $((SECONDS - began))
    {
        printf '\ncommand: %s (exit status %d)\nlog:     %s, which ends with:\n\n' "$*" "$status" "${log#"$root/"}"
        tail -n 40 "$log" | sed 's/^/    /'
        printf '\n'
    } >&2
    on_failed_step
    exit 1
}

# Replaced by scripts that have something to say after a failed step.
on_failed_step() { :; }

# is_enough COMMAND VERSION: whether the command is there in at least that version.
is_enough()
{
    local said
    command -v "$1" >/dev/null || return 1
    said=$("$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)*' | head -n 1)
    [ -n "$said" ] && [ "$(printf '%s\n' "$2" "$said" | sort -V | head -n 1)" = "$2" ]
}

# packages_missing PACKAGE...
packages_missing()
{
    local package state words
    declare -A installed=()
    while read -r package state; do
        [ "$state" = installed ] && installed[$package]=1
    done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        read -ra words <<<"${suffices[$package]:-}"
        if [ -n "${installed[$package]:-}" ] || { [ ${#words[@]} -eq 2 ] && is_enough "${words[@]}"; }; then
            continue
        fi
        printf '%s\n' "$package"
    done
}

# packages_install PACKAGE...: what is missing of them. Nothing is ever removed for it.
packages_install()
{
    local missing conflicting policy=/usr/sbin/policy-rc.d as_root=() status=0
    mapfile -t missing < <(packages_missing "$@")
    if [ ${#missing[@]} -eq 0 ]; then
        echo "nothing is missing"
        return 0
    fi
    echo "missing: ${missing[*]}"
    if ! command -v apt-get >/dev/null; then
        echo "This is not Debian: install what these packages of Debian 12 hold, then build without this script (CONTRIBUTING.md)."
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "These packages are missing and only root can install them. Run as root:"
            echo "    apt-get install --no-remove --no-install-recommends ${missing[*]}"
            return 1
        fi
        as_root=(sudo -n)
    fi
    local options=(-o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -y --no-install-recommends)
    "${as_root[@]}" apt-get "${options[@]}" update || return
    mapfile -t conflicting < <(apt-get "${options[@]}" --simulate install "${missing[@]}" | sed -n 's/^Remv \([^ ]*\).*/\1/p')
    if [ ${#conflicting[@]} -gt 0 ]; then
        echo "Nothing was installed: some of these packages conflict with what is installed here: ${conflicting[*]}."
        echo "Either remove that yourself (apt-get remove ${conflicting[*]}), or use a container or another machine."
        echo "scripts/setup --minimal installs what the command and recording need, scripts/demo needs no more."
        return 1
    fi
    # Packages with daemons (redis-server) would start them; the tests start their own.
    local wrote_policy=
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
        "${as_root[@]}" chmod 755 $policy
        wrote_policy=1
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" --no-remove install "${missing[@]}" || status=$?
    [ -z "$wrote_policy" ] || "${as_root[@]}" rm -f $policy
    return $status
}

# For ctest, which else cuts the end of a long output, where what failed may be.
# shellcheck disable=SC2034
whole_failed_output=(--test-output-size-failed 16777216)

# What the build is configured with beside its preset.
configure_options=()

configure()
{
    cd "$root" && cmake --preset "$1" "${configure_options[@]}"
}

# build PRESET [OPTIONS OF cmake --build...]
build()
{
    configure "$1" && cmake --build "$root/build/$1" -j "$jobs" "${@:2}"
}

# install_npm FOLDER_OF_SOURCES FOLDER_IN_BUILD: what package-lock.json there pins. Without npm or its registry the tests
# that need it are skipped.
install_npm()
{
    local from=$root/$1 folder=$root/build/$2
    if cmp -s "$from/package-lock.json" "$folder/package-lock.json" && [ -e "$folder/complete" ]; then
        echo "nothing is missing"
        return 0
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$from/package.json" "$from/package-lock.json" "$folder/"
    if (cd "$folder" && timeout 300 npm ci --no-audit --no-fund --ignore-scripts); then
        touch "$folder/complete"
    else
        echo "npm could not install $1/package.json: the tests that need it will be skipped"
        rm -rf "$folder/node_modules"
    fi
}

# The readers that the tests compare with and that only npm has.
install_readers()
{
    install_npm tests/readers readers
}

# What drives a browser for the tests of the page, and what they check it with.
install_webui_tests()
{
    install_npm tests/webui webui-tests
}
