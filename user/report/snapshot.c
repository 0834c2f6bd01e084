// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/snapshot.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "process/proc/container.h"

/*
 * A directory has a link from each subdirectory, "." and "..": the subdirectories of /proc/PID/task
 * are threads.
 */
void thread_figures_count(struct thread_figures *threads, pid_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (stat(path, &status) || status.st_nlink < 2)
		return;
	threads->alive = status.st_nlink - 2;
	threads->counted = true;
}

void thread_figures_free(struct thread_figures *threads)
{
	for (size_t i = 0; i < threads->groups.count; i++)
		free(threads->groups.items[i].addresses);
	vec_free(&threads->groups);
}

#define SECOND_NS UINT64_C(1000000000)

const uint64_t site_age_limits_ns[SITE_AGES_MAX_] = {
	SECOND_NS,	  10 * SECOND_NS,	60 * SECOND_NS,	       600 * SECOND_NS,
	3600 * SECOND_NS, 6 * 3600 * SECOND_NS, 24 * 3600 * SECOND_NS,
};

/* A cause of loss: its name in JSON and `[lost: …]`, and a sentence with the remedy. */
struct cause {
	const char *name, *advice;
};

static const struct cause drops[] = {
	[LM_DROP_BLOCKS_FULL] = {"blocks_full", "--max-blocks reached (raise it)"},
	[LM_DROP_PROCESSES_FULL] = {"processes_full",
				    "--max-processes reached (raise it, or narrow the target)"},
	[LM_DROP_SHARE] = {"share", "the process holds its share of --max-blocks, which is running "
				    "short (raise it, or watch fewer processes)"},
	[LM_DROP_THREAD_STATE] = {"thread_state", "the kernel had no memory for a thread's state "
						  "(free memory, or raise leakmon's limit)"},
	[LM_DROP_OUT_POINTER] = {"out_pointer", "posix_memalign's result could not be read "
						"(take the totals as a lower bound)"},
	[LM_DROP_RESTORE] = {"restore", "a block could not be put back after its realloc failed "
					"(raise --max-blocks)"},
	[LM_DROP_MISSED_FREE] = {"missed_free", "an address came back before its free was seen "
						"(run `leakmon doctor`: some allocator function "
						"has no probe)"},
	[LM_DROP_HANDLER] = {"handler", "a signal handler allocated while it interrupted an "
					"allocation (POSIX forbids it; nothing can be done here)"},
	[LM_DROP_DISPATCH] = {"dispatch", "made under Syscall User Dispatch, where a return probe "
					  "would kill the process (take the totals as a lower "
					  "bound)"},
	[LM_DROP_DEPTH] = {"depth", "64 return probes were pending, other tools' among them: the "
				    "kernel keeps no more (end those on recursive functions)"},
	[LM_DROP_BUSY] = {"busy", "the kernel refused access to a map for a moment (take the "
				  "totals as an estimate)"},
	[LM_DROP_UNTRACED_FREE] =
		{"untraced_free", "an address was reused after a free without a tracepoint "
				  "(kfree_rcu and kmem_cache_free_bulk; nothing can be done here)"},
};
_Static_assert(ARRAY_SIZE(drops) == LM_DROP_MAX_, "a row for every cause");

static const struct cause losts[] = {
	[LM_LOST_NONE] = {"none", "nothing is lost"},
	[LM_LOST_SITES_FULL] = {"sites_full", "--max-sites reached (raise it)"},
	[LM_LOST_SITE_SHARE] = {"site_share", "the process has its share of --max-sites, which is "
					      "running short (raise it, or watch fewer processes)"},
	[LM_LOST_BUSY] = {"busy", "the kernel refused access to a map for a moment (bytes and "
				  "counts are right)"},
	[LM_LOST_BEFORE] = {"before", "open before the attach or the exec"},
	[LM_LOST_WORKER] = {"io_uring", "opened by the kernel for io_uring"},
};
_Static_assert(ARRAY_SIZE(losts) == LM_LOST_MAX_, "a row for every cause");

