// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/pusher.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/sandbox/bytes.h"
#include "base/sandbox/child.h"
#include "base/serve/handover.h"
#include "base/text.h"

#define NS_PER_MS UINT64_C(1000000)
#define FILE_MAX (512u << 10)
#define HEADERS_MAX 32

static const struct {
	enum push_to to;
	const char *option, *variable, *type, *path, *what;
} kinds[] = {
	[PUSH_PROFILES] = {PUSH_TO_PYROSCOPE, "push", "LEAKMON_PUSH_HEADERS",
			   "multipart/form-data; boundary=" PUSH_BOUNDARY, "/ingest", "profile"},
	[PUSH_EVENTS] = {PUSH_TO_WEBHOOK, "webhook", "LEAKMON_WEBHOOK_HEADERS", "application/json",
			 "", "event"},
	[PUSH_METRICS] = {PUSH_TO_OTLP, "otlp", "LEAKMON_OTLP_HEADERS", "application/x-protobuf",
			  "/v1/metrics", "metrics document"},
	[PUSH_LOGS] = {PUSH_TO_OTLP, "otlp", "LEAKMON_OTLP_HEADERS", "application/x-protobuf",
		       "/v1/logs", "log record"},
};
_Static_assert(ARRAY_SIZE(kinds) == PUSH_LANE_MAX_, "a row for every lane");

struct lane {
	char *url; /* NULL: the lane is not used */
	struct bytes configuration;
	uint64_t sent, delivered;  /* delivered by earlier processes */
	uint64_t lost;		   /* by earlier processes, plus failed handovers */
	struct push_status status; /* of the present process */
	bool failing, said_lost;   /* already logged */
	char said[PUSH_PROBLEM_SIZE];
};

struct pusher {
	struct child child;
	struct dying dying;
	struct lane lanes[PUSH_LANE_MAX_];
	bool finished;
};

bool push_is_wanted(const struct push_options *options)
{
	for (size_t i = 0; i < PUSH_TO_MAX_; i++) {
		if (options->to[i].url)
			return true;
	}
	return false;
}

bool pusher_is_destination(const char *text)
{
	return *text == '@' ? text[1] != '\0' : push_is_url(text);
}

/* -------- messages */

/* Reads a text file and terminates it with a NUL. Returns 0, or -errno after a message. */
static int read_text(const char *path, struct bytes *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char *room = file ? bytes_reserve(text, FILE_MAX + 1) : NULL;
	size_t size = room ? fread(room, 1, FILE_MAX + 1, file) : 0;
	int error = file ? 0 : -errno;

	if (file && (!room || ferror(file)))
		error = room ? -EIO : -ENOMEM;
	else if (size > FILE_MAX)
		error = -EFBIG;
	else if (room && memchr(room, '\0', size))
		error = -EINVAL;
	if (error) {
		log_error("cannot read %s: %s", path, strerror(-error));
		return error;
	}
	text->size += size;
	return bytes_append(text, "", 1);
}

static bool is_header(const char *line)
{
	const char *colon = strchr(line, ':');

	if (!colon || colon == line)
		return false;
	for (const char *at = line; *at; at++) {
		/* The name is a token (RFC 9110, 5.6.2), roughly; the value has no controls. */
		if ((at < colon && *at <= ' ') || ((unsigned char)*at < ' ' && *at != '\t'))
			return false;
	}
	return true;
}

/* Lines that begin with # are comments. An invalid line is not shown: it may be a password. */
static int add_headers(struct bytes *configuration, char *lines, const char *from)
{
	unsigned number = 0, count = 0;
	char *line;
	int error = 0;

	while (!error && (line = strsep(&lines, "\n"))) {
		size_t length = strlen(line);

		number++;
		if (length && line[length - 1] == '\r')
			line[--length] = '\0';
		if (!length || *line == '#')
			continue;
		if (!is_header(line) || ++count > HEADERS_MAX) {
			log_error(
				"%s, line %u: expected an HTTP header such as `Authorization: Bearer TOKEN`, at most %d of them",
				from, number, HEADERS_MAX);
			return -EINVAL;
		}
		error = bytes_append(configuration, line, length);
		if (!error)
			error = bytes_append(configuration, "\n", 1);
	}
	return error;
}

