// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/debuginfod.h"

#include <cap-ng.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/sandbox/child.h"
#include "binary/parse/questions.h"
#include "process/proc/target_file.h"

/* Debug files of browsers are about half that size. */
#define MAX_FILE_BYTES (UINT64_C(2) << 30)
#define MAX_MEMORY_BYTES (UINT64_C(1) << 30)

const char *fetch_obstacle(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *path = getenv("PATH");
	char file[PATH_MAX];

	if (!urls || !urls[strspn(urls, " ")])
		return "DEBUGINFOD_URLS is not set: export it with the servers to ask, such as "
		       "https://debuginfod.debian.net (sudo keeps it with "
		       "--preserve-env=DEBUGINFOD_URLS)";
	for (size_t length; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/" FETCH_PROGRAM, (int)MIN(length, 4000), path);
		if (!access(file, X_OK))
			return NULL;
	}
	return "there is no program " FETCH_PROGRAM ": install Debian's package debuginfod "
	       "(elsewhere elfutils-debuginfod-client)";
}

static void set_signals(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL); /* an ignored signal stays ignored over an exec */
	signal(SIGXFSZ, SIG_IGN); /* then its write fails, and it removes the partial file */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C asks the monitor for its last report, which may need this file. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void set_files(int output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	/* The exec closes all others. */
}

/* With no_new_privs an exec by root does not regain dropped capabilities. */
static void drop_capabilities(void)
{
	capng_clear(CAPNG_SELECT_ALL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || capng_apply(CAPNG_SELECT_CAPS))
		_exit(1);
}

/* A server may send endlessly, and lie about the length. */
static void set_limits(void)
{
	const struct rlimit file = {MAX_FILE_BYTES, MAX_FILE_BYTES};
	const struct rlimit memory = {MAX_MEMORY_BYTES, MAX_MEMORY_BYTES};

	if (setrlimit(RLIMIT_FSIZE, &file) || setrlimit(RLIMIT_AS, &memory))
		_exit(1);
}

/* Its own limits: without progress, in total, and of the announced length. */
static void set_environment(uint32_t max_seconds)
{
	char seconds[16], bytes[24];

	snprintf(seconds, sizeof(seconds), "%u", max_seconds);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)MAX_FILE_BYTES);
	setenv("DEBUGINFOD_MAXSIZE", bytes, 1);
	setenv("DEBUGINFOD_TIMEOUT", seconds, 1);
	setenv("DEBUGINFOD_MAXTIME", seconds, 1);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
}

static _Noreturn void run(const char *build_id, uint32_t max_seconds, int output)
{
	set_signals();
	set_files(output);
	set_environment(max_seconds);
	drop_capabilities();
	set_limits(); /* last: more than that may be mapped already */
	execlp(FETCH_PROGRAM, FETCH_PROGRAM, "debuginfo", build_id, (char *)NULL);
	_exit(127);
}

/*
 * Requests the debug file with this build-id. The process has no capabilities and cannot gain any,
 * gives up after max_seconds, is limited to 2 GiB of a file and 1 GiB of memory, and does not
 * outlive leakmon. Returns 0 or -errno.
 */
static int fetch_process_start(const char *build_id, uint32_t max_seconds,
			       struct fetch_process *process)
{
	_cleanup_close_ int output = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	output = ends[1];
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid == 0)
		run(build_id, max_seconds, output);
	if (pid < 0) {
		close(ends[0]);
		return -errno;
	}
	*process = (struct fetch_process){.pid = pid, .fd = ends[0]};
	return 0;
}

/* Its answer is one line, complete at its end. */
/* Returns 0: `answer` is an absolute path; -ENOENT: no file; -EAGAIN: unknown yet. */
static int fetch_process_read(struct fetch_process *process)
{
	size_t room = sizeof(process->answer) - 1 - process->length;
	ssize_t got = read(process->fd, process->answer + process->length, room);
	char *newline;

	if (got > 0) {
		process->length += (size_t)got;
		return -EAGAIN;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	newline = memchr(process->answer, '\n', process->length);
	if (!newline || process->answer[0] != '/')
		return -ENOENT;
	*newline = '\0';
	return 0;
}

/* mkstemp("DIRECTORY/BUILD-ID/debuginfo.XXXXXX"), as in libdebuginfod. */
static bool is_partial(const char *path)
{
	static const char begins[] = "debuginfo.";
	const char *name = strrchr(path, '/');

	return name && !strncmp(name + 1, begins, strlen(begins)) &&
	       strlen(name + 1) == strlen(begins) + strlen("XXXXXX");
}

/* Finds the file being written. Returns false if there is none. */
static bool find_partial(pid_t pid, char path[PATH_MAX])
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;
	char fds[32];

	snprintf(fds, sizeof(fds), "/proc/%d/fd", pid);
	directory = opendir(fds);
	while (directory && (entry = readdir(directory))) {
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, path, PATH_MAX - 1);

		path[length > 0 ? length : 0] = '\0';
		if (is_partial(path))
			return true;
	}
	return false;
}

