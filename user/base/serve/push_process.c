// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/push_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/packet.h"
#include "base/protobuf.h"
#include "base/sandbox/sandbox.h"
#include "base/serve/push_transport.h"

#define NS_PER_MS UINT64_C(1000000)
#define MEMORY_BYTES (UINT64_C(256) << 20)
#define CONFIGURATION_MAX (1u << 20)
#define PACKETS_A_TURN 64
#define RESOLVED_FOR_MS 60000
#define RETRY_AFTER_MAX_S 60
/* During the final wait, a failed attempt is repeated soon. */
#define BACKOFF_LAST_MS 100
#define IDLE_MS 60000

/* -------- lanes */

struct lane {
	char *configuration; /* NULL: not configured; the texts of the exchange point into it */
	struct push_exchange exchange;
	uint64_t resolved_ns; /* 0: not recently */
	struct push_queue queue;
	unsigned failures; /* in a row */
	uint64_t retry_ns;
	struct push_status status;
	bool changed; /* not yet reported to the monitor */
};

struct pushing {
	struct push_transport *transport;
	struct lane lanes[PUSH_LANE_MAX_];
	uint64_t deadline_ns; /* 0: the monitor has not asked to finish */
};
_Static_assert(PUSH_LANE_MAX_ <= PUSH_AT_ONCE, "every lane may send");

/* Returns the next text of a configuration; NULL at the end. */
static char *text_take(char **at, const char *end)
{
	char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

/* -------- names */

/* Returns whether the host is an address, and fills it in. */
static bool host_is_address(struct push_exchange *exchange)
{
	union push_address *address = exchange->addresses;

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, exchange->host, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons(exchange->port);
	} else if (inet_pton(AF_INET6, exchange->host, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons(exchange->port);
	} else {
		return false;
	}
	exchange->address_count = 1;
	return true;
}

static bool configure(struct lane *lane, uint8_t *file, size_t size)
{
	struct push_exchange *exchange = &lane->exchange;
	char *at = (char *)file, *end = at + size;

	free(lane->configuration);
	lane->configuration = at;
	exchange->url = text_take(&at, end);
	exchange->type = exchange->url ? text_take(&at, end) : NULL;
	exchange->ca = exchange->type ? text_take(&at, end) : NULL;
	exchange->headers = exchange->ca ? text_take(&at, end) : NULL;
	if (!exchange->headers || !push_is_url(exchange->url) ||
	    !push_url_host(exchange->url, exchange->host, &exchange->port))
		return false;
	exchange->is_numeric = host_is_address(exchange);
	return true;
}

static void addresses_take(struct push_exchange *exchange, const struct addrinfo *found)
{
	exchange->address_count = 0;
	for (; found && exchange->address_count < PUSH_ADDRESSES_MAX; found = found->ai_next) {
		union push_address *address = &exchange->addresses[exchange->address_count];

		if (found->ai_addrlen > sizeof(*address) ||
		    (found->ai_family != AF_INET && found->ai_family != AF_INET6))
			continue;
		memcpy(address, found->ai_addr, found->ai_addrlen);
		if (found->ai_family == AF_INET)
			address->v4.sin_port = htons(exchange->port);
		else
			address->v6.sin6_port = htons(exchange->port);
		exchange->address_count++;
	}
}

/* Returns NULL, or the problem. */
static const char *resolve(struct lane *lane)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct push_exchange *exchange = &lane->exchange;
	struct addrinfo *found;
	int error;

	if (exchange->is_numeric ||
	    (lane->resolved_ns && monotonic_ns() < lane->resolved_ns + RESOLVED_FOR_MS * NS_PER_MS))
		return NULL;
	error = getaddrinfo(exchange->host, NULL, &hints, &found);
	if (error)
		return error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
	addresses_take(exchange, found);
	freeaddrinfo(found);
	lane->resolved_ns = monotonic_ns();
	return NULL;
}

/* -------- attempts */

static void say(struct lane *lane, const char *what, const char *detail)
{
	char text[PUSH_PROBLEM_SIZE] = "";

	snprintf(text, sizeof(text), "%s%s%.160s", what, *detail ? ": " : "", detail);
	memcpy(lane->status.problem, text, sizeof(text));
	lane->changed = true;
}

static void set_retry(struct pushing *pushing, struct lane *lane, uint64_t at_least_ms)
{
	uint32_t random = 0;
	uint64_t wait_ms;

	lane->failures++;
	lane->status.retries++;
	lane->queue.sending = false;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = lane->failures;
	wait_ms = MAX(push_backoff_ms(lane->failures, random), at_least_ms);
	if (pushing->deadline_ns)
		wait_ms = MIN(wait_ms, BACKOFF_LAST_MS);
	lane->retry_ns = monotonic_ns() + wait_ms * NS_PER_MS;
	lane->changed = true;
}

