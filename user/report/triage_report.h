/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triage's result for output: growing processes, in order of rank. Plain data, all borrowed. */
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
	QUANTITY_THREADS, /* live threads */
	QUANTITY_FILES,	  /* open files */
	/*
	 * Memory charged to a control group that is no process's, and that the kernel cannot
	 * reclaim when it runs short: tmpfs and shared memory, sockets, the kernel's own; in bytes.
	 * NAN for processes.
	 */
	QUANTITY_CHARGED,
	QUANTITY_MAX_,
};

/* One reading; NAN: unknown. */
struct quantities {
	double values[QUANTITY_MAX_];
};

/*
 * Everything grows in its first minutes: the readings required for a first verdict; or as many as
 * come in GROWTH_SPAN_S, but at least a dozen, if the budget makes them rare.
 */
#define GROWTH_READINGS_MIN 24
#define GROWTH_SPAN_S 115.0

struct growth {
	enum quantity kind;
	enum trend_verdict verdict;
	double confidence;     /* 0..1, that the growth is real; 0 without growth */
	double per_s;	       /* in the kind's unit */
	double low_per_s;      /* 95 % */
	double high_per_s;     /* 95 % */
	double memory_per_s;   /* growth of anonymous memory in bytes, whatever the kind */
	double urgency;	       /* for ranking: per_s in bytes (see growth.c) times confidence */
	struct trend evidence; /* of the window that decided */
	size_t level;	       /* resolution of the series */
	struct early early;    /* while the verdict is too-early */
	/*
	 * It is younger than TREND_WARM_UP_S, and lately grows clearly more slowly than on average
	 * since it began; or it is older, but all evidence is from that time: startup slows down,
	 * and is at most called growing.
	 */
	bool warms_up;
	double age_s; /* of the process, at its last reading; NAN: unknown */
};

/* Returns whether it grows but has no verdict yet: to be listed after the suspects. */
bool growth_is_early(const struct growth *growth);

/* Returns "heap", "mapping", "threads", "files", "charged", as in JSON. */
const char *growth_kind_name(enum quantity kind);

#define TRIAGE_SPARK_POINTS 16

/* Findings of tracking one process for a while. */
struct triage_sites {
	enum quantity kind;	     /* what was tracked: heap or mapping */
	double window_s;	     /* duration of the tracking */
	double counted_s;	     /* the part of it in which counted blocks were allocated */
	double growth_per_s;	     /* growth in this time: bytes, mappings; the basis of shares */
	const struct report *report; /* of all processes of the window; owned by the escalation */
	const struct report_process *process; /* in it: sites by surviving memory; NULL: none */
	const char *refusal;		      /* why it was not tracked, or NULL */
};

/* Returns whether a site is of the tracked kind. */
bool triage_site_counts(const struct triage_sites *sites, const struct site *site);
/*
 * Returns the share of the window's growth that a site explains: its allocations then that are
 * still held. 0..1, above 1 if the program reused free memory.
 */
double triage_site_share(const struct triage_sites *sites, const struct site *site);

/* A call stack at which a suspect's growth was sampled. */
struct triage_stack {
	double units; /* bytes, mappings, threads added there that still exist: an estimate */
	double share; /* of the growth in the window, see triage_samples.share */
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
	double added; /* growth of the kind in the window */
	/* share of it that all samples together explain; above 1: see attribute.h */
	double share;
	uint64_t taken; /* samples, including freed memory */
	uint64_t lost;	/* lost for lack of room, of all suspects */
	size_t missed;	/* threads without sampled page faults */
	/*
	 * Stacks of threads in excess of live threads, now, and those added in the window: an
	 * estimate.
	 */
	double orphans, orphans_added;
	double ago_s;			    /* since the stacks were last read; 0: in this report */
	const char *why;		    /* why nothing is sampled (yet, or now), or NULL */
	VEC(struct triage_stack) stacks;    /* largest first; owned */
	size_t stacks_total;		    /* before the cut */
	VEC(struct triage_file_kind) files; /* largest growth first; owned */
};

void triage_samples_free(struct triage_samples *samples);

/*
 * Decides whether `samples` of `ago_s` seconds ago are more informative than `now`, which has no
 * stacks: then they are kept, with the reason and the threads of `now`, which is freed. Returns
 * whether they are kept.
 */
bool triage_samples_keep(struct triage_samples *samples, struct triage_samples *now, double ago_s);

/* Share of the growth that one stack must explain to be called its cause. */
#define TRIAGE_SHARE_MIN 0.05

/* Growth in a time span. */
struct managed_span {
	double began_s;
	int64_t heap, code, all; /* bytes */
};

