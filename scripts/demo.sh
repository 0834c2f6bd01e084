#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts the bundled leaking server, attaches to it while it runs, and shows where it leaks.
set -eu
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo 'The demo attaches probes to a process: run it as root (sudo make demo).' >&2
	exit 1
fi
build/workloads/demo_server &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT INT TERM
sleep 0.5
echo "+ leakmon diagnose -p $server --for 10     # one answer"
build/leakmon diagnose -p "$server" --for 10 || [ $? -eq 3 ] # 3: it leaks
echo "+ leakmon -p $server -T 1 2 2     # two reports, two seconds apart"
build/leakmon -p "$server" -T 1 2 2
echo 'The stack is the leak: the function on its first line allocates blocks that are never freed.'
