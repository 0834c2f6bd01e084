// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the readers of /proc/PID/stat and /proc/PID/status: the input is both. The
 * process chooses the name in them.
 *
 * Seeds: those of this machine.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "app/triage/process_reading.h"
#include "base/cleanup.h"
#include "process/proc/process_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_stat(const char *text)
{
	static const struct process_entry none;
	struct process_entry entry = none;

	if (process_parse_stat(text, &entry)) {
		check(!memcmp(&entry, &none, sizeof(entry)));
		return;
	}
	check(memchr(entry.comm, 0, sizeof(entry.comm)) != NULL);
	check(strstr(text, entry.comm) != NULL);
}

static void check_status(const char *text)
{
	struct process_reading reading = {.pid = 1, .statm_fd = -1};

	process_reading_take_status(&reading, text);
	check(memchr(reading.comm, 0, sizeof(reading.comm)) != NULL);
	check(!strchr(reading.comm, '\n'));
	/* A number, or nothing known: never negative. */
	check(!(reading.quantities.values[QUANTITY_HEAP] < 0));
	check(!(reading.quantities.values[QUANTITY_THREADS] < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	check_stat(text);
	check_status(text);
	return 0;
}
