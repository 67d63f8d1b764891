# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Common to the checks: $folder is emptied at the end, and what outlives its program ends; fail and skip end the check.
set -euo pipefail
: "${SAFETY_TRACE:?}" "${SAFETY_PROF:?}" "${SAFETY_PROGRAMS:?}" "${SAFETY_HEAPSONDE:?}"
folder=$(mktemp -d)
trap 'end_left; rm -rf "$folder"' EXIT

# A sender that reaches nobody goes on after its program, in a session of its own. Its environment names the folder.
end_left() {
    local process
    for process in $(grep -slaF -- "$folder" /proc/[0-9]*/environ | cut -d/ -f3); do
        kill -9 "$process" 2>/dev/null || true
    done
}

fail() {
    echo "FAILED: $*"
    exit 1
}

skip() {
    echo "not tested: $*"
    exit 77
}

# What runs programs of the machine that is built for; no words: they run here.
read -r -a runner <<<"${SAFETY_RUNNER:-}"

# preloaded LIBRARIES PROGRAM...: QEMU itself must not have the libraries. ${before[@]} is what else starts the program.
before=()
preloaded() {
    if [ ${#runner[@]} = 0 ]; then
        "${before[@]}" env LD_PRELOAD="$1" "${@:2}"
    else
        "${before[@]}" "${runner[@]}" -E LD_PRELOAD="$1" "${@:2}"
    fi
}

# needs_root: what is done as another user needs root, and a user "nobody".
needs_root() {
    [ "$(id -u)" = 0 ] || skip "this needs root"
    as_nobody true || skip "there is no user nobody"
    chmod 711 "$folder"
}

as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
