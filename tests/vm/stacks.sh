# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks; programs and libraries whose return addresses are signed. Part of tests/vm/init.
#
# /signed is a tree of Debian 13, whose libraries are built so (-mbranch-protection=standard).

# The stack of every allocation (of one in ONE_IN) by libgcc's unwinder, address by address.
truth_start() { # ONE_IN COMMAND...
	rm -f in out truth json err
	one_in=$1
	shift
	mkfifo in
	: >out
	LEAKMON_TRUTH=/tmp/truth LEAKMON_TRUTH_KEEP=1 LEAKMON_TRUTH_ONE_IN=$one_in \
		LD_PRELOAD=/bin/backtrace_preload.so "$@" <in >out 2>/dev/null &
	workload=$!
	exec 3>in
}

truth_watch() {
	monitor_start -p $workload -O "$(grep -o -m 1 '/.*/libc\.so\.6' /proc/$workload/maps)" -a -T 0 -o 0 \
		--max-blocks 400000 --max-sites 65536 --format json 3600
	truth_compare start truth
}

# SHARE percent must be equal; where the unwinder gives up, leakmon may go on: it ends in stubs of
# linkers that nothing describes, and at another probe's trampoline.
truth_finish() { # NAME SHARE
	truth_compare stop truth
	kill -TERM $monitor
	wait $monitor || fail "truth of $1: leakmon exited with $?"
	if truth_compare "$1" truth json "$2" >figures 2>&1 &&
		! grep ' blocks: ' figures | grep -qv "the unwinder's stack ends after"; then
		pass "truth of $1: $(head -n 1 figures)"
	else
		fail "truth of $1: $(cat figures)"
	fi
	exec 3>&-
	wait $workload
}

said() {
	grep -q "$1" out
}

# C++ with exceptions, threads, signal handlers.
test_truth_deep() { # COMMAND…
	truth_start 1 "$@"
	wait_for 60 said ready || fail "truth: deep does not begin"
	truth_watch
	echo go >&3
	wait_for 600 said done || fail "truth: deep does not end"
	# In how many the unwinder gives up depends on where signals come: seen are 0.25 to 0.60 %.
	case $(uname -m) in aarch64) share=99 ;; *) share=100 ;; esac
	truth_finish "$*" $share
}

test_truth_sqlite3() { # COMMAND…
	truth_start 1 "$@"
	echo '.print ready' >&3
	wait_for 60 said ready || fail "truth: sqlite3 does not begin"
	truth_watch
	{
		echo 'CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);'
		echo 'CREATE INDEX t_name ON t(name); BEGIN;'
		i=0
		while [ $i -lt 300 ]; do
			echo "INSERT INTO t VALUES($i, '$((i * 7919 % 65536))-$i', $i);"
			i=$((i + 1))
		done
		echo 'COMMIT;'
		echo 'SELECT substr(name, 1, 2), count(*), sum(value) FROM t GROUP BY 1 ORDER BY 2;'
		echo 'SELECT count(*) FROM t a JOIN t b ON a.name = b.name;'
		echo '.print done'
	} >&3
	wait_for 600 said '^done' || fail "truth: sqlite3 does not end"
	truth_finish "$*" 100
}

# unwound STATUS COMMAND…: it unwinds while it is watched, and ends with that status.
unwound() {
	want=$1
	shift
	workload_start "$@"
	monitor_start -p $workload -o 0 --format json 3600
	command_send go
	echo leave >&3
	wait $workload
	ended=$?
	exec 3>&- 4<&-
	wait $monitor || fail "$*: leakmon exited with $?"
	if [ $ended = "$want" ]; then
		pass "$*: unwound while watched"
	else
		fail "$*: ended with status $ended, not $want"
	fi
}

# Functions that sign the return address that a return probe has replaced.
test_signed_allocator() { # LEAKMON-OPTIONS…
	workload_start private_heap_pac
	watch -S pool_ "$@"
	compare "private_heap_pac${*:+ $*}: the workload's own ledger"
	[ $ended = 0 ] || fail "private_heap_pac: ended with status $ended"
}

test_signed() {
	if ! grep -qw paca /proc/cpuinfo; then
		fail "no pointer authentication here"
		return
	fi
	test_workload mixed_pac 2 400
	test_workload allocators_pac
	test_signed_allocator
	test_signed_allocator --attach perf
	[ -d /signed ] || return
	mount --bind /tmp /signed/tmp
	test_workload chroot /signed mixed_pac 2 400
	test_workload chroot /signed allocators_pac
	unwound 42 chroot /signed cancel_pac
	unwound 43 chroot /signed thrower_pac
	test_truth_deep chroot /signed deep_pac
	test_truth_sqlite3 chroot /signed sqlite3
}
