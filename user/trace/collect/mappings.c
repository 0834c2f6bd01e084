// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/mappings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "trace/collect/event_streams.h"
#include "trace/collect/mapping_ranges.h"

/* Compares the set of ranges with /proc/PID/maps: at the start, and after a loss. */

/* Mapped by the kernel, not by a system call of the process. */
static bool is_the_kernels(const struct mapping *mapping)
{
	static const char *const names[] = {"[stack]",	     "[vdso]",	  "[vvar]",
					    "[vvar_vclock]", "[uprobes]", "[vsyscall]"};

	for (size_t i = 0; !mapping->inode && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(mapping->path, names[i]))
			return true;
	}
	return false;
}

/* Records mappings from before the process was watched. Returns 0 or -ENOMEM. */
static int mapping_process_begin(struct mapping_process *process, const struct maps *maps)
{
	static const struct range_tag before = {.kind = KIND_BEFORE};
	int error = 0;

	for (size_t i = 0; i < maps->list.count && !error; i++)
		error = ranges_insert(&process->ranges, maps->list.items[i].start,
				      maps->list.items[i].end, &before);
	return error == -EINVAL ? 0 : error;
}

/* Drops the ranges between two mappings. */
static int give_up(struct mapping_process *process, uint64_t start, uint64_t end)
{
	return mapping_give_up(process, start, end, &process->ledger.healed);
}

/* The holes of the set inside one mapping. */
struct holes {
	uint64_t at; /* everything below is handled */
	VEC(struct range) found;
};

static int hole_add(struct holes *holes, uint64_t start, uint64_t end)
{
	struct range *hole;

	if (start >= end)
		return 0;
	hole = vec_push(&holes->found);
	if (!hole)
		return -ENOMEM;
	hole->start = start;
	hole->end = end;
	return 0;
}

static int hole_before(const struct range *range, void *context)
{
	struct holes *holes = context;
	int error = hole_add(holes, holes->at, range->start);

	holes->at = range->end;
	return error;
}

/* Puts the part of a mapping that is missing in the set under the site LM_SITE_LOST. */
static int adopt(struct mapping_process *process, const struct mapping *mapping)
{
	struct holes holes = {.at = mapping->start};
	struct range_tag tag = {.site = LM_SITE_LOST,
				.kind = mapping->inode ? LM_KIND_FILE : LM_KIND_MAPPING};
	struct ranges known;
	int error = ranges_cut(&process->ranges, mapping->start, mapping->end, &known);

	if (error)
		return error;
	error = ranges_walk(&known, hole_before, &holes);
	ranges_absorb(&process->ranges, &known);
	if (!error)
		error = hole_add(&holes, holes.at, mapping->end);
	if (!strcmp(mapping->path, "[heap]"))
		tag.kind = LM_KIND_BRK;
	for (size_t i = 0; i < holes.found.count && !error; i++) {
		const struct range *hole = &holes.found.items[i];

		error = mapping_place(process, hole->start, hole->end, &tag);
		process->ledger.healed += error ? 0 : hole->end - hole->start;
	}
	vec_free(&holes.found);
	return error;
}

/* A call in progress whose end was lost would restore ranges that are gone. */
static void calls_forget(struct mapping_process *process)
{
	for (size_t i = 0; i < process->calls.count; i++) {
		ranges_free(&process->calls.items[i].removed);
		ranges_free(&process->calls.items[i].lifted);
	}
	process->calls.count = 0;
}

/* Returns 0 or -ENOMEM. */
static int mapping_process_heal(struct mapping_process *process, const struct maps *maps)
{
	uint64_t at = 0;
	int error = 0;

	process->inexact = true;
	calls_forget(process);
	for (size_t i = 0; i < maps->list.count && !error; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		error = give_up(process, at, mapping->start);
		if (!error && !is_the_kernels(mapping))
			error = adopt(process, mapping);
		at = mapping->end;
	}
	return error ? error : give_up(process, at, UINT64_MAX);
}

_Static_assert(KIND_BRK - KIND_MAPPING == (int)LM_KIND_BRK, "kinds stand in the same order");

/* A site's heap blocks and each kind of its mappings are separate rows. */
#define ROW_INDEX(site, kind) ((site) | ((kind) + 1) << 24)

struct sum {
	uint64_t bytes, count, oldest_ns, ages[SITE_AGES_MAX_];
};

struct summing {
	const struct mapping_view *view;
	uint64_t now_ns, older_ns;
	struct sum *sums;	       /* by index in view->sites */
	struct snapshot_process *keep; /* takes single ranges, for --show-allocs; or NULL */
};

