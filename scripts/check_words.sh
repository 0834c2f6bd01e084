#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_words.sh: checks the wording of comments, log messages and pages.
#
# - A log message is one string literal, so that grep finds it, of at most 20 words.
# - A comment does not end in a lone "*/" that a formatter has broken off.
# - Some phrases stand for a missing noun ("what it holds" for "its blocks"). `limits` has how often
#   comments may still contain them: lower a number when fewer are left, and never raise it.
# - Lines of user/doc outside tables have at most 110 columns; there is a limit for older ones, too.
set -eu
cd "$(dirname "$0")/.."

words_max=20
columns_max=110
long_lines_max=73

# For each group of folders: the phrase, in lower case, and the most occurrences in comments. "*/" is a
# lone one.
limits='
user/app user/output user/heap/threads: what is|4
user/app user/output user/heap/threads: what it|2
user/app user/output user/heap/threads: what they|0
user/app user/output user/heap/threads: those that|11
user/app user/output user/heap/threads: so many|0
user/app user/output user/heap/threads: there is none|4
user/app user/output user/heap/threads: of its own|4
user/app user/output user/heap/threads: likewise|0
user/app user/output user/heap/threads: for want of|0
user/app user/output user/heap/threads: not to be had|0
user/app user/output user/heap/threads: */|0
tests: what is|5
tests: what it|3
tests: what they|1
tests: those that|7
tests: so many|0
tests: there is none|0
tests: of its own|25
tests: likewise|0
tests: for want of|0
tests: not to be had|0
tests: */|0
user bpf include: what is|7
user bpf include: what it|4
user bpf include: what they|2
user bpf include: those that|30
user bpf include: so many|0
user bpf include: there is none|36
user bpf include: of its own|16
user bpf include: likewise|0
user bpf include: for want of|0
user bpf include: not to be had|0
user bpf include: */|0
'

files=$(find user bpf include tests -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # a list of words
LC_ALL=C awk -v limits="$limits" -v words_max="$words_max" '
function complain(problem) {
	print problem " (scripts/check_words.sh)"
	failed = 1
}

# Appends a piece of a comment, without the star that begins its line.
function comment_add(text) {
	sub(/^[ \t]*\*/, " ", text)
	comments = comments " " text
}

# Splits a line into code and comments.
function line_take(line) {
	while (line != "") {
		if (inside) {
			at = index(line, "*/")
			if (at && line ~ /^[ \t]*\*\// && !opened_alone)
				count["*/"]++
			comment_add(at ? substr(line, 1, at - 1) : line)
			if (!at)
				return
			inside = 0
			line = substr(line, at + 2)
		} else if (match(line, /\/\*|\/\/|"(\\.|[^"\\])*"|\047(\\.|[^\047\\])*\047/)) {
			token = substr(line, RSTART, RLENGTH)
			code = code substr(line, 1, RSTART - 1)
			line = substr(line, RSTART + RLENGTH)
			if (token == "//") {
				comment_add(line)
				return
			}
			if (token == "/*") {
				inside = 1
				opened_alone = line == ""
			} else
				code = code token
		} else {
			code = code line
			return
		}
	}
}

# The literals of a message, up to the end of its first argument.
function message_check(call,   rest, depth, token, text, after_literal) {
	rest = call
	depth = 0
	text = ""
	after_literal = 0
	while (match(rest, /^(\n|[ \t]+|"(\\.|[^"\\])*"|[^" \t\n(),]+|.)/)) {
		token = substr(rest, 1, RLENGTH)
		rest = substr(rest, RLENGTH + 1)
		if (token ~ /^[ \t\n]+$/)
			continue
		if (!depth && (token == "," || token == ")"))
			break
		depth += (token == "(") - (token == ")")
		if (token ~ /^"/) {
			if (after_literal)
				complain(file ": a message in several literals: " token)
			text = text substr(token, 2, length(token) - 2)
			after_literal = 1
		} else {
			text = text token
			after_literal = 0
		}
	}
	if (split(text, parts, " ") > words_max)
		complain(file ": more than " words_max " words: " text)
}

function file_end(   rest, lower, i) {
	if (file == "")
		return
	rest = file ~ /^user\// ? code : ""
	while (match(rest, /[^a-z_]log_(error|warning|info|debug)\(/)) {
		rest = substr(rest, RSTART + RLENGTH)
		message_check(rest)
	}
	gsub(/[ \t\n]+/, " ", comments)
	lower = " " tolower(comments) " "
	for (i = 1; i <= limit_count; i++) {
		if (index(folders[i], " " first_folder(file, folders[i]) " "))
			found[i] += phrases[i] == "*/" ? count["*/"] + 0 : occurrences(lower, phrases[i])
	}
	comments = code = ""
	count["*/"] = inside = 0
}

# The folder of a group that a file is in, or "-".
function first_folder(path, group,   parts, n, i) {
	n = split(group, parts, " ")
	for (i = 1; i <= n; i++) {
		if (index(path, parts[i] "/") == 1)
			return parts[i]
	}
	return "-"
}

function occurrences(text, phrase,   n, at, before, after) {
	n = 0
	while ((at = index(text, phrase))) {
		before = substr(text, at - 1, 1)
		after = substr(text, at + length(phrase), 1)
		n += before !~ /[a-z]/ && after !~ /[a-z]/
		text = substr(text, at + length(phrase))
	}
	return n
}

BEGIN {
	limit_count = 0
	rows = split(limits, row, "\n")
	for (i = 1; i <= rows; i++) {
		if (!split(row[i], field, /: |\|/))
			continue
		limit_count++
		folders[limit_count] = " " field[1] " "
		phrases[limit_count] = field[2]
		limit[limit_count] = field[3]
	}
}

FNR == 1 { file_end(); file = FILENAME }
{ line_take($0); code = code "\n" }

END {
	file_end()
	for (i = 1; i <= limit_count; i++) {
		if (found[i] > limit[i])
			complain("comments in" folders[i] "have `" phrases[i] "` " found[i] " times, limit " limit[i])
		if (ENVIRON["COUNTS"] != "")
			print folders[i] ": " phrases[i] "|" found[i]
	}
	exit failed
}' $files

long=$(LC_ALL=C sed '/^|/d; s/[\200-\277]//g' user/doc/*.md | LC_ALL=C awk -v most="$columns_max" \
	'length > most' | wc -l)
if [ "$long" -gt "$long_lines_max" ]; then
	echo "user/doc: $long lines of more than $columns_max columns, limit $long_lines_max (scripts/check_words.sh)" >&2
	exit 1
fi
