#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Records a leaking server and the same server repaired, and makes three pages for a browser: the
# leak, the repaired run, and the difference.
#
#	scripts/demo_report.sh [DIRECTORY]    (build/demo)
set -eu
cd "$(dirname "$0")/.."
directory=${1:-build/demo}

if [ "$(id -u)" -ne 0 ]; then
	echo 'The demo attaches probes to a process: run it as root (sudo make demo-report).' >&2
	exit 1
fi
mkdir -p "$directory"
server= && trap 'kill $server 2>/dev/null || true' EXIT INT TERM

record() {
	rm -f "$directory/$1.lkm" "$directory/$1.lkm-wal" "$directory/$1.lkm-shm"
	"$2" 60 >/dev/null &
	server=$!
	sleep 0.1
	echo "+ leakmon record -p $server -o $directory/$1.lkm 0.25 120     # half a minute"
	build/leakmon record -p "$server" -o "$directory/$1.lkm" 0.25 120
	kill "$server"
	wait "$server" 2>/dev/null || true
}
page() {
	output=$1
	shift
	echo "+ leakmon $* --format html > $output"
	build/leakmon "$@" --format html >"$output"
}

record shop build/workloads/shop
record shop_fixed build/workloads/fixed/shop
page "$directory/shop.html" report "$directory/shop.lkm"
page "$directory/shop_fixed.html" report "$directory/shop_fixed.lkm"
page "$directory/fix.html" diff "$directory/shop.lkm" "$directory/shop_fixed.lkm"
echo "Open them in a browser: each is one file, and loads nothing from any network."
