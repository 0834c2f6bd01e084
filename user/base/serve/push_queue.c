// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/push_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/*
 * A server that fails now and then is retried before the queue fills; one that always fails is
 * retried after half a second, and less often after the first five attempts.
 */
#define BACKOFF_FIRST_MS 20
#define BACKOFF_MAX_MS 30000
#define BACKOFF_DOUBLINGS 11
#define URL_MAX 2048

static size_t size_of(const struct push_document *document)
{
	return document->size + strlen(document->query) + 1;
}

static void take_out(struct push_queue *queue, size_t i)
{
	struct push_document *item = &queue->items[i];

	queue->bytes -= size_of(item);
	free(item->body);
	free(item->query);
	queue->count--;
	memmove(item, item + 1, (queue->count - i) * sizeof(*item));
}

void push_queue_add(struct push_queue *queue, struct push_document document)
{
	size_t size = size_of(&document), first = queue->sending ? 1 : 0;

	while (queue->count > first &&
	       (queue->count == PUSH_QUEUE_DOCUMENTS || queue->bytes + size > PUSH_QUEUE_BYTES)) {
		take_out(queue, first);
		queue->lost++;
	}
	if (queue->bytes + size > PUSH_QUEUE_BYTES) {
		queue->lost++;
		free(document.body);
		free(document.query);
		return;
	}
	queue->bytes += size;
	queue->items[queue->count++] = document;
}

void push_queue_remove(struct push_queue *queue, bool delivered)
{
	queue->sending = false;
	if (!queue->count)
		return;
	take_out(queue, 0);
	queue->lost += !delivered;
}

void push_queue_free(struct push_queue *queue)
{
	while (queue->count)
		take_out(queue, queue->count - 1);
}

enum push_result push_result_of(long status, bool otlp)
{
	static const long passing[] = {0, 408, 421, 425, 429};
	static const long passing_otlp[] = {0, 429, 502, 503, 504};
	const long *known = otlp ? passing_otlp : passing;

	_Static_assert(ARRAY_SIZE(passing) == ARRAY_SIZE(passing_otlp), "one loop for both");
	if (status >= 200 && status < 300)
		return PUSH_DELIVERED;
	if (status >= 500 && !otlp)
		return PUSH_RETRY;
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
		if (known[i] == status)
			return PUSH_RETRY;
	}
	return PUSH_REFUSED;
}

uint64_t push_backoff_ms(unsigned failures, uint32_t random)
{
	unsigned doublings = failures ? MIN(failures - 1, BACKOFF_DOUBLINGS) : 0;
	uint64_t wait_ms = MIN((uint64_t)BACKOFF_FIRST_MS << doublings, BACKOFF_MAX_MS);

	return wait_ms - wait_ms / 4 + random % (wait_ms / 2);
}

/* Returns the part after the scheme; NULL: another scheme. */
static const char *authority_of(const char *url)
{
	if (text_begins(url, "http://"))
		return url + strlen("http://");
	return text_begins(url, "https://") ? url + strlen("https://") : NULL;
}

bool push_is_url(const char *url)
{
	const char *authority = authority_of(url);
	char host[PUSH_HOST_SIZE];
	uint16_t port;

	if (!authority || strlen(url) > URL_MAX)
		return false;
	for (const char *at = url; *at; at++) {
		if (*at <= ' ' || *at > '~' || *at == '#')
			return false;
	}
	return !memchr(authority, '@', strcspn(authority, "/?")) && push_url_host(url, host, &port);
}

static bool port_parse(const char *text, size_t length, uint16_t *port)
{
	unsigned long value = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || value > UINT16_MAX)
			return false;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	*port = (uint16_t)value;
	return value && value <= UINT16_MAX;
}

bool push_url_host(const char *url, char host[PUSH_HOST_SIZE], uint16_t *port)
{
	const char *authority = authority_of(url), *behind;
	size_t length = strcspn(authority, "/?"), size;
	bool bracket = *authority == '[';

	behind = memchr(authority, bracket ? ']' : ':', length);
	size = behind ? (size_t)(behind - authority) : length;
	authority += bracket;
	size -= bracket && size ? 1 : 0;
	if (!size || size >= PUSH_HOST_SIZE || (bracket && !behind))
		return false;
	behind = authority + size + (bracket ? 1 : 0);
	length -= (size_t)(behind - authority) + bracket;
	*port = text_begins(url, "https") ? 443 : 80;
	if (length && (*behind != ':' || !port_parse(behind + 1, length - 1, port)))
		return false;
	memcpy(host, authority, size);
	host[size] = '\0';
	return true;
}
