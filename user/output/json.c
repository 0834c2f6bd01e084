// SPDX-License-Identifier: GPL-2.0-or-later
/* One object on one line per snapshot: schema 1. Fields may be added, none changes its meaning. */
#include "output/finish.h"
#include "output/formats.h"
#include "output/json_parts.h"
#include "output/json_writer.h"

static void process_write(struct json_writer *json, const struct report *report,
			  const struct report_process *ranked)
{
	const struct snapshot_process *process = ranked->process;

	json_open(json, NULL, '{');
	output_json_process_write(json, process);
	json_put_number(json, "outstanding_bytes", process->outstanding_bytes);
	json_put_number(json, "outstanding_count", process->outstanding_count);
	json_put_number(json, "sites_total", ranked->sites_total);
	if (report->snapshot->has_mappings)
		output_json_mapping_write(json, &process->mapping);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < ranked->sites.count; i++)
		output_json_site_write(json, report, &ranked->sites.items[i]);
	json_close(json, ']');
	output_json_threads_write(json, ranked);
	json_close(json, '}');
}

int output_json_write(FILE *out, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	struct json_writer json = {.out = out};

	json_open(&json, NULL, '{');
	json_put_number(&json, "schema", 1);
	output_json_time(&json, "time", &snapshot->time);
	json_put_number(&json, "sequence", snapshot->sequence);
	json_put_bool(&json, "sampled", snapshot->sampled);
	output_json_ledger_write(&json, snapshot);
	if (snapshot->has_mappings)
		output_json_mapping_write(&json, &snapshot->mapping);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(&json, report, &report->processes.items[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	fputc('\n', out);
	return output_finish(out);
}
