// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * locals DIRECTORY: `go` starts three threads that each keep blocks in thread-locals of the
 * program, of a library it is linked to, and of libraries in DIRECTORY that it loads while the
 * threads run; `truth` prints the number and size of the blocks of each variable, and the number of
 * its threads. Nothing else points to them.
 */
#include "workload.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include <string>

#define THREADS 3

extern "C" void start_keep(void *first, void *second);

struct expectation {
	const char *name, *module; /* name "": the module's, of which no names are known */
	unsigned threads, blocks;
	size_t size; /* as usable */
};

static expectation expectations[32];
static size_t expectation_count, next_size = 30008;
static std::string directory;

static size_t expect(const char *name, const char *module, unsigned threads, unsigned blocks)
{
	next_size += 16;
	expectations[expectation_count++] = {name, module, threads, blocks, next_size};
	return next_size;
}

static SITE void **block(size_t size)
{
	return static_cast<void **>(calloc(1, size));
}

/* The program's. */
static __thread void *volatile program_local;
static __thread void *volatile local_of_main;
static __thread void *volatile chain_local;
static size_t keeper_size, nested_size;
namespace cache
{
struct Keeper {
	void *volatile held;
	Keeper() : held(block(keeper_size))
	{
	}
	~Keeper()
	{
		free(held);
	}
	void touch()
	{
		__asm__ volatile("" : : "r"(this) : "memory");
	}
};
thread_local Keeper keeper;
} // namespace cache

static SITE void keep_nested()
{
	static thread_local void *volatile nested;

	nested = block(nested_size);
	(void)nested;
}

static void (*later_keep[3])(void *, void *);
static size_t program_size, chain_size, start_sizes[2], later_sizes[3][2], key_size;
static pthread_key_t key;
static pthread_barrier_t started, loaded, kept;

static SITE void keep_all()
{
	void **first = block(chain_size);

	first[2] = block(chain_size);
	chain_local = first;
	program_local = block(program_size);
	cache::keeper.touch();
	keep_nested();
	pthread_setspecific(key, block(key_size));
	start_keep(block(start_sizes[0]), block(start_sizes[1]));
	for (size_t i = 0; i < ARRAY_SIZE(later_keep); i++)
		later_keep[i](block(later_sizes[i][0]), block(later_sizes[i][1]));
}

/* Left-over words of calls must not hold anything. */
static SITE void wipe()
{
	volatile char stack[16384];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	for (size_t i = 0; i < sizeof(stack); i++)
		(void)stack[i];
}

static void *run(void *)
{
	pthread_barrier_wait(&started);
	pthread_barrier_wait(&loaded);
	keep_all();
	wipe();
	pthread_barrier_wait(&kept);
	for (;;)
		pause();
	return nullptr;
}

static void load(size_t i, const char *name)
{
	std::string file = directory + "/locals_" + name + ".so", function = name;
	void *library = dlopen(file.c_str(), RTLD_NOW);

	if (!library) {
		fprintf(stderr, "locals: %s\n", dlerror());
		exit(1);
	}
	later_keep[i] = reinterpret_cast<void (*)(void *, void *)>(
		dlsym(library, (function + "_keep").c_str()));
}

static void make_expectations()
{
	static char key_name[64];

	snprintf(key_name, sizeof(key_name), "pthread_setspecific key %u", key);
	program_size = expect("program_local", "locals", THREADS, THREADS);
	chain_size = expect("chain_local", "locals", THREADS, 2 * THREADS);
	keeper_size = expect("cache::keeper", "locals", THREADS, THREADS);
	nested_size = expect("keep_nested()::nested", "locals", THREADS, THREADS);
	key_size = expect(key_name, "libc.so.6", THREADS, THREADS);
	start_sizes[0] = expect("private_local", "locals_start.so", THREADS, THREADS);
	start_sizes[1] = expect("start_exported", "locals_start.so", THREADS, THREADS);
	later_sizes[0][0] = expect("private_local", "locals_later.so", THREADS, THREADS);
	later_sizes[0][1] = expect("later_exported", "locals_later.so", THREADS, THREADS);
	later_sizes[1][0] = expect("private_local", "locals_later_static.so", THREADS, THREADS);
	later_sizes[1][1] =
		expect("later_static_exported", "locals_later_static.so", THREADS, THREADS);
	later_sizes[2][0] = expect("", "locals_later_stripped.so", THREADS, THREADS);
	later_sizes[2][1] =
		expect("later_stripped_exported", "locals_later_stripped.so", THREADS, THREADS);
}

static void go()
{
	pthread_barrier_init(&started, nullptr, THREADS + 1);
	pthread_barrier_init(&loaded, nullptr, THREADS + 1);
	pthread_barrier_init(&kept, nullptr, THREADS + 1);
	pthread_key_create(&key, nullptr);
	make_expectations();
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		pthread_create(&thread, nullptr, run, nullptr);
		pthread_detach(thread);
	}
	pthread_barrier_wait(&started);
	load(0, "later");
	load(1, "later_static");
	load(2, "later_stripped");
	pthread_barrier_wait(&loaded);
	pthread_barrier_wait(&kept);
	local_of_main = block(expect("local_of_main", "locals", 1, 1));
	wipe();
	usleep(50000);
}

static void print_truth()
{
	say("{\"locals\":[");
	for (size_t i = 0; i < expectation_count; i++) {
		const expectation &one = expectations[i];

		say("%s{\"name\":\"%s\",\"module\":\"%s\",\"threads\":%u,\"blocks\":%u,\"size\":%"
		    "zu}",
		    i ? "," : "", one.name, one.module, one.threads, one.blocks, one.size);
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

	directory = argc > 1 ? argv[1] : ".";
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
