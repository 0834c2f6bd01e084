#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts a server that makes a thread per request and never joins one, comes a second late, and
# shows what has died until then and where the others are made.
set -eu
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo 'The demo attaches probes to a process: run it as root (sudo make demo-threads).' >&2
	exit 1
fi
build/workloads/thread_server &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT INT TERM
sleep 1
echo "+ leakmon threads -p $server 2 2     # two reports, two seconds apart"
build/leakmon threads -p "$server" 2 2
echo 'Threads that had died before the attach are found in the server'"'"'s memory, with what they ran;'
echo 'of the others, the first line below "created by" is where they are made and nobody joins them.'
