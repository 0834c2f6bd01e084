#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_rooms.sh: checks which other wings each wing of user/ includes, and the order of the rooms within
# each wing. A room includes its own headers and those of earlier rooms, so no two wings and no two rooms
# include each other. No runtime includes another one's header. The two tables define the architecture,
# which user/doc/architecture.md explains.
set -eu
cd "$(dirname "$0")/.."

wings='
base
binary    base
process   base binary
report    base process
output    base process report
trace     base binary process report
heap      base binary process report trace
app       base binary process report trace heap output'

# "." is the wing's own folder.
rooms='
base      . cli sandbox serve
binary    elf arch parse
process   proc target symbol unwind pause
report    . analyze store
output    . text json folded junit pprof prom otlp html
trace     probe collect
heap      allocators runtime retain threads memory
app       monitor triage profile top diagnose runs command'

find user -mindepth 2 -name '*.[ch]' | sort | xargs awk -v wings="$wings" -v rooms="$rooms" '
function complain(problem) {
	print FILENAME ": " problem " (scripts/check_rooms.sh)"
	failed = 1
}

# The room of a path below user/: "heap/runtime/v8/maps.h" is in "runtime"; sets wing and runtime.
function room_of(path,   parts, count) {
	count = split(path, parts, "/")
	wing = parts[1]
	runtime = parts[2] == "runtime" && count == 4 ? parts[3] : ""
	return count == 2 ? "." : parts[2]
}

BEGIN {
	count = split(wings, lines, "\n")
	for (i = 1; i <= count; i++) {
		words = split(lines[i], word, " ")
		for (j = 1; j <= words; j++)
			may_use[word[1], word[j]] = 1
	}
	count = split(rooms, lines, "\n")
	for (i = 1; i <= count; i++) {
		words = split(lines[i], word, " ")
		for (j = 2; j <= words; j++)
			place[word[1], word[j]] = j
	}
}

FNR == 1 {
	room = room_of(substr(FILENAME, length("user/") + 1))
	own_wing = wing
	own_runtime = runtime
	if (!((wing, room) in place))
		complain("the room " wing "/" room " has no place")
}

/^#include "[a-z0-9_]+\// {
	split($2, quoted, "\"")
	other = room_of(quoted[2])
	if (!((own_wing, wing) in may_use))
		complain(own_wing "/ may not use " wing "/: " quoted[2])
	else if (wing == own_wing && place[wing, other] > place[wing, room])
		complain(room "/ includes " quoted[2] ", which stands above it")
	else if (runtime != "" && own_runtime != "" && runtime != own_runtime)
		complain("a runtime includes another one: " quoted[2])
}

END { exit failed }'