static const struct cause walk_ends[] = {
	[LM_WALK_ROOT] = {"root", "the stack is complete"},
	[LM_WALK_NO_ROWS] = {"no_rows",
			     "no unwind info yet: the code was mapped a moment ago, or it "
			     "was made at run time"},
	[LM_WALK_NO_FDE] = {"no_fde", "code without unwind information or frame pointers"},
	[LM_WALK_UNREADABLE] = {"unreadable", "the stack could not be read there"},
	[LM_WALK_UNSUPPORTED] = {"unsupported",
				 "hand-written code with an unwind rule that leakmon "
				 "does not follow, or a JVM replaced the frame there"},
	[LM_WALK_TOO_DEEP] = {"too_deep", "127 frames were read, and there are more"},
};
_Static_assert(ARRAY_SIZE(walk_ends) == LM_WALK_MAX_, "a row for every end");

static const struct cause inexacts[] = {
	[INEXACT_DROPPED] = {"dropped", NULL},
	[INEXACT_LOST_STACKS] = {"lost_stacks", NULL},
	[INEXACT_SAMPLED] = {"sampled", NULL},
	[INEXACT_MAPPINGS] = {"mappings", NULL},
	[INEXACT_MISSED] = {"missed", NULL},
	[INEXACT_CODE_CHANGED] = {"code_changed",
				  "code that was probed was rewritten by the process (a hook, a "
				  "hot patch): calls of it are not seen"},
	[INEXACT_CODE_MOVED] = {"code_moved",
				"other memory took the place of code that was probed (huge "
				"pages?): calls of it are not seen"},
	[INEXACT_CODE_WRITABLE] = {"code_writable",
				   "some code was mapped writable or shared, where the kernel sets "
				   "no probes: its calls were not seen"},
	[INEXACT_UNPROBED] = {"unprobed", "the process dropped the memory that probes stood in: "
					  "until they were set again its calls were not seen"},
	[INEXACT_SHARED_MEMORY] = {"shared_memory",
				   "processes that share its memory (made by vfork or "
				   "clone(CLONE_VM)) called its allocator before they were probed: "
				   "their blocks and frees are missing"},
	[INEXACT_LATE_EXEC] = {"late_exec",
			       "a thread other than the main one replaced the program, which took "
			       "the probes away: what it allocated until they were set again is "
			       "missing"},
	[INEXACT_EVENTS_LOST] = {"events_lost",
				 "forks or execs came faster than leakmon could take them: what "
				 "was forked was looked for afterwards, and its first allocations "
				 "are missing"},
	[INEXACT_FILE_UNREAD] = {"file_unread",
				 "a file that it maps could not be read, or not in time: if that "
				 "is an allocator, its calls were not seen (the warnings name it)"},
	[INEXACT_FUNCTION_UNPROBED] = {"function_unprobed",
				       "a function of an allocator has no probe, since one would "
				       "not be safe there: its calls are not seen (`leakmon doctor "
				       "-p PID` names it)"},
	[INEXACT_DESCRIPTORS] = {"descriptors",
				 "descriptors were opened or closed unseen (by a process or thread "
				 "that shares or leaves the table, or while the kernel left out "
				 "programs): /proc/PID/fd mended the count"},
	[INEXACT_LEDGER] = {"ledger", "the live set and the ledger do not agree: another program "
				      "has changed leakmon's maps, or this is a bug of leakmon"},
};
_Static_assert(ARRAY_SIZE(inexacts) == INEXACT_MAX_, "a row for every cause");

bool ledger_agrees(const struct snapshot *snapshot, const struct ledger *ledger)
{
	uint64_t difference = MAX(ledger->scanned, ledger->outstanding) -
			      MIN(ledger->scanned, ledger->outstanding);

	return !snapshot->has_ages || difference <= ledger->moved;
}

struct poisson_sum snapshot_hits(const struct site *site)
{
	double bytes = (double)(site->count_variance > 0 ? site->bytes : site->allocated_bytes);

	if (!(site->hit_bytes > 0))
		return (struct poisson_sum){0, 0, 0};
	return (struct poisson_sum){bytes, bytes * site->hit_bytes, site->hit_bytes};
}

static struct poisson_sum count_hits(const struct site *site)
{
	return (struct poisson_sum){(double)site->count, site->count_variance, site->hit_count};
}

struct estimate snapshot_estimate_site(const struct site *site)
{
	const struct poisson_sum bytes = snapshot_hits(site), count = count_hits(site);

	return (struct estimate){
		.samples = bytes.sum > 0 ? bytes.sum / site->hit_bytes : 0,
		.bytes = poisson_bounds(&bytes),
		.count = poisson_bounds(&count),
	};
}

