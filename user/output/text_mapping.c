// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text_parts.h"

#include <inttypes.h>

void text_mapping_write(FILE *out, const struct mapping_ledger *ledger)
{
	fprintf(out,
		"mappings: %" PRIu64 " bytes mapped = %" PRIu64 " unmapped + %" PRIu64
		" outstanding + %" PRIu64 " purged; %" PRIu64 " ranges\n",
		ledger->mapped, ledger->unmapped, ledger->outstanding, ledger->purged,
		ledger->ranges);
	if (ledger->events_lost)
		fprintf(out,
			"inexact: %" PRIu64 " mapping calls were not seen (too many at once); "
			"/proc/PID/maps mended %" PRIu64 " bytes\n",
			ledger->events_lost, ledger->healed);
	if (ledger->missed)
		fprintf(out,
			"inexact: %" PRIu64 " bytes were mapped again before leakmon saw them go\n",
			ledger->missed);
}
