// SPDX-License-Identifier: GPL-2.0-or-later
/* What the sites of an escalation explain. */
#include <stdio.h>

#include "base/text.h"
#include "output/text_parts.h"
#include "output/triage_format.h"

/* What was not asked about is tracked as well. */
static bool is_of_kind(const struct triage_sites *sites, const struct site *site)
{
	return site->family == (sites->kind == QUANTITY_MAPPING ? FAMILY_MAPPING : FAMILY_HEAP);
}

double output_triage_share(const struct triage_sites *sites, const struct site *site)
{
	double grown = sites->growth_per_s * sites->counted_s;
	uint64_t kept = sites->kind == QUANTITY_MAPPING ? site->count : site->bytes;

	return grown > 0 && is_of_kind(sites, site) ? (double)kept / grown : 0;
}

void output_triage_sites_write(FILE *out, const struct triage_sites *sites)
{
	const struct report_process *process = sites->process;
	double all = 0;

	if (sites->refusal) {
		fprintf(out, "         %s not tracked: ", growth_kind_name(sites->kind));
		text_print_inert(out, sites->refusal);
		fputc('\n', out);
		return;
	}
	for (size_t i = 0; process && i < process->process->sites.count; i++)
		all += output_triage_share(sites, &process->process->sites.items[i]);
	fprintf(out,
		"         %s tracked for %.0f s: what came then and stayed explains %.0f %% of the "
		"growth\n",
		growth_kind_name(sites->kind), sites->window_s, 100 * all);
	for (size_t i = 0; process && i < process->sites.count; i++) {
		const struct report_site *ranked = &process->sites.items[i];

		if (!is_of_kind(sites, ranked->site))
			continue;
		fprintf(out, "       %3.0f %%", 100 * output_triage_share(sites, ranked->site));
		output_text_site_write(out, sites->report, ranked);
	}
}
