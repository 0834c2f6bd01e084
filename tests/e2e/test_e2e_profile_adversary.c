// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon profile against deceptions of checks from outside: reused places, contents shared by many
 * blocks, blocks that are written to, mapped memory, a size class that falls quiet, threads that
 * end, forks. One program does all of it at once, and knows its growth. Checks that take a quarter
 * of an hour are in tests/unit/test_profile_sites.c.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static double oldest_look(json_t *site)
{
	json_t *survival = json_object_get(site, "survival");
	size_t count = json_array_size(survival);

	return count ? real_at(json_array_get(survival, count - 1), "age_s") : 0;
}

static json_t *after(struct harness *harness, struct child *monitor, pid_t pid, json_int_t windows,
		     double age_s)
{
	for (;;) {
		json_t *report = monitor_report(harness, monitor);
		json_t *process = process_of(report, pid), *site = site_of(process, "grow_mapped");

		if (number_at(report, "windows") >= windows && site && oldest_look(site) >= age_s)
			return process;
	}
}

/* A limit of 95 % may miss the truth, but not by half of it. */
static void expect_growth(json_t *process, const char *function, double bytes_per_s)
{
	json_t *site = site_of(process, function);

	assert_non_null(site);
	if (real_at(site, "low") <= 0 || real_at(site, "low") > bytes_per_s * 1.5 ||
	    real_at(site, "high") < bytes_per_s / 1.5)
		fail_msg("%s: %.0f to %.0f bytes/s; %.0f in truth", function, real_at(site, "low"),
			 real_at(site, "high"), bytes_per_s);
}

static void what_grows_is_distinguished_from_what_seems_to(void **state)
{
	static const char *const others[] = {"same_place", "first_of_two", "second_of_two",
					     "zeros",	   "mapped",	   "quiet"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "adversary");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "profile", "-p", workload->pid_text, "--overhead", "20%",
				 "--format", "json", "-T", "0", "2");
	json_t *process, *truth, *site;
	char *line;
	double rate;

	process = after(harness, monitor, workload->pid, 8, 0);
	assert_non_null(site_of(process, "quiet"));
	child_signal(workload, SIGUSR1);
	process = after(harness, monitor, workload->pid, 40, 16);
	monitor_stop(harness, monitor);
	child_signal(workload, SIGTERM);
	line = child_line(harness, workload, &workload->out);
	truth = json_loads(line, 0, NULL);
	free(line);
	rate = real_at(truth, "grown") / real_at(truth, "ns") * 1e9;
	json_decref(truth);
	expect_growth(process, "grow_mapped", rate * 300000);
	expect_growth(process, "grow_in_thread", rate * 88);
	/* The address may hold another such block by now. */
	site = site_of(process, "grow_equal");
	assert_true(real_at(site, "low") == 0 && real_at(site, "high") > rate * 120 / 1.5);
	/* Alive, but not untouched. */
	site = site_of(process, "grow_touched");
	assert_true(real_at(site, "low") == 0 && real_at(site, "most") > rate * 136 / 1.5);
	assert_string_not_equal(json_string_value(json_object_get(site, "verdict")), "churning");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		site = site_of(process, others[i]);
		assert_non_null(site);
		assert_true(real_at(site, "low") == 0);
	}
	/* A child's blocks are not its parent's. */
	assert_null(site_of(process, "in_child"));
	assert_int_equal(child_end(harness, workload), 0);
}

/* -------- swap */

#define PAGE 4096
#define SWAP_PAGES 16384
#define PAGEMAP_SWAPPED (1ull << 62)

static char swap_path[64];

/* mm/swapfile.c, union swap_header: the first page of a swap area. */
static void swap_write(int file)
{
	static char zeros[PAGE];
	char header[PAGE] = {0};
	const uint32_t info[3] = {1, SWAP_PAGES - 1, 0}; /* version, last page, bad pages */

	memcpy(header + 1024, info, sizeof(info));
	memcpy(header + PAGE - 10, "SWAPSPACE2", 10);
	assert_int_equal(write(file, header, PAGE), PAGE);
	for (size_t i = 1; i < SWAP_PAGES; i++)
		assert_int_equal(write(file, zeros, PAGE), PAGE);
	assert_int_equal(fsync(file), 0);
}

