/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every shared map and every setting. Definitions are weak, so that each .bpf.c may include this
 * file and the linked object holds one of each. Sizes marked "set at load" come from the command
 * line.
 */
#ifndef LEAKMON_BPF_MAPS_H
#define LEAKMON_BPF_MAPS_H

#include "kernel.h"

/* --- settings, constant once loaded: the verifier removes disabled code --- */

/* --empty-programs: the minimum cost of any uprobe tool. */
const volatile bool empty_programs __weak = false;
/* Allocating functions have one session program each, for entry and return, instead of two. */
const volatile bool session __weak = false;
/* A return probe is a system call that Syscall User Dispatch turns into a fatal signal. */
const volatile bool dispatch_kills __weak = false;
const volatile bool trace __weak = false; /* --trace: an event per call */
const volatile __u64 min_size __weak = 0;
const volatile __u64 max_size __weak = ~0ull;
/* The page size of this kernel, in bytes: a power of two. */
const volatile __u64 page_size __weak = 4096;
const volatile __u32 max_sites __weak = 0;
const volatile __u32 max_processes __weak = 0;
const volatile __u64 sample_rate __weak = 1;  /* each allocation with probability 1/N */
const volatile __u64 sample_bytes __weak = 0; /* each byte with probability 1/N; 0: off */
/*
 * e^-x in 32-bit fixed point, for account.bpf.h: row 0 for whole x (0..31), row r for the r-th
 * hexadecimal digit of the fraction. Filled at load.
 */
const volatile __u32 exp_table[9][32] __weak = {};
const volatile __u32 stack_walk __weak = LM_STACK_WALK_AUTO; /* enum lm_stack_walk */
/* Several processes share the room of --max-blocks and --max-sites; see account.bpf.h. */
const volatile bool fair_share __weak = false;
const volatile __u64 max_blocks __weak = 0;
/*
 * User space is told of every exec, and of every fork of a traced process: it decides which join.
 */
const volatile bool announce __weak = false;
/* -f: children of targets become targets. */
const volatile bool follow_forks __weak = false;
/* The process that leakmon itself started (-c): stopped at each exec, until probed. 0: none. */
const volatile __u32 launched_tgid __weak = 0;
/* Probes see the threads of one process only, and no other process that shares its memory. */
const volatile bool sees_group_only __weak = false;
/*
 * Runs of allocators' probes are counted and timed. The kernel can do that, too (BPF_ENABLE_STATS),
 * but only for CAP_SYS_ADMIN and for every program of the machine, and toggling it costs more than
 * a short window.
 */
const volatile bool counts_hits __weak = false;

/* --- counters --- */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LM_HIT_SLOTS);
	__type(key, u32); /* lm_hit_slot() */
	__type(value, struct lm_hits);
} hits __weak SEC(".maps");

__u32 site_count __weak = 1;	/* next free index in `sites`; 0 is LM_SITE_LOST */
__u32 process_count __weak = 1; /* next free index in `processes`; 0 is LM_SLOT_LOST */
__u64 events_lost __weak = 0;	/* process events that found the ring buffer full */
__u64 calls_lost __weak = 0;	/* calls that found it full: --trace */
__u32 strays __weak = 0;	/* indices of sites and slots in no queue */
__s64 blocks_used __weak = 0;	/* in `blocks`; only with fair_share */
__s64 sites_used __weak = 0;	/* of `sites` */
__s64 processes_alive __weak = 0;

/* The start of the launched process, once it has execed: its PID may be reused later. */
__u64 launched_start __weak = 0;
__u32 launched_stops __weak = 0; /* number of times it was stopped */

/* Incremented by user space when slots and sites of ended processes become free. */
__u32 recycle_generation __weak = 1;

/* Incremented by user space whenever it changes a process's mappings or rows. */
__u32 unwind_generation __weak = 1;

