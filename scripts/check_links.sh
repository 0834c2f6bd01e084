#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fails if a page links to a missing file or heading, if no page links to a page of user/doc, or if
# the README is longer than 110 lines.
set -eu
cd "$(dirname "$0")/.."
pages=$(ls README.md .github/*.md user/doc/*.md)
failed=0
complain() {
	echo "$*" >&2
	failed=1
}

# The anchors of a page, as forges derive them from its headings.
anchors() {
	# shellcheck disable=SC2016 # back-quotes as such
	sed -n '/^```/,/^```/d; s/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' |
		sed 's/[^a-z0-9_ -]//g; s/ /-/g'
}

for page in $pages; do
	directory=$(dirname "$page")
	# shellcheck disable=SC2013 # no blanks in a link
	for link in $(grep -o '](\([^) ]*\))' "$page" | sed 's/^](//; s/)$//'); do
		case $link in *://*) continue ;; esac
		target=$directory/${link%%#*}
		[ -n "${link%%#*}" ] || target=$page
		if [ ! -e "$target" ]; then
			complain "$page: no such file: $link"
		elif [ "$link" != "${link#*#}" ]; then
			anchors "$target" | grep -qxF -e "${link#*#}" || complain "$page: no such heading: $link"
		fi
	done
done
for page in user/doc/*.md; do
	# shellcheck disable=SC2086 # a list of words
	grep -lF "${page##*/}" $pages | grep -qvxF "$page" || complain "$page: no page links to it"
done
lines=$(wc -l <README.md)
[ "$lines" -le 110 ] || complain "README.md: $lines lines; move something into user/doc"
exit $failed
