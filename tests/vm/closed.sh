# SPDX-License-Identifier: GPL-2.0-or-later
#
# Machines closed against debuggers: lockdown (man 7 kernel_lockdown) and Yama's ptrace_scope. See
# init.

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