/* The growth of a suspect with a garbage collector: filled by the reader of its mappings. */
struct managed_growth {
	struct runtime_label runtime;
	double first_s, last_s; /* times of readings; last_s 0: never */
	uint64_t heap, all;	/* latest: bytes of the collector's heap, and all anonymous */
	uint64_t code;		/* latest: JIT-compiled code outside that heap */
	int64_t heap_grown, all_grown; /* since first_s */
	struct managed_span recent[2]; /* a few minutes each: the latest, and the preceding ones */
	struct heap_floor first, now;  /* of a JVM, .NET, Go or V8: live bytes after collections */
	struct heap_outside outside;   /* memory outside that they leave, except code */
	bool unreadable;	       /* its mappings: all of this stays unknown */
};
/* Returns the latest bytes outside its heap and its code. */
int64_t managed_growth_outside(const struct managed_growth *managed);
/* Returns whether it is still unknown what grows: a collected heap, or all else. */
bool managed_growth_is_undecided(const struct managed_growth *managed);

struct profile_report_process; /* report/profile_report.h */
/* The cause of growth of a suspect's memory since it became one, as found by `leakmon memory`. */
struct triage_cause {
	const char *verdict; /* "live", "retained", "fragmentation", ...; static */
	const char *text;    /* numbers, their meaning, the remedy; owned by the reader */
	bool no_leak;	     /* kept by the allocator or the kernel: not called leaking */
	bool unproven;	     /* may be garbage: not called leaking until a collection */
	double since_s;
	int64_t grown, live; /* bytes; the part in live blocks */
};

/* The kernel's charges to a control group, by parts, now and some minutes before. */
struct triage_split {
	struct cgroup_figures now, before;
	double since_s; /* between them */
};

/* A part of it: "tmpfs", "page-cache"; NULL: no such part. Bytes, NAN: unknown. */
struct triage_part {
	const char *name, *words; /* static */
	double bytes, grown;
};

/* Lists the known nonzero parts, largest growth first. Returns their number. */
#define TRIAGE_PARTS_MAX 9
size_t triage_split_parts(const struct triage_split *split,
			  struct triage_part parts[TRIAGE_PARTS_MAX]);

/* Memory of the machine that belongs to no process. */
enum machine_part {
	MACHINE_SLAB, /* of the kernel, unreclaimable */
	MACHINE_PAGE_TABLES,
	MACHINE_SHARED,	  /* tmpfs and shared memory */
	MACHINE_SEGMENTS, /* part of it that is System V's */
	MACHINE_SOCKETS,  /* buffers */
	MACHINE_PER_CPU,
	MACHINE_VMALLOC,
	MACHINE_STACKS,	      /* of the kernel, one per thread */
	MACHINE_CACHES,	      /* reclaimable slab */
	MACHINE_DYING_GROUPS, /* removed control groups still held by memory */
	MACHINE_PART_MAX_,
};

struct machine_figure {
	double now; /* bytes, or a number of groups; NAN: unknown */
	enum trend_verdict verdict;
	double per_s; /* of a suspect */
};

struct triage_machine {
	struct machine_figure parts[MACHINE_PART_MAX_];
};

/*
 * Return a part's name in JSON ("slab", "page-tables", ...); its name in words; and the quantity
 * whose limits its verdict uses.
 */
const char *triage_machine_name(enum machine_part part);
const char *triage_machine_words(enum machine_part part);
enum quantity triage_machine_quantity(enum machine_part part);
/* Returns whether the kernel's own call stacks allocate that part. */
bool triage_machine_is_kernels(enum machine_part part);

struct triage_entry {
	pid_t pid;			   /* 0: a container or cgroup */
	const char *comm;		   /* untrusted; "" for a cgroup */
	const char *exe;		   /* untrusted; NULL: unknown */
	const struct container *container; /* NULL: none */
	const char *cgroup;		   /* untrusted; NULL: the root, or unknown */
	size_t processes;		   /* in it; 1 for a process */
	double age_s;			   /* since triage first saw it */
	struct quantities now;		   /* NAN: unknown */
	struct growth growth;
	/* The kind's course over the deciding window, oldest first. */
	float spark[TRIAGE_SPARK_POINTS];
	size_t spark_count;
	const struct triage_sites *sites;	       /* NULL: not tracked */
	const struct profile_report_process *profiled; /* NULL: not profiled */
	const struct triage_samples *sampled;	       /* NULL: no suspect, or not requested */
	/* NULL: no suspect, or without a garbage collector */
	const struct managed_growth *managed;
	/* Increasing goroutines of a Go program that do not end. NULL: none, or not examined. */
	const struct task_group *goroutines;
	const struct triage_cause *cause; /* NULL: not examined, or nothing to explain yet */
	bool doubted;			  /* it would be leaking, but may (still) be garbage */
	bool multiplies; /* a leaking group: its threads, perhaps processes, multiply */
	const struct triage_split *split; /* of a group that the kernel charges; NULL: none */
	/* the cause, if a group grows while no process in it does; static; or NULL */
	const char *why;
};

/*
 * Return the sampled event of a kind: "page faults"; and the unit of its amounts: "threads", NULL:
 * bytes.
 */