/* --- the live set: one entry per outstanding block --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load: --max-blocks */
	__type(key, struct lm_block_key);
	__type(value, struct lm_block);
} blocks __weak SEC(".maps");

/* --- sites: hash of (process, stack) -> index; the arrays are mapped by user space --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(key, u64);
	__type(value, u32);
} site_index __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(key, u32);
	__type(value, struct lm_site);
} sites __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(key, u32);
	__type(value, struct lm_stack);
} stacks __weak SEC(".maps");

/* Indices that user space has returned, all zeroed: taken before new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(value, u32);
} free_sites __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set at load */
	__type(value, u32);
} free_slots __weak SEC(".maps");

/* --- processes: incarnation -> slot; the slot's ledger, one copy per CPU --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, lm_process_key);
	__type(value, u32);
} process_index __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_process);
} processes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_ledger);
} ledgers __weak SEC(".maps");

/* --- watched processes: tgid -> struct lm_target --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_target);
} targets __weak SEC(".maps");

/* --- Python programs, by tgid; their number --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LM_MAX_PYTHONS);
	__type(key, u32);
	__type(value, struct lm_python);
} pythons __weak SEC(".maps");

__u32 python_count __weak = 0;

/* --- a call of an allocator that has not returned yet --- */
enum call_kind {
	CALL_NONE,
	CALL_ALLOCATE, /* the result is the return value */
	CALL_OUT,      /* the result is at *pointer when the return value is 0 */
	/* `pointer` is freed when the result is not NULL, or when size is 0 */
	CALL_RESIZE,
	CALL_RESIZE_OR_FREE,  /* `pointer` is freed in any case */
	CALL_RESIZE_IN_PLACE, /* `pointer` stays; it grew if the result is at least `size` */
};

struct call {
	u64 sp; /* the caller's stack pointer, restored at the return */
	u64 size;
	u64 pointer; /* CALL_OUT: where the result goes; CALL_RESIZE*: the old block, or NULL */
	struct lm_block old; /* CALL_RESIZE*: its record on the ledger */
	u32 kind;	     /* enum call_kind */
	u32 function;	     /* attach cookie; only with --trace */
	bool old_tracked;
};

/* --- the latest call without a followed return: calls inside it are not counted --- */
struct unfollowed_call {
	u64 sp; /* as in struct call; 0: none */
	u64 return_address;
	u32 function;
};

/* --- a call that may throw, and so may never return: see throwing.bpf.h --- */
struct throwing_call {
	u64 sp; /* as in struct call */
	u64 return_address;
	u64 fp; /* of the caller */
	u64 size;
	u32 function;
	bool pending;
};

/*
 * Pages of code without rows that one thread reports per generation: new libraries come in groups.
 */
#define UNWIND_MISSING_PAGES 4

/* A stack walk in progress: the registers of the frame it has reached. */
struct unwind_state {
	u64 ip, sp, fp;
	u64 link;	       /* see struct lm_frame */
	struct lm_range range; /* the mapping of the latest ip */
	u32 tgid;
	u32 generation; /* the unwind_generation of `range` */
	/* grows with the generation and with each exec; older cached rows are invalid */
	u32 epoch;
	u32 missing; /* generation of missing_pages */
	u32 missing_count;
	u64 missing_pages[UNWIND_MISSING_PAGES]; /* reported to user space as lacking rows */
	u32 end;				 /* enum lm_walk_end, once the walk has ended */
	u32 depth;				 /* frames so far, and their hash */
	u32 native;				 /* of `depth`, at the end: see struct stack_walk */
	u64 hash;
	u64 note;     /* of the interpreted frame that the latest step left; 0: none */
	s32 fp_words; /* where the latest step found fp: see struct unwind_step */
	/* ip is the current instruction (a signal interrupted the frame), not a return address */
	bool exact_ip;
	bool closed; /* the walk ended by a row alone, without a read */
	bool ended;
};

