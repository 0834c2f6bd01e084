#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fuzz_coverage.sh BUILD PROGRAM…: runs each program, built with clang's coverage, once on every input that
# its fuzzer has kept in BUILD/fuzz/corpus; prints the lines of our files that any of them reached.
set -eu

build=$1
shift
profiles=$build/coverage/profiles
rm -rf "$profiles"
mkdir -p "$profiles"
for program in "$@"; do
	name=${program##*/}
	LLVM_PROFILE_FILE=$profiles/$name.profraw "$program" -runs=0 -timeout=60 -rss_limit_mb=4096 \
		"$build/fuzz/corpus/$name" >"$profiles/$name.log" 2>&1 ||
		{ echo "$name failed: $profiles/$name.log"; exit 1; }
done
llvm-profdata merge -sparse "$profiles"/*.profraw -o "$profiles/all"
objects=$1
shift
for program in "$@"; do
	objects="$objects -object $program"
done
# shellcheck disable=SC2086 # a list of words without spaces
llvm-cov export -summary-only -instr-profile="$profiles/all" $objects 2>"$profiles/export.log" |
	python3 -c '
import json, os, sys
for entry in sorted(json.load(sys.stdin)["data"][0]["files"], key=lambda entry: entry["filename"]):
    lines, name = entry["summary"]["lines"], os.path.relpath(entry["filename"])
    # Leave out helper code of the fuzzers.
    if name.startswith("user/") and lines["covered"]:
        print("%-44s %5d of %5d lines, %5.1f%%" % (name, lines["covered"], lines["count"], lines["percent"]))'
