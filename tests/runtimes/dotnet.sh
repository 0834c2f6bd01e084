#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dotnet.sh VERSION [SOURCE [FLAG]]: prints the path of SOURCE (dotnet_stories.cs) as a program for .NET
# VERSION (8: a single file; 9), built by mcs with FLAG from a package that `scripts/deps.sh dotnet` has
# fetched.
# 10: the program of the package itself, a single file; 10-trimmed: dotnet_trimmed.cs in its place, since
# it lacks most of the libraries for the other source. Exit code 77: no such program.
#
# LEAKMON_RUNTIMES: where those packages are (~/.cache/leakmon/runtimes).
set -eu
version=$1
here=$(cd "$(dirname "$0")" && pwd)
source=${2:-$here/dotnet_stories.cs} flag=${3:-}
cache=${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}
package=$cache/dotnet-${version%-trimmed} program=$cache/dotnet-$version-$(basename "$source" .cs)

if [ ! -d "$package" ] || ! command -v mcs >/dev/null; then
	echo "dotnet.sh: .NET $version or mcs is not there: run scripts/deps.sh dotnet" >&2
	exit 77
fi
case $version in
8) name=Sarif.Multitool ;;
10)
	echo "$package/dist/fabmcp"
	exit
	;;
10-trimmed) package=$package/dist name=fabmcp source=$here/dotnet_trimmed.cs ;;
*) name=azmcp ;;
esac
# Several tests may ask at once.
exec 9>"$cache/.lock"
flock 9
newer=$(find "$source" "$0" -newer "$program/$name.dll" 2>/dev/null || echo new)
if [ -n "$newer" ]; then
	rm -rf "$program"
	cp -al "$package" "$program"
	rm -f "$program/$name.dll"
	libraries=
	if [ "$version" = 10-trimmed ]; then
		mkdir "$program/libraries"
		set -- System.Private.CoreLib.dll System.Console.dll System.Runtime.dll
		python3 "$here/dotnet_bundle.py" --extract "$package/$name" "$program/libraries" "$@"
		libraries="-nostdlib -noconfig -lib:$program/libraries"
		for library; do
			libraries="$libraries -r:$library"
		done
	fi
	# shellcheck disable=SC2086 # options
	mcs -unsafe -nologo -nowarn:649,414 $libraries $flag -out:"$program/$name.dll" "$source" >&2
	if [ "$version" != 9 ]; then
		# Not the package's own file, of which this is another link.
		cp --remove-destination "$package/$name" "$program/$name"
		chmod +x "$program/$name"
		python3 "$here/dotnet_bundle.py" "$program/$name" "$program/$name.dll"
	fi
fi
echo "$program/$name"