/* 64 MB in the test's own directory, until swap_teardown(). */
static void swap_begin(const struct harness *harness)
{
	int file, error;

	snprintf(swap_path, sizeof(swap_path), "%s/swap", harness->directory);
	file = open(swap_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	swap_write(file);
	close(file);
	if (!swapon(swap_path, 0))
		return;
	error = errno;
	unlink(swap_path);
	swap_path[0] = 0;
	print_message("SKIPPED: cannot swap to a file here: %s\n", strerror(error));
	skip();
}

/*
 * Remove the swap file: processes with pages in it end first, and neither a signal nor lack of
 * memory may stop the attempt.
 */
static int swap_teardown(void **state)
{
	struct harness *harness = *state;
	int error = -1;

	for (size_t i = 0; i < harness->count; i++)
		child_kill(&harness->children[i]);
	harness->count = 0;
	for (int tries = 0; tries < 50 && swap_path[0] && error; tries++) {
		error = swapoff(swap_path);
		if (error)
			usleep(100000);
	}
	if (swap_path[0] && error)
		print_error("%s is still swapped to: %s\n", swap_path, strerror(errno));
	error = swap_path[0] ? error : 0;
	swap_path[0] = 0;
	return harness_teardown(state) || error;
}

struct stretch {
	uint64_t start, end;
};

static struct stretch heap_of(pid_t pid)
{
	char path[64], line[512];
	struct stretch heap = {0};
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "[heap]"))
			sscanf(line, "%lx-%lx", &heap.start, &heap.end);
	}
	fclose(maps);
	assert_true(heap.end > heap.start);
	return heap;
}

static void page_out(pid_t pid, const struct stretch *stretch)
{
	struct iovec all = {(void *)(uintptr_t)stretch->start, stretch->end - stretch->start};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(pidfd >= 0);
	assert_int_equal(syscall(SYS_process_madvise, pidfd, &all, 1, MADV_PAGEOUT, 0),
			 all.iov_len);
	close(pidfd);
}

/* Returns the number of pages in swap; *one gets the address of one. */
static size_t pages_in_swap(pid_t pid, const struct stretch *stretch, uint64_t *one)
{
	char path[64];
	size_t swapped = 0;
	int pagemap;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(pagemap >= 0);
	for (uint64_t at = stretch->start; at < stretch->end; at += PAGE) {
		uint64_t entry = 0;

		assert_int_equal(pread(pagemap, &entry, 8, (off_t)(at / PAGE * 8)), 8);
		if (!(entry & PAGEMAP_SWAPPED))
			continue;
		swapped++;
		*one = at;
	}
	close(pagemap);
	return swapped;
}

#define SWAPPED_MIN 50
#define TRIES 100

/* A page that another CPU has just put on its list of new ones is left out. How many are in
 * swap. */
static size_t swap_out(pid_t pid, const struct stretch *stretch, uint64_t *one)
{
	size_t swapped = 0;

	for (int i = 0; swapped <= SWAPPED_MIN && i < TRIES; i++) {
		page_out(pid, stretch);
		swapped = pages_in_swap(pid, stretch, one);
		if (swapped <= SWAPPED_MIN)
			usleep(100000);
	}
	assert_true(swapped > SWAPPED_MIN);
	return swapped;
}

static void touch_page(pid_t pid, uint64_t address)
{
	char byte;
	struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)address, 1};

	assert_int_equal(process_vm_readv(pid, &local, 1, &remote, 1, 0), 1);
}

/*
 * It is idle, so that only leakmon could bring a page back. Its heap is swapped out; its mappings
 * are not, and show that checks continue.
 */
static void looks_leave_what_is_swapped_out_where_it_is(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	struct stretch heap;
	json_t *process;
	uint64_t one = 0;
	size_t swapped;
	double age_s;

	swap_begin(harness);
	workload = WORKLOAD(harness, "adversary");
	monitor = MONITOR_ATTACHED(harness, "profile", "-p", workload->pid_text, "--overhead",
				   "20%", "--format", "json", "-T", "0", "2");
	process = after(harness, monitor, workload->pid, 20, 2);
	assert_true(oldest_look(site_of(process, "grow_equal")) >= 1);
	child_signal(workload, SIGSTOP);
	age_s = oldest_look(site_of(process, "grow_mapped"));
	heap = heap_of(workload->pid);
	swapped = swap_out(workload->pid, &heap, &one);
	after(harness, monitor, workload->pid, 20, 4 * age_s);
	assert_int_equal(pages_in_swap(workload->pid, &heap, &one), swapped);
	/* A read does bring it back. */
	touch_page(workload->pid, one);
	assert_true(pages_in_swap(workload->pid, &heap, &one) < swapped);
	child_signal(workload, SIGCONT);
	process = after(harness, monitor, workload->pid, 25, 4 * age_s);
	monitor_stop(harness, monitor);
	/* Swapped blocks are unchanged, and still followed. */
	assert_true(oldest_look(site_of(process, "grow_equal")) >= age_s);
	assert_true(real_at(site_of(process, "grow_in_thread"), "low") > 0);
	child_signal(workload, SIGTERM);
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_grows_is_distinguished_from_what_seems_to),
		cmocka_unit_test_setup_teardown(looks_leave_what_is_swapped_out_where_it_is,
						harness_setup, swap_teardown),
	};

	return cmocka_run_group_tests_name("e2e_profile_adversary", tests, NULL, NULL);
}
