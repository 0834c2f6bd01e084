# SPDX-License-Identifier: GPL-2.0-or-later
#
# Machines that permit less: few capabilities, AppArmor, lockdown (man 7 kernel_lockdown) and Yama's
# ptrace_scope. See init.

# works NAME WORDS LEAKMON-OPTIONS… : it ends well, and its report has the words.
works() {
	name=$1
	words=$2
	shift 2
	leakmon "$@" >json 2>err 3>&- 4<&-
	status=$?
	if [ $status = 0 ] && grep -q "$words" json; then
		pass "$name"
	else
		fail "$name: leakmon exited with $status"
	fi
}

# Nothing of these three can be taken back before the next boot: last of all, in this order.
test_lockdown_integrity() {
	[ -f /sys/kernel/security/lockdown ] || return 0
	echo integrity >/sys/kernel/security/lockdown
	workload_start leak
	watch
	compare "lockdown integrity: the workload's own ledger"
	workload_start leak
	works "lockdown integrity: memory" '"pid"' memory -p $workload --format json 1 1
	works "lockdown integrity: retain" '"classes"' retain -p $workload --census --format json \
		--max-pause 10000
	survives "lockdown integrity: the workload goes on" go
}

test_lockdown_confidentiality() {
	[ -f /sys/kernel/security/lockdown ] || return 0
	echo confidentiality >/sys/kernel/security/lockdown
	workload_start leak
	refused "lockdown confidentiality: watch" "lockdown" -p $workload
	works "lockdown confidentiality: memory" '"pid"' memory -p $workload --format json 1 1
	works "lockdown confidentiality: triage" '"processes"' triage --no-stacks --format json 1 2
	survives "lockdown confidentiality: the workload goes on" go
}

test_yama_closed() {
	[ -f /proc/sys/kernel/yama/ptrace_scope ] || return 0
	echo 3 >/proc/sys/kernel/yama/ptrace_scope
	workload_start leak
	refused "ptrace_scope 3: watch" "ptrace_scope" -p $workload
	works "ptrace_scope 3: memory" '"pid"' memory -p $workload --format json 1 1
	leakmon retain -p $workload --census --format json >json 2>err 3>&- 4<&-
	status=$?
	if [ $status = 1 ] && grep -q "ptrace_scope" err; then
		pass "ptrace_scope 3: retain names the cause"
	else
		fail "ptrace_scope 3: retain exited with $status"
	fi
	works "ptrace_scope 3: triage" '"processes"' triage --no-stacks --format json 1 2
	survives "ptrace_scope 3: the workload goes on" go
}

# with_capabilities LIST COMMAND…: as a user with these capabilities alone.
with_capabilities() {
	# By its path, or busybox's own is started.
	/bin/setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$1" --ambient-caps="$1" \
		--bounding-set="-all,$1" leakmon_as "$@"
}

# Root's process, watched by a user with three capabilities: before 6.6 a fourth one is asked for.
test_capabilities() {
	[ -x /bin/setpriv ] || return 0
	three=+bpf,+perfmon,+sys_ptrace
	printf '#!/bin/sh\nshift\nexec leakmon "$@"\n' >/bin/leakmon_as
	chmod 755 /bin/leakmon_as
	workload_start leak
	rm -f json
	with_capabilities $three -p $workload -o 0 --format json 1 1 >json 2>err 3>&- 4<&-
	status=$?
	if [ $status = 0 ] && grep -q '"processes":\[{"pid"' json; then
		pass "three capabilities: watch"
	elif [ $status = 1 ] && grep -q 'CAP_SYS_ADMIN' err; then
		pass "three capabilities: watch names CAP_SYS_ADMIN"
	else
		fail "three capabilities: watch: leakmon exited with $status"
	fi
	with_capabilities $three retain -p $workload --census --max-pause 10000 --format json >json 2>err \
		3>&- 4<&-
	status=$?
	if [ $status = 0 ] && grep -q '"classes"' json; then
		pass "three capabilities: retain"
	else
		fail "three capabilities: retain exited with $status"
	fi
	survives "three capabilities: the workload goes on" go
}

# Under the profile that the packages have: see vm.sh, which compiles it.
test_apparmor() {
	[ -f /apparmor.bin ] && [ -f /sys/kernel/security/apparmor/.replace ] || return 0
	busybox cat /apparmor.bin >/sys/kernel/security/apparmor/.replace || fail "apparmor: not loaded"
	workload_start leak
	watch
	compare "apparmor: the workload's own ledger"
	workload_start leak
	works "apparmor: memory" '"pid"' memory -p $workload --format json 1 1
	works "apparmor: threads" '"pid"' threads -p $workload --format json 1 1
	works "apparmor: triage" '"processes"' triage --format json 1 2
	works "apparmor: retain" '"classes"' retain -p $workload --census --format json \
		--max-pause 10000
	leakmon memory -p $workload --format json --output /vm/denied 1 1 >json 2>err 3>&- 4<&-
	status=$?
	if [ $status != 0 ] && [ ! -s /vm/denied ]; then
		pass "apparmor: the profile is enforced"
	else
		fail "apparmor: it wrote where it must not"
	fi
	# CAP_SYS_ADMIN stands in for one that the policy's ABI does not know.
	busybox dmesg | grep 'apparmor="DENIED"' | grep -v -e /vm/denied -e checkpoint_restore |
		cut -c 1-300 >denied
	if [ -s denied ]; then
		fail "apparmor: denied: $(sort -u denied | head -n 5)"
	else
		pass "apparmor: nothing else is denied"
	fi
	survives "apparmor: the workload goes on" go
	printf leakmon >/sys/kernel/security/apparmor/.remove
}
