#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# consumers.sh DIRECTORY [PACKAGE...]: unpacks programs for tests there: consumers of leakmon's output,
# and nginx as a target, or the programs of the given packages. An installed package would start its
# daemon; an unpacked one starts nothing. Unavailable packages are reported, and their tests skip.
set -eu
directory=$1
shift
mkdir -p "$directory/packages"
cd "$directory/packages"
for package in ${*:-prometheus prometheus-node-exporter nginx}; do
	ls "${package}"_*.deb >/dev/null 2>&1 && continue
	apt-get download -q "$package" >/dev/null 2>&1 ||
		{ apt-get update -q >/dev/null 2>&1 && apt-get download -q "$package" >/dev/null 2>&1; } ||
		echo "consumers.sh: the package $package cannot be downloaded: its tests will skip" >&2
done
# Only the programs: make would take etc/init.d for an included makefile.
for archive in *.deb; do
	[ -e "$archive" ] && dpkg --fsys-tarfile "$archive" | tar -x -C .. --wildcards './usr/*bin/*'
done
