// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shapes [PLUGIN]: `go` builds graphs of blocks with known verdicts, each with a size (or a class)
 * of its own; `truth` prints how many of which size are held, lost, or held by untracked
 * memory only. PLUGIN: path of plugin.so, with nortti.so beside it.
 *
 * Three of them are known misses, and expected as such: a pointer that is tagged, compressed or not
 * aligned is not seen, so what only it holds counts as lost. And stale words hold what is lost: in
 * a frame, and behind a block's end, which only a tracked block's size tells.
 */
#include "workload.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

#include <string>

struct expectation {
	const char *shape;
	const char *type; /* a class; NULL: by size */
	size_t size;	  /* as usable */
	unsigned held, lost, untracked;
	unsigned direct; /* of lost blocks */
};

static expectation expectations[64];
static size_t expectation_count, next_size = 10008;
static const char *plugin_path;

/* Registers a shape whose blocks all have one size, and gives that size. */
static size_t shape(const char *name, unsigned held, unsigned lost, unsigned untracked,
		    unsigned direct)
{
	next_size += 16;
	expectations[expectation_count++] = {name, nullptr,   next_size, held,
					     lost, untracked, direct};
	return next_size;
}

static void shape_of_type(const char *name, const char *type, unsigned held, unsigned lost)
{
	expectations[expectation_count++] = {name, type, 0, held, lost, 0, lost};
}

static SITE void **block(size_t size)
{
	return static_cast<void **>(calloc(1, size));
}

/* Roots. Volatile, so that every store happens. */
void *volatile root_tree, *volatile root_list, *volatile root_ring, *volatile root_shared[2];
void *volatile root_interior, *volatile root_last_byte, *volatile root_past_end;
void *volatile root_static_in_array[100], *volatile root_short;
uint64_t root_tagged, root_inverted;
uint32_t root_compressed;
struct __attribute__((packed)) {
	char byte;
	void *pointer;
} root_unaligned;
static thread_local void *volatile thread_root;
static void *volatile *mapped;

static SITE void *make_tree(size_t size, int depth)
{
	void **node = block(size);

	if (depth) {
		node[0] = make_tree(size, depth - 1);
		node[1] = make_tree(size, depth - 1);
	}
	return node;
}

static SITE void *make_list(size_t size, int length)
{
	void **first = nullptr;

	for (int i = 0; i < length; i++) {
		void **node = block(size);

		node[3] = first;
		first = node;
	}
	return first;
}

static SITE void *make_ring(size_t size, int length)
{
	void **last = block(size), **first = last;

	for (int i = 1; i < length; i++) {
		void **node = block(size);

		node[0] = first;
		first = node;
	}
	last[0] = first;
	return first;
}

static SITE void make_held()
{
	root_tree = make_tree(shape("tree held by a global", 127, 0, 0, 0), 6);
	root_list = make_list(shape("list held by a global", 200, 0, 0, 0), 200);
	root_ring = make_ring(shape("ring held by a global", 7, 0, 0, 0), 7);
	root_shared[0] = root_shared[1] = block(shape("block held twice", 1, 0, 0, 0));
	root_static_in_array[99] = block(shape("held by the last of an array", 1, 0, 0, 0));
}

static SITE void make_lost()
{
	make_tree(shape("lost tree", 0, 127, 0, 1), 6);
	make_list(shape("lost list", 0, 200, 0, 1), 200);
	make_ring(shape("lost ring", 0, 7, 0, 1), 7);
	/* Two lists with one tail: two are lost directly. */
	size_t size = shape("two lost heads of one tail", 0, 3, 0, 2);
	void **tail = block(size);
	block(size)[0] = tail;
	block(size)[0] = tail;
	void **self = block(shape("lost block that points to itself", 0, 1, 0, 1));
	self[0] = self;
}