static int keep_range(const struct summing *summing, const struct range *range, uint64_t age_ns)
{
	struct block *block = summing->keep ? vec_push(&summing->keep->blocks) : NULL;

	if (!summing->keep)
		return 0;
	if (!block)
		return -ENOMEM;
	*block = (struct block){.address = range->start,
				.size = range->end - range->start,
				.age_ns = age_ns,
				.site = ROW_INDEX(range->tag.site, range->tag.kind)};
	return 0;
}

/* Returns the index of (site, kind) in view->sites, or -1. */
static long site_place(const struct mapping_view *view, uint32_t site, uint32_t kind)
{
	const uint64_t *place = hash_get(view->site_index, MAPPING_SITE_KEY(site, kind));

	return place ? (long)*place : -1;
}

static int sum_range(const struct range *range, void *context)
{
	struct summing *summing = context;
	uint64_t age_ns = summing->now_ns - MIN(summing->now_ns, range->tag.born_ns);
	struct sum *sum;
	long place;

	if (!mapping_is_counted(range) || age_ns < summing->older_ns)
		return 0;
	place = site_place(summing->view, range->tag.site, range->tag.kind);
	if (place < 0)
		return 0;
	sum = &summing->sums[place];
	sum->bytes += range->end - range->start;
	sum->count++;
	sum->oldest_ns = MAX(sum->oldest_ns, age_ns);
	for (size_t i = 0; i < SITE_AGES_MAX_ && age_ns >= site_age_limits_ns[i]; i++)
		sum->ages[i]++;
	return keep_range(summing, range, age_ns);
}

static int add_site(const struct bpf_side *bpf, const struct mapping_site *mapped,
		    const struct sum *sum, struct snapshot_process *process)
{
	struct site *site;

	if (!sum->count)
		return 0;
	site = vec_push(&process->sites);
	if (!site)
		return -ENOMEM;
	*site = (struct site){
		.family = FAMILY_MAPPING,
		.kind = KIND_MAPPING + mapped->kind,
		.index = ROW_INDEX(mapped->site, mapped->kind),
		.bytes = sum->bytes,
		.count = sum->count,
		.oldest_ns = sum->oldest_ns,
		.allocated_bytes = mapped->mapped_bytes,
		.allocated_count = mapped->mapped_calls,
		.freed_bytes = mapped->mapped_bytes - MIN(sum->bytes, mapped->mapped_bytes),
		/* A hole splits a range in two. */
		.freed_count = mapped->mapped_calls - MIN(sum->count, mapped->mapped_calls),
	};
	memcpy(site->ages, sum->ages, sizeof(site->ages));
	return event_stack_copy(bpf, process->key, mapped->site, site);
}

static int fill_process(const struct mapping_view *view, const struct bpf_side *bpf,
			const struct collect_options *options, struct snapshot *snapshot,
			struct snapshot_process *process)
{
	_cleanup_free_ struct sum *sums = calloc(view->site_count + 1, sizeof(*sums));
	struct summing summing = {.view = view,
				  .now_ns = snapshot->monotonic_ns,
				  .older_ns = process->exited ? 0 : options->older_ns,
				  .sums = sums,
				  .keep = options->keep_blocks ? process : NULL};
	int error;

	if (!sums)
		return -ENOMEM;
	error = ranges_walk(view->ranges, sum_range, &summing);
	process->mapping = view->ledger;
	if (!view->exact)
		snapshot_mark_inexact(process, INEXACT_MAPPINGS);
	for (size_t i = 0; i < view->site_count && !error; i++)
		error = add_site(bpf, &view->sites[i], &sums[i], process);
	return error;
}

static struct snapshot_process *snapshot_process_of(struct snapshot *snapshot, lm_process_key key)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		if (snapshot->processes.items[i].key == key)
			return &snapshot->processes.items[i];
	}
	return NULL;
}

/* Returns 0 or -ENOMEM. */
static int mapping_fill(const struct mappings *mappings, const struct bpf_side *bpf,
			const struct collect_options *options, struct snapshot *snapshot)
{
	struct mapping_view view;
	int error = 0;

	snapshot->has_mappings = true;
	mappings_total(mappings, &snapshot->mapping);
	for (size_t i = 0; !error && mappings_view(mappings, i, &view); i++) {
		struct snapshot_process *process = snapshot_process_of(snapshot, view.process);

		if (process)
			error = fill_process(&view, bpf, options, snapshot, process);
	}
	return error;
}

/* Mappings at the start of the watch; the process's key is known only from its first event. */
struct beginning {
	int pid;
	struct maps maps; /* owned */
};

