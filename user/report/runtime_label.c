// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/runtime_label.h"

#include <stdio.h>

char *runtime_label_tool(const struct runtime_label *label, pid_t pid, char text[RUNTIME_TOOL_SIZE])
{
	const char *from = label->tool ? label->tool : "";
	FILE *out = fmemopen(text, RUNTIME_TOOL_SIZE, "w");

	*text = '\0';
	if (!out)
		return text;
	for (; *from; from++) {
		if (from[0] == '%' && from[1] == 'd') {
			fprintf(out, "%d", pid);
			from++;
		} else {
			fputc(*from, out);
		}
	}
	fclose(out);
	text[RUNTIME_TOOL_SIZE - 1] = '\0';
	return text;
}
