// SPDX-License-Identifier: GPL-2.0-or-later
/* Posts by libcurl, loaded at run time. */
#define CURL_DISABLE_TYPECHECK
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "base/serve/push_process.h"
#include "base/serve/push_transport.h"

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

/* A static program may lack these. */
#pragma weak dlopen
#pragma weak dlsym

static int curl_load(struct curl_library *curl)
{
	static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	void *library = NULL;
	bool complete = true;

	if (!dlopen || !dlsym || !getauxval(AT_BASE))
		return PUSH_STATIC;
	/* Older C libraries load these at the first look-up, when loading is no longer possible. */
	dlopen("libnss_files.so.2", RTLD_NOW);
	dlopen("libnss_dns.so.2", RTLD_NOW);
	for (size_t i = 0; i < ARRAY_SIZE(libraries) && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return PUSH_NO_LIBRARY;
#define CURL_FIND(name)                                                                            \
	*(void **)&curl->name = dlsym(library, "curl_" #name);                                     \
	complete &= curl->name != NULL;
	CURL_FUNCTIONS(CURL_FIND)
	return complete && !curl->global_init(CURL_GLOBAL_ALL) ? 0 : PUSH_NO_LIBRARY;
}

/* -------- exchanges */

struct curl_transport {
	struct push_transport transport;
	struct curl_library curl;
	CURLM *multi;
};

/* Of an exchange; it lives as long. */
struct curl_handle {
	CURL *easy;
	struct curl_slist *headers, *resolved; /* of the latest attempt */
	char error[CURL_ERROR_SIZE];
};

static struct curl_slist *headers_of(const struct curl_library *curl,
				     const struct push_exchange *exchange)
{
	/* Prevents libcurl from waiting for an answer to its announcement of a large body. */
	struct curl_slist *list = curl->slist_append(NULL, "Expect:");
	_cleanup_free_ char *lines = strdup(exchange->headers);
	char type[128], *rest = lines, *line;

	snprintf(type, sizeof(type), "Content-Type: %s", exchange->type);
	list = curl->slist_append(list, type);
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			list = curl->slist_append(list, line);
	}
	return list;
}

/*
 * For CURLOPT_RESOLVE: libcurl would resolve names in a thread, which this process may not create.
 */
static struct curl_slist *resolved_of(const struct curl_library *curl,
				      const struct push_exchange *exchange)
{
	char entry[1024] = "", address[INET6_ADDRSTRLEN];
	FILE *out = exchange->is_numeric ? NULL : fmemopen(entry, sizeof(entry), "w");

	if (!out)
		return NULL;
	fprintf(out, "%s:%u:", exchange->host, exchange->port);
	for (size_t i = 0; i < exchange->address_count; i++) {
		const union push_address *at = &exchange->addresses[i];
		bool v6 = at->any.sa_family == AF_INET6;

		if (inet_ntop(at->any.sa_family,
			      v6 ? (const void *)&at->v6.sin6_addr : &at->v4.sin_addr, address,
			      sizeof(address)))
			fprintf(out, v6 ? "%s[%s]" : "%s%s", i ? "," : "", address);
	}
	fclose(out);
	return curl->slist_append(NULL, entry);
}

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
	struct push_exchange *exchange = context;
	size_t room = sizeof(exchange->answer) - 1 - exchange->answered;

	memcpy(exchange->answer + exchange->answered, data, MIN(room, size * count));
	exchange->answered += MIN(room, size * count);
	return size * count;
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

static CURLcode set_certificates(const struct curl_library *curl, CURL *easy, const char *ca)
{
	struct curl_blob blob = {(void *)ca, strlen(ca), CURL_BLOB_COPY};

	if (!*ca)
		return CURLE_OK;
	curl->easy_setopt(easy, CURLOPT_CAPATH, NULL);
	return curl->easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
}

static CURLcode set_options(const struct curl_library *curl, struct push_exchange *exchange)
{
	struct curl_handle *handle = exchange->handle;
	const struct push_document *document = exchange->document;
	const struct {
		CURLoption option;
		void *value;
	} pointers[] = {
		{CURLOPT_PROXY, ""},
		{CURLOPT_USERAGENT, "leakmon/" LEAKMON_VERSION},
		{CURLOPT_HTTPHEADER, handle->headers},
		{CURLOPT_RESOLVE, handle->resolved},
		{CURLOPT_ERRORBUFFER, handle->error},
		{CURLOPT_WRITEFUNCTION, take_answer},
		{CURLOPT_WRITEDATA, exchange},
		{CURLOPT_PRIVATE, exchange},
		{CURLOPT_POSTFIELDS, document->body},
	};
	_cleanup_free_ char *url = NULL;
	CURLcode code = set_certificates(curl, handle->easy, exchange->ca);

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && !code; i++)
		code = curl->easy_setopt(handle->easy, numbers[i].option, numbers[i].value);
	for (size_t i = 0; i < ARRAY_SIZE(pointers) && !code; i++)
		code = curl->easy_setopt(handle->easy, pointers[i].option, pointers[i].value);
	if (!code)
		code = curl->easy_setopt(handle->easy, CURLOPT_POSTFIELDSIZE_LARGE,
					 (curl_off_t)document->size);
	if (asprintf(&url, "%s%s%s", exchange->url, *document->query ? "?" : "", document->query) <
	    0)
		return CURLE_OUT_OF_MEMORY;
	return code ? code : curl->easy_setopt(handle->easy, CURLOPT_URL, url);
}

