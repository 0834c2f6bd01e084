// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/unpack.h"

#include <errno.h>
#include <lz4frame.h>
#include <lzma.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"

#define IN_BYTES (256u << 10)
#define XZ_MEMORY_BYTES (512ull << 20)
#define ZLIB_GZIP_ONLY (15 + 16)

/* The rest of the input, and the room for output. */
struct step {
	const uint8_t *in;
	size_t in_left;
	uint8_t *out;
	size_t out_left;
	bool in_frame; /* afterwards: a frame is incomplete */
};

struct unpacker {
	const struct method *method;
	uint64_t offset; /* in the file, of the next read */
	uint8_t in[IN_BYTES];
	size_t in_at, in_size;
	bool in_frame;
	ZSTD_DStream *zstd;
	LZ4F_dctx *lz4;
	lzma_stream xz;
	z_stream gzip;
};

static void take(struct step *step, size_t in, size_t out)
{
	step->in += in;
	step->in_left -= in;
	step->out += out;
	step->out_left -= out;
}

static int zstd_begin(struct unpacker *unpacker)
{
	unpacker->zstd = ZSTD_createDStream();
	return unpacker->zstd ? 0 : -ENOMEM;
}

static int zstd_run(struct unpacker *unpacker, struct step *step)
{
	ZSTD_inBuffer in = {step->in, step->in_left, 0};
	ZSTD_outBuffer out = {step->out, step->out_left, 0};
	size_t left = ZSTD_decompressStream(unpacker->zstd, &out, &in);

	if (ZSTD_isError(left))
		return -EBADMSG;
	take(step, in.pos, out.pos);
	step->in_frame = left != 0;
	return 0;
}

static void zstd_end(struct unpacker *unpacker)
{
	ZSTD_freeDStream(unpacker->zstd);
}

static int lz4_begin(struct unpacker *unpacker)
{
	return LZ4F_isError(LZ4F_createDecompressionContext(&unpacker->lz4, LZ4F_VERSION)) ? -ENOMEM
											   : 0;
}

static int lz4_run(struct unpacker *unpacker, struct step *step)
{
	size_t in = step->in_left, out = step->out_left;
	size_t left = LZ4F_decompress(unpacker->lz4, step->out, &out, step->in, &in, NULL);

	if (LZ4F_isError(left))
		return -EBADMSG;
	take(step, in, out);
	step->in_frame = left != 0;
	return 0;
}

static void lz4_end(struct unpacker *unpacker)
{
	LZ4F_freeDecompressionContext(unpacker->lz4);
}

static int xz_begin(struct unpacker *unpacker)
{
	return lzma_stream_decoder(&unpacker->xz, XZ_MEMORY_BYTES, LZMA_CONCATENATED) == LZMA_OK
		       ? 0
		       : -ENOMEM;
}

static int xz_run(struct unpacker *unpacker, struct step *step)
{
	lzma_stream *xz = &unpacker->xz;
	lzma_ret result;

	xz->next_in = step->in;
	xz->avail_in = step->in_left;
	xz->next_out = step->out;
	xz->avail_out = step->out_left;
	result = lzma_code(xz, step->in_left ? LZMA_RUN : LZMA_FINISH);
	take(step, step->in_left - xz->avail_in, step->out_left - xz->avail_out);
	step->in_frame = result != LZMA_STREAM_END;
	if (result == LZMA_MEM_ERROR || result == LZMA_MEMLIMIT_ERROR)
		return -ENOMEM;
	return result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR
		       ? 0
		       : -EBADMSG;
}

static void xz_end(struct unpacker *unpacker)
{
	lzma_end(&unpacker->xz);
}

static int gzip_begin(struct unpacker *unpacker)
{
	return inflateInit2(&unpacker->gzip, ZLIB_GZIP_ONLY) == Z_OK ? 0 : -ENOMEM;
}

static int gzip_run(struct unpacker *unpacker, struct step *step)
{
	z_stream *gzip = &unpacker->gzip;
	int result;

	gzip->next_in = (Bytef *)step->in;
	gzip->avail_in = (uInt)step->in_left;
	gzip->next_out = step->out;
	gzip->avail_out = (uInt)step->out_left;
	result = inflate(gzip, Z_NO_FLUSH);
	take(step, step->in_left - gzip->avail_in, step->out_left - gzip->avail_out);
	step->in_frame = result != Z_STREAM_END;
	if (result == Z_STREAM_END)
		inflateReset(gzip);
	return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static void gzip_end(struct unpacker *unpacker)
{
	inflateEnd(&unpacker->gzip);
}

static const struct method {
	const char *name;
	uint8_t magic[6];
	size_t magic_size;
	int (*begin)(struct unpacker *);
	int (*run)(struct unpacker *, struct step *);
	void (*end)(struct unpacker *);
} methods[] = {
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_run, zstd_end},
	{"lz4", {0x04, 0x22, 0x4d, 0x18}, 4, lz4_begin, lz4_run, lz4_end},
	{"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_run, xz_end},
	{"gzip", {0x1f, 0x8b}, 2, gzip_begin, gzip_run, gzip_end},
};

static const struct method *method_of(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (size >= methods[i].magic_size &&
		    !memcmp(bytes, methods[i].magic, methods[i].magic_size))
			return &methods[i];
	}
	return NULL;
}

