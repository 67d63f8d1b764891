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

# One at a time works on what an architecture has in build/sysroots; several architectures go side by side.
lock_target()
{
    mkdir -p "$sysroots"
    exec 9>"$sysroots/.lock-$1"
    flock 9
}