static SITE void make_interior()
{
	size_t size = shape("interior pointer", 1, 0, 0, 0);

	root_interior = reinterpret_cast<char *>(block(size)) + 500;
	size = shape("pointer to the last byte", 1, 0, 0, 0);
	root_last_byte = reinterpret_cast<char *>(block(size)) + size - 1;
	size = shape("pointer one past the end only", 0, 1, 0, 1);
	root_past_end = reinterpret_cast<char *>(block(size)) + size;
}

static SITE void make_missed()
{
	root_tagged = reinterpret_cast<uint64_t>(block(shape("tagged (known miss)", 0, 1, 0, 1))) |
		      0xab00000000000000;
	root_compressed = static_cast<uint32_t>(
		reinterpret_cast<uint64_t>(block(shape("compressed (known miss)", 0, 1, 0, 1))) >>
		4);
	root_unaligned.pointer = block(shape("unaligned (known miss)", 0, 1, 0, 1));
	root_inverted =
		~reinterpret_cast<uint64_t>(block(shape("inverted (known miss)", 0, 1, 0, 1)));
}

/* A left-over word of an earlier block, behind the end of its successor. */
static SITE void make_stale_end()
{
	size_t held =
		shape("held by a stale word behind the end (known: counts as held)", 1, 0, 0, 0);
	size_t size = shape("block with a stale word behind its end", 1, 0, 0, 0);
	char *volatile older = static_cast<char *>(malloc(size));

	*reinterpret_cast<void *volatile *>(older + size - 16) = block(held);
	free(older);
	/* One byte into that word, which nobody writes: the allocator rounds up to the same size.
	 */
	root_short = malloc(size - 15);
	if (root_short != older)
		abort();
}

static SITE void make_mapped()
{
	mapped = static_cast<void **>(
		mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	mapped[7] = block(shape("held by mapped memory only", 0, 0, 1, 0));
}

static SITE void make_kernel_held()
{
	int poll = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, EFD_CLOEXEC);
	struct epoll_event entry = {};
	struct sigevent notify = {};
	struct itimerspec when = {};
	timer_t timer;

	entry.data.ptr = block(shape("held by epoll data", 1, 0, 0, 0));
	epoll_ctl(poll, EPOLL_CTL_ADD, event, &entry);
	entry.data.ptr = nullptr;
	notify.sigev_notify = SIGEV_SIGNAL;
	notify.sigev_signo = SIGUSR2;
	notify.sigev_value.sival_ptr = block(shape("held by a timer", 1, 0, 0, 0));
	when.it_value.tv_sec = 1000000;
	timer_create(CLOCK_MONOTONIC, &notify, &timer);
	timer_settime(timer, 0, &when, nullptr);
	memset(&notify, 0, sizeof(notify));
	memset(&entry, 0, sizeof(entry));
}

/* Big enough to be mapped by itself; the second behind an aligned address in its mapping. */
void *volatile root_big, *volatile root_aligned;

static SITE void make_big()
{
	size_t usable;

	root_big = calloc(1, 300000);
	usable = malloc_usable_size(root_big);
	expectations[expectation_count++] = {"mapped block", nullptr, usable, 1, 0, 0, 0};
	root_aligned = aligned_alloc(4096, 409600);
	usable = malloc_usable_size(root_aligned);
	expectations[expectation_count++] = {"aligned mapped block", nullptr, usable, 1, 0, 0, 0};
	void *big = calloc(1, 500000);
	usable = malloc_usable_size(opaque_pointer(big));
	expectations[expectation_count++] = {"lost mapped block", nullptr, usable, 0, 1, 0, 1};
	static_cast<void *volatile *>(root_big)[1000] =
		block(shape("held by a mapped block", 1, 0, 0, 0));
}

/* Freed blocks must not be seen, wherever malloc keeps them. */
static SITE void make_freed()
{
	static void *many[40];

	free(block(200));
	expectations[expectation_count++] = {
		"freed: in a thread's cache", nullptr, 200, 0, 0, 0, 0};
	for (auto &one : many)
		one = malloc(120);
	for (auto &one : many)
		free(one);
	expectations[expectation_count++] = {"freed: fast bin", nullptr, 120, 0, 0, 0, 0};
}

