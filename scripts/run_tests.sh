#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs cmocka programs one after the other, and closes with one line for all of them.
# Skipped tests say why themselves; here they are counted, so that nobody takes them for passed.
passed=0 failed=0 skipped=0 broken=''
log=$(mktemp)
trap 'rm -f "$log"' EXIT INT TERM

count() { grep -c "$1" "$log" || true; }

for program in "$@"; do
	printf '== %s\n' "${program##*/}"
	"$program" >"$log" 2>&1
	status=$?
	ok=$(count '^\[       OK \]') bad=$(count '^\[  FAILED  \] [^0-9]') skip=$(count '^\[  SKIPPED \] [^0-9]')
	# cmocka lists each failed and skipped test twice: where it ran and in the summary.
	bad=$((bad / 2)) skip=$((skip / 2))
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	if [ "$status" -ne 0 ]; then
		cat "$log"
		broken="$broken ${program##*/}"
		[ "$bad" -gt 0 ] || failed=$((failed + 1))
	elif [ "$skip" -gt 0 ]; then
		grep -v '^\[' "$log" || true
		grep '^\[  SKIPPED' "$log"
	fi
done
[ -z "$broken" ] || printf 'failed:%s\n' "$broken"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
