/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer about one process: what grows, which code causes it, what holds it, how certain that
 * is, and the next step. Filled by app/diagnose/conclude.h from readings, a profile and heap scans.
 */
#ifndef LEAKMON_REPORT_DIAGNOSIS_H
#define LEAKMON_REPORT_DIAGNOSIS_H

#include "base/text.h"
#include "process/proc/container.h"
#include "report/task_report.h"
#include "report/heap_profile.h"
#include "report/memory_report.h"
#include "report/profile_report.h"
#include "report/report.h"
#include "report/retain_diff.h"
#include "report/thread_report.h"

enum diagnosis_verdict {
	DIAGNOSIS_UNKNOWN, /* something grows, and there is no further evidence */
	DIAGNOSIS_NO_LEAK, /* no growth, or only memory kept by malloc or the kernel */
	DIAGNOSIS_GROWS,   /* held objects, blocks, threads or descriptors increase */
	DIAGNOSIS_LEAKS,   /* the new blocks are unreachable, or never touched */
	DIAGNOSIS_VERDICT_MAX_
};

enum diagnosis_part {
	DIAGNOSED_NOTHING,
	DIAGNOSED_BLOCKS,  /* live malloc blocks */
	DIAGNOSED_OBJECTS, /* of a managed heap */
	DIAGNOSED_GOROUTINES,
	DIAGNOSED_THREADS,
	DIAGNOSED_DESCRIPTORS,
	DIAGNOSED_TMPFS,  /* a file in memory, which need not be resident in the process */
	DIAGNOSED_KERNEL, /* objects that the kernel keeps for the process */
	DIAGNOSED_SYSV,	  /* segments of System V shared memory */
	DIAGNOSED_MEMORY, /* another part: diagnosis.group */
	DIAGNOSED_MAX_
};

/* Return "no-leak"; "native-blocks"; "live malloc blocks". Static. `group`: of DIAGNOSED_MEMORY. */
const char *diagnosis_verdict_name(enum diagnosis_verdict verdict);
const char *diagnosis_part_name(enum diagnosis_part part, enum memory_group group);
const char *diagnosis_part_words(enum diagnosis_part part, enum memory_group group);

/* Two readings of one number. */
struct diagnosed_count {
	bool known;
	uint64_t before, now;
};

/* Blocks of the leading call stack followed by a profile, looked up in the heap. */
struct diagnosed_blocks {
	size_t checked, unreachable, held;
};

/* Blocks of a class at the first scan and at the last. */
struct diagnosed_class {
	uint32_t class; /* of diagnosis.retention */
	/* lasting blocks rise; `was` and `is` exclude blocks that only stacks and registers hold */
	bool lasting;
	bool garbage; /* unreachable objects, without a collector; bytes are estimated */
	struct retention_total was, is;
};

/* The call stack that opens most of the lasting descriptors, since they were seen to increase. */
struct diagnosed_opener {
	const struct report_site *site; /* its largest row; borrowed; NULL: unknown */
	uint64_t opened, closed, open;
	uint64_t staying;	  /* open ones, older than usual for its closes */
	uint64_t oldest_ns;	  /* of the open ones */
	uint64_t closes_reach_ns; /* nearly all closed ones were younger; 0: none closed */
	double share;		  /* of the growth explained by the lasting ones */
};

/* Threads that ended and were never joined. */
struct diagnosed_ended {
	struct diagnosed_count threads;
	uint64_t stack_bytes;		  /* of all their stacks, resident at the end */
	const struct thread_group *group; /* the largest; borrowed; NULL: no known creator */
	double share;			  /* lower bound of the growth explained by this group */
};

/*
 * The call stack, together with those through the same functions, that maps most of the new
 * anonymous memory outside malloc, since it was seen to grow.
 */
struct diagnosed_mapper {
	const struct report_site *site; /* borrowed; NULL: unknown */
	uint64_t bytes, count;		/* still mapped; number of mappings */
	uint64_t resident;		/* of these bytes, including swap */
	double share;			/* of the growth in that time */
};

/* The code of the process on whose behalf the kernel keeps most objects. */
struct diagnosed_kernel {
	const char *what;     /* "inotify watches"; static; NULL: unknown */
	const char *function; /* of the kernel, the largest allocator; borrowed; NULL: unknown */
	const char *cache;    /* its slab cache; borrowed; "": kmalloc */
	uint64_t count;	      /* objects of that cache */
	double bytes;	      /* of all objects left by this code; 0: unknown */
	double seconds;	      /* followed for */
	bool exact;
	const struct frames *frames;   /* of the process; borrowed */
	struct diagnosed_count things; /* by /proc, if counted there */
};

/* Unattached segments, created by this process or its children. */
struct diagnosed_sysv {
	uint64_t segments, bytes;
	bool by_children;
};

#define DIAGNOSIS_CLASSES_MAX 3
#define DIAGNOSIS_FINDINGS_MAX 4

/*
 * One growing quantity, as found by an engine. Findings compete by the share of the counted growth
 * that they explain; the first is the answer.
 */
