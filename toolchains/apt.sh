# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# Debian's packages for other machines, downloaded into build/sysroots/apt. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sysroots=$(realpath -m "$root/build/sysroots")
apt_folder=$sysroots/apt
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

complain()
{
    printf '%s: %s\n' "${0#"$root/"}" "$*" >&2
}

# private_apt ARCHITECTURE COMMAND...: apt as on a machine of that architecture on which nothing is installed.
private_apt()
{
    local architecture=$1 own=$apt_folder/$1
    shift
    mkdir -p "$own/state/lists/partial" "$own/cache/archives/partial"
    [ -e "$own/state/status" ] || : >"$own/state/status"
    apt-get -o Dir::State="$own/state" -o Dir::State::status="$own/state/status" -o Dir::Cache="$own/cache" \
        -o Dir::Log="$own" -o APT::Sandbox::User=root -o APT::Architecture="$architecture" \
        -o APT::Architectures::="$architecture" -o APT::Get::List-Cleanup=false -o Acquire::Languages=none \
        -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 -o Debug::NoLocking=true -q "$@"
}

# The same lists of sources as the host has, for source packages.
private_source_lists()
{
    local to=$1 file
    rm -rf "$to"
    mkdir -p "$to"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -e "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$to/${file##*/}"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -e "$file" ] || sed 's/^deb /deb-src /' "$file" >"$to/${file##*/}"
    done
}

# download_sources ARCHITECTURE FOLDER PACKAGE...: as that architecture's apt would.
download_sources()
{
    local architecture=$1 folder=$2 log=$apt_folder/$1.log lists=$apt_folder/$1/sources
    local options=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$lists")
    shift 2
    rm -rf "$folder"
    mkdir -p "$folder" "$apt_folder"
    private_source_lists "$lists"
    private_apt "$architecture" "${options[@]}" update >"$log" 2>&1 || true
    if ! (cd "$folder" && private_apt "$architecture" "${options[@]}" source --download-only "$@") >>"$log" 2>&1; then
        complain "the sources of $* cannot be downloaded. ${log#"$root/"} ends with:"
        tail -n 5 "$log" | sed 's/^/    /' >&2
        return 1
    fi
}

# One at a time works on what an architecture has in build/sysroots; several architectures go side by side.
lock_target()
{
    mkdir -p "$sysroots"
    exec 9>"$sysroots/.lock-$1"
    flock 9
}
