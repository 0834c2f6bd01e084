#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dotnet.sh VERSION: prints the path of dotnet_stories.cs as a program that .NET VERSION (9) runs,
# made of a package that `scripts/deps.sh dotnet` has fetched. Exit code 77: there is none.
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
# Several tests may ask at once.
exec 9>"$cache/.lock"
flock 9
newer=$(find "$here/dotnet_stories.cs" -newer "$program/azmcp.dll" 2>/dev/null || echo new)
if [ -n "$newer" ]; then
	rm -rf "$program"
	cp -al "$package" "$program"
	rm -f "$program/azmcp.dll"
	mcs -unsafe -nologo -nowarn:649 -out:"$program/azmcp.dll" "$here/dotnet_stories.cs" >&2
fi
echo "$program/azmcp"