struct estimate snapshot_estimate_process(const struct snapshot_process *process)
{
	struct poisson_sum bytes = {.largest = (double)process->sample_interval}, count = {0};
	struct estimate estimate = {0};

	for (size_t i = 0; i < process->sites.count; i++) {
		const struct site *site = &process->sites.items[i];
		const struct poisson_sum more = snapshot_hits(site), blocks = count_hits(site);

		if (!(more.sum > 0))
			continue;
		estimate.samples += more.sum / site->hit_bytes;
		poisson_add(&bytes, &more);
		poisson_add(&count, &blocks);
	}
	estimate.bytes = poisson_bounds(&bytes);
	estimate.count = poisson_bounds(&count);
	return estimate;
}

void snapshot_mark_inexact(struct snapshot_process *process, enum inexact_cause cause)
{
	process->exact = false;
	process->inexact |= 1u << cause;
}

size_t snapshot_count_inexact(const struct snapshot *snapshot, enum inexact_cause cause)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->processes.count; i++)
		count += snapshot->processes.items[i].inexact >> cause & 1;
	return count;
}

const char *inexact_name(unsigned cause)
{
	return inexacts[cause].name;
}

const char *inexact_advice(unsigned cause)
{
	return inexacts[cause].advice;
}

const char *drop_name(unsigned cause)
{
	return drops[cause].name;
}

const char *drop_advice(unsigned cause)
{
	return drops[cause].advice;
}

const char *lost_name(unsigned cause)
{
	return losts[cause].name;
}

const char *lost_advice(unsigned cause)
{
	return losts[cause].advice;
}

const char *walk_end_name(unsigned end)
{
	return walk_ends[end].name;
}

const char *walk_end_advice(unsigned end)
{
	return walk_ends[end].advice;
}

static void site_free(struct site *site)
{
	free(site->addresses);
	free(site->patterns);
}

static void process_free(struct snapshot_process *process)
{
	for (size_t i = 0; i < process->sites.count; i++)
		site_free(&process->sites.items[i]);
	vec_free(&process->sites);
	vec_free(&process->blocks);
	thread_figures_free(&process->threads);
	free(process->exe);
	free(process->host);
	container_free(process->container);
}

void snapshot_free(struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->processes.count; i++)
		process_free(&snapshot->processes.items[i]);
	free(snapshot->processes.items);
	*snapshot = (struct snapshot){0};
}

/* Ledgers consist of 64-bit numbers only. */
static void words_add(void *sum, const void *added, size_t size)
{
	uint64_t *words = sum;
	const uint64_t *more = added;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] += more[i];
}

void ledger_add(struct ledger *total, const struct ledger *part)
{
	_Static_assert(sizeof(*total) % sizeof(uint64_t) == 0, "numbers of 64 bits");
	words_add(total, part, sizeof(*total));
}

void mapping_ledger_add(struct mapping_ledger *total, const struct mapping_ledger *part)
{
	_Static_assert(sizeof(*total) % sizeof(uint64_t) == 0, "numbers of 64 bits");
	words_add(total, part, sizeof(*total));
}

void descriptor_ledger_add(struct descriptor_ledger *total, const struct descriptor_ledger *part)
{
	_Static_assert(sizeof(*total) % sizeof(uint64_t) == 0, "numbers of 64 bits");
	words_add(total, part, sizeof(*total));
}

void snapshot_add_ledgers(struct snapshot *sum, const struct snapshot *added)
{
	ledger_add(&sum->ledger, &added->ledger);
	mapping_ledger_add(&sum->mapping, &added->mapping);
	descriptor_ledger_add(&sum->descriptors, &added->descriptors);
	sum->has_mappings |= added->has_mappings;
	sum->has_descriptors |= added->has_descriptors;
}

void snapshot_keep_host(struct snapshot *snapshot, const char *host)
{
	size_t kept = 0;

	snapshot->ledger = (struct ledger){0};
	snapshot->mapping = (struct mapping_ledger){0};
	snapshot->descriptors = (struct descriptor_ledger){0};
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (!process->host || strcmp(process->host, host) != 0) {
			process_free(process);
			continue;
		}
		ledger_add(&snapshot->ledger, &process->ledger);
		mapping_ledger_add(&snapshot->mapping, &process->mapping);
		descriptor_ledger_add(&snapshot->descriptors, &process->descriptors);
		snapshot->processes.items[kept++] = *process;
	}
	snapshot->processes.count = kept;
}