const char *unpack_kind_of(const uint8_t *bytes, size_t size)
{
	const struct method *method = method_of(bytes, size);

	return method ? method->name : NULL;
}

static void unpacker_free(void *state)
{
	struct unpacker *unpacker = state;

	if (unpacker && unpacker->method)
		unpacker->method->end(unpacker);
	free(unpacker);
}

/* Returns 0: end of the file; 1; -EIO. */
static int fill(struct unpacker *unpacker, int fd)
{
	ssize_t got;

	if (unpacker->in_at < unpacker->in_size)
		return 1;
	do
		got = pread(fd, unpacker->in, sizeof(unpacker->in), (off_t)unpacker->offset);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -EIO;
	unpacker->offset += (uint64_t)got;
	unpacker->in_at = 0;
	unpacker->in_size = (size_t)got;
	return got > 0;
}

static int begin(int fd, void **state)
{
	struct unpacker *unpacker = calloc(1, sizeof(*unpacker));
	const struct method *method;
	int error;

	unpacker_free(*state);
	*state = unpacker;
	if (!unpacker)
		return -ENOMEM;
	error = fill(unpacker, fd);
	method = method_of(unpacker->in, unpacker->in_size);
	if (error < 0 || !method)
		return error < 0 ? error : -ENOTSUP;
	error = method->begin(unpacker);
	if (!error)
		unpacker->method = method;
	return error;
}

/* Header of an answer; the bytes follow. */
struct wire_unpacked {
	uint8_t more, cut, padding_[6];
};

/* Returns 1 if there was input or output; 0: neither; -errno. */
static int run(struct unpacker *unpacker, struct step *step)
{
	size_t room = step->out_left, had = unpacker->in_size - unpacker->in_at;
	int error;

	step->in = unpacker->in + unpacker->in_at;
	step->in_left = had;
	error = unpacker->method->run(unpacker, step);
	if (error)
		return error;
	unpacker->in_at = unpacker->in_size - step->in_left;
	if (step->in_left == had && step->out_left == room) {
		/* The decoder may only have waited for the end of the file. */
		unpacker->in_frame &= step->in_frame;
		return 0;
	}
	unpacker->in_frame = step->in_frame;
	return 1;
}

static int unpack_part(struct unpacker *unpacker, int fd, struct step *step,
		       struct wire_unpacked *head)
{
	int left = 1, done = 1;

	while (done > 0 && step->out_left) {
		left = fill(unpacker, fd);
		done = left < 0 ? left : run(unpacker, step);
		if (!done && left)
			return -EBADMSG;
	}
	if (done < 0)
		return done;
	head->more = !step->out_left;
	head->cut = !head->more && unpacker->in_frame;
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	const struct unpack_question *question = input->question;
	struct wire_unpacked head = {0};
	struct step step = {.out_left = UNPACK_PART_BYTES};
	int error = question->first ? begin(input->files[0], input->state) : 0;
	struct unpacker *unpacker = *input->state;

	if (error)
		return error;
	if (!unpacker || !unpacker->method)
		return -EINVAL;
	error = bytes_append(body, &head, sizeof(head));
	step.out = error ? NULL : bytes_reserve(body, UNPACK_PART_BYTES);
	if (!step.out)
		return -ENOMEM;
	error = unpack_part(unpacker, input->files[0], &step, &head);
	memcpy(body->data, &head, sizeof(head));
	body->size += UNPACK_PART_BYTES - step.out_left;
	return error;
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	struct cursor cursor = {body->data, body->size};
	struct unpacked *unpacked = out;
	struct wire_unpacked head;

	(void)origin;
	if (cursor_take_one(&cursor, &head, sizeof(head)) || cursor.left > UNPACK_PART_BYTES ||
	    (head.more && cursor.left != UNPACK_PART_BYTES))
		return -EPROTO;
	unpacked->bytes = (struct bytes){0};
	if (bytes_append(&unpacked->bytes, cursor.at, cursor.left))
		return -ENOMEM;
	unpacked->more = head.more;
	unpacked->cut = head.cut;
	return 0;
}

const struct parse_kind unpack_kind = {
	.name = "compressed file",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.min_question = sizeof(struct unpack_question),
	.max_question = sizeof(struct unpack_question),
	.parse = parse,
	.decode = decode,
	.release = unpacker_free,
};