static int headers_read(const struct push_destination *to, enum push_lane lane,
			struct bytes *configuration)
{
	_cleanup_(bytes_free) struct bytes file = {0};
	const char *variable = kinds[lane].variable, *value = getenv(variable);
	int error = to->headers ? read_text(to->headers, &file) : 0;

	if (!error && to->headers)
		return add_headers(configuration, (char *)file.data, to->headers);
	if (!error && value && *value) {
		error = bytes_append(&file, value, strlen(value) + 1);
		if (!error)
			error = add_headers(configuration, (char *)file.data, variable);
	}
	return error;
}

/* Reads the first line of the file in "@FILE". */
static int url_read(const char *text, enum push_lane lane, char **url)
{
	_cleanup_(bytes_free) struct bytes file = {0};
	const char *found = text;
	int error = *text == '@' ? read_text(text + 1, &file) : 0;

	if (error)
		return error;
	if (*text == '@') {
		file.data[strcspn((char *)file.data, "\r\n")] = '\0';
		found = (char *)file.data;
	}
	if (!push_is_url(found) || (*kinds[lane].path && strchr(found, '?'))) {
		log_error(
			"--%s: %s has no URL that can be pushed to: expected https://HOST[:PORT][/PATH], without a password",
			kinds[lane].option, text);
		return -EINVAL;
	}
	*url = strdup(found);
	return *url ? 0 : -ENOMEM;
}

/* Completes a bare server address with the path of its API. */
static int url_complete(char **url, const char *path)
{
	char *complete;
	size_t length = strlen(*url), end = strlen(path);

	if (!end || (length > end && !strcmp(*url + length - end, path)))
		return 0;
	if ((*url)[length - 1] == '/')
		(*url)[length - 1] = '\0';
	if (asprintf(&complete, "%s%s", *url, path) < 0)
		return -ENOMEM;
	free(*url);
	*url = complete;
	return 0;
}

static void warn_of_plain(const char *url, enum push_lane lane)
{
	char host[PUSH_HOST_SIZE];
	uint16_t port;

	if (!text_begins(url, "http://") || !push_url_host(url, host, &port) ||
	    !strcmp(host, "localhost") || text_begins(host, "127.") || !strcmp(host, "::1"))
		return;
	log_warning(
		"--%s to http:// is not encrypted: names of programs and functions, and its headers, can be read in transit",
		kinds[lane].option);
}

static int lane_read(struct lane *lane, const struct push_options *options, enum push_lane which)
{
	_cleanup_(bytes_free) struct bytes ca = {0};
	struct bytes *configuration = &lane->configuration;
	const struct push_destination *to = &options->to[kinds[which].to];
	const char *type = kinds[which].type;
	int error = url_read(to->url, which, &lane->url);

	if (!error)
		error = url_complete(&lane->url, kinds[which].path);
	if (!error)
		error = options->ca ? read_text(options->ca, &ca) : bytes_append(&ca, "", 1);
	if (!error)
		error = bytes_append(configuration, lane->url, strlen(lane->url) + 1);
	if (!error)
		error = bytes_append(configuration, type, strlen(type) + 1);
	if (!error)
		error = bytes_append(configuration, ca.data, ca.size);
	if (!error)
		error = headers_read(to, which, configuration);
	if (!error)
		error = bytes_append(configuration, "", 1);
	if (!error)
		warn_of_plain(lane->url, which);
	return error;
}

/* -------- the process */

/* Sends a packet with `fd`, a file of `size` bytes; -1: none. */
static int send_packet(struct pusher *pusher, struct push_packet *packet, int64_t size, int fd)
{
	if (size < 0)
		return (int)size;
	packet->size = (uint64_t)size;
	return pusher->child.pid
		       ? packet_send(pusher->child.fd, packet, sizeof(*packet), fd, MSG_DONTWAIT)
		       : -EPIPE;
}

static int configure(struct pusher *pusher, enum push_lane lane)
{
	const struct bytes *configuration = &pusher->lanes[lane].configuration;
	struct push_packet packet = {.kind = PUSH_CONFIGURE, .lane = lane};
	_cleanup_fclose_ FILE *stream = handover_stream();

	if (!stream)
		return -errno;
	fwrite(configuration->data, 1, configuration->size, stream);
	return send_packet(pusher, &packet, handover_seal(stream, 0), fileno(stream));
}