/* Returns NULL if memory runs out. */
static struct curl_handle *handle_of(const struct curl_library *curl,
				     struct push_exchange *exchange)
{
	struct curl_handle *handle = exchange->handle;

	if (!handle)
		handle = calloc(1, sizeof(*handle));
	exchange->handle = handle;
	if (handle && !handle->easy)
		handle->easy = curl->easy_init();
	return handle && handle->easy ? handle : NULL;
}

static bool curl_begin(struct push_transport *transport, struct push_exchange *exchange)
{
	struct curl_transport *state = (struct curl_transport *)transport;
	const struct curl_library *curl = &state->curl;
	struct curl_handle *handle = handle_of(curl, exchange);
	struct curl_slist *headers, *resolved;
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (handle) {
		headers = handle->headers;
		resolved = handle->resolved;
		handle->headers = headers_of(curl, exchange);
		handle->resolved = resolved_of(curl, exchange);
		*handle->error = '\0';
		code = set_options(curl, exchange);
		/* The options have replaced them. */
		curl->slist_free_all(headers);
		curl->slist_free_all(resolved);
	}
	if (!code && !curl->multi_add_handle(state->multi, handle->easy))
		return true;
	snprintf(exchange->error, sizeof(exchange->error), "libcurl cannot do it: %s",
		 curl->easy_strerror(code));
	return false;
}

static void curl_end(struct curl_transport *state, struct push_exchange *exchange, CURLcode code)
{
	const struct curl_library *curl = &state->curl;
	struct curl_handle *handle = exchange->handle;
	curl_off_t after_s = 0;

	curl->easy_getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &exchange->status);
	curl->easy_getinfo(handle->easy, CURLINFO_RETRY_AFTER, &after_s);
	curl->multi_remove_handle(state->multi, handle->easy);
	exchange->retry_after_s = (uint64_t)MAX(after_s, 0);
	exchange->untrusted = code == CURLE_PEER_FAILED_VERIFICATION;
	if (!code)
		return;
	exchange->status = 0;
	snprintf(exchange->error, sizeof(exchange->error), "%s",
		 *handle->error ? handle->error : curl->easy_strerror(code));
}

static struct push_exchange *curl_step(struct push_transport *transport)
{
	struct curl_transport *state = (struct curl_transport *)transport;
	const struct curl_library *curl = &state->curl;
	struct push_exchange *exchange = NULL;
	CURLMsg *message;
	int count;

	curl->multi_perform(state->multi, &count);
	message = curl->multi_info_read(state->multi, &count);
	if (!message || curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange))
		return NULL;
	curl_end(state, exchange, message->data.result);
	return exchange;
}

static void curl_wait(struct push_transport *transport, int control, int timeout_ms)
{
	struct curl_transport *state = (struct curl_transport *)transport;
	struct curl_waitfd also = {.fd = control, .events = CURL_WAIT_POLLIN};
	int ready;

	state->curl.multi_poll(state->multi, &also, 1, timeout_ms, &ready);
}

int push_curl_open(struct push_transport **transport)
{
	struct curl_transport *state = calloc(1, sizeof(*state));
	int error = state ? curl_load(&state->curl) : -ENOMEM;

	/* Before the filter: it creates its wake-up descriptors. */
	if (!error)
		state->multi = state->curl.multi_init();
	if (!error && !state->multi)
		error = -ENOMEM;
	if (error) {
		free(state);
		return error;
	}
	state->transport = (struct push_transport){curl_begin, curl_step, curl_wait};
	*transport = &state->transport;
	return 0;
}
