// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/prom_parts.h"

#include "base/hash.h"
#include "output/prom_labels.h"
#include "symbol/intern.h"

void prom_process_labels(FILE *out, const struct snapshot_process *process)
{
	prom_label(out, "comm", process ? process->comm : "other", "{");
	prom_container_labels(out, process ? process->container : NULL);
}

uint64_t prom_value(const void *object, const struct prom_metric *metric)
{
	return *(const uint64_t *)(const void *)((const char *)object + metric->offset);
}

uint64_t prom_process_key(const struct snapshot_process *process)
{
	const char *container = container_proven_id(process->container);
	uint64_t key = intern_hash(process->comm);

	return container ? hash_mix(key) ^ intern_hash(container) : key;
}
