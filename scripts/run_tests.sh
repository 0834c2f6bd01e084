#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run_tests.sh [-j N] PROGRAM… [-j N PROGRAM…]…
#
# Runs cmocka programs, N at once (default: one per CPU); those after another -j begin when all before
# have ended. Closes with one line for all. Each program's output is printed whole when it ends. One
# that takes longer than $TEST_LIMIT seconds (default 1800) is killed, and has failed. Skipped tests
# say why themselves; they are counted separately, so that they do not pass for passed.
#
# EMULATOR: a program that runs them.
#
# AGAIN=1: programs that have failed run once more at the end, alone. One that passes then counts as
# passed, but its first log stays in the output, and the last line names it: it has a bug that shows
# rarely, or a test that measures the machine.
#
# SIGINT and SIGTERM end it with 130: each running program gets SIGTERM, and five seconds later its
# process group gets SIGKILL.
set -um # a process group for each program

passed=0 failed=0 skipped=0 broken=() rare=()
declare -A running=() started=() counts=() # of a program: passed, failed, skipped
readonly LIMIT=${TEST_LIMIT:-1800} # seconds for a program
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
trap stop INT TERM

stop() {
	trap '' INT TERM
	printf 'interrupted:%s\n' "$(printf ' %s' "${running[@]##*/}")" >&2
	exec 2>/dev/null
	for pid in "${!running[@]}"; do kill -TERM -- "-$pid"; done
	SECONDS=0
	while [ -n "$(jobs -pr)" ] && [ "$SECONDS" -lt 5 ]; do sleep 0.1; done
	for pid in "${!running[@]}"; do kill -KILL -- "-$pid"; done
	exit 130
}

start() {
	local log=$logs/${1##*/}
	(
		trap : INT TERM # the program ends first, and cleans up
		TIMEFORMAT='%0R s, %0U s user, %0S s system'
		# shellcheck disable=SC2086 # none, or a command
		time ${EMULATOR:-} "$1" >"$log" 2>&1
		echo $? >"$log.status"
	) </dev/null 2>"$log.time" &
	running[$!]=$1 started[$!]=$SECONDS
}

count() { grep -c "$1" "$log"; }

# report PROGRAM: a program that has ended.
report() {
	local log=$logs/${1##*/} status ok bad skip
	status=$(cat "$log.status" 2>/dev/null || echo 137)
	ok=$(count '^\[       OK \]') bad=$(count '^\[  FAILED  \] [^0-9]') skip=$(count '^\[  SKIPPED \] [^0-9]')
	# cmocka lists each failed and skipped test twice: where it ran and in the summary.
	bad=$((bad / 2)) skip=$((skip / 2))
	printf '== %s (%s)\n' "${1##*/}" "$(tail -n 1 "$log.time")"
	if [ "$status" -ne 0 ]; then
		cat "$log"
		[ "$status" -le 128 ] || printf 'ended by signal %d\n' $((status - 128))
		broken+=("$1")
		[ "$bad" -gt 0 ] || bad=1
	elif [ "$skip" -gt 0 ]; then
		grep -v '^\[' "$log"
		grep '^\[  SKIPPED' "$log"
	fi
	add "$ok" "$bad" "$skip"
	counts[$1]="$((-ok)) $((-bad)) $((-skip))"
	rm -f "$log" "$log".*
}

add() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

# has_ended PID: its status is there, or it runs no longer (killed before it could write one). One
# that is stopped, or runs for too long, is killed: it would keep the others waiting for ever.
has_ended() {
	[ ! -e "$logs/${running[$1]##*/}.status" ] || return 0
	if [ $((SECONDS - started[$1])) -ge "$LIMIT" ] || [[ " ${stopped[*]} " == *" $1 "* ]]; then
		kill -KILL -- "-$1"
		return 0
	fi
	[[ " ${alive[*]} " != *" $1 "* ]]
}

# wait_below N: waits until fewer than N programs run.
wait_below() {
	local -a alive stopped
	local pid
	while [ "${#running[@]}" -ge "$1" ]; do
		sleep 0.1
		# Not by $(...): a signal during it breaks the trap.
		jobs -pr >"$logs/.jobs" && mapfile -t alive <"$logs/.jobs"
		jobs -ps >"$logs/.jobs" && mapfile -t stopped <"$logs/.jobs"
		for pid in "${!running[@]}"; do
			has_ended "$pid" || continue
			wait "$pid" 2>/dev/null
			report "${running[$pid]}"
			unset "running[$pid]" "started[$pid]"
		done
	done
}

at_once=$(nproc)
while [ $# -gt 0 ]; do
	if [ "$1" = -j ]; then
		wait_below 1
		at_once=$2
		shift 2
		continue
	fi
	wait_below "$at_once"
	start "$1"
	shift
done
wait_below 1
if [ -n "${AGAIN:-}" ]; then
	first=("${broken[@]}") broken=()
	for program in "${first[@]}"; do
		printf 'again, alone: %s\n' "${program##*/}"
		# shellcheck disable=SC2086 # three numbers
		add ${counts[$program]}
		start "$program"
		wait_below 1
		[[ " ${broken[*]} " == *" $program "* ]] || rare+=("${program##*/}")
	done
fi
[ ${#broken[@]} -eq 0 ] || printf 'failed: %s\n' "${broken[*]##*/}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ ${#rare[@]} -eq 0 ] || printf 'failed at first, and passed alone: %s\n' "${rare[*]}"
[ "$failed" -eq 0 ]