struct mappings {
	maps_reader read;
	VEC(struct mapping_process *) processes; /* each owned */
	VEC(struct beginning) beginnings;
	struct mapping_ledger gone; /* of ended processes */
	uint64_t events_lost;
};

struct mappings *mappings_new(maps_reader read)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));

	if (mappings)
		mappings->read = read;
	return mappings;
}

static void process_release(struct mapping_process *process)
{
	mapping_process_free(process);
	free(process);
}

void mappings_free(struct mappings *mappings)
{
	if (!mappings)
		return;
	for (size_t i = 0; i < mappings->processes.count; i++)
		process_release(mappings->processes.items[i]);
	vec_free(&mappings->processes);
	while (mappings->beginnings.count)
		maps_free(&mappings->beginnings.items[--mappings->beginnings.count].maps);
	vec_free(&mappings->beginnings);
	free(mappings);
}

static int pid_of(lm_process_key process)
{
	return (int)(process >> 32);
}

static struct mapping_process *process_find(const struct mappings *mappings, lm_process_key key)
{
	/* The latest first, because events concern it. */
	for (size_t i = mappings->processes.count; i-- > 0;) {
		if (mappings->processes.items[i]->key == key)
			return mappings->processes.items[i];
	}
	return NULL;
}

int mappings_watch(struct mappings *mappings, int pid)
{
	struct beginning *beginning;
	struct maps maps = {0};
	int error = mappings->read(pid, MAPS_ALL, &maps);

	if (error)
		return error;
	beginning = vec_push(&mappings->beginnings);
	if (!beginning) {
		maps_free(&maps);
		return -ENOMEM;
	}
	*beginning = (struct beginning){.pid = pid, .maps = maps};
	return 0;
}

/*
 * Takes the earlier mappings of the process. After an exec, these are the ones the kernel has just
 * made.
 */
static int beginning_take(struct mappings *mappings, int pid, struct maps *maps)
{
	for (size_t i = 0; i < mappings->beginnings.count; i++) {
		struct beginning *beginning = &mappings->beginnings.items[i];

		if (beginning->pid != pid)
			continue;
		*maps = beginning->maps;
		*beginning = mappings->beginnings.items[--mappings->beginnings.count];
		return 0;
	}
	return mappings->read(pid, MAPS_ALL, maps);
}

/* At a process's first event: a mapping without a later event was there before. */
static struct mapping_process *process_add(struct mappings *mappings, lm_process_key key)
{
	struct mapping_process *process = calloc(1, sizeof(*process));
	struct mapping_process **slot = process ? vec_push(&mappings->processes) : NULL;
	struct maps maps = {0};

	if (!slot) {
		free(process);
		return NULL;
	}
	*slot = process;
	process->key = key;
	if (!beginning_take(mappings, pid_of(key), &maps) && mapping_process_begin(process, &maps))
		process->inexact = true;
	maps_free(&maps);
	return process;
}

int mappings_apply(struct mappings *mappings, const struct lm_mapping_event *event)
{
	struct mapping_process *process = process_find(mappings, event->process);
	int error;

	if (!process)
		process = process_add(mappings, event->process);
	if (!process)
		return -ENOMEM;
	error = mapping_process_apply(process, event);
	if (error)
		process->inexact = true;
	return error;
}

static void heal_process(const struct mappings *mappings, struct mapping_process *process)
{
	struct maps maps = {0};

	process->inexact = true;
	process->untold = false;
	if (!mappings->read(pid_of(process->key), MAPS_ALL, &maps))
		mapping_process_heal(process, &maps);
	maps_free(&maps);
}

void mappings_heal(struct mappings *mappings, uint64_t events_lost)
{
	bool all = events_lost != mappings->events_lost;

	mappings->events_lost = events_lost;
	for (size_t i = 0; i < mappings->processes.count; i++) {
		if (all || mappings->processes.items[i]->untold)
			heal_process(mappings, mappings->processes.items[i]);
	}
}

void mappings_purge(struct mappings *mappings, process_is_over is_over, const void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < mappings->processes.count; i++) {
		struct mapping_process *process = mappings->processes.items[i];

		if (!is_over(process->key, context)) {
			mappings->processes.items[kept++] = process;
			continue;
		}
		process->ledger.purged += mapping_bytes(&process->ranges);
		mapping_ledger_add(&mappings->gone, &process->ledger);
		process_release(process);
	}
	mappings->processes.count = kept;
}

static int count_range(const struct range *range, void *context)
{
	struct mapping_ledger *ledger = context;

	if (mapping_is_counted(range)) {
		ledger->outstanding += range->end - range->start;
		ledger->ranges++;
	}
	return 0;
}