/* Returns 0, or -ENOTSUP after a message: only libcurl has TLS. */
static int expect_plain(const struct pusher *pusher, int answer)
{
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		const char *url = pusher->lanes[i].url;

		if (!url || !text_begins(url, "https://"))
			continue;
		if (answer == PUSH_STATIC)
			log_error(
				"--%s: a static program has no TLS: use a dynamic package, or http:// to a collector on this machine",
				kinds[i].option);
		else
			log_error(
				"--%s to https:// needs libcurl 7.66 or later: install libcurl4 (Debian) or libcurl (Fedora)",
				kinds[i].option);
		return -ENOTSUP;
	}
	return 0;
}

static int start(struct pusher *pusher)
{
	int answer = handover_start(&pusher->child, &pusher->dying, PUSH_ARGUMENT, -1);
	int error = MIN(answer, 0);

	if (answer > 0) {
		error = expect_plain(pusher, answer);
		if (error) {
			child_stop(&pusher->child, &pusher->dying);
			return error;
		}
	}
	for (size_t i = 0; i < PUSH_LANE_MAX_ && !error; i++) {
		struct lane *lane = &pusher->lanes[i];

		lane->status = (struct push_status){0};
		if (lane->url)
			error = configure(pusher, i);
	}
	if (error)
		log_error("cannot start the process that pushes: %s", strerror(-error));
	return error;
}

/* Documents accepted but not delivered are lost with it. */
static void settle(struct pusher *pusher)
{
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		struct lane *lane = &pusher->lanes[i];

		lane->delivered += lane->status.delivered;
		lane->lost += lane->status.lost + lane->status.waiting;
		lane->status = (struct push_status){0};
	}
}

static int restart(struct pusher *pusher)
{
	log_warning("the process that pushes does not answer: another one is started");
	child_stop(&pusher->child, &pusher->dying);
	settle(pusher);
	return start(pusher);
}

int pusher_open(struct pusher **pusher, const struct push_options *options)
{
	struct pusher *made;
	int error = 0;

	*pusher = NULL;
	if (!push_is_wanted(options))
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->child.fd = -1;
	for (size_t i = 0; i < PUSH_LANE_MAX_ && !error; i++) {
		if (options->to[kinds[i].to].url)
			error = lane_read(&made->lanes[i], options, i);
	}
	if (!error)
		error = start(made);
	if (error) {
		pusher_close(made);
		return error;
	}
	*pusher = made;
	return 0;
}

bool pusher_has(const struct pusher *pusher, enum push_lane lane)
{
	return pusher && pusher->lanes[lane].url;
}

/* -------- state */

/* Returns the host alone: a path may be a secret. */
static const char *host_of(const struct lane *lane, char host[PUSH_HOST_SIZE])
{
	uint16_t port;

	return push_url_host(lane->url, host, &port) ? host : "?";
}

static void say_status(struct lane *lane, enum push_lane which)
{
	const struct push_status *status = &lane->status;
	char host[PUSH_HOST_SIZE];

	if (*status->problem && strcmp(status->problem, lane->said) != 0) {
		log_warning("--%s: %s does not take the %s: %s; %" PRIu32 " wait",
			    kinds[which].option, host_of(lane, host), kinds[which].what,
			    status->problem, status->waiting);
		memcpy(lane->said, status->problem, sizeof(lane->said));
		lane->failing = true;
	}
	if (status->lost && !lane->said_lost)
		log_warning(
			"--%s: from now on %ss are lost: the queue is full, or %s refused one; counted at the end",
			kinds[which].option, kinds[which].what, host_of(lane, host));
	lane->said_lost |= status->lost != 0;
	if (lane->failing && !*status->problem && !status->waiting) {
		log_info("--%s: %s takes what it is sent again", kinds[which].option,
			 host_of(lane, host));
		*lane->said = '\0';
		lane->failing = false;
	}
}

