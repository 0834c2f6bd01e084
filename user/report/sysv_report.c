// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/sysv_report.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "report/figures.h"

static void total_add(struct sysv_total *total, const struct sysv_segment *segment)
{
	total->segments++;
	total->bytes += segment->resident + segment->swapped;
}

void sysv_report_sum(struct sysv_report *report)
{
	report->all = report->unattached = report->orphans = (struct sysv_total){0};
	for (size_t i = 0; i < report->list.count; i++) {
		const struct sysv_segment *segment = &report->list.items[i];

		total_add(&report->all, segment);
		if (segment->attached)
			continue;
		total_add(&report->unattached, segment);
		if (!*segment->comm)
			total_add(&report->orphans, segment);
	}
}

void sysv_report_free(struct sysv_report *report)
{
	vec_free(&report->list);
}

#define SEGMENT(member) offsetof(struct sysv_segment, member)
static const struct figure segment_figures[] = {
	FIGURE("id", NULL, INDEX, SEGMENT(id)),
	FIGURE("key", NULL, INDEX, SEGMENT(key)),
	FIGURE("uid", NULL, INDEX, SEGMENT(uid)),
	FIGURE("creator", NULL, PID, SEGMENT(creator)),
	FIGURE("attached", NULL, NUMBER, SEGMENT(attached)),
	FIGURE("size_bytes", NULL, NUMBER, SEGMENT(size)),
	FIGURE("resident_bytes", NULL, NUMBER, SEGMENT(resident)),
	FIGURE("swap_bytes", NULL, NUMBER, SEGMENT(swapped)),
	FIGURE("is_new", NULL, FLAG, SEGMENT(is_new)),
};
const struct figures sysv_segment_figures = FIGURES(segment_figures);