/* Kills it, if it still runs, and removes its partial file; the caller reaps it. */
static void fetch_process_end(struct fetch_process *process)
{
	char path[PATH_MAX];
	bool is_writing;

	kill(process->pid, SIGSTOP);
	is_writing = find_partial(process->pid, path);
	kill(process->pid, SIGKILL);
	if (is_writing)
		unlink(path);
	close(process->fd);
	process->fd = -1;
}

/* Limit of concurrent fetches: a target may map hundreds of stripped files. */
#define MAX_RUNNING 4

/* Consecutive timeouts after which the servers are not asked again. */
#define MAX_TIMEOUTS 3

/* The program gives up before it is killed, because it cleans up best. */
#define GIVES_UP_BEFORE_MS 1000

enum fetch_state { FETCH_WAITING, FETCH_RUNNING, FETCH_HERE, FETCH_NONE };

struct fetch {
	enum fetch_state state;
	char build_id[82];
	char *path; /* of the stripped file; owned */
	struct fetch_process process;
	int64_t started_ms;
};

struct debuginfod {
	VEC(struct fetch *) list;
	struct hash index; /* hash of a build-id -> struct fetch * */
	size_t running, waiting;
	int epoll_fd, timer_fd; /* the pipes, and a tick each second while something runs */
	uint32_t deadline_ms;
	unsigned int timeouts; /* consecutive */
	bool changed;	       /* since the last take */
	struct dying dying;
};

static int64_t now_ms(void)
{
	return (int64_t)(monotonic_ns() / 1000000);
}

static int watch_fd(struct debuginfod *debuginfod, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(debuginfod->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

struct debuginfod *debuginfod_new(uint32_t deadline_ms)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));

	if (!debuginfod)
		return NULL;
	debuginfod->deadline_ms = deadline_ms;
	debuginfod->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	debuginfod->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (debuginfod->epoll_fd >= 0 && debuginfod->timer_fd >= 0 &&
	    !watch_fd(debuginfod, debuginfod->timer_fd))
		return debuginfod;
	debuginfod_free(debuginfod);
	return NULL;
}

static void tick(struct debuginfod *debuginfod, bool on)
{
	struct itimerspec each = {.it_value.tv_sec = on, .it_interval.tv_sec = on};

	timerfd_settime(debuginfod->timer_fd, 0, &each, NULL);
}

static void end_process(struct debuginfod *debuginfod, struct fetch *fetch)
{
	pid_t *place = vec_push(&debuginfod->dying.pids);

	fetch_process_end(&fetch->process);
	if (place)
		*place = fetch->process.pid;
	debuginfod->running--;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	for (size_t i = 0; i < debuginfod->list.count; i++) {
		struct fetch *fetch = debuginfod->list.items[i];

		if (fetch->state == FETCH_RUNNING)
			end_process(debuginfod, fetch);
		free(fetch->path);
		free(fetch);
	}
	dying_reap(&debuginfod->dying, true);
	vec_free(&debuginfod->list);
	hash_free(&debuginfod->index);
	cleanup_close(&debuginfod->epoll_fd);
	cleanup_close(&debuginfod->timer_fd);
	free(debuginfod);
}

static void settle(struct debuginfod *debuginfod, struct fetch *fetch, enum fetch_state state)
{
	debuginfod->waiting -= fetch->state == FETCH_WAITING;
	fetch->state = state;
	debuginfod->changed |= state == FETCH_HERE || state == FETCH_NONE;
}

static void start(struct debuginfod *debuginfod, struct fetch *fetch)
{
	uint32_t deadline_ms = debuginfod->deadline_ms;
	uint32_t seconds =
		MAX(deadline_ms, 2 * GIVES_UP_BEFORE_MS) / 1000 - GIVES_UP_BEFORE_MS / 1000;
	int err = fetch_process_start(fetch->build_id, seconds, &fetch->process);

	if (err) {
		log_warning("debuginfod: cannot start " FETCH_PROGRAM ": %s", strerror(-err));
		settle(debuginfod, fetch, FETCH_NONE);
		return;
	}
	watch_fd(debuginfod, fetch->process.fd); /* if that fails, the tick finds it */
	settle(debuginfod, fetch, FETCH_RUNNING);
	fetch->started_ms = now_ms();
	if (!debuginfod->running++)
		tick(debuginfod, true);
}