/* C++ */
struct Plain {
	virtual ~Plain() = default;
	uint64_t value = 1;
};
struct Left {
	virtual ~Left() = default;
	uint64_t left = 2;
};
struct Right {
	virtual ~Right() = default;
	uint64_t right = 3;
};
struct Multiple : Left, Right {
	uint64_t own = 4;
};
struct Base {
	virtual ~Base() = default;
	uint64_t base = 5;
};
struct Virtual : virtual Base {
	uint64_t own = 6;
};
template <typename T> struct Box {
	virtual ~Box() = default;
	T value = {};
};
struct LostClass {
	virtual ~LostClass() = default;
	uint64_t value = 7;
};
struct Element {
	virtual ~Element() = default;
	uint64_t value = 8;
};
namespace
{
struct Local {
	virtual ~Local() = default;
	uint64_t value = 9;
};
} // namespace

Plain *volatile root_plain;
Right *volatile root_right; /* an interior pointer: the second base */
Base *volatile root_base;
Box<int> *volatile root_box;
Element *volatile root_elements;
Local *volatile root_local;

static SITE void make_classes()
{
	root_plain = new Plain;
	shape_of_type("class", "Plain", 1, 0);
	root_right = new Multiple;
	shape_of_type("held by its second base", "Multiple", 1, 0);
	root_base = new Virtual;
	shape_of_type("held by a virtual base", "Virtual", 1, 0);
	root_box = new Box<int>;
	shape_of_type("template", "Box<int>", 1, 0);
	root_elements = new Element[10];
	shape_of_type("new T[n], held behind its count", "Element", 1, 0);
	root_local = new Local;
	shape_of_type("of an anonymous namespace", "(anonymous namespace)::Local", 1, 0);
	for (int i = 0; i < 5; i++)
		opaque_pointer(new LostClass);
	shape_of_type("lost objects", "LostClass", 0, 5);
}

/* C: a table of functions. */
struct ops {
	void (*open)();
	void (*close)();
};
static void file_open()
{
}
static void file_close()
{
}
extern const struct ops file_ops;
const struct ops file_ops = {file_open, file_close};
void *volatile root_file;

static SITE void make_ops()
{
	void **file = block(72);

	file[0] = const_cast<ops *>(&file_ops);
	root_file = file;
	shape_of_type("C object by its functions", "file_ops", 1, 0);
}

/* Threads that hold something where only they can. */
static pthread_barrier_t ready;
static size_t register_size, call_size, below_size, stack_size, stale_size, local_size;

/* Copies elsewhere would make this no test: wipe what malloc's callees left. */
#define WAIT_WITH_BLOCK_IN(name, size)                                                             \
	do {                                                                                       \
		void *held = block(size);                                                          \
                                                                                                   \
		__asm__ volatile("mov %0, %%" name "\n\t"                                          \
				 "xor %0, %0\n\t"                                                  \
				 "lea -4096(%%rsp), %%rdi\n\t"                                     \
				 "xor %%eax, %%eax\n\t"                                            \
				 "mov $512, %%ecx\n\t"                                             \
				 "rep stosq\n\t"                                                   \
				 "mov $34, %%eax\n\t" /* pause */                                  \
				 "syscall\n\t"                                                     \
				 : "+d"(held)                                                      \
				 :                                                                 \
				 : "rax", "rcx", "rdi", "r11", "memory", name);                    \
	} while (0)

static void *hold_in_register(void *)
{
	WAIT_WITH_BLOCK_IN("rbx", register_size);
	return nullptr;
}

static void *hold_in_call(void *)
{
	WAIT_WITH_BLOCK_IN("rsi", call_size);
	return nullptr;
}

