/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triage's result for the output: growing processes, in order of rank. Plain data, all borrowed. */
#ifndef LEAKMON_REPORT_TRIAGE_REPORT_H
#define LEAKMON_REPORT_TRIAGE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "report/pushed.h"
#include "base/vec.h"
#include "process/proc/container.h"
#include "report/cgroup_report.h"
#include "report/task_report.h"
#include "report/heap_floor.h"
#include "report/report.h"
#include "report/runtime_label.h"
#include "report/trend.h"

enum quantity {
	QUANTITY_HEAP,	  /* anonymous memory, resident and swapped out, in bytes */
	QUANTITY_MAPPING, /* mappings */
	QUANTITY_THREADS, /* threads that live */
	QUANTITY_FILES,	  /* open files */
	/* Memory of a control group that is no process's, and that the kernel does not take back
	 * when it runs short: tmpfs and shared memory, sockets, its own; in bytes. NAN of
	 * processes. */
	QUANTITY_CHARGED,
	QUANTITY_MAX_,
};

/* One reading; NAN: not known. */
struct quantities {
	double values[QUANTITY_MAX_];
};

/*
 * Everything grows in its first minutes: the readings that a first verdict takes; or as many as
 * come in GROWTH_SPAN_S, but at least a dozen, where the budget makes them rare.
 */
#define GROWTH_READINGS_MIN 24
#define GROWTH_SPAN_S 115.0

struct growth {
	enum quantity kind;
	enum trend_verdict verdict;
	double confidence;     /* 0..1, of the verdict's growth; 0 when nothing grows */
	double per_s;	       /* of the kind's own unit */
	double low_per_s;      /* 95 % */
	double high_per_s;     /* 95 % */
	double memory_per_s;   /* bytes of anonymous memory, whatever the kind */
	double urgency;	       /* for ranking: per_s in bytes (see growth.c) times confidence */
	struct trend evidence; /* of the window that decided */
	size_t level;	       /* of the series: its resolution */
	struct early early;    /* while the verdict is too-early */
	/*
	 * It is younger than TREND_WARM_UP_S, and lately grows clearly slower than it has on
	 * average since it began; or it is older, and has no evidence but from that time: what
	 * starts up slows down, and at most is called growing.
	 */
	bool warms_up;
	double age_s; /* of the process, at its last reading; NAN: not known */
};

/* Whether there is no verdict yet, but it grows: to be listed next to the suspects. */
bool growth_is_early(const struct growth *growth);

/* "heap", "mapping", "threads", "files", "charged": as JSON has it. */
const char *growth_kind_name(enum quantity kind);

#define TRIAGE_SPARK_POINTS 16

/* Findings of tracking one process for a while. */
struct triage_sites {
	enum quantity kind;  /* what was tracked: heap or mapping */
	double window_s;     /* how long it lasted */
	double counted_s;    /* of it, what blocks must have been allocated in to count */
	double growth_per_s; /* of that in this time: bytes, mappings; what the shares are of */
	const struct report *report; /* of all processes of the window; owned by the escalation */
	const struct report_process *process; /* in it: sites by what survived; NULL: none */
	const char *refusal;		      /* why it was not tracked, or NULL */
};

/* Whether a site is of what was tracked. */
bool triage_site_counts(const struct triage_sites *sites, const struct site *site);
/* The share of the growth in the window that a site explains: what it allocated then and still
 * holds. 0..1, above 1 when the program reused memory that it had. */
double triage_site_share(const struct triage_sites *sites, const struct site *site);

/* A call stack at which a suspect's growth was sampled. */
struct triage_stack {
	double units; /* bytes, mappings, threads that came there and are there now: an estimate */
	double share; /* of what was added in the window, see triage_samples.share */
	size_t samples;
	struct site site;
	struct report_site named; /* its site is the one above */
};

struct triage_file_kind {
	char *name;	    /* untrusted; owned */
	double open, added; /* now; since the window began */
};

