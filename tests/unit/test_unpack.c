// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <lz4frame.h>
#include <lzma.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "binary/parse/questions.h"

/* Two parts and a bit. */
#define BYTES (2 * UNPACK_PART_BYTES + 12345)

/* Packs `size` bytes; returns how many come out. */
typedef size_t packer(const uint8_t *bytes, size_t size, uint8_t *out, size_t room);

static size_t pack_zstd(const uint8_t *bytes, size_t size, uint8_t *out, size_t room)
{
	return ZSTD_compress(out, room, bytes, size, 1);
}

static size_t pack_lz4(const uint8_t *bytes, size_t size, uint8_t *out, size_t room)
{
	return LZ4F_compressFrame(out, room, bytes, size, NULL);
}

static size_t pack_xz(const uint8_t *bytes, size_t size, uint8_t *out, size_t room)
{
	size_t made = 0;

	assert_int_equal(
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, bytes, size, out, &made, room),
		LZMA_OK);
	return made;
}

static size_t pack_gzip(const uint8_t *bytes, size_t size, uint8_t *out, size_t room)
{
	z_stream stream = {.next_in = (Bytef *)bytes,
			   .avail_in = (uInt)size,
			   .next_out = out,
			   .avail_out = (uInt)room};

	assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return room - stream.avail_out;
}

static const struct {
	const char *name;
	packer *pack;
} packers[] = {{"zstd", pack_zstd}, {"lz4", pack_lz4}, {"xz", pack_xz}, {"gzip", pack_gzip}};

struct fixture {
	uint8_t *bytes, *packed;
	size_t size; /* of packed */
	struct bytes out;
	bool cut;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->bytes = calloc(1, BYTES);
	fixture->packed = malloc(2 * BYTES);
	for (size_t i = 0; i < BYTES; i += 1 + i % 977)
		fixture->bytes[i] = (uint8_t)(i * 31);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	bytes_free(&fixture->out);
	free(fixture->bytes);
	free(fixture->packed);
	free(fixture);
	return 0;
}

static int unpack(struct fixture *fixture)
{
	_cleanup_close_ int fd = memfd_create("packed", MFD_CLOEXEC);
	struct worker *worker = worker_new_local(&parse_kinds);
	struct unpacked part = {.more = true};
	int error = 0;

	assert_int_equal(write(fd, fixture->packed, fixture->size), fixture->size);
	fixture->out.size = 0;
	for (bool first = true; !error && part.more; first = false) {
		error = parse_unpack(worker, fd, first, &part);
		if (!error) {
			bytes_append(&fixture->out, part.bytes.data, part.bytes.size);
			bytes_free(&part.bytes);
		}
	}
	fixture->cut = part.cut;
	worker_free(worker);
	return error;
}

static void each_kind_is_detected_and_comes_out_as_it_went_in(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(packers); i++) {
		fixture->size = packers[i].pack(fixture->bytes, BYTES, fixture->packed, 2 * BYTES);
		assert_string_equal(unpack_kind_of(fixture->packed, fixture->size),
				    packers[i].name);
		assert_int_equal(unpack(fixture), 0);
		assert_int_equal(fixture->out.size, BYTES);
		assert_memory_equal(fixture->out.data, fixture->bytes, BYTES);
		assert_false(fixture->cut);
	}
}

static void one_behind_the_other_come_out_as_one(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(packers); i++) {
		fixture->size = packers[i].pack(fixture->bytes, 5000, fixture->packed, BYTES);
		fixture->size += packers[i].pack(fixture->bytes + 5000, 700,
						 fixture->packed + fixture->size, BYTES);
		assert_int_equal(unpack(fixture), 0);
		assert_int_equal(fixture->out.size, 5700);
		assert_memory_equal(fixture->out.data, fixture->bytes, 5700);
		assert_false(fixture->cut);
	}
}

static void what_is_cut_off_gives_what_there_is(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(packers); i++) {
		fixture->size =
			packers[i].pack(fixture->bytes, BYTES, fixture->packed, 2 * BYTES) / 2;
		assert_int_equal(unpack(fixture), 0);
		assert_true(fixture->cut);
		assert_true(fixture->out.size > 0 && fixture->out.size < BYTES);
		assert_memory_equal(fixture->out.data, fixture->bytes, fixture->out.size);
	}
}

static void what_contradicts_itself_is_refused(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(packers); i++) {
		fixture->size = packers[i].pack(fixture->bytes, BYTES, fixture->packed, 2 * BYTES);
		memset(fixture->packed + fixture->size / 2, 0xff, fixture->size / 4);
		assert_int_equal(unpack(fixture), -EBADMSG);
	}
	memset(fixture->packed, 'x', 100);
	assert_null(unpack_kind_of(fixture->packed, 100));
	assert_int_equal(unpack(fixture), -ENOTSUP);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_kind_is_detected_and_comes_out_as_it_went_in),
		TEST(one_behind_the_other_come_out_as_one),
		TEST(what_is_cut_off_gives_what_there_is),
		TEST(what_contradicts_itself_is_refused),
	};

	return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
