// SPDX-License-Identifier: GPL-2.0-or-later
/* The call stacks that hold most: few, for each is a series of its own. */
#include "output/prom_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/prom_labels.h"

#define TOP_SITES 10 /* of each family */

struct ranked_site {
	const struct snapshot_process *process;
	const struct report_site *site;
};

struct ranked_sites {
	struct ranked_site *items;
	size_t count, capacity;
};

static void site_labels(FILE *out, const struct ranked_site *ranked)
{
	const struct frames *frames = &ranked->site->frames;
	const struct frame *caller = frames->list.count ? &frames->list.items[0] : NULL;
	char id[17], place[32];

	prom_process_labels(out, ranked->process);
	snprintf(id, sizeof(id), "%016" PRIx64, ranked->site->id);
	prom_label(out, "site", id, ",");
	prom_label(out, "family", family_name(ranked->site->site->family), ",");
	if (kind_name(ranked->site->site->kind))
		prom_label(out, "kind", kind_name(ranked->site->site->kind), ",");
	prom_label(out, "function", caller ? caller->function : NULL, ",");
	prom_label(out, "module", caller ? caller->module : NULL, ",");
	prom_label(out, "file", caller ? caller->file : NULL, ",");
	snprintf(place, sizeof(place), "%" PRIu32, caller ? caller->line : 0);
	prom_label(out, "line", place, ",");
}

static int site_compare(const void *left, const void *right)
{
	const struct ranked_site *a = left, *b = right;
	uint64_t a_bytes = a->site->site->bytes, b_bytes = b->site->site->bytes;

	return a_bytes == b_bytes ? (a->site->id > b->site->id) - (a->site->id < b->site->id)
				  : (a_bytes < b_bytes) - (a_bytes > b_bytes);
}

/* Two series with the same labels make the whole file invalid. */
static bool same_series(const struct ranked_site *a, const struct ranked_site *b)
{
	return a->site->id == b->site->id && a->site->site->family == b->site->site->family &&
	       a->site->site->kind == b->site->site->kind &&
	       prom_process_key(a->process) == prom_process_key(b->process);
}

static int sites_collect(struct ranked_sites *sites, const struct report *report)
{
	size_t kept = 0, of_family[FAMILY_MAX_] = {0};

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			struct ranked_site *site = vec_push(sites);

			if (!site)
				return -ENOMEM;
			site->process = process->process;
			site->site = &process->sites.items[j];
		}
	}
	if (sites->count)
		qsort(sites->items, sites->count, sizeof(*sites->items), site_compare);
	for (size_t i = 0; i < sites->count; i++) {
		enum site_family family = sites->items[i].site->site->family;
		bool known = of_family[family] == TOP_SITES;

		for (size_t j = 0; j < kept && !known; j++)
			known = same_series(&sites->items[j], &sites->items[i]);
		if (known)
			continue;
		of_family[family]++;
		sites->items[kept++] = sites->items[i];
	}
	sites->count = kept;
	return 0;
}

static void sites_write(FILE *out, const struct ranked_sites *sites)
{
	static const struct prom_metric metrics[] = {
		{"site_outstanding_bytes", "Bytes held by the call stacks that hold most.",
		 offsetof(struct site, bytes)},
		{"site_outstanding_blocks", "Blocks held by the call stacks that hold most.",
		 offsetof(struct site, count)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < sites->count; j++) {
			const struct ranked_site *ranked = &sites->items[j];

			fprintf(out, "leakmon_%s", metrics[i].name);
			site_labels(out, ranked);
			fprintf(out, "} %" PRIu64 "\n",
				prom_value(ranked->site->site, &metrics[i]));
		}
	}
}

int prom_sites_write(FILE *out, const struct report *report)
{
	struct ranked_sites sites = {0};
	int error = sites_collect(&sites, report);

	if (!error)
		sites_write(out, &sites);
	vec_free(&sites);
	return error;
}
