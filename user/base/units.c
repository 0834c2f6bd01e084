// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/units.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"

#define TEXT_SIZE 16

char *units_bytes(char text[16], double bytes, const char *sign)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double size = fabs(bytes);
	size_t unit = 0;

	while (size >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
		size /= 1024;
		unit++;
	}
	snprintf(text, TEXT_SIZE, "%s%.*f %s", bytes < 0 ? "-" : sign,
		 unit ? (size < 10 ? 2 : 1) : 0, size, units[unit]);
	return text;
}

char *units_time(char text[16], double seconds)
{
	static const struct {
		double below, seconds;
		const char *unit;
	} scales[] = {
		{90, 1, "s"},
		{90 * 60.0, 60, "min"},
		{48 * 3600.0, 3600, "h"},
		{INFINITY, 24 * 3600.0, "d"},
	};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(scales) && seconds >= scales[i].below)
		i++;
	snprintf(text, TEXT_SIZE, "%.*f %s", i ? 1 : 0, seconds / scales[i].seconds,
		 scales[i].unit);
	return text;
}
