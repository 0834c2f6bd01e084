#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# go.sh VERSION KIND [NAME]: prints the path of go/NAME.go (stories) as a program of Go VERSION (1.19,
# 1.24), and of that kind: plain, stripped, pie (stripped, too), or bare (stripped, without the mark of
# its build information, as esbuild is). Exit code 77: that version is not there.
#
# LEAKMON_RUNTIMES: where scripts/deps.sh has put 1.24, and where the programs are kept
# (~/.cache/leakmon/runtimes).
set -eu
version=$1 kind=$2 name=${3:-stories}
here=$(cd "$(dirname "$0")" && pwd)
cache=${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}
go=/usr/lib/go-$version/bin/go
program=$cache/go-$name/$version-$kind

case $kind in
stripped | bare) set -- '-ldflags=-s -w' ;;
pie) set -- '-ldflags=-s -w' -buildmode=pie ;;
*) set -- ;;
esac
mkdir -p "$cache/go-$name"
is_current() { [ -x "$program" ] && [ -z "$(find "$here/go/$name.go" -newer "$program")" ]; }

build() {
	GO111MODULE=off GOTOOLCHAIN=local GOFLAGS='' GOCACHE=$cache/go-stories/cache \
		"$go" build "$@" -o "$program.new" "$here/go/$name.go" >&2
	[ "$kind" != bare ] || LC_ALL=C sed -i 's/\xff Go buildinf:/\xff-no-buildinf:/' "$program.new"
	mv "$program.new" "$program"
}

if ! is_current; then
	[ -x "$go" ] || go=$cache/go-$version/usr/lib/go-$version/bin/go
	if [ ! -x "$go" ]; then
		echo "go.sh: Go $version is not there: run scripts/deps.sh runtimes" >&2
		exit 77
	fi
	# Several tests may ask at once.
	exec 9>"$cache/go-$name/.lock"
	flock 9
	is_current || build "$@"
fi
echo "$program"