static void start_waiting(struct debuginfod *debuginfod)
{
	for (size_t i = 0; debuginfod->waiting && i < debuginfod->list.count; i++) {
		struct fetch *fetch = debuginfod->list.items[i];

		if (fetch->state != FETCH_WAITING)
			continue;
		if (debuginfod->timeouts >= MAX_TIMEOUTS)
			settle(debuginfod, fetch, FETCH_NONE);
		else if (debuginfod->running < MAX_RUNNING)
			start(debuginfod, fetch);
	}
	if (!debuginfod->running)
		tick(debuginfod, false);
}

static struct fetch *add(struct debuginfod *debuginfod, const char *build_id, const char *path)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch)), **place;

	if (!fetch)
		return NULL;
	fetch->path = strdup(path);
	place = fetch->path ? vec_push(&debuginfod->list) : NULL;
	if (!place) {
		free(fetch->path);
		free(fetch);
		return NULL;
	}
	snprintf(fetch->build_id, sizeof(fetch->build_id), "%s", build_id);
	debuginfod->waiting++;
	*place = fetch;
	return fetch;
}

static struct fetch *find_or_add(struct debuginfod *debuginfod, const char *build_id,
				 const char *path)
{
	uint64_t key = hash_text(build_id), *slot;
	struct fetch *fetch;

	for (; (slot = hash_put(&debuginfod->index, key, NULL)) && *slot; key++) {
		fetch = (struct fetch *)(uintptr_t)*slot;
		if (!strcmp(fetch->build_id, build_id))
			return fetch;
	}
	if (!slot)
		return NULL;
	fetch = add(debuginfod, build_id, path);
	*slot = (uintptr_t)fetch;
	return fetch;
}

int debuginfod_open(struct debuginfod *debuginfod, const char *build_id, const char *path)
{
	struct fetch *fetch = find_or_add(debuginfod, build_id, path);
	int fd;

	if (!fetch)
		return -ENOMEM;
	start_waiting(debuginfod);
	if (fetch->state == FETCH_NONE)
		return -ENOENT;
	if (fetch->state != FETCH_HERE)
		return -EAGAIN;
	fd = target_file_open_path(0, fetch->process.answer);
	return fd < 0 ? -ENOENT : fd;
}

static void on_end(struct debuginfod *debuginfod, struct fetch *fetch, bool found)
{
	int64_t took_ms = now_ms() - fetch->started_ms;

	end_process(debuginfod, fetch);
	settle(debuginfod, fetch, found ? FETCH_HERE : FETCH_NONE);
	debuginfod->timeouts = 0;
	if (found)
		log_info("debuginfod: fetched the debug file of %s in %lld.%lld s", fetch->path,
			 (long long)took_ms / 1000, (long long)took_ms / 100 % 10);
	else
		log_debug("debuginfod: there is no debug file of %s", fetch->path);
}

static void on_timeout(struct debuginfod *debuginfod, struct fetch *fetch)
{
	end_process(debuginfod, fetch);
	settle(debuginfod, fetch, FETCH_NONE);
	debuginfod->timeouts++;
	log_warning("debuginfod: the debug file of %s did not come within %u s%s", fetch->path,
		    debuginfod->deadline_ms / 1000,
		    debuginfod->timeouts == MAX_TIMEOUTS ? "; the servers are not asked again"
							 : "");
}

static void take_one(struct debuginfod *debuginfod, struct fetch *fetch)
{
	int err = fetch_process_read(&fetch->process);
	int64_t took_ms = now_ms() - fetch->started_ms;

	/* Its timeout is not exact to the millisecond. */
	if (err == -ENOENT && took_ms + 3 * GIVES_UP_BEFORE_MS / 2 >= debuginfod->deadline_ms)
		on_timeout(debuginfod, fetch);
	else if (err != -EAGAIN)
		on_end(debuginfod, fetch, !err);
	else if (took_ms >= debuginfod->deadline_ms)
		on_timeout(debuginfod, fetch);
}

bool debuginfod_take(struct debuginfod *debuginfod)
{
	uint64_t ticks;
	bool changed;

	while (read(debuginfod->timer_fd, &ticks, sizeof(ticks)) > 0)
		continue;
	for (size_t i = 0; debuginfod->running && i < debuginfod->list.count; i++) {
		if (debuginfod->list.items[i]->state == FETCH_RUNNING)
			take_one(debuginfod, debuginfod->list.items[i]);
	}
	start_waiting(debuginfod);
	dying_reap(&debuginfod->dying, false);
	changed = debuginfod->changed;
	debuginfod->changed = false;
	return changed;
}

