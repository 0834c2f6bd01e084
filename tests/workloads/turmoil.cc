// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * turmoil: prints "ready PID", and then throws exceptions through frames that hold memory, cancels
 * threads that allocate, and forks children that allocate and end with a status of their own, all
 * the time, until SIGTERM. It ends with 43 if each exception was caught with its value, each thread
 * was cancelled, and each child ended as expected.
 */
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t done;
static bool failed;

static void on_term(int)
{
	done = 1;
}

__attribute__((noinline)) static void throw_deep(int depth, int value)
{
	std::unique_ptr<int> block(new int(value));
	std::vector<int> values(static_cast<size_t>(depth) * 10 + 1, value);

	if (depth == 0)
		throw values.back();
	throw_deep(depth - 1, *block);
}

static void throw_one(int value)
{
	try {
		throw_deep(5, value);
	} catch (int caught) {
		if (caught == value)
			return;
	}
	failed = true;
}

static void release(void *block)
{
	free(block);
}

static void *allocate_for_ever(void *)
{
	for (;;) {
		void *volatile block = malloc(100);

		pthread_cleanup_push(release, block);
		pthread_testcancel();
		pthread_cleanup_pop(1);
	}
}

static void cancel_one()
{
	pthread_t thread;
	void *result = nullptr;

	if (pthread_create(&thread, nullptr, allocate_for_ever, nullptr) ||
	    (usleep(500), pthread_cancel(thread)) || pthread_join(thread, &result) ||
	    result != PTHREAD_CANCELED)
		failed = true;
}

static void fork_one(int value)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		for (int i = 0; i < 100; i++) {
			void *volatile block = malloc(static_cast<size_t>(i));

			free(block);
		}
		_exit(value % 100);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != value % 100)
		failed = true;
}

int main()
{
	signal(SIGTERM, on_term);
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (int i = 0; !done; i++) {
		for (int j = 0; j < 20; j++)
			throw_one(i * 20 + j);
		cancel_one();
		fork_one(i);
	}
	return failed ? 44 : 43;
}