static void begin(struct pushing *pushing, struct lane *lane)
{
	struct push_exchange *exchange = &lane->exchange;
	const char *unknown = resolve(lane);

	if (unknown) {
		say(lane, "its name is not found", unknown);
		set_retry(pushing, lane, 0);
		return;
	}
	exchange->document = &lane->queue.items[0];
	exchange->status = 0;
	exchange->retry_after_s = 0;
	memset(exchange->answer, 0, sizeof(exchange->answer));
	exchange->answered = 0;
	*exchange->error = '\0';
	exchange->untrusted = false;
	if (pushing->transport->begin(pushing->transport, exchange)) {
		lane->queue.sending = true;
		return;
	}
	lane->resolved_ns = 0;
	say(lane, exchange->error, "");
	set_retry(pushing, lane, 0);
}

static void say_failure(struct lane *lane)
{
	char text[PUSH_PROBLEM_SIZE];

	/* The server may have moved to another address. */
	lane->resolved_ns = 0;
	if (!lane->exchange.untrusted) {
		say(lane, lane->exchange.error, "");
		return;
	}
	snprintf(text, sizeof(text),
		 "its certificate is not trusted (%.150s); name the CA's with %s",
		 lane->exchange.error, "--push-ca FILE");
	say(lane, text, "");
}

static bool lane_is_otlp(const struct pushing *pushing, const struct lane *lane)
{
	return lane == &pushing->lanes[PUSH_METRICS] || lane == &pushing->lanes[PUSH_LOGS];
}

/*
 * Keeps the text of a field of OTLP's answer as the whole answer: Status and PartialSuccess both
 * have their message in field 2.
 */
static void answer_keep_message(struct push_exchange *exchange, struct protobuf_reader message)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		size_t size = (size_t)(field.content.end - field.content.at);

		if (field.number != 2 || !field.is_bytes)
			continue;
		memmove(exchange->answer, field.content.at, size);
		exchange->answer[size] = '\0';
		return;
	}
}

static struct protobuf_reader answer_reader(const struct push_exchange *exchange)
{
	const uint8_t *answer = (const uint8_t *)exchange->answer;

	return (struct protobuf_reader){answer, answer + exchange->answered};
}

/*
 * Returns how many items of a request an OTLP server rejected although it answered 200
 * (partial_success).
 */
static uint64_t answer_rejected(struct push_exchange *exchange)
{
	struct protobuf_reader answer = answer_reader(exchange);
	struct protobuf_field partial, field;
	uint64_t rejected = 0;

	while (protobuf_next(&answer, &partial)) {
		struct protobuf_reader inner = partial.content;

		if (partial.number != 1 || !partial.is_bytes)
			continue;
		while (protobuf_next(&inner, &field))
			rejected = field.number == 1 && !field.is_bytes ? field.value : rejected;
		if (rejected)
			answer_keep_message(exchange, partial.content);
		break;
	}
	return rejected;
}

static void say_rejected(struct lane *lane, uint64_t rejected)
{
	char text[96];

	snprintf(text, sizeof(text), "it rejected %llu of the items in one",
		 (unsigned long long)rejected);
	say(lane, text, lane->exchange.answer);
}

static void say_status(const struct pushing *pushing, struct lane *lane)
{
	struct push_exchange *exchange = &lane->exchange;
	long status = exchange->status;
	char text[96];

	if (lane_is_otlp(pushing, lane))
		answer_keep_message(exchange, answer_reader(exchange));
	exchange->answer[strcspn(exchange->answer, "\r\n")] = '\0';
	snprintf(text, sizeof(text), "it answers HTTP %ld%s", status,
		 status == 401 || status == 403 ? " (credentials: --push-headers, "
						  "--webhook-headers, --otlp-headers)"
						: "");
	say(lane, text, exchange->answer);
}

static void end(struct pushing *pushing, struct lane *lane)
{
	const struct push_exchange *exchange = &lane->exchange;
	bool failed = *exchange->error, otlp = lane_is_otlp(pushing, lane);
	enum push_result result = push_result_of(failed ? 0 : exchange->status, otlp);
	uint64_t rejected = 0;

	if (result == PUSH_DELIVERED && otlp)
		rejected = answer_rejected(&lane->exchange);
	if (rejected) {
		say_rejected(lane, rejected);
		result = PUSH_REFUSED;
	} else if (failed) {
		say_failure(lane);
	} else if (result != PUSH_DELIVERED) {
		say_status(pushing, lane);
	}
	if (result == PUSH_RETRY) {
		set_retry(pushing, lane, MIN(exchange->retry_after_s, RETRY_AFTER_MAX_S) * 1000);
		return;
	}
	if (result == PUSH_DELIVERED) {
		lane->status.delivered++;
		*lane->status.problem = '\0';
	}
	push_queue_remove(&lane->queue, result == PUSH_DELIVERED);
	lane->failures = 0;
	lane->retry_ns = 0;
	lane->changed = true;
}

/* -------- the monitor's side */

static uint8_t *file_take(int fd, uint64_t size, uint64_t limit)
{
	uint8_t *bytes = size && size <= limit ? malloc(size) : NULL;
	ssize_t got = 1;

	for (uint64_t at = 0; bytes && at < size && got > 0; at += (uint64_t)got)
		got = pread(fd, bytes + at, size - at, (off_t)at);
	if (bytes && got > 0)
		return bytes;
	free(bytes);
	return NULL;
}

