// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads in C++: behaviour that must not change under observation. Exceptions cross the callers of
 * pthread_join, in both directions; joins are cancelled, and what they waited for is joined by
 * another; threads leave by pthread_exit; destructors must run exactly once.
 *
 *   unwinding            commands: some (100 rounds), truth, quit
 *   unwinding ROUNDS     that many rounds at once; exit code 42
 *
 * Any deviation ends the program with abort().
 */
#include <atomic>
#include <future>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>

#include "workload.h"

static uint64_t created, joined, dead, rounds;
static std::atomic<int> guards;
static char marker;

static void must(bool condition)
{
	if (!condition)
		abort();
}

struct guard {
	guard()
	{
		guards++;
	}
	~guard()
	{
		guards--;
	}
};

/* Joins on the way out, whichever way that is. */
struct joining {
	std::thread thread;

	~joining()
	{
		thread.join();
		joined++;
	}
};

/* An exception passes a frame with a destructor in pthread_join. */
SITE static void throw_past_a_join(int value)
{
	joining running{std::thread([value] { must(value > 0); })};

	created++;
	throw std::runtime_error(std::to_string(value));
}

static void *returns_one(void *)
{
	guard held;

	return reinterpret_cast<void *>(1);
}

/* A join succeeds, and its caller throws at once. */
SITE static void join_and_throw()
{
	pthread_t thread;
	void *result;

	must(!pthread_create(&thread, nullptr, returns_one, nullptr));
	created++;
	must(!pthread_join(thread, &result));
	joined++;
	throw result;
}

static void exceptions()
{
	int caught = 0;

	try {
		throw_past_a_join(7);
	} catch (const std::exception &error) {
		caught += std::string(error.what()) == "7";
	}
	try {
		join_and_throw();
	} catch (void *result) {
		caught += result == reinterpret_cast<void *>(1);
	}
	must(caught == 2);
}

/* An exception is carried from one thread to the one that joins it. */
static void futures()
{
	auto result = std::async(std::launch::async, []() -> int {
		guard held;
		throw std::out_of_range("far");
	});
	bool caught = false;

	created++;
	try {
		result.get();
	} catch (const std::out_of_range &) {
		caught = true;
	}
	joined++;
	must(caught);
}

/* --- cancellation --- */

struct waiting {
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t inner;
	std::atomic<bool> begun{false};
};

static void *waits_at_the_gate(void *argument)
{
	auto *shared = static_cast<waiting *>(argument);

	pthread_mutex_lock(&shared->gate);
	pthread_mutex_unlock(&shared->gate);
	return argument;
}

/* It never gets past the join: the cancellation unwinds it, through a C++ frame. */
static void *joins_in_vain(void *argument)
{
	auto *shared = static_cast<waiting *>(argument);
	guard held;

	shared->begun = true;
	pthread_join(shared->inner, nullptr);
	abort();
}

static void cancelled_join()
{
	waiting shared;
	pthread_t outer;
	void *result;

	pthread_mutex_lock(&shared.gate);
	must(!pthread_create(&shared.inner, nullptr, waits_at_the_gate, &shared));
	must(!pthread_create(&outer, nullptr, joins_in_vain, &shared));
	created += 2;
	while (!shared.begun)
		sched_yield();
	if (rounds % 2)
		usleep(100);
	must(!pthread_cancel(outer));
	must(!pthread_join(outer, &result) && result == PTHREAD_CANCELED);
	pthread_mutex_unlock(&shared.gate);
	/* Not joined yet. */
	must(!pthread_join(shared.inner, &result) && result == &shared);
	joined += 2;
}

static void *leaves_early(void *argument)
{
	guard held;

	pthread_exit(argument);
}

static void early_exit()
{
	pthread_t thread;
	void *result;

	must(!pthread_create(&thread, nullptr, leaves_early, &marker));
	created++;
	must(!pthread_join(thread, &result) && result == &marker);
	joined++;
}

SITE static void forget_one()
{
	pthread_t thread;

	must(!pthread_create(&thread, nullptr, returns_one, nullptr));
	created++;
	dead++;
}

static void run_round()
{
	exceptions();
	futures();
	cancelled_join();
	early_exit();
	if (rounds++ % 10 == 0)
		forget_one();
}

/* Threads have ended when the kernel reports it; std::async's had a guard until then. */
static void settle()
{
	for (int tries = 0; guards && tries < 10000; tries++)
		usleep(100);
	must(!guards);
	usleep(20000);
}

static void some()
{
	for (int i = 0; i < 100; i++)
		run_round();
	settle();
}

static void truth()
{
	say("{\"created\":%lu,\"joined\":%lu,\"dead\":%lu,\"rounds\":%lu}\n", created, joined, dead,
	    rounds);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{"some", some, false}, {"truth", truth, true}};
	static const struct truth none = {};
	uint64_t wanted = argument(argc, argv, 1, 0);

	if (!wanted)
		return workload_serve(commands, ARRAY_SIZE(commands), &none);
	while (rounds < wanted)
		run_round();
	settle();
	return 42;
}
