// SPDX-License-Identifier: GPL-2.0-or-later
#include "shell.h"

const char *consumer(const char *name)
{
	static char path[256];
	const char *root = getenv("LEAKMON_CONSUMERS");

	snprintf(path, sizeof(path), "%s/usr/bin/%s", root && *root ? root : "build/consumers",
		 name);
	if (!access(path, X_OK))
		return path;
	fprintf(stderr, "SKIPPED, nothing was tested: %s is not there (scripts/consumers.sh)\n",
		path);
	skip();
	return NULL;
}

void need_schema_checker(void)
{
	if (!system("python3 -c 'import jsonschema' 2>/dev/null"))
		return;
	fputs("SKIPPED, nothing was tested: Python's jsonschema is not there\n", stderr);
	skip();
}

char *shell(struct harness *harness, int code, const char *format, ...)
{
	struct child *child;
	char command[2048];
	va_list arguments;
	int got;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	child = child_start(harness, "/bin/sh", ARGUMENTS("sh", "-c", command), NULL);
	got = child_end(harness, child);
	if (got != code)
		child_fail(child, "`%s` ended with %d: %s", command, got,
			   child->out.text ? child->out.text : "");
	return strdup(child->out.text ? child->out.text : "");
}

void expect_schema(struct harness *harness, json_t *report, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s.checked.json", harness->directory, name);
	assert_int_equal(json_dump_file(report, path, 0), 0);
	free(shell(harness, 0, "python3 -W ignore -m jsonschema -i %s user/schema/%s.schema.json",
		   path, name));
}
