#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# package.sh dist VERSION    build/dist/: the sources, the static program, the Helm chart, their checksums
# package.sh deb VERSION     build/dist/: a Debian package, built from these sources; checked by lintian
# package.sh rpm VERSION     build/dist/: an RPM package, of the static program
# package.sh image VERSION   build/dist/: a container image (OCI archive): the static program and licences
# package.sh root VERSION    build/dist/root/: the contents of that image
# package.sh versions VERSION   fails where the chart or the changelog has another version
# package.sh release VERSION  build/dist/: the list of components and the checksums of all that was made;
#                             with SIGN=KEY in the environment, signed by gpg
# package.sh images VERSION  build/dist/: one archive of the images made so far, each for its machine
#
# The same sources give the same bytes: the date is that of the last commit, or SOURCE_DATE_EPOCH.
# `make dist` and `make deb` call it from the top of the tree.
set -eu

what=$1 version=$2
out=$PWD/build/dist
# ARCH, CC: of the machine that it is for (this one).
host=$(uname -m | sed s/aarch64/arm64/)
ARCH=${ARCH:-$host} CC=${CC:-gcc}
machine=$(echo "$ARCH" | sed s/arm64/aarch64/)
built=build
[ "$ARCH" = "$host" ] || built=build/$ARCH
name=leakmon-$version
umask 022

say() {
	echo "$*" >&2
}

# A release has no .git: use all of its files.
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

# pack ARCHIVE DIRECTORY [OPTION]: packs the directory sorted, without owners, with a fixed time
pack() {
	tar ${3:-} -C "$(dirname "$2")" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
		--numeric-owner --format=gnu -cf - "$(basename "$2")" | gzip -n9 > "$1.new"
	mv "$1.new" "$1"
}

copy_sources() {
	rm -rf "$1"
	mkdir -p "$1"
	sources | tar -cf - -T - | tar -C "$1" -xf -
	chmod -R u=rwX,go=rX "$1"
}

# static_program DIRECTORY [PACKAGE...]: builds the program there from the sources in $work, with the
# licences of all components and their list; the packages include the same files.
static_program() {
	directory=$1
	shift
	say "building the static program..."
	make -C "$work/$name" -s -j"$(nproc)" all STATIC=1 ARCH="$ARCH" CC="$CC" \
		LDFLAGS="-Wl,-Map=$work/link.map" \
		CFLAGS="-O2 -g -ffile-prefix-map=$work/$name=."
	mkdir -p "$directory"
	"$($CC -print-prog-name=strip)" -o "$directory/leakmon" "$work/$name/$built/leakmon"
	cp LICENSE "$directory"
	python3 scripts/package/sbom.py "$directory/leakmon" "$work/link.map" "$version" "$directory" \
		"$@"
}

