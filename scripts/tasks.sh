# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# Tasks that wait for one another and keep the processors busy. Sourced behind lib.sh, never run.
#
# Each run of tests has stretches in which one slow job runs alone, or sleeps: as many of them as there are processors leave a
# fifth of two processors idle. So one more runs at a time, but at most four, and beside them one build. It has
# the same priority: to a lower one, other programs on this machine would leave nothing.

lanes=$((jobs < 4 ? jobs + 1 : 4))
jobs_per_task=$(((jobs + lanes - 1) / lanes))

task_names=() # in the order in which they begin when they can
declare -A task_needs=() task_command=() task_state=() task_began=() task_kind=()
declare -A tasks_running=() # by process
declare -A kind_running=([test]=0 [build]=0 [early]=0 [network]=0) kind_most=([test]=$lanes [build]=1 [early]=1 [network]=100)
tasks_ended=0

# task NAME "TASKS THAT IT NEEDS" COMMAND...: its output goes into build/logs/NAME.log. A task that needs one that failed is
# not begun and counts as failed.
task()
{
    task_names+=("$1")
    task_needs[$1]=$2
    task_state[$1]=waiting
    task_kind[$1]=test
    task_command[$1]=$(shift 2 && printf '%q ' "$@")
}

# The same of what waits for the network rather than for a processor.
network_task()
{
    task "$@"
    task_kind[$1]=network
}

# build_task NAME "TASKS THAT IT NEEDS" build|build_for_tests PRESET [OPTIONS...]
build_task()
{
    task "$1" "$2" "${@:3}"
    task_kind[$1]=build
}

# A build beside another one, for what the first tests need, too: while CMake configures one, the other one compiles.
early_task()
{
    task_kind[$1]=early
}

# Says "ready", "waiting" or "failed".
task_readiness()
{
    local other readiness=ready
    for other in ${task_needs[$1]}; do
        case ${task_state[$other]:-absent} in
        done) ;;
        failed | absent)
            echo failed
            return
            ;;
        *) readiness=waiting ;;
        esac
    done
    echo $readiness
}

end_task()
{
    task_state[$1]=$2
    tasks_ended=$((tasks_ended + 1))
    printf '[%d/%d] %s: %s\n' "$tasks_ended" "${#task_names[@]}" "$1" "$3"
}

# In a process group of its own, so that it can be ended with all that it started.
begin_task()
{
    task_began[$1]=$SECONDS
    task_state[$1]=running
    kind_running[${task_kind[$1]}]=$((kind_running[${task_kind[$1]}] + 1))
    set -m
    (eval "${task_command[$1]}") >"$logs/$1.log" 2>&1 </dev/null &
    set +m
    tasks_running[$!]=$1
}

# Begins what can begin. What cannot any more has failed, and with it what needs it: hence from the start again.
begin_tasks()
{
    local name kind
    for name in "${task_names[@]}"; do
        kind=${task_kind[$name]}
        [ "${task_state[$name]}" = waiting ] && [ "${kind_running[$kind]}" -lt "${kind_most[$kind]}" ] || continue
        case $(task_readiness "$name") in
        ready) begin_task "$name" ;;
        failed)
            end_task "$name" failed "not begun: one of these failed: ${task_needs[$name]}"
            begin_tasks
            return
            ;;
        esac
    done
}

await_task()
{
    local process name kind seconds said status=0
    wait -n -p process "${!tasks_running[@]}" || status=$?
    name=${tasks_running[$process]}
    unset "tasks_running[$process]"
    kind=${task_kind[$name]}
    kind_running[$kind]=$((kind_running[$kind] - 1))
    seconds=$((SECONDS - task_began[$name]))
    if [ "$status" -eq 0 ]; then
        said=$(sed -n 's/.* tests passed, \(.* out of .*\)/, \1/p' "$logs/$name.log" | tail -n 1)
        end_task "$name" done "$seconds s$said"
        return 0
    fi
    end_task "$name" failed "failed after $seconds s (exit status $status); build/logs/$name.log ends with:"
    tail -n 40 "$logs/$name.log" | sed 's/^/    /'
}

# Nothing outlives this command.
end_tasks()
{
    local process
    trap - EXIT
    for process in "${!tasks_running[@]}"; do
        kill -- "-$process" 2>/dev/null || true
    done
}

# run_tasks: all of them. What became of each is in task_state.
run_tasks()
{
    mkdir -p "$logs"
    trap end_tasks EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    begin_tasks
    while [ ${#tasks_running[@]} -gt 0 ]; do
        await_task
        begin_tasks
    done
    trap - EXIT INT TERM HUP
}
