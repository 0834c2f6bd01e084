#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# debian13.sh [TARGET…]: makes TARGETs (all unit) of this source tree in the tree of Debian 13 that `scripts/deps.sh
# debian13` has made, on this kernel. Root.
set -eu
tree=${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}/debian13
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- all unit
if ! [ -d "$tree" ]; then
	echo 'debian13.sh: there is no tree of Debian 13: run scripts/deps.sh debian13' >&2
	exit 1
fi
mkdir -p "$tree/leakmon"
# Sources that are gone from here go there, too; build/ stays.
find "$tree/leakmon" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$tree/leakmon"
# shellcheck disable=SC2016 # expanded there
exec unshare -m sh -c 'tree=$0 &&
	for folder in proc sys dev; do mount --rbind "/$folder" "$tree/$folder" || exit; done &&
	exec chroot "$tree" make -C /leakmon --no-print-directory -j"$(nproc)" "$@"' "$tree" "$@"