static void take_document(struct lane *lane, const struct push_packet *packet, int fd)
{
	struct push_document document = {
		.body = file_take(fd, packet->size, PUSH_QUEUE_BYTES),
		.size = packet->size,
		.query = strndup(packet->query, sizeof(packet->query) - 1),
	};

	lane->changed = true;
	if (document.body && document.query) {
		push_queue_add(&lane->queue, document);
		return;
	}
	free(document.body);
	free(document.query);
	lane->queue.lost++;
}

/* Returns 0; -EAGAIN: no more packets; -EPIPE: the monitor is gone or corrupt. */
static int take_packet(struct pushing *pushing)
{
	struct push_packet packet;
	uint8_t *configuration;
	int fd, error = packet_receive(PUSH_CONTROL, &packet, sizeof(packet), &fd, MSG_DONTWAIT);
	_cleanup_close_ int file = fd;

	if (error || packet.lane >= PUSH_LANE_MAX_)
		return error ? error : -EPIPE;
	if (packet.kind == PUSH_FINISH) {
		pushing->deadline_ns = monotonic_ns() + packet.deadline_ms * NS_PER_MS;
		for (size_t i = 0; i < PUSH_LANE_MAX_; i++)
			pushing->lanes[i].retry_ns = 0;
		return 0;
	}
	if (packet.kind == PUSH_SEND) {
		take_document(&pushing->lanes[packet.lane], &packet, file);
		return 0;
	}
	configuration = file_take(file, packet.size, CONFIGURATION_MAX);
	return configuration && configure(&pushing->lanes[packet.lane], configuration, packet.size)
		       ? 0
		       : -EPIPE;
}

static void report_state(struct pushing *pushing, bool finished)
{
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		struct lane *lane = &pushing->lanes[i];

		if (!lane->changed && !finished)
			continue;
		lane->status.lane = (uint32_t)i;
		lane->status.waiting = (uint32_t)lane->queue.count;
		lane->status.lost = lane->queue.lost;
		lane->status.finished = finished;
		/* Full: the next status covers this one. */
		if (send(PUSH_CONTROL, &lane->status, sizeof(lane->status),
			 MSG_NOSIGNAL | (finished ? 0 : MSG_DONTWAIT)) > 0)
			lane->changed = false;
	}
}

/* -------- the loop */

static void begin_where_due(struct pushing *pushing)
{
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		struct lane *lane = &pushing->lanes[i];

		if (lane->queue.count && !lane->queue.sending && monotonic_ns() >= lane->retry_ns)
			begin(pushing, lane);
	}
}

static void end_where_done(struct pushing *pushing)
{
	struct push_exchange *ended;

	while ((ended = pushing->transport->step(pushing->transport))) {
		for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
			if (&pushing->lanes[i].exchange == ended)
				end(pushing, &pushing->lanes[i]);
		}
	}
}

static bool is_done(const struct pushing *pushing)
{
	bool empty = true;

	if (!pushing->deadline_ns)
		return false;
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++)
		empty &= !pushing->lanes[i].queue.count;
	return empty || monotonic_ns() >= pushing->deadline_ns;
}

static int timeout_ms(const struct pushing *pushing)
{
	uint64_t now = monotonic_ns(), next = now + IDLE_MS * NS_PER_MS;

	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		const struct lane *lane = &pushing->lanes[i];

		if (lane->queue.count && !lane->queue.sending)
			next = MIN(next, MAX(lane->retry_ns, now));
	}
	if (pushing->deadline_ns)
		next = MIN(next, MAX(pushing->deadline_ns, now));
	return (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Returns 0, or -EPIPE if the monitor is gone. */
static int push_once(struct pushing *pushing)
{
	int error = 0;

	begin_where_due(pushing);
	end_where_done(pushing);
	report_state(pushing, false);
	if (is_done(pushing))
		return 0;
	pushing->transport->wait(pushing->transport, PUSH_CONTROL, timeout_ms(pushing));
	for (int i = 0; i < PACKETS_A_TURN && !error; i++)
		error = take_packet(pushing);
	return error == -EAGAIN ? 0 : error;
}

static _Noreturn void run(void)
{
	struct pushing *pushing = calloc(1, sizeof(*pushing));
	int32_t answer = pushing ? push_curl_open(&pushing->transport) : -ENOMEM;
	int error = answer < 0 ? answer : 0;

	if (answer == PUSH_NO_LIBRARY || answer == PUSH_STATIC)
		error = push_plain_open(&pushing->transport);
	if (!error)
		error = sandbox_enter_pusher(MEMORY_BYTES);
	answer = error ? error : answer;
	if (send(PUSH_CONTROL, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer) || error)
		_exit(0);
	while (!is_done(pushing) && !push_once(pushing))
		;
	for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
		struct lane *lane = &pushing->lanes[i];

		if (lane->queue.sending && !*lane->status.problem)
			say(lane, "it has not answered", "");
	}
	if (is_done(pushing))
		report_state(pushing, true);
	_exit(0);
}

void push_process_enter(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], PUSH_ARGUMENT))
		run();
}