/* Takes one message. Returns whether there was one. */
static bool take_status(struct pusher *pusher)
{
	struct push_status status;
	int fd, error = pusher->child.pid ? packet_receive(pusher->child.fd, &status,
							   sizeof(status), &fd, MSG_DONTWAIT)
					  : -EPIPE;

	if (error || fd >= 0 || status.lane >= PUSH_LANE_MAX_)
		return false;
	status.problem[sizeof(status.problem) - 1] = '\0';
	/* A problem that came and went between two checks is not logged. */
	pusher->lanes[status.lane].status = status;
	/* The process reports the lanes in their order. */
	pusher->finished |= status.finished && status.lane == PUSH_LANE_MAX_ - 1;
	return true;
}

void pusher_tend(struct pusher *pusher)
{
	while (pusher && take_status(pusher))
		;
	for (size_t i = 0; pusher && i < PUSH_LANE_MAX_; i++) {
		if (pusher->lanes[i].url)
			say_status(&pusher->lanes[i], i);
	}
}

void pusher_send(struct pusher *pusher, enum push_lane lane, const char *query, FILE *stream,
		 int error)
{
	struct push_packet packet = {.kind = PUSH_SEND, .lane = lane};
	int64_t size = handover_seal(stream, error);

	snprintf(packet.query, sizeof(packet.query), "%s", query);
	error = send_packet(pusher, &packet, size, fileno(stream));
	if (error == -EPIPE || error == -ECONNRESET) {
		error = restart(pusher);
		if (!error)
			error = send_packet(pusher, &packet, size, fileno(stream));
	}
	pusher->lanes[lane].sent++;
	pusher->lanes[lane].lost += error != 0;
	/*
	 * A process that accepts no more packets is handled at the end: the document was not
	 * delivered.
	 */
	if (error && error != -EAGAIN)
		log_warning("--%s: a %s is lost: %s", kinds[lane].option, kinds[lane].what,
			    strerror(-error));
	fclose(stream);
}

struct push_counts pusher_counts(const struct pusher *pusher, enum push_lane which)
{
	const struct lane *lane = pusher ? &pusher->lanes[which] : NULL;

	if (!lane || !lane->url)
		return (struct push_counts){0};
	return (struct push_counts){.delivered = lane->delivered + lane->status.delivered,
				    .lost = lane->lost + lane->status.lost,
				    .waiting = lane->status.waiting};
}

/* -------- the end */

static void await_end(struct pusher *pusher)
{
	struct push_packet packet = {.kind = PUSH_FINISH, .deadline_ms = PUSH_LAST_MS};
	uint64_t deadline = monotonic_ns() + (PUSH_LAST_MS + 1000) * NS_PER_MS, now;

	if (send_packet(pusher, &packet, 0, -1))
		return;
	while (!pusher->finished && (now = monotonic_ns()) < deadline) {
		struct pollfd answer = {.fd = pusher->child.fd, .events = POLLIN};

		poll(&answer, 1, (int)((deadline - now) / NS_PER_MS) + 1);
		if (!take_status(pusher) && answer.revents & (POLLHUP | POLLERR))
			break;
	}
}

static uint64_t say_losses(const struct lane *lane, enum push_lane which)
{
	uint64_t lost = lane->sent - MIN(lane->delivered, lane->sent);
	const char *plural = lane->sent == 1 ? "" : "s";
	char host[PUSH_HOST_SIZE];

	if (lost)
		log_error("--%s: %" PRIu64 " of %" PRIu64 " %s%s did not reach %s%s%s",
			  kinds[which].option, lost, lane->sent, kinds[which].what, plural,
			  host_of(lane, host), *lane->said ? ": " : "", lane->said);
	else if (lane->sent)
		log_info("--%s: %" PRIu64 " %s%s reached %s", kinds[which].option, lane->sent,
			 kinds[which].what, plural, host_of(lane, host));
	return lost;
}

uint64_t pusher_close(struct pusher *pusher)
{
	uint64_t lost = 0;

	if (!pusher)
		return 0;
	if (pusher->child.pid)
		await_end(pusher);
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		struct lane *lane = &pusher->lanes[i];

		if (*lane->status.problem)
			memcpy(lane->said, lane->status.problem, sizeof(lane->said));
	}
	settle(pusher);
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		struct lane *lane = &pusher->lanes[i];

		lost += lane->url ? say_losses(lane, i) : 0;
		free(lane->url);
		bytes_free(&lane->configuration);
	}
	child_stop(&pusher->child, &pusher->dying);
	dying_reap(&pusher->dying, true);
	free(pusher);
	return lost;
}
