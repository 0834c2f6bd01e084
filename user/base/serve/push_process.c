// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/push_process.h"

#define CURL_DISABLE_TYPECHECK
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/packet.h"
#include "base/protobuf.h"
#include "base/sandbox/sandbox.h"

#define NS_PER_MS UINT64_C(1000000)
#define MEMORY_BYTES (UINT64_C(256) << 20)
#define CONFIGURATION_MAX (1u << 20)
#define PACKETS_A_TURN 64
#define ANSWER_SIZE 256
#define ADDRESSES_MAX 8
#define RESOLVED_FOR_MS 60000
#define RETRY_AFTER_MAX_S 60
/* During the final wait, a failed attempt is repeated soon. */
#define BACKOFF_LAST_MS 100
#define IDLE_MS 60000

/* -------- the library */

#define CURL_FUNCTIONS(DO)                                                                         \
	DO(global_init)                                                                            \
	DO(version_info)                                                                           \
	DO(easy_init)                                                                              \
	DO(easy_setopt)                                                                            \
	DO(easy_getinfo)                                                                           \
	DO(easy_strerror)                                                                          \
	DO(slist_append)                                                                           \
	DO(slist_free_all)                                                                         \
	DO(multi_init)                                                                             \
	DO(multi_add_handle)                                                                       \
	DO(multi_remove_handle)                                                                    \
	DO(multi_perform)                                                                          \
	DO(multi_info_read)                                                                        \
	DO(multi_poll)

#define CURL_MEMBER(name) __typeof__ (&curl_##name)(name);
struct curl_library {
	CURL_FUNCTIONS(CURL_MEMBER)
};

/* A static program has not even these. */
#pragma weak dlopen
#pragma weak dlsym
#pragma weak getaddrinfo
#pragma weak freeaddrinfo
#pragma weak gai_strerror

