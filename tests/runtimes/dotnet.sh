#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dotnet.sh VERSION: prints the path of dotnet_stories.cs as a program that .NET VERSION (8: a single
# file; 9) runs, made of a package that `scripts/deps.sh dotnet` has fetched. 10: the program of the
# package itself, which has too little of the libraries for another one. Exit code 77: there is none.
#
# LEAKMON_RUNTIMES: where those packages are (~/.cache/leakmon/runtimes).
set -eu
version=$1
here=$(cd "$(dirname "$0")" && pwd)
cache=${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}
package=$cache/dotnet-$version program=$cache/dotnet-$version-stories

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
*) name=azmcp ;;
esac
# Several tests may ask at once.
exec 9>"$cache/.lock"
flock 9
newer=$(find "$here/dotnet_stories.cs" "$0" -newer "$program/$name.dll" 2>/dev/null || echo new)
if [ -n "$newer" ]; then
	rm -rf "$program"
	cp -al "$package" "$program"
	rm -f "$program/$name.dll"
	mcs -unsafe -nologo -nowarn:649 -out:"$program/$name.dll" "$here/dotnet_stories.cs" >&2
	if [ "$version" = 8 ]; then
		# Not the package's own file, of which this is another link.
		cp --remove-destination "$package/$name" "$program/$name"
		chmod +x "$program/$name"
		python3 "$here/dotnet_bundle.py" "$program/$name" "$program/$name.dll"
	fi
fi
echo "$program/$name"