/* Findings of sampling one suspect. */
struct triage_samples {
	enum quantity kind;
	double window_s;
	double added;	/* of the kind, in the window */
	double share;	/* of that, what all samples together explain; above 1: see attribute.h */
	uint64_t taken; /* samples, also of what is gone again */
	uint64_t lost;	/* that found no room, of all suspects */
	size_t missed;	/* threads without sampled page faults */
	/* Stacks of threads beyond those that live, now, and how many of them came in the window:
	 * an estimate. */
	double orphans, orphans_added;
	double ago_s;	 /* since the stacks were last looked at; 0: they are of this report */
	const char *why; /* nothing is sampled (yet, or now), or NULL */
	VEC(struct triage_stack) stacks;    /* largest first; owned */
	size_t stacks_total;		    /* before the cut */
	VEC(struct triage_file_kind) files; /* what grew most first; owned */
};

void triage_samples_free(struct triage_samples *samples);

/*
 * Whether `samples` of `ago_s` seconds before still say more than `now`, which has no stacks: then
 * they are kept, with the reason and the threads of `now`, which is freed.
 */
bool triage_samples_keep(struct triage_samples *samples, struct triage_samples *now, double ago_s);

/* What of the growth one stack must explain to be called its cause. */
#define TRIAGE_SHARE_MIN 0.05

/* What came in a time. */
struct managed_span {
	double began_s;
	int64_t heap, code, all; /* bytes */
};

/* Where a suspect with a garbage collector grows: filled by the reader of its mappings. */
struct managed_growth {
	struct runtime_label runtime;
	double first_s, last_s; /* when it was looked at; last_s 0: never */
	uint64_t heap, all;	/* at last: bytes of the collector's heap, and all anonymous */
	uint64_t code;		/* likewise: code that it has compiled, outside that heap */
	int64_t heap_grown, all_grown; /* since first_s */
	struct managed_span recent[2]; /* some minutes: the last ones, and those before them */
	struct heap_floor first, now;  /* of a JVM, .NET, Go or V8: what its collections leave */
	struct heap_outside outside;   /* what they leave of memory outside, code excepted */
	bool unreadable;	       /* its mappings: nothing of this will ever be known */
};
/* Bytes at last, outside its heap and its code. */
int64_t managed_growth_outside(const struct managed_growth *managed);
/* Whether it is not known yet what grows: a heap that is collected, or all else. */
bool managed_growth_is_undecided(const struct managed_growth *managed);

struct profile_report_process; /* report/profile_report.h */
/* Growth of a suspect's memory since it became one, as `leakmon memory` finds out. */
struct triage_cause {
	const char *verdict; /* "live", "retained", "fragmentation", ...; static */
	const char *text;    /* numbers, what they mean, what to do; owned by the reader */
	bool no_leak;	     /* the allocator or the kernel keeps it: it is not called leaking */
	bool unproven;	     /* it may be garbage: neither is it, until a collection */
	double since_s;
	int64_t grown, live; /* bytes; of them in live blocks */
};

/* Charges of the kernel to a control group, by parts, and what it was some minutes before. */
struct triage_split {
	struct cgroup_figures now, before;
	double since_s; /* between them */
};

/* A part of it: "tmpfs", "page-cache"; NULL: there is no such part. Bytes, NAN: not known. */
struct triage_part {
	const char *name, *words; /* static */
	double bytes, grown;
};

/* The parts that are known and not nothing, those that grew most first; returns how many. */
#define TRIAGE_PARTS_MAX 9
size_t triage_split_parts(const struct triage_split *split,
			  struct triage_part parts[TRIAGE_PARTS_MAX]);

/* Memory of the machine that is no process's. */
enum machine_part {
	MACHINE_SLAB, /* of the kernel, that it cannot take back */
	MACHINE_PAGE_TABLES,
	MACHINE_SHARED,	  /* tmpfs and shared memory */
	MACHINE_SEGMENTS, /* of it System V's */
	MACHINE_SOCKETS,  /* buffers */
	MACHINE_PER_CPU,
	MACHINE_VMALLOC,
	MACHINE_STACKS,	      /* of the kernel, one for each thread */
	MACHINE_CACHES,	      /* slab that it takes back when memory runs short */
	MACHINE_DYING_GROUPS, /* control groups that were removed, and that memory still holds */
	MACHINE_PART_MAX_,
};