const char *triage_samples_event(enum quantity kind);
const char *triage_samples_unit(enum quantity kind);
/* Returns whether too many threads ended unjoined in the window for a coincidence. */
bool triage_samples_have_dead_threads(const struct triage_samples *sampled);
/* Formats the command that shows more of a sampled suspect. Returns text. */
#define TRIAGE_NEXT_SIZE 64
char *triage_samples_next(const struct triage_entry *entry, char text[TRIAGE_NEXT_SIZE]);

/* The kernel's count of a process's memory when it was chosen, in bytes. */
struct triage_kill_memory {
	bool known;
	uint64_t anonymous, file, shared, swap, page_tables;
};

/* An OOM-killed process. */
struct triage_kill {
	const struct oom_kill *where; /* PID, control group, limit, container; borrowed */
	char comm[16];		      /* untrusted */
	bool by_counter; /* noticed at a poll, by its end and its control group's count */
	struct triage_kill_memory memory;
	/* age of its latest reading at the report; entry.pid 0: never read */
	double read_s;
	struct triage_entry entry; /* last known state */
};

#define TRIAGE_LIMITS_SHOWN 10

enum limit_kind {
	LIMIT_MAX,  /* memory.max, or v1's memory.limit_in_bytes: enforced by OOM kills */
	LIMIT_HIGH, /* memory.high: enforced by throttling */
	LIMIT_MACHINE,
	LIMIT_KIND_MAX_,
};

/* Returns "memory.max", "memory.high", "machine". */
const char *limit_kind_name(enum limit_kind kind);

/* A limit of a control group, or of the machine. */
struct limit {
	char *path; /* of the group; untrusted; owned; "": the machine */
	enum limit_kind kind;
	double bytes, used; /* at the latest poll */
	/* share of the last 10 s in which some task waited for memory; NAN: unknown */
	double pressure;
	struct time_left left;
};

/* A limit that is near, or will be reached soon. */
struct triage_limit {
	const struct limit *limit;
	const struct container *container; /* the limited one; NULL: none, or several */
	/* Its fastest-growing, or largest, process; pid 0: none. */
	struct triage_entry entry;
	bool listed; /* also among the processes of the report */
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
	size_t limits_more;		      /* further limits that are near, not listed */
	const struct triage_machine *machine; /* NULL: not read; borrowed */
	const struct triage_kills *kills; /* for which this report is made; NULL: none; borrowed */
	const struct oom_kills *oom;	  /* the totals; NULL: not tracked; borrowed */
	uint64_t lost_reports;		  /* of this run, not written so far */
	struct pushed pushed;
	bool hidden;	     /* hidepid */
	bool samples_stacks; /* of suspects: they may come with a later report */
	size_t waiting;	     /* processes not examined yet, to keep the budget */
	struct text_form form;
	/* Its cost, as shares of one core. */
	double budget_limit, budget_used;
	bool shed_mappings, shed_files;
	unsigned stretch;	 /* 1: polls at the requested rate */
	uint64_t resident_bytes; /* of leakmon */
	double cpu_s;		 /* of leakmon and its children so far */
	double probes_s; /* and of sampled and tracked processes, in its probes: an estimate */
};

void triage_report_free(struct triage_report *report);

/* Returns whether most of its growth is in the heap of a runtime, which no kernel stack shows. */
bool triage_entry_is_managed(const struct triage_entry *entry);
/*
 * Returns whether most of its recent growth is JIT-compiled code, which grows for hours, ever more
 * slowly, up to a limit.
 */
bool triage_entry_compiles(const struct triage_entry *entry);
/* Returns whether most of its growth is outside its heap, and may be freed with garbage in it. */
bool triage_entry_may_be_held_by_garbage(const struct triage_entry *entry);
/*
 * Returns whether its growth may be garbage, by the heap after collections, or is compiled code;
 * false also if neither is known.
 */
bool triage_entry_is_unproven(const struct triage_entry *entry);

/*
 * Formats its cost: "0.78 % of a core"; in its first seconds, dominated by the cost of starting,
 * "0.05 s of CPU time". Returns text.
 */
#define TRIAGE_COST_SIZE 48
char *triage_cost_text(const struct triage_report *report, char text[TRIAGE_COST_SIZE]);

/* Returns the word for an entry: a trend, or the cause of its growth if that is no leak. Static. */
const char *triage_entry_verdict(const struct triage_entry *entry);

/*
 * Figures of a struct triage_entry: those known without a probe, its growth, and for a group its
 * charges; of a struct triage_report, its cost; of the other structs by their names. In JSON, those
 * of samples come before and after their stacks.
 */
struct figures;
extern const struct figures triage_entry_figures, triage_growth_figures, triage_charge_figures,
	triage_cost_figures, triage_cause_figures, triage_managed_figures, triage_sites_figures,
	triage_samples_figures, triage_orphan_figures, triage_stack_figures, triage_file_figures,
	triage_part_figures, triage_limit_figures, triage_kill_figures;

#endif
