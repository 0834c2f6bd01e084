#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# package.sh dist VERSION   build/dist/: the sources, the static program, checksums of both
# package.sh deb VERSION    build/dist/: a Debian package, built from these sources; checked by lintian
#
# The same sources give the same bytes: the date is that of the last commit, or SOURCE_DATE_EPOCH.
# `make dist` and `make deb` call it from the top of the tree.
set -eu

what=$1 version=$2
out=$PWD/build/dist
name=leakmon-$version
umask 022

say() {
	echo "$*" >&2
}

# A release has no .git: its files are what it holds.
sources() {
	if [ -e .git ]; then
		git ls-files
	else
		find . -path ./build -prune -o -type f -printf '%P\n'
	fi | LC_ALL=C sort
}

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(if [ -e .git ]; then git log -1 --format=%ct; else stat -c %Y Makefile; fi)
	export SOURCE_DATE_EPOCH
fi

# pack ARCHIVE DIRECTORY: all below it, in order, of nobody, without the time of the packing
pack() {
	tar -C "$(dirname "$2")" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
		--numeric-owner --format=gnu -cf - "$(basename "$2")" | gzip -n9 > "$1.new"
	mv "$1.new" "$1"
}

copy_sources() {
	rm -rf "$1"
	mkdir -p "$1"
	sources | tar -cf - -T - | tar -C "$1" -xf -
	chmod -R u=rwX,go=rX "$1"
}

dist() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	copy_sources "$work/$name"
	pack "$out/$name.tar.gz" "$work/$name"
	say "building the static program..."
	static=$name-linux-$(uname -m)
	make -C "$work/$name" -s -j"$(nproc)" install STATIC=1 DESTDIR="$work/root" PREFIX=/usr \
		CFLAGS="-O2 -g -ffile-prefix-map=$work/$name=."
	mkdir "$work/$static"
	cp "$work/root/usr/sbin/leakmon" "$work/root/usr/share/man/man8/leakmon.8" LICENSE \
		"$work/$static"
	strip "$work/$static/leakmon"
	pack "$out/$static.tar.gz" "$work/$static"
	(cd "$out" && sha256sum "$name.tar.gz" "$static.tar.gz" > SHA256SUMS)
	say "$out:"
	(cd "$out" && ls -l "$name.tar.gz" "$static.tar.gz" SHA256SUMS) >&2
}

# Debian's own sources of a package have a person who signs for it; who builds this one is asked for.
changelog() {
	cat <<-END
		leakmon ($version) unstable; urgency=medium

		  * Built from the sources of leakmon $version; what is new is in
		    /usr/share/doc/leakmon/CHANGELOG.md.

		 -- ${DEBFULLNAME:-Local build} <${DEBEMAIL:-leakmon@localhost.localdomain}>  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
	END
}

deb() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	copy_sources "$work/$name"
	cp -r "$work/$name/scripts/package/debian" "$work/$name/debian"
	changelog > "$work/$name/debian/changelog"
	sed -i "s/^Maintainer:.*/Maintainer: ${DEBFULLNAME:-Local build} <${DEBEMAIL:-leakmon@localhost.localdomain}>/" \
		"$work/$name/debian/control"
	say "building the package..."
	(cd "$work/$name" && dpkg-buildpackage -b -us -uc -j"$(nproc)") > "$work/log" 2>&1 || {
		tail -n 40 "$work/log" >&2
		exit 1
	}
	lintian --fail-on error,warning "$work"/leakmon_*.deb >&2
	cp "$work"/leakmon_*.deb "$out"
	say "$(ls "$out"/leakmon_"$version"_*.deb)"
}

mkdir -p "$out"
"$what"
