# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks that nothing holds, and pointers with marks. Part of tests/vm/init.

# census COMMAND…: what `truth` of a workload says, in truth, and leakmon's report in json.
census() {
	workload_start "$@"
	command_send go
	command_send truth
	echo "$answer" >truth
	rm -f json err
	leakmon retain -p $workload --census --format json --max-pause 10000 >json 2>err 3>&- 4<&-
	status=$?
	echo quit >&3
	exec 3>&- 4<&-
	wait $workload
}

# sum KEY_SUFFIX KEYS: of numbers in truth.
sum() {
	total=0
	for key in $2; do total=$((total + $(number "${key}_$1" truth))); done
	echo $total
}

# Blocks that nothing holds, as the workload counts them.
test_retain() { # KEYS COMMAND…
	keys=$1
	shift
	census "$@"
	blocks=$(sum blocks "$keys") bytes=$(sum bytes "$keys")
	if [ $status = 0 ] && grep -q "\"lost\":{\"blocks\":$blocks,\"bytes\":$bytes}" json; then
		pass "retain $*: $blocks lost blocks of $bytes bytes"
	else
		fail "retain $*: exit $status, must be $blocks blocks of $bytes bytes: $(grep -o '"lost":{[^}]*}' json | head -n 1)"
	fi
}

# Blocks that the kernel alone points to, by kind of holder: none of them is lost.
test_in_kernel() {
	test_retain lost in_kernel
	missing=
	for kind in 'alternate signal stack' 'io_uring request' 'AIO request' 'pending signal'; do
		count=$(grep -o "\"name\":\"$kind\",\"blocks\":[0-9]*" truth | grep -o '[0-9]*$')
		echo "    $kind: $count blocks"
		[ "$count" = 0 ] || grep -q "\"name\":\"$kind\"" json || missing="$missing $kind,"
	done
	if [ -z "$missing" ] && grep -q '"why_kernel_uncertain":null' json; then
		pass "retain in_kernel: every kind is a root, every request was found"
	else
		fail "retain in_kernel: not a root:$missing $(grep -o '"why_kernel_[^,]*' json | tr '\n' ' ')"
	fi
}

# LeakSanitizer of GCC 14 where it is there: that of GCC 12 never ends on arm64.
sanitized() {
	if [ -x /signed/bin/holder_lsan ]; then
		mount --bind /proc /signed/proc
		timeout -s KILL 60 chroot /signed holder_lsan
		umount /signed/proc
	else
		timeout -s KILL 60 holder_lsan
	fi
}

# The same program with LeakSanitizer, which sums requested sizes, leakmon usable ones.
test_sanitizer() {
	printf 'go\nquit\n' | sanitized >/dev/null 2>err
	leaked=$(grep -o 'leaked in [0-9]* alloc' err | grep -o '[0-9]*')
	census holder
	if [ $status = 0 ] && [ -n "$leaked" ] && grep -q "\"lost\":{\"blocks\":$leaked," json; then
		pass "retain holder: the $leaked blocks of LeakSanitizer"
	else
		fail "retain holder: not the blocks of LeakSanitizer, ${leaked:-none}: $(grep -o '"lost":{[^}]*}' json | head -n 1)"
	fi
}

# A 32-bit program, where the kernel runs any.
test_narrow() {
	rm -f in out
	mkfifo in out
	narrow <in >out 2>/dev/null &
	workload=$!
	exec 3>in 4<out
	read -r answer <&4
	if [ -z "$answer" ]; then
		echo "NOTE this kernel runs no 32-bit programs"
	else
		refused "32-bit program" 'runs a 32-bit program'
		kill -0 $workload && pass "a 32-bit program is named and left alone"
	fi
	exec 3>&- 4<&-
	kill $workload 2>/dev/null
	wait $workload
}
