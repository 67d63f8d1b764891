# SPDX-License-Identifier: MIT OR Apache-2.0
# shellcheck shell=bash
#
# Tasks that wait for one another and keep the processors busy. Sourced behind lib.sh, never run.
#
# Each build and each run of tests has stretches in which one slow job runs alone. So as many tasks run at a time as there
# are processors, but at most four, and while one waits for its slow end another goes on.

lanes=$((jobs < 4 ? jobs : 4))
jobs_per_task=$(((jobs + lanes - 1) / lanes))

build_in_task()
{
    jobs=$jobs_per_task build "$1"
}

task_names=() # in the order in which they begin when they can
declare -A task_needs=() task_command=() task_state=() task_began=() task_lanes=()
declare -A tasks_running=() # by process
lanes_taken=0
tasks_ended=0

# task NAME "TASKS THAT IT NEEDS" COMMAND...: its output goes into build/logs/NAME.log. A task that needs one that failed is
# not begun and counts as failed.
task()
{
    task_names+=("$1")
    task_needs[$1]=$2
    task_state[$1]=waiting
    task_lanes[$1]=1
    task_command[$1]=$(shift 2 && printf '%q ' "$@")
}

# The same of what waits for the network rather than for a processor.
network_task()
{
    task "$@"
    task_lanes[$1]=0
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
    lanes_taken=$((lanes_taken + task_lanes[$1]))
    set -m
    (eval "${task_command[$1]}") >"$logs/$1.log" 2>&1 </dev/null &
    set +m
    tasks_running[$!]=$1
}

# Begins what can begin. What cannot any more has failed, and with it what needs it: hence from the start again.
begin_tasks()
{
    local name
    for name in "${task_names[@]}"; do
        [ "${task_state[$name]}" = waiting ] && [ $((lanes_taken + task_lanes[$name])) -le "$lanes" ] || continue
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
    local process name seconds said status=0
    wait -n -p process "${!tasks_running[@]}" || status=$?
    name=${tasks_running[$process]}
    unset "tasks_running[$process]"
    lanes_taken=$((lanes_taken - task_lanes[$name]))
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