dist() {
	copy_sources "$work/$name"
	pack "$out/$name.tar.gz" "$work/$name"
	static=$name-linux-$machine
	static_program "$work/$static"
	(cd "$work/$name" && cp user/man/leakmon.8 "$built"/gen/leakmon.bash "$built"/gen/leakmon.fish \
		"$built"/gen/leakmon.zsh scripts/deploy/systemd/leakmon.service scripts/deploy/systemd/*.conf scripts/deploy/alerts.yml \
		scripts/deploy/grafana.json scripts/deploy/leakmon.apparmor user/doc/quickstart.md "$work/$static")
	pack "$out/leakmon-chart-$version.tgz" "$work/$name/scripts/deploy/helm/leakmon" --dereference
	pack "$out/$static.tar.gz" "$work/$static"
	set -- "$name.tar.gz" "$static.tar.gz" "leakmon-chart-$version.tgz"
	(cd "$out" && sha256sum "$@" > SHA256SUMS)
	say "$out:"
	(cd "$out" && ls -l "$@" SHA256SUMS) >&2
}

# Debian's own packages have a maintainer; this one needs the name of its builder.
changelog() {
	cat <<-END
		leakmon ($version) unstable; urgency=medium

		  * Built from the sources of leakmon $version; what is new is in
		    /usr/share/doc/leakmon/CHANGELOG.md.

		 -- ${DEBFULLNAME:-Local build} <${DEBEMAIL:-leakmon@localhost.localdomain}>  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
	END
}

# Only the program, its licences, and terminal descriptions for `leakmon top`.
root() {
	copy_sources "$work/$name"
	static_program "$work/papers" ncurses-base
	rm -rf "$out/root"
	mkdir -p "$out/root/usr/sbin" "$out/root/usr/share/doc"
	mv "$work/papers/leakmon" "$out/root/usr/sbin"
	mv "$work/papers" "$out/root/usr/share/doc/leakmon"
	for terminal in l/linux s/screen-256color t/tmux-256color v/vt100 x/xterm x/xterm-256color; do
		entry=$(ls /lib/terminfo/$terminal /usr/share/terminfo/$terminal 2>/dev/null | head -n 1)
		[ -z "$entry" ] || install -D -m 0644 "$entry" "$out/root/usr/share/terminfo/$terminal"
	done
}

# Builds without a daemon, in a separate temporary storage.
image() {
	root
	mkdir "$work/context"
	cp -r "$out/root" "$work/context/root-of-image"
	archive=$out/$name-image.tar platform=
	[ "$ARCH" = "$host" ] || archive=$out/$name-image-$ARCH.tar
	[ "$ARCH" = "$host" ] || platform="--platform linux/$(echo "$ARCH" | sed s/x86_64/amd64/)"
	engine="buildah --root $work/storage --runroot $work/run --storage-driver vfs"
	# shellcheck disable=SC2086 # an option
	$engine build $platform --isolation chroot --target image --timestamp "$SOURCE_DATE_EPOCH" \
		--build-arg VERSION="$version" --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null)" \
		--build-arg CREATED="$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
		--build-context build="$work/context" --format oci -t "localhost/leakmon:$version" \
		-f scripts/deploy/Containerfile "$work" > "$work/log" 2>&1 &&
		$engine push "localhost/leakmon:$version" "oci:$work/oci:localhost/leakmon:$version" \
			>> "$work/log" 2>&1 || {
		tail -n 40 "$work/log" >&2
		exit 1
	}
	tar -C "$work/oci" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --mode=u=rwX,go=rX \
		--numeric-owner --format=gnu -cf "$archive" .
	say "$(ls -l "$archive")"
}

images() {
	scripts/package/image_index.py "$out/$name-images.tar" "localhost/leakmon:$version" \
		"$SOURCE_DATE_EPOCH" "$out/$name-image.tar" "$out/$name"-image-*.tar
	say "$(ls -l "$out/$name-images.tar")"
}

# Sets the version in files that cannot take it from the Makefile.
versions() {
	chart=scripts/deploy/helm/leakmon/Chart.yaml
	for line in "$chart:version: $version" "$chart:appVersion: $version"; do
		grep -qx "${line#*:}" "${line%%:*}" || {
			say "package.sh: ${line%%:*} lacks \`${line#*:}\`: the Makefile has $version"
			exit 1
		}
	done
	grep -q "^## $version\(,\|$\)" user/doc/CHANGELOG.md || {
		say "package.sh: user/doc/CHANGELOG.md has no section \`## $version\`"
		exit 1
	}
}

# Packages of another version may lie there, too; all of this one must.
release() {
	static=$name-linux-$machine
	cd "$out"
	tar -xzOf "$static.tar.gz" "$static/leakmon.spdx.json" > "$name.spdx.json"
	set -- "$name.tar.gz" "$static.tar.gz" "leakmon-chart-$version.tgz" "$name.spdx.json" \
		"leakmon_${version}"_*.deb "$name"-*.rpm "$name-image"*.tar
	sha256sum "$@" > SHA256SUMS.new
	mv SHA256SUMS.new SHA256SUMS
	rm -f SHA256SUMS.asc
	if [ -n "${SIGN:-}" ]; then
		gpg --batch --local-user "$SIGN" --armor --detach-sign SHA256SUMS
	else
		say "package.sh: not signed: SIGN=KEY names a key of gpg"
	fi
	ls -l "$@" SHA256SUMS* >&2
}

deb() {
	copy_sources "$work/$name"
	cp -r "$work/$name/scripts/package/debian" "$work/$name/debian"
	changelog > "$work/$name/debian/changelog"
	sed -i "s/^Maintainer:.*/Maintainer: ${DEBFULLNAME:-Local build} <${DEBEMAIL:-leakmon@localhost.localdomain}>/" \
		"$work/$name/debian/control"
	say "building the package..."
	# Build dependencies for another machine: deps.sh has checked them.
	foreign=
	[ "$ARCH" = "$host" ] || foreign="-a$(echo "$ARCH" | sed s/x86_64/amd64/) -d"
	# shellcheck disable=SC2086 # options
	(cd "$work/$name" && dpkg-buildpackage -b -us -uc -j"$(nproc)" $foreign) > "$work/log" 2>&1 || {
		tail -n 40 "$work/log" >&2
		exit 1
	}
	lintian --fail-on error,warning "$work"/leakmon_*.deb >&2
	cp "$work"/leakmon_*.deb "$out"
	say "$(ls "$out"/leakmon_"$version"_*.deb)"
}

# Debian's RPM database has no build requirements: deps.sh reports missing packages.
rpm() {
	mkdir -p "$work/rpm/SOURCES"
	copy_sources "$work/$name"
	pack "$work/rpm/SOURCES/$name.tar.gz" "$work/$name"
	say "building the package..."
	rpmbuild -bb --nodeps --define "_topdir $work/rpm" --define "version_given $version" \
		--define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
		--define 'clamp_mtime_to_source_date_epoch 1' --define "_smp_mflags -j$(nproc)" \
		--define "_tmppath $work" scripts/package/leakmon.spec > "$work/log" 2>&1 || {
		tail -n 40 "$work/log" >&2
		exit 1
	}
	cp "$work"/rpm/RPMS/x86_64/leakmon-*.rpm "$out"
	say "$(ls "$out"/leakmon-"$version"-*.rpm)"
}

mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$what"