/* The pointer is below the red zone: an interruption would overwrite it. */
static void *hold_below_stack(void *)
{
	void *held = block(below_size);

	/* Wipes what was left there before, and everything up to the stack pointer. */
	__asm__ volatile("mov %0, %%rdx\n\t"
			 "xor %0, %0\n\t"
			 "lea -4096(%%rsp), %%rdi\n\t"
			 "xor %%eax, %%eax\n\t"
			 "mov $512, %%ecx\n\t"
			 "rep stosq\n\t"
			 "mov %%rdx, -2048(%%rsp)\n\t"
			 "xor %%edx, %%edx\n\t"
			 "mov $34, %%eax\n\t" /* pause */
			 "syscall\n\t"
			 : "+r"(held)
			 :
			 : "rax", "rcx", "rdx", "rdi", "r11", "memory");
	return nullptr;
}

static SITE void *hold_on_stack(void *)
{
	void *volatile held = block(stack_size);
	/* Never read again, but not distinguishable from a pointer that is. */
	void *volatile stale = block(stale_size);

	(void)stale;
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return held;
}

static void *hold_in_thread_local(void *)
{
	thread_root = block(local_size);
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
}

static void start(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, nullptr, run, nullptr);
	pthread_detach(thread);
}

static SITE void make_threads()
{
	register_size = shape("held by a register only", 1, 0, 0, 0);
	call_size = shape("held by an argument of a system call only", 1, 0, 0, 0);
	stack_size = shape("held by a thread's stack", 1, 0, 0, 0);
	stale_size =
		shape("held by a stale slot of a live frame (known: counts as held)", 1, 0, 0, 0);
	local_size = shape("held by a thread-local", 1, 0, 0, 0);
	below_size = shape("below a thread's red zone only", 0, 1, 0, 1);
	pthread_barrier_init(&ready, nullptr, 3);
	start(hold_in_register);
	start(hold_in_call);
	start(hold_on_stack);
	start(hold_in_thread_local);
	start(hold_below_stack);
	pthread_barrier_wait(&ready);
	usleep(50000);
}

static SITE void make_plugin()
{
	void *library = plugin_path ? dlopen(plugin_path, RTLD_NOW) : nullptr;
	void **pointer = library ? static_cast<void **>(dlsym(library, "plugin_pointer")) : nullptr;

	if (pointer)
		*pointer = block(shape("held by a global of a plug-in", 1, 0, 0, 0));
}

static SITE void make_without_rtti()
{
	std::string path = plugin_path ? plugin_path : "";
	void *library =
		dlopen((path.substr(0, path.rfind('/') + 1) + "nortti.so").c_str(), RTLD_NOW);
	void (*make)() =
		library ? reinterpret_cast<void (*)()>(dlsym(library, "nortti_make")) : nullptr;

	if (!make)
		return;
	make();
	shape_of_type("compiled with -fno-rtti", "plain::Derived", 1, 0);
	shape_of_type("compiled with -fno-rtti, lost", "plain::Untyped", 0, 3);
}

/* Left-over words of calls, below and in registers, must not hold anything. */
static SITE void wipe()
{
	volatile char stack[32768];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	for (size_t i = 0; i < sizeof(stack); i++)
		(void)stack[i];
}

static void go()
{
	make_held();
	make_lost();
	make_interior();
	make_missed();
	make_stale_end();
	make_mapped();
	make_kernel_held();
	make_big();
	make_classes();
	make_ops();
	make_threads();
	make_plugin();
	make_without_rtti();
	make_freed();
	wipe();
}

static void print_truth()
{
	say("{\"shapes\":[");
	for (size_t i = 0; i < expectation_count; i++) {
		const expectation &one = expectations[i];

		say("%s{\"shape\":\"%s\",\"type\":\"%s\",\"size\":%zu,\"held\":%u,\"lost\":%u,"
		    "\"untracked\":%u,\"direct\":%u}",
		    i ? "," : "", one.shape, one.type ? one.type : "", one.size, one.held, one.lost,
		    one.untracked, one.direct);
	}
	say("]}\n");
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{"go", go, false},
		{"truth", print_truth, true},
	};
	static const struct truth truth = {};

	plugin_path = argc > 1 ? argv[1] : nullptr;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
