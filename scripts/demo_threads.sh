#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts a server that creates a thread per request and never joins one, attaches a second later, and
# shows the threads that died before, and the creators of later ones.
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
echo 'Threads that died before the attach are found in the server'"'"'s memory, with their function.'
echo 'For later ones, the first line below "created by" is the code that creates and never joins them.'
