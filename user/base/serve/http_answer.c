// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/serve/http_answer.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads all of a decimal number. Returns false if it is none, or is 10^18 or more. */
static bool decimal_parse(const char *text, uint64_t *value)
{
	size_t length = strspn(text, "0123456789");

	if (!length || length > 18 || text[length])
		return false;
	*value = 0;
	for (size_t i = 0; i < length; i++)
		*value = *value * 10 + (uint64_t)(text[i] - '0');
	return true;
}

static const char *status_read(struct http_answer *answer)
{
	const char *line = answer->line, *code = line + strlen("HTTP/1.x ");

	if (!text_begins(line, "HTTP/1.") || !is_digit(line[7]) || line[8] != ' ' || *code < '1' ||
	    *code > '9' || !is_digit(code[1]) || !is_digit(code[2]) || (code[3] && code[3] != ' '))
		return "its answer is not HTTP/1.1";
	answer->status = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
	answer->part = HTTP_ANSWER_HEADERS;
	return NULL;
}

/* Seconds or a date (RFC 9110, 10.2.3); others are ignored. */
static uint64_t retry_after_parse(const char *value)
{
	struct tm date = {0};
	uint64_t seconds;
	int64_t wait_s;

	if (decimal_parse(value, &seconds))
		return seconds;
	if (!strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &date))
		return 0;
	wait_s = (int64_t)timegm(&date) - (int64_t)time(NULL);
	return wait_s > 0 ? (uint64_t)wait_s : 0;
}

/* Two lengths that differ, and an unknown coding, make the end of the answer ambiguous. */
static const char *header_read(struct http_answer *answer)
{
	char *value = strchr(answer->line, ':'), *end;
	uint64_t length;

	if (!value)
		return "it answers with an invalid header";
	*value++ = '\0';
	value += strspn(value, " \t");
	for (end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
		end[-1] = '\0';
	if (!strcasecmp(answer->line, "Retry-After")) {
		answer->retry_after_s = retry_after_parse(value);
	} else if (!strcasecmp(answer->line, "Content-Length")) {
		if (!decimal_parse(value, &length) ||
		    (answer->has_length && length != answer->left))
			return "it answers with an invalid Content-Length";
		answer->has_length = true;
		answer->left = length;
	} else if (!strcasecmp(answer->line, "Transfer-Encoding")) {
		if (answer->chunked || strcasecmp(value, "chunked") != 0)
			return "it answers with an unknown Transfer-Encoding";
		answer->chunked = true;
	}
	return NULL;
}

static void headers_end(struct http_answer *answer)
{
	bool interim = answer->status < 200 && answer->status != 101;

	if (interim) {
		answer->status = 0;
		answer->retry_after_s = 0;
		answer->has_length = answer->chunked = false;
		answer->part = HTTP_ANSWER_STATUS;
	} else if (answer->status == 101 || answer->status == 204 || answer->status == 304) {
		answer->part = HTTP_ANSWER_COMPLETE;
	} else if (answer->chunked) {
		answer->part = HTTP_ANSWER_CHUNK_SIZE;
	} else if (answer->has_length) {
		answer->part = answer->left ? HTTP_ANSWER_BODY : HTTP_ANSWER_COMPLETE;
	} else {
		answer->part = HTTP_ANSWER_TO_END;
	}
}

static const char *chunk_size_read(struct http_answer *answer)
{
	const char *hex = "0123456789abcdefABCDEF";
	size_t length = strspn(answer->line, hex);

	if (!length || length > 15 || !strchr("; \t", answer->line[length]))
		return "it answers with an invalid chunk";
	answer->left = 0;
	for (size_t i = 0; i < length; i++) {
		size_t digit = (size_t)(strchr(hex, answer->line[i]) - hex);

		answer->left = answer->left * 16 + (digit < 16 ? digit : digit - 6);
	}
	answer->part = answer->left ? HTTP_ANSWER_CHUNK : HTTP_ANSWER_TRAILERS;
	return NULL;
}

static const char *line_read(struct http_answer *answer)
{
	switch (answer->part) {
	case HTTP_ANSWER_STATUS:
		return status_read(answer);
	case HTTP_ANSWER_HEADERS:
		if (*answer->line)
			return header_read(answer);
		headers_end(answer);
		return NULL;
	case HTTP_ANSWER_CHUNK_SIZE:
		return chunk_size_read(answer);
	case HTTP_ANSWER_CHUNK_END:
		answer->part = HTTP_ANSWER_CHUNK_SIZE;
		return *answer->line ? "it answers with an invalid chunk" : NULL;
	default: /* trailers */
		if (!*answer->line)
			answer->part = HTTP_ANSWER_COMPLETE;
		return NULL;
	}
}

static const char *line_take(struct http_answer *answer, char byte)
{
	bool is_head = answer->part == HTTP_ANSWER_STATUS || answer->part == HTTP_ANSWER_HEADERS ||
		       answer->part == HTTP_ANSWER_TRAILERS;

	answer->head_size += is_head;
	if (answer->head_size > HTTP_ANSWER_HEAD_MAX)
		return "it answers with endless headers";
	if (byte != '\n') {
		if (!byte || answer->line_size == sizeof(answer->line) - 1)
			return "it answers with an invalid line";
		answer->line[answer->line_size++] = byte;
		return NULL;
	}
	if (answer->line_size && answer->line[answer->line_size - 1] == '\r')
		answer->line_size--;
	answer->line[answer->line_size] = '\0';
	answer->line_size = 0;
	return line_read(answer);
}

/* Returns how many bytes belong to the body. */
static size_t body_take(struct http_answer *answer, const char *bytes, size_t size)
{
	size_t room = sizeof(answer->kept) - 1 - answer->kept_size;
	size_t taken = answer->part == HTTP_ANSWER_TO_END ? size : MIN(size, answer->left);

	memcpy(answer->kept + answer->kept_size, bytes, MIN(room, taken));
	answer->kept_size += MIN(room, taken);
	answer->kept[answer->kept_size] = '\0';
	if (answer->part == HTTP_ANSWER_TO_END)
		return taken;
	answer->left -= taken;
	if (!answer->left)
		answer->part = answer->part == HTTP_ANSWER_CHUNK ? HTTP_ANSWER_CHUNK_END
								 : HTTP_ANSWER_COMPLETE;
	return taken;
}

static bool http_answer_is_complete(const struct http_answer *answer)
{
	return answer->part == HTTP_ANSWER_COMPLETE ||
	       answer->kept_size == sizeof(answer->kept) - 1;
}

const char *http_answer_take(struct http_answer *answer, const char *bytes, size_t size,
			     bool *complete)
{
	const char *problem = NULL;

	for (size_t at = 0; at < size && !problem && !http_answer_is_complete(answer);) {
		if (answer->part == HTTP_ANSWER_BODY || answer->part == HTTP_ANSWER_TO_END ||
		    answer->part == HTTP_ANSWER_CHUNK)
			at += body_take(answer, bytes + at, size - at);
		else
			problem = line_take(answer, bytes[at++]);
	}
	*complete = !problem && http_answer_is_complete(answer);
	return problem;
}

const char *http_answer_end(const struct http_answer *answer)
{
	if (answer->part == HTTP_ANSWER_COMPLETE || answer->part == HTTP_ANSWER_TO_END)
		return NULL;
	return "it closed the connection before its answer was complete";
}