static int curl_load(struct curl_library *curl)
{
	static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;
	bool complete = true;

	if (!dlopen || !dlsym || !getauxval(AT_BASE))
		return PUSH_STATIC;
	for (size_t i = 0; i < ARRAY_SIZE(libraries) && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return PUSH_NO_LIBRARY;
#define CURL_FIND(name)                                                                            \
	*(void **)&curl->name = dlsym(library, "curl_" #name);                                     \
	complete &= curl->name != NULL;
	CURL_FUNCTIONS(CURL_FIND)
	if (!complete || curl->global_init(CURL_GLOBAL_ALL))
		return PUSH_NO_LIBRARY;
	/* Older C libraries load these at the first look-up, when loading is no longer possible. */
	dlopen("libnss_files.so.2", RTLD_NOW);
	dlopen("libnss_dns.so.2", RTLD_NOW);
	return 0;
}

/* -------- lanes */

struct lane {
	char *configuration; /* NULL: not configured; the texts below point into it */
	const char *url, *type, *ca;
	struct curl_slist *headers;
	char host[PUSH_HOST_SIZE];
	uint16_t port;
	struct curl_slist *resolved; /* for CURLOPT_RESOLVE */
	uint64_t resolved_ns;	     /* 0: not recently */
	struct push_queue queue;
	CURL *easy;
	unsigned failures; /* in a row */
	uint64_t retry_ns;
	char error[CURL_ERROR_SIZE];
	char answer[ANSWER_SIZE]; /* the beginning of the server's answer */
	size_t answered;
	struct push_status status;
	bool changed; /* not yet reported to the monitor */
};

struct pushing {
	struct curl_library curl;
	CURLM *multi;
	struct lane lanes[PUSH_LANE_MAX_];
	uint64_t deadline_ns; /* 0: the monitor has not asked to finish */
};

static struct curl_slist *headers_of(const struct pushing *pushing, const struct lane *lane,
				     char *lines)
{
	const struct curl_library *curl = &pushing->curl;
	/* Prevents libcurl from waiting for an answer to its announcement of a large body. */
	struct curl_slist *list = curl->slist_append(NULL, "Expect:");
	char type[128], *line;

	snprintf(type, sizeof(type), "Content-Type: %s", lane->type);
	list = curl->slist_append(list, type);
	while ((line = strsep(&lines, "\n"))) {
		if (*line)
			list = curl->slist_append(list, line);
	}
	return list;
}

/* Returns the next text of a configuration; NULL at the end. */
static char *text_take(char **at, const char *end)
{
	char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static bool configure(struct pushing *pushing, struct lane *lane, uint8_t *file, size_t size)
{
	char *at = (char *)file, *end = at + size, *headers;

	free(lane->configuration);
	lane->configuration = at;
	lane->url = text_take(&at, end);
	lane->type = lane->url ? text_take(&at, end) : NULL;
	lane->ca = lane->type ? text_take(&at, end) : NULL;
	headers = lane->ca ? text_take(&at, end) : NULL;
	if (!headers || !push_is_url(lane->url) ||
	    !push_url_host(lane->url, lane->host, &lane->port))
		return false;
	pushing->curl.slist_free_all(lane->headers);
	lane->headers = headers_of(pushing, lane, headers);
	if (!lane->easy)
		lane->easy = pushing->curl.easy_init();
	return lane->easy != NULL;
}

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
	struct lane *lane = context;
	size_t room = sizeof(lane->answer) - 1 - lane->answered;

	memcpy(lane->answer + lane->answered, data, MIN(room, size * count));
	lane->answered += MIN(room, size * count);
	return size * count;
}

/* -------- names */

static bool is_numeric(const char *host)
{
	struct in6_addr address;

	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

static void addresses_print(FILE *out, const struct addrinfo *found)
{
	char address[INET6_ADDRSTRLEN];
	size_t count = 0;

	for (; found && count < ADDRESSES_MAX; found = found->ai_next) {
		bool v6 = found->ai_family == AF_INET6;
		const void *bytes =
			v6 ? (const void *)&((struct sockaddr_in6 *)found->ai_addr)->sin6_addr
			   : (const void *)&((struct sockaddr_in *)found->ai_addr)->sin_addr;

		if (inet_ntop(found->ai_family, bytes, address, sizeof(address)))
			fprintf(out, v6 ? "%s[%s]" : "%s%s", count++ ? "," : "", address);
	}
}

/*
 * libcurl would resolve names in a thread, which this process may not create. Returns NULL, or the
 * problem.
 */
static const char *resolve(struct pushing *pushing, struct lane *lane)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct curl_slist *previous = lane->resolved;
	struct addrinfo *found;
	char entry[1024] = "";
	FILE *out;
	int error;

	if (is_numeric(lane->host) ||
	    (lane->resolved_ns && monotonic_ns() < lane->resolved_ns + RESOLVED_FOR_MS * NS_PER_MS))
		return NULL;
	error = getaddrinfo(lane->host, NULL, &hints, &found);
	if (error)
		return error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
	out = fmemopen(entry, sizeof(entry), "w");
	if (out) {
		fprintf(out, "%s:%u:", lane->host, lane->port);
		addresses_print(out, found);
		fclose(out);
	}
	freeaddrinfo(found);
	lane->resolved = pushing->curl.slist_append(NULL, entry);
	lane->resolved_ns = monotonic_ns();
	pushing->curl.easy_setopt(lane->easy, CURLOPT_RESOLVE, lane->resolved);
	pushing->curl.slist_free_all(previous);
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

/* Options that are the same for all attempts. */
static const struct {
	CURLoption option;
	long value;
} numbers[] = {
	{CURLOPT_POST, 1},
	{CURLOPT_NOSIGNAL, 1},
	{CURLOPT_FOLLOWLOCATION, 0},
	{CURLOPT_SSL_VERIFYPEER, 1},
	{CURLOPT_SSL_VERIFYHOST, 2},
	{CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
	{CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
	{CURLOPT_CONNECTTIMEOUT_MS, PUSH_CONNECT_MS},
	{CURLOPT_TIMEOUT_MS, PUSH_ATTEMPT_MS},
};

static CURLcode set_certificates(struct pushing *pushing, struct lane *lane)
{
	struct curl_blob blob = {(void *)lane->ca, strlen(lane->ca), CURL_BLOB_COPY};

	if (!*lane->ca)
		return CURLE_OK;
	pushing->curl.easy_setopt(lane->easy, CURLOPT_CAPATH, NULL);
	return pushing->curl.easy_setopt(lane->easy, CURLOPT_CAINFO_BLOB, &blob);
}

static CURLcode set_options(struct pushing *pushing, struct lane *lane)
{
	const struct curl_library *curl = &pushing->curl;
	const struct push_document *document = &lane->queue.items[0];
	const struct {
		CURLoption option;
		void *value;
	} pointers[] = {
		{CURLOPT_PROXY, ""},
		{CURLOPT_USERAGENT, "leakmon/" LEAKMON_VERSION},
		{CURLOPT_HTTPHEADER, lane->headers},
		{CURLOPT_ERRORBUFFER, lane->error},
		{CURLOPT_WRITEFUNCTION, take_answer},
		{CURLOPT_WRITEDATA, lane},
		{CURLOPT_PRIVATE, lane},
		{CURLOPT_POSTFIELDS, document->body},
	};
	_cleanup_free_ char *url = NULL;
	CURLcode code = set_certificates(pushing, lane);

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && !code; i++)
		code = curl->easy_setopt(lane->easy, numbers[i].option, numbers[i].value);
	for (size_t i = 0; i < ARRAY_SIZE(pointers) && !code; i++)
		code = curl->easy_setopt(lane->easy, pointers[i].option, pointers[i].value);
	if (!code)
		code = curl->easy_setopt(lane->easy, CURLOPT_POSTFIELDSIZE_LARGE,
					 (curl_off_t)document->size);
	if (asprintf(&url, "%s%s%s", lane->url, *document->query ? "?" : "", document->query) < 0)
		return CURLE_OUT_OF_MEMORY;
	return code ? code : curl->easy_setopt(lane->easy, CURLOPT_URL, url);
}

static void begin(struct pushing *pushing, struct lane *lane)
{
	const char *unknown = resolve(pushing, lane);
	CURLcode code;

	if (unknown) {
		say(lane, "its name is not found", unknown);
		set_retry(pushing, lane, 0);
		return;
	}
	memset(lane->answer, 0, sizeof(lane->answer));
	lane->answered = 0;
	*lane->error = '\0';
	code = set_options(pushing, lane);
	if (!code && !pushing->curl.multi_add_handle(pushing->multi, lane->easy)) {
		lane->queue.sending = true;
		return;
	}
	say(lane, "libcurl cannot do it", pushing->curl.easy_strerror(code));
	set_retry(pushing, lane, 0);
}

static void say_library_error(struct pushing *pushing, struct lane *lane, CURLcode code)
{
	const char *detail = *lane->error ? lane->error : pushing->curl.easy_strerror(code);
	char text[PUSH_PROBLEM_SIZE];

	/* The server may have moved to another address. */
	lane->resolved_ns = 0;
	if (code != CURLE_PEER_FAILED_VERIFICATION) {
		say(lane, detail, "");
		return;
	}
	snprintf(text, sizeof(text),
		 "its certificate is not trusted (%.150s); name the CA's with %s", detail,
		 "--push-ca FILE");
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
static void answer_keep_message(struct lane *lane, struct protobuf_reader message)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		size_t size = (size_t)(field.content.end - field.content.at);

		if (field.number != 2 || !field.is_bytes)
			continue;
		memmove(lane->answer, field.content.at, size);
		lane->answer[size] = '\0';
		return;
	}
}

/*
 * Returns how many items of a request an OTLP server rejected although it answered 200
 * (partial_success).
 */
static uint64_t answer_rejected(struct lane *lane)
{
	struct protobuf_reader answer = {(const uint8_t *)lane->answer,
					 (const uint8_t *)lane->answer + lane->answered};
	struct protobuf_field partial, field;
	uint64_t rejected = 0;

	while (protobuf_next(&answer, &partial)) {
		struct protobuf_reader inner = partial.content;

		if (partial.number != 1 || !partial.is_bytes)
			continue;
		while (protobuf_next(&inner, &field))
			rejected = field.number == 1 && !field.is_bytes ? field.value : rejected;
		if (rejected)
			answer_keep_message(lane, partial.content);
		break;
	}
	return rejected;
}

static void say_rejected(struct lane *lane, uint64_t rejected)
{
	char text[96];

	snprintf(text, sizeof(text), "it rejected %llu of the items in one",
		 (unsigned long long)rejected);
	say(lane, text, lane->answer);
}

static void say_status(struct pushing *pushing, struct lane *lane, long status)
{
	char text[96];

	if (lane_is_otlp(pushing, lane))
		answer_keep_message(lane, (struct protobuf_reader){(const uint8_t *)lane->answer,
								   (const uint8_t *)lane->answer +
									   lane->answered});
	lane->answer[strcspn(lane->answer, "\r\n")] = '\0';
	snprintf(text, sizeof(text), "it answers HTTP %ld%s", status,
		 status == 401 || status == 403 ? " (credentials: --push-headers, "
						  "--webhook-headers, --otlp-headers)"
						: "");
	say(lane, text, lane->answer);
}

static void end(struct pushing *pushing, struct lane *lane, CURLcode code)
{
	curl_off_t after_s = 0;
	uint64_t rejected = 0;
	long status = 0;
	enum push_result result;

	pushing->curl.easy_getinfo(lane->easy, CURLINFO_RESPONSE_CODE, &status);
	pushing->curl.easy_getinfo(lane->easy, CURLINFO_RETRY_AFTER, &after_s);
	pushing->curl.multi_remove_handle(pushing->multi, lane->easy);
	result = push_result_of(code ? 0 : status, lane_is_otlp(pushing, lane));
	if (result == PUSH_DELIVERED && lane_is_otlp(pushing, lane))
		rejected = answer_rejected(lane);
	if (rejected) {
		say_rejected(lane, rejected);
		result = PUSH_REFUSED;
	} else if (code) {
		say_library_error(pushing, lane, code);
	} else if (result != PUSH_DELIVERED) {
		say_status(pushing, lane, status);
	}
	if (result == PUSH_RETRY) {
		set_retry(pushing, lane, (uint64_t)MAX(MIN(after_s, RETRY_AFTER_MAX_S), 0) * 1000);
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
	return configuration && configure(pushing, &pushing->lanes[packet.lane], configuration,
					  packet.size)
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

		if (lane->easy && lane->queue.count && !lane->queue.sending &&
		    monotonic_ns() >= lane->retry_ns)
			begin(pushing, lane);
	}
}

static void end_where_done(struct pushing *pushing)
{
	CURLMsg *message;
	int left;

	while ((message = pushing->curl.multi_info_read(pushing->multi, &left))) {
		for (size_t i = 0; i < PUSH_LANE_MAX_; i++) {
			if (pushing->lanes[i].easy == message->easy_handle) {
				end(pushing, &pushing->lanes[i], message->data.result);
				break;
			}
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

		if (lane->easy && lane->queue.count && !lane->queue.sending)
			next = MIN(next, MAX(lane->retry_ns, now));
	}
	if (pushing->deadline_ns)
		next = MIN(next, MAX(pushing->deadline_ns, now));
	return (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Returns 0, or -EPIPE if the monitor is gone. */
static int push_once(struct pushing *pushing)
{
	struct curl_waitfd control = {.fd = PUSH_CONTROL, .events = CURL_WAIT_POLLIN};
	int running, ready, error = 0;

	begin_where_due(pushing);
	pushing->curl.multi_perform(pushing->multi, &running);
	end_where_done(pushing);
	report_state(pushing, false);
	if (is_done(pushing))
		return 0;
	pushing->curl.multi_poll(pushing->multi, &control, 1, timeout_ms(pushing), &ready);
	for (int i = 0; i < PACKETS_A_TURN && !error; i++)
		error = take_packet(pushing);
	return error == -EAGAIN ? 0 : error;
}

static _Noreturn void run(void)
{
	struct pushing *pushing = calloc(1, sizeof(*pushing));
	int32_t error = pushing ? curl_load(&pushing->curl) : -ENOMEM;

	/* Before the filter: it creates its wake-up descriptors. */
	if (!error)
		pushing->multi = pushing->curl.multi_init();
	if (!error)
		error = pushing->multi ? sandbox_enter_pusher(MEMORY_BYTES) : -ENOMEM;
	if (send(PUSH_CONTROL, &error, sizeof(error), MSG_NOSIGNAL) != sizeof(error) || error)
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