struct machine_figure {
	double now; /* bytes, or a number of groups; NAN: not known */
	enum trend_verdict verdict;
	double per_s; /* of a suspect */
};

struct triage_machine {
	struct machine_figure parts[MACHINE_PART_MAX_];
};

/* "slab", "page-tables", ...: as JSON has it; the same in words; and what it is judged as. */
const char *triage_machine_name(enum machine_part part);
const char *triage_machine_words(enum machine_part part);
enum quantity triage_machine_quantity(enum machine_part part);
/* Whether the call stacks that allocate it are those of the kernel. */
bool triage_machine_is_kernels(enum machine_part part);

struct triage_entry {
	pid_t pid;			   /* 0: a container or cgroup */
	const char *comm;		   /* untrusted; "" for a cgroup */
	const char *exe;		   /* untrusted; NULL: not known */
	const struct container *container; /* NULL: none */
	const char *cgroup;		   /* untrusted; NULL: the root, or not known */
	size_t processes;		   /* in it; 1 for a process */
	double age_s;			   /* since triage saw it first */
	struct quantities now;		   /* NAN: not known */
	struct growth growth;
	/* The kind's course over the window that decided, oldest first. */
	float spark[TRIAGE_SPARK_POINTS];
	size_t spark_count;
	const struct triage_sites *sites;	       /* NULL: not tracked */
	const struct profile_report_process *profiled; /* NULL: it is not */
	const struct triage_samples *sampled;	       /* NULL: no suspect, or not asked for */
	/* NULL: no suspect, or without a garbage collector */
	const struct managed_growth *managed;
	/* Goroutines of a Go program that become more, and do not end. NULL: none, or not looked
	 * at. */
	const struct task_group *goroutines;
	const struct triage_cause *cause; /* NULL: not looked at, or nothing to explain yet */
	bool doubted;	 /* it would be leaking, but nothing proves (yet) that it is no garbage */
	bool multiplies; /* a leaking group: it has more and more threads, perhaps processes */
	const struct triage_split *split; /* of a group that the kernel charges; NULL: none */
	const char *why; /* a group grows while no process in it does: what does; static; or NULL */
};

/* The sampled event of a kind: "page faults"; and the unit of its amounts: "threads", NULL:
 * bytes. */
const char *triage_samples_event(enum quantity kind);
const char *triage_samples_unit(enum quantity kind);
/* So many threads ended without a join in the window that it is no coincidence. */
bool triage_samples_have_dead_threads(const struct triage_samples *sampled);
/* The command that shows more of a sampled suspect. Returns text. */
#define TRIAGE_NEXT_SIZE 64
char *triage_samples_next(const struct triage_entry *entry, char text[TRIAGE_NEXT_SIZE]);

/* The kernel's count of a process's memory when it chose it, in bytes. */
struct triage_kill_memory {
	bool known;
	uint64_t anonymous, file, shared, swap, page_tables;
};

/* A process that the kernel kills for want of memory. */
struct triage_kill {
	const struct oom_kill *where; /* PID, control group, limit, container; borrowed */
	char comm[16];		      /* untrusted */
	bool by_counter; /* noticed at a poll, by its end and its control group's count */
	struct triage_kill_memory memory;
	double read_s;		   /* before the report: its latest reading; entry.pid 0: never */
	struct triage_entry entry; /* what was known of it then */
};

#define TRIAGE_LIMITS_SHOWN 10

enum limit_kind {
	LIMIT_MAX,  /* memory.max, or v1's memory.limit_in_bytes: beyond it the kernel kills */
	LIMIT_HIGH, /* memory.high: beyond it the kernel throttles */
	LIMIT_MACHINE,
	LIMIT_KIND_MAX_,
};

/* "memory.max", "memory.high", "machine". */
const char *limit_kind_name(enum limit_kind kind);