struct diagnosis_finding {
	enum diagnosis_part part;
	enum memory_group group;	/* of DIAGNOSED_MEMORY */
	enum diagnosis_verdict verdict; /* DIAGNOSIS_GROWS or DIAGNOSIS_LEAKS */
	const char *why;		/* static */
	double bytes;			/* grown; of counted things, the bytes explained */
	double low, high; /* limits of the bytes, of call stacks: counted or 95 %; 0, 0: none */
	bool exact;	  /* all events were tracked or counted: no estimate */
	double share;	  /* of diagnosis.grown_bytes; negative: unknown */
	const struct profile_report_site *site; /* borrowed; NULL: no call stack */
	struct diagnosed_blocks blocks;		/* of that call stack */
	bool counted_lost;			/* unreachable blocks, counted */
	bool ended;				/* threads that have ended */
	bool has_class;
	struct diagnosed_class class; /* of native blocks without a known call stack */
	bool has_root;
	uint32_t root;		 /* of diagnosis.retention: the blocks it reaches increased */
	uint64_t root_was_bytes; /* reached at the first scan */
};

#define DIAGNOSIS_NEXT_SIZE RUNTIME_TOOL_SIZE

struct diagnosis {
	pid_t pid;
	char comm[16];	/* untrusted */
	double seconds; /* from the first reading to the last */
	bool ended;	/* before the last reading */
	enum diagnosis_verdict verdict;
	enum diagnosis_part part;
	enum memory_group group; /* of DIAGNOSED_MEMORY */
	const char *why;	 /* the rule behind the verdict; static */
	/* All borrowed below; NULL: none. */
	const struct container *container;	    /* of the process */
	const struct memory_process *memory;	    /* the last reading */
	const struct memory_conclusion *conclusion; /* from the first reading to the last */
	const struct profile_report_process *profile;
	/*
	 * The largest first; [0] is the answer, unless the verdict is that nothing grows, or that
	 * the cause is unknown.
	 */
	struct diagnosis_finding findings[DIAGNOSIS_FINDINGS_MAX];
	size_t finding_count;
	double grown_bytes; /* all counted growth that may be a leak; negative: unknown */
	/* share of it explained by the answer, with as many findings as necessary */
	double explained;
	const struct profile_report_site *site; /* with the most certain growth or loss */
	bool counted_lost;			/* its blocks are among lost_blocks */
	const struct retain_result *retention;	/* the last scan */
	const struct task_group *goroutines;	/* increasing, and not ending */
	struct diagnosed_opener opener;		/* of most lasting descriptors */
	/* of most of DIAGNOSED_MEMORY, GROUP_OTHER or GROUP_FILES */
	struct diagnosed_mapper mapper;
	struct diagnosed_kernel kernel;	      /* of most of DIAGNOSED_KERNEL */
	struct diagnosed_sysv sysv;	      /* of DIAGNOSED_SYSV */
	struct diagnosed_ended ended_threads; /* of DIAGNOSED_THREADS: threads that have ended */
	const struct live_group *creator;     /* of most lasting threads */
	double creator_share;		      /* lower bound of the growth that these explain */
	struct {
		const char *path; /* untrusted; NULL: none */
		uint64_t before, now;
		bool open; /* by the process, for writing */
	} file;
	const struct heap_profile_site *sampled; /* growing in a Go program's own profile */
	double sampled_s;			 /* since its first reading */
	const struct retained_path *path;	 /* from a root to the growing part */
	/* Increasing garbage whose collection would free the answer's blocks. */
	bool has_awaited;
	struct diagnosed_class awaited;
	/* held objects that increased at every scan */
	struct diagnosed_class classes[DIAGNOSIS_CLASSES_MAX];
	size_t class_count;
	uint64_t class_bytes; /* growth of all classes of increasing objects */
	/* The bounded container that fills up, on the path to the first class; limit 0: none. */
	struct bounded_container filling;
	uint64_t filling_was; /* its entries at the first scan */
	/* Of native blocks: the class with the largest increase of unreachable ones. */
	bool has_lost_class;
	struct diagnosed_class lost_class;
	struct diagnosed_blocks blocks;
	struct diagnosed_count rss, threads, descriptors, lost_blocks, lost_bytes;
	double spent_core; /* share of a core that the profile has cost the process */
	double own_cpu_s;  /* CPU time of leakmon, for all processes of the run */
	unsigned scans;	   /* of the heap */
	/*
	 * The last scan was skipped, because it would have taken this long and delayed the answer;
	 * 0: not skipped.
	 */
	double scan_left_out_s;
	unsigned stops; /* for scans and readings of memory */
	uint64_t longest_stop_ns;
	uint64_t limit_bytes;		/* of its control group; 0: unknown */
	double limit_in_s;		/* at this rate; negative: unknown */
	char next[DIAGNOSIS_NEXT_SIZE]; /* the recommended next command; "": none */
};

struct diagnosis_report {
	struct timespec time;
	const struct diagnosis *items; /* borrowed */
	size_t count;
	struct text_form form;
};

#endif