/* Words below a frame's stack pointer that are read at once: the return address, and usually fp. */
#define UNWIND_NEAR_WORDS 8
/* `fp_words` of a step that depends on words read elsewhere, too. */
#define UNWIND_OPAQUE (-128)
/* In the lower bits of unwind_step.at. */
#define UNWIND_SP_MASK ((1ull << 56) - 1)

/* A frame that a walk has reached; its address is stored separately. */
struct unwind_step {
	u64 fp;
	/*
	 * sp; in the highest byte, how many words above it the step to here found fp (s8; 0: fp is
	 * the callee's)
	 */
	u64 at;
};

/* The longest stretch of stack read at once. */
#define UNWIND_WINDOW_WORDS 128
/* Frames after which a walk stops trying to join the latest one. */
#define UNWIND_FRESH 16
#define UNWIND_PLACES 64

struct stack_walk {
	u32 first; /* position in the thread's trail */
	u32 depth;
	u32 end;    /* enum lm_walk_end */
	u32 native; /* of `depth`, before Python's own: account.bpf.h */
	u64 hash;
};

/*
 * The latest walk of a thread, which the next one joins: see unwind.bpf.h. Positions grow from the
 * leaf to the root; the arrays are indexed modulo their length.
 */
struct unwind_trail {
	u32 first, end; /* equal: empty */
	u32 epoch;
	u32 at; /* the walk's position */
	u32 fresh;
	bool closed; /* the last frame is the root, by its row alone */
	bool same;   /* the frame at `at` is unchanged, and the following may be, too */
	bool whole;  /* with unchanged frames a walk ends as `latest` did */
	bool behind; /* the walk's registers are still those of a frame before `at` */
	struct stack_walk latest;
	u8 places[UNWIND_PLACES]; /* by stack pointer: where its frame may be kept */
	u64 fresh_frames[UNWIND_FRESH];
	struct unwind_step fresh_steps[UNWIND_FRESH];
	u64 frames[LM_MAX_FRAMES + 1];
	struct unwind_step steps[LM_MAX_FRAMES + 1];
	u64 window[UNWIND_WINDOW_WORDS + 1];
};

/* The row found for an address; `row.pc` is the epoch. */
struct unwind_known_row {
	u64 address;
	struct lm_unwind_row row;
};

#define UNWIND_KNOWN_ROWS 64

/* A site by the hash of its stack. */
struct known_site {
	u64 hash;
	u32 site;
	u32 recycled; /* recycle_generation when it was found */
};

#define KNOWN_SITES 16

/*
 * A thread's state between events. In task storage and not per CPU: uprobe programs can be
 * preempted by another thread's on the same CPU.
 */
struct thread {
	lm_process_key process;
	u64 exec_id;
	u32 slot;
	u32 slot_cause;	      /* enum lm_drop: why it has no slot */
	u32 recycled;	      /* recycle_generation of `slot` */
	bool known;	      /* the four fields above are valid */
	struct call calls[2]; /* on the thread's stack; on its alternate signal stack */
	struct call inner[2]; /* inside those: resizes of blocks on the ledger */
	struct unfollowed_call unfollowed[2];
	struct throwing_call throwing[2]; /* per stack, as `calls` */
	u64 returned;	     /* result of the latest call, until it is freed; for throwing.bpf.h */
	u64 freed, freed_sp; /* the latest free: an interposer passes it on to the one below */
	u64 brk;	     /* --mappings: the break when a brk call began */
	struct known_site sites[KNOWN_SITES];
	struct unwind_state walk;
	struct unwind_known_row rows[UNWIND_KNOWN_ROWS];
	struct unwind_trail trail;
};

/* Newer kernels limit it to two pages. */
_Static_assert(sizeof(struct thread) < 8192 - 256, "task storage");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads __weak SEC(".maps");

/* --- to user space: process events, and --trace --- */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024); /* --trace: set at load */
} events __weak SEC(".maps");

#endif