/* A limit of a control group, or of the machine. */
struct limit {
	char *path; /* of the group; untrusted; owned; "": the machine */
	enum limit_kind kind;
	double bytes, used; /* of the latest poll */
	double pressure; /* share of the last 10 s in which some waited for memory; NAN: not known
			  */
	struct time_left left;
};

/* A limit that is near, or will be reached soon. */
struct triage_limit {
	const struct limit *limit;
	const struct container *container; /* that has the limit; NULL: none, or not alone */
	/* Among its processes, the one that grows most, or is largest; pid 0: there is none. */
	struct triage_entry entry;
	bool listed; /* it is among the processes of the report, too */
};

struct triage_kills {
	VEC(struct triage_kill) list;
};

struct triage_entries {
	struct triage_entry *items;  /* most urgent first; owned */
	size_t count;		     /* after the cut by --top */
	size_t total;		     /* before it */
	size_t verdicts[TREND_MAX_]; /* of all */
};

struct triage_report {
	uint64_t sequence;
	struct timespec time; /* CLOCK_REALTIME */
	double running_s, poll_interval_s;
	struct triage_entries processes, groups;
	VEC(struct triage_limit) limits;      /* the least time left first */
	size_t limits_more;		      /* that something is near to, behind these */
	const struct triage_machine *machine; /* NULL: not read; borrowed */
	const struct triage_kills *kills; /* that this report is made for; NULL: none; borrowed */
	const struct oom_kills *oom;	  /* the totals; NULL: it is not looked for; borrowed */
	uint64_t lost_reports;		  /* of this run that could not be written so far */
	struct pushed pushed;
	bool hidden;	     /* hidepid */
	bool samples_stacks; /* of suspects: theirs may come with a later report */
	size_t waiting;	     /* processes that were not looked at yet, to keep the budget */
	struct text_form form;
	/* Its cost, as shares of one core. */
	double budget_limit, budget_used;
	bool shed_mappings, shed_files;
	unsigned stretch;	 /* 1: polls as often as asked for */
	uint64_t resident_bytes; /* of leakmon */
	double cpu_s;		 /* of leakmon and its children so far */
	double probes_s; /* and of sampled and tracked processes, in its probes: an estimate */
};

void triage_report_free(struct triage_report *report);

/* Whether most of its growth is in the heap of a runtime, which no stack of the kernel's shows. */
bool triage_entry_is_managed(const struct triage_entry *entry);
/* Whether most of what came lately is code that it compiled, as it does for hours, ever less, and
 * within a limit. */
bool triage_entry_compiles(const struct triage_entry *entry);
/* Whether most of its growth is outside its heap, and may go with garbage in that. */
bool triage_entry_may_be_held_by_garbage(const struct triage_entry *entry);
/* Whether its growth may be garbage, by what its collections leave, or is compiled code; false also
 * if neither is known. */
bool triage_entry_is_unproven(const struct triage_entry *entry);

/* Its cost: "0.78 % of a core"; in its first seconds, when what a start costs is not earned yet and
 * a share would say nothing, "0.05 s of CPU time". Returns text. */
#define TRIAGE_COST_SIZE 48
char *triage_cost_text(const struct triage_report *report, char text[TRIAGE_COST_SIZE]);

/* The word for an entry: a trend, or the cause of its growth if that is no leak. Static. */
const char *triage_entry_verdict(const struct triage_entry *entry);

/*
 * Of a struct triage_entry: what is known without a probe, its growth, and for a group its charges;
 * of a struct triage_report, its cost; of the other structs by their names. Those of samples stand
 * in JSON before their stacks and after.
 */
struct figures;
extern const struct figures triage_entry_figures, triage_growth_figures, triage_charge_figures,
	triage_cost_figures, triage_cause_figures, triage_managed_figures, triage_sites_figures,
	triage_samples_figures, triage_orphan_figures, triage_stack_figures, triage_file_figures,
	triage_part_figures, triage_limit_figures, triage_kill_figures;

#endif