int debuginfod_wait(struct debuginfod *debuginfod, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms, left = timeout_ms;
	struct pollfd waited[] = {{.fd = debuginfod->epoll_fd, .events = POLLIN},
				  {.fd = interrupt_fd(), .events = POLLIN}};
	bool changed = false;

	while (debuginfod->running && !interrupt_check() && (timeout_ms < 0 || left > 0)) {
		poll(waited, ARRAY_SIZE(waited), (int)left);
		changed |= debuginfod_take(debuginfod);
		left = timeout_ms < 0 ? -1 : end - now_ms();
	}
	debuginfod->changed = changed; /* for whoever takes next */
	return debuginfod->running ? -EAGAIN : 0;
}

int debuginfod_fd(const struct debuginfod *debuginfod)
{
	return debuginfod->running ? debuginfod->epoll_fd : -1;
}

bool debuginfod_progress(const struct debuginfod *debuginfod, struct fetch_progress *progress)
{
	const struct fetch *oldest = NULL;

	for (size_t i = 0; debuginfod->running && i < debuginfod->list.count; i++) {
		const struct fetch *fetch = debuginfod->list.items[i];

		if (fetch->state == FETCH_RUNNING &&
		    (!oldest || fetch->started_ms < oldest->started_ms))
			oldest = fetch;
	}
	if (!oldest)
		return false;
	*progress = (struct fetch_progress){
		.path = oldest->path,
		.seconds = (uint32_t)((now_ms() - oldest->started_ms) / 1000),
		.of_seconds = debuginfod->deadline_ms / 1000,
		.others = debuginfod->running + debuginfod->waiting - 1,
	};
	return true;
}

#define DEBUG_ROOT "/usr/lib/debug"

/* Checks the build-id: another file's lines would be wrong. */
static bool is_the_one(const struct debug_request *request, int fd, struct debug_description *found)
{
	return !parse_description(request->worker, fd, found) &&
	       !strcmp(found->build_id, request->build_id);
}

/* The target's own root first; containers seldom have debug files, the host may. */
static int open_verified(const struct debug_request *request, const char *path,
			 struct debug_description *found)
{
	int roots[] = {request->task, 0};

	for (size_t i = request->task ? 0 : 1; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = target_file_open_path(roots[i], path);

		if (fd >= 0 && is_the_one(request, fd, found))
			return TAKE_FD(fd);
	}
	return -ENOENT;
}

static int open_by_build_id(const struct debug_request *request, struct debug_description *found)
{
	const char *build_id = request->build_id;
	char path[PATH_MAX];

	if (strlen(build_id) < 4)
		return -ENOENT;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	return open_verified(request, path, found);
}

static int open_by_link(const struct debug_request *request, struct debug_description *found)
{
	static const char *const formats[][2] = {
		{"", ""},
		{"", ".debug/"},
		{DEBUG_ROOT, ""},
	};
	const char *slash = strrchr(request->path, '/');
	char path[PATH_MAX];

	if (request->path[0] != '/' || !request->link[0])
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		int length = snprintf(path, sizeof(path), "%s%.*s%s%s", formats[i][0],
				      (int)(slash + 1 - request->path), request->path,
				      formats[i][1], request->link);
		int fd = length < (int)sizeof(path) ? open_verified(request, path, found) : -ENOENT;

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

int debug_file_fetch(const struct debug_request *request, struct debug_description *found)
{
	_cleanup_close_ int fd = -1;

	if (!request->debuginfod || !request->build_id[0])
		return -ENOENT;
	fd = debuginfod_open(request->debuginfod, request->build_id, request->path);
	if (fd < 0)
		return TAKE_FD(fd);
	if (is_the_one(request, fd, found))
		return TAKE_FD(fd);
	log_warning(
		"debuginfod: the fetched debug file of %s is another one, or none: it is not used",
		request->path);
	return -ENOENT;
}

int debug_file_open(const struct debug_request *request, struct debug_description *found)
{
	int fd;

	if (!request->build_id[0])
		return -ENOENT;
	fd = open_by_build_id(request, found);
	if (fd < 0)
		fd = open_by_link(request, found);
	return fd >= 0 ? fd : debug_file_fetch(request, found);
}

static int open_alternate(const struct debug_request *request, struct debug_description *found)
{
	const char *file = strstr(request->link, "/.dwz/");
	char path[PATH_MAX];
	int fd = open_by_build_id(request, found);

	if (fd >= 0)
		return fd;
	if (request->link[0] == '/')
		return open_verified(request, request->link, found);
	if (!file || snprintf(path, sizeof(path), DEBUG_ROOT "%s", file) >= (int)sizeof(path))
		return -ENOENT;
	return open_verified(request, path, found);
}

int debug_file_open_alternate(const struct debug_request *request)
{
	struct debug_description ignored;
	int fd = open_alternate(request, &ignored);

	return fd >= 0 ? fd : debug_file_fetch(request, &ignored);
}