bool mappings_view(const struct mappings *mappings, size_t i, struct mapping_view *view)
{
	const struct mapping_process *process;

	if (i >= mappings->processes.count)
		return false;
	process = mappings->processes.items[i];
	*view = (struct mapping_view){
		.process = process->key,
		.exact = !process->inexact,
		.ledger = process->ledger,
		.ranges = &process->ranges,
		.sites = process->sites.items,
		.site_count = process->sites.count,
		.site_index = &process->site_index,
	};
	ranges_walk(&process->ranges, count_range, &view->ledger);
	return true;
}

void mappings_total(const struct mappings *mappings, struct mapping_ledger *total)
{
	struct mapping_view view;

	*total = mappings->gone;
	for (size_t i = 0; mappings_view(mappings, i, &view); i++)
		mapping_ledger_add(total, &view.ledger);
	total->events_lost += mappings->events_lost;
}

/* --mappings: replays the events from the BPF side, and adds them to snapshots. */

struct mapping_stream {
	struct event_stream base;
	const struct bpf_side *bpf;
	struct ring_buffer *ring;
	struct mappings *mappings;
};

static int on_record(void *context, void *data, size_t size)
{
	struct mapping_stream *stream = context;

	/* When out of memory, the process is marked as inexact, and the others continue. */
	if (size >= sizeof(struct lm_mapping_event))
		mappings_apply(stream->mappings, data);
	return 0;
}

static int stream_follow(struct event_stream *base, int pid)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	uint32_t tgid = (uint32_t)pid, value = 1;

	if (bpf_map_update_elem(stream->bpf->mapping_targets_fd, &tgid, &value, BPF_ANY))
		return -errno;
	/*
	 * Only now: a mapping made in between has an event, and also counts as earlier, which is
	 * correct.
	 */
	mappings_watch(stream->mappings, pid);
	return 0;
}

static void stream_forget(struct event_stream *base, int pid)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	uint32_t tgid = (uint32_t)pid;

	bpf_map_delete_elem(stream->bpf->mapping_targets_fd, &tgid);
}

static int stream_consume(struct event_stream *base)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	int count = ring_buffer__consume(stream->ring);

	return count < 0 ? count : 0;
}

/* Processes with open ledgers: alive, or ended but still shown. */
struct open_ledgers {
	struct hash keys;
};

static bool is_over(lm_process_key process, const void *context)
{
	const struct open_ledgers *open = context;

	return !hash_get(&open->keys, process);
}

static int find_open(const struct bpf_side *bpf, bool keep_exited, struct open_ledgers *open)
{
	uint32_t count =
		MIN(__atomic_load_n(bpf->process_count, __ATOMIC_ACQUIRE), bpf->max_processes);

	for (uint32_t slot = 1; slot < count; slot++) {
		const struct lm_process *process = &bpf->processes[slot];

		if (!process->key || process->state == LM_PROCESS_EXECED ||
		    (process->state == LM_PROCESS_EXITED && !keep_exited))
			continue;
		if (!hash_put(&open->keys, process->key, NULL))
			return -ENOMEM;
	}
	return 0;
}

static int stream_fill(struct event_stream *base, const struct collect_options *options,
		       struct snapshot *snapshot)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	/* Read first: losses from here on are repaired next time. */
	uint64_t lost = __atomic_load_n(stream->bpf->mapping_events_lost, __ATOMIC_ACQUIRE);
	struct open_ledgers open = {0};
	int error = stream_consume(base);

	mappings_heal(stream->mappings, lost);
	if (!error)
		error = find_open(stream->bpf, options->keep_exited, &open);
	if (!error)
		mappings_purge(stream->mappings, is_over, &open);
	hash_free(&open.keys);
	return error ? error : mapping_fill(stream->mappings, stream->bpf, options, snapshot);
}

static void stream_free(struct event_stream *base)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;

	ring_buffer__free(stream->ring);
	mappings_free(stream->mappings);
	free(stream);
}

struct event_stream *mapping_stream_new(const struct bpf_side *bpf)
{
	static const struct event_stream_ops ops = {
		.free = stream_free,
		.follow = stream_follow,
		.forget = stream_forget,
		.consume = stream_consume,
		.fill = stream_fill,
	};
	struct mapping_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->bpf = bpf;
	stream->mappings = mappings_new(maps_read);
	stream->ring = ring_buffer__new(bpf->mapping_events_fd, on_record, stream, NULL);
	if (!stream->mappings || !stream->ring) {
		stream_free(&stream->base);
		return NULL;
	}
	stream->base = (struct event_stream){&ops, ring_buffer__epoll_fd(stream->ring)};
	return &stream->base;
}
