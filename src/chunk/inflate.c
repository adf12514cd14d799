/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/crc32c.h"
#include "chunk/file.h"
#include "chunk/stream.h"

#define LEVEL 3
#define PIECE_BYTES (128u << 10)
#define READ_BYTES (16u << 10) /* thousands of inflaters may exist at once */

struct inflater {
	ZSTD_DCtx *context;
	unsigned char *in;
	ZSTD_inBuffer rest;
	bool ended; /* the frame is complete */
	uint32_t crc;
};

struct inflater *inflater_new(void)
{
	struct inflater *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->in = malloc(READ_BYTES);
	z->context = ZSTD_createDCtx();
	if (!z->in || !z->context ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(z->context, ZSTD_d_windowLogMax,
						STREAM_WINDOW_LOG_MAX))) {
		inflater_free(z);
		return NULL;
	}
	z->rest.src = z->in;
	return z;
}

void inflater_free(struct inflater *z)
{
	if (!z)
		return;
	ZSTD_freeDCtx(z->context);
	free(z->in);
	free(z);
}

size_t inflater_bytes(const struct inflater *z)
{
	return sizeof(*z) + READ_BYTES + ZSTD_sizeof_DCtx(z->context);
}

uint32_t inflater_crc(const struct inflater *z)
{
	return z->crc;
}

ssize_t inflater_read(struct inflater *z, int fd, uint64_t *file_at, void *to, size_t len)
{
	ZSTD_outBuffer out = {to, len, 0};

	while (out.pos < out.size && !z->ended) {
		size_t before = out.pos, left;

		if (z->rest.pos == z->rest.size) {
			ssize_t n = file_read_at(fd, z->in, READ_BYTES, *file_at);

			if (n < 0)
				return n;
			*file_at += (uint64_t)n;
			z->crc = crc32c(z->crc, z->in, (size_t)n);
			z->rest = (ZSTD_inBuffer){z->in, (size_t)n, 0};
		}
		bool dry = z->rest.size == 0;

		left = ZSTD_decompressStream(z->context, &out, &z->rest);
		if (ZSTD_isError(left))
			return out.pos ? (z->ended = true, (ssize_t)out.pos) : -EBADMSG;
		if (left == 0)
			z->ended = true;
		else if (dry && out.pos == before)
			return out.pos ? (ssize_t)out.pos : -EBADMSG; /* the file is cut off */
	}
	return (ssize_t)out.pos;
}

struct deflater {
	ZSTD_CCtx *context;
	int in;
	int out;
	unsigned char *buffers; /* buffers for a piece of input and of output */
	uint64_t bytes;
	uint32_t crc;
};

static int deflate_piece(struct deflater *z, size_t len)
{
	ZSTD_inBuffer src = {z->buffers, len, 0};
	size_t left;

	do {
		ZSTD_outBuffer dst = {z->buffers + PIECE_BYTES, PIECE_BYTES, 0};
		int err;

		left = ZSTD_compressStream2(z->context, &dst, &src,
					    len ? ZSTD_e_continue : ZSTD_e_end);
		if (ZSTD_isError(left))
			return -EIO;
		err = file_write(z->out, dst.dst, dst.pos);
		if (err)
			return err;
		z->bytes += dst.pos;
		z->crc = crc32c(z->crc, dst.dst, dst.pos);
	} while (len ? src.pos < src.size : left != 0);
	return 0;
}

/* The size in the head of a small file lets its reader allocate a small window. */
static int deflate(struct deflater *z)
{
	struct stat st;
	uint64_t at = 0;
	ssize_t n;

	if (fstat(z->in, &st) < 0)
		return -errno;
	if (ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(z->context, (uint64_t)st.st_size)))
		return -EIO;
	do {
		int err;

		n = file_read_at(z->in, z->buffers, PIECE_BYTES, at);
		if (n < 0)
			return (int)n;
		at += (uint64_t)n;
		err = deflate_piece(z, (size_t)n);
		if (err)
			return err;
	} while (n);
	return 0;
}

int deflate_file(int dir, const char *from, const char *to, uint64_t *bytes, uint32_t *crc)
{
	struct deflater z = {.in = file_open_regular(dir, from), .out = -1};
	int err = z.in < 0 ? z.in : 0;

	if (!err) {
		z.out = file_create(dir, to);
		err = z.out < 0 ? z.out : 0;
	}
	z.buffers = malloc((size_t)2 * PIECE_BYTES);
	z.context = ZSTD_createCCtx();
	if (!err && (!z.buffers || !z.context))
		err = -ENOMEM;
	if (!err) {
		ZSTD_CCtx_setParameter(z.context, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(z.context, ZSTD_c_windowLog, STREAM_WINDOW_LOG);
		ZSTD_CCtx_setParameter(z.context, ZSTD_c_checksumFlag, 1);
		err = deflate(&z);
	}
	if (z.in >= 0)
		close(z.in);
	if (z.out >= 0 && close(z.out) < 0 && !err)
		err = -errno;
	if (err && z.out >= 0)
		unlinkat(dir, to, 0);
	ZSTD_freeCCtx(z.context);
	free(z.buffers);
	if (!err) {
		*bytes = z.bytes;
		*crc = z.crc;
	}
	return err;
}
