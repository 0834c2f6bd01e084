#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# figures.sh [deep|sqlite3|redis|python3]…: share of leakmon's stacks that equal those of libgcc's
# unwinder, address by address; all four by default. Exit code 1 if one of the shares is less than
# 99.9%, or a block is missing. Needs root, and the programs of Debian's redis-tools, sqlite3,
# python3 and libpython3.11-testsuite.
#
# LEAKMON_PROGRAM (build/leakmon), LEAKMON_WORKLOADS (build/workloads) and LEAKMON_TRUTH_TOOLS
# (build/truth) choose the programs.
set -eu

leakmon=$(realpath "${LEAKMON_PROGRAM:-build/leakmon}")
workloads=$(realpath "${LEAKMON_WORKLOADS:-build/workloads}")
tools=$(realpath "${LEAKMON_TRUTH_TOOLS:-build/truth}")
share=99.9
directory=$(mktemp -d /tmp/leakmon-truth-XXXXXX)
program=
monitor=
stack_walk=auto
code=0

clean_up() {
	for pid in $monitor $program; do
		kill -KILL "$pid" 2>/dev/null || :
	done
	rm -rf "$directory"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
cd "$directory"

# wait_for TEXT FILE
wait_for() {
	tries=0
	until grep -q -e "$1" "$2"; do
		tries=$((tries + 1))
		if [ $tries -gt 6000 ] || ! kill -0 "$program" ${monitor:+"$monitor"}; then
			echo "figures.sh: \`$1\` did not come; $2 says:" >&2
			cat "$2" >&2
			exit 1
		fi
		sleep 0.1
	done
}

# start ONE_IN COMMAND…: the program under the recording library, with stdin from descriptor 9
start() {
	one_in=$1
	shift
	rm -f in truth report.json
	: >out
	: >messages
	mkfifo in
	LEAKMON_TRUTH=truth LEAKMON_TRUTH_KEEP=1 LEAKMON_TRUTH_ONE_IN=$one_in \
		LD_PRELOAD="$tools/backtrace_preload.so" "$@" <in >out 2>errors &
	program=$!
	exec 9>in
}

# Attaches to the allocator below the recording library; from then on it records. $stack_walk: of a
# program in Python only native stacks are the unwinder's.
watch() {
	object=$(grep -o -m 1 '/.*/libjemalloc\.so.*' "/proc/$program/maps" ||
		grep -o -m 1 '/.*/libc\.so\.6' "/proc/$program/maps")
	"$leakmon" -p "$program" -O "$object" -a -T 0 -o 0 --max-blocks 4000000 \
		--stack-walk "$stack_walk" \
		--max-sites 65536 --format json --output report.json 3600 2>messages &
	monitor=$!
	wait_for 'attached to PID' messages
	"$tools/compare" start truth
}

# finish NAME [COMMAND]: compares while the program still stands; it ends by COMMAND, or when its
# stdin ends
finish() {
	end=${2:-:}
	"$tools/compare" stop truth
	kill -INT "$monitor"
	wait "$monitor" || cat messages >&2
	monitor=
	"$tools/compare" "$1" truth report.json $share || code=1
	exec 9>&-
	$end
	wait "$program" || :
	program=
}

figure_deep() {
	start 1 "$workloads/deep"
	wait_for ready out
	watch
	echo go >&9
	wait_for done out
	finish deep
}

# 10 MB of statements: rows, an index, an update, joins and sorts.
sql() {
	awk 'BEGIN {
		print "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);"
		print "CREATE INDEX t_name ON t(name);\nBEGIN;"
		for (i = 0; i < 93000; i++)
			printf "INSERT INTO t VALUES(%d, %s%x-%060d%s, %f);\n", i, "\047",
				i * 7919 % 65536, i, "\047", i / 7
		print "COMMIT;"
		print "UPDATE t SET value = value * 2 WHERE name LIKE \0477%\047;"
		print "SELECT substr(name, 1, 2), count(*), sum(value) FROM t GROUP BY 1 ORDER BY 2;"
		print "SELECT count(*) FROM t a JOIN t b ON a.name = b.name;"
		print ".print done"
	}'
}

figure_sqlite3() {
	sql >script.sql
	start 20 sqlite3
	wait_sqlite3
	watch
	cat script.sql >&9
	wait_for '^done' out
	finish "sqlite3 on $(($(wc -c <script.sql) / 1000000)) MB"
}

wait_sqlite3() {
	echo '.print ready' >&9
	wait_for ready out
}

figure_redis() {
	# redis-tools carries the server: it chooses by its name.
	ln -sf "$(realpath "$(command -v redis-check-rdb)")" redis-server
	start 20 ./redis-server --port 0 --unixsocket "$directory/socket" --save '' \
		--daemonize no
	wait_for 'ready to accept connections\|now ready to accept' out
	watch
	redis-benchmark -s "$directory/socket" -n 20000 -q >benchmark 2>&1 || {
		cat benchmark errors >&2
		tail -n 60 out >&2
		exit 1
	}
	finish 'redis-server under redis-benchmark' \
		"redis-cli -s $directory/socket shutdown nosave"
}

# Every Python object is a separate block.
figure_python3() {
	export PYTHONMALLOC=malloc
	stack_walk=cfi
	start 5 /usr/bin/python3 -c '
import sys, unittest, test.test_json
print("ready", flush=True)
sys.stdin.readline()
unittest.main(module="test.test_json", argv=["test"], exit=False)
print("done", flush=True)
sys.stdin.readline()'
	wait_for ready out
	watch
	echo go >&9
	wait_for done out
	finish 'python3 running test_json'
}

for name in ${*:-deep sqlite3 redis python3}; do
	case $name in
	deep | sqlite3 | redis | python3) "figure_$name" ;;
	*)
		echo "figures.sh: no such program: $name (deep, sqlite3, redis, python3)" >&2
		exit 2
		;;
	esac
done
exit $code
