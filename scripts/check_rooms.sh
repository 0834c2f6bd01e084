#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_rooms.sh: the rooms of user/, lowest first. A file includes headers of its own room and of
# those before it in this list, and no others; so no two rooms can include each other. The list is
# the picture of the architecture: user/doc/architecture.md explains it.
set -eu
cd "$(dirname "$0")/.."

rooms="base cli sandbox serve elf arch parse proc target symbol unwind report analyze store output probe collect
	pause heap runtime retain threads memory monitor triage profile top diagnose runs command"

find user -name '*.[ch]' | sort | xargs awk -v rooms="$rooms" '
BEGIN {
	count = split(rooms, list)
	for (i = 1; i <= count; i++)
		place[list[i]] = i
}
/^#include "[a-z]/ {
	split(FILENAME, path, "/")
	from = path[3] == "" ? "main" : path[2]
	split($2, parts, /["\/]/)
	to = parts[2]
	if (from == "main" || from == to || parts[3] == "" || !(to in place))
		next
	if (!(from in place)) {
		print FILENAME ": the room " from "/ has no place in scripts/check_rooms.sh"
		failed = 1
	} else if (place[to] > place[from]) {
		print FILENAME ": " from "/ includes " $2 ", which stands above it"
		failed = 1
	}
}
END { exit failed }'
