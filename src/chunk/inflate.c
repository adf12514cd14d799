/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "chunk/crc32c.h"
#include "chunk/file.h"
#include "chunk/stream.h"

#define LEVEL 3
#define PIECE_BYTES (128u << 10)

struct inflater {
	ZSTD_DCtx *context;
	unsigned char *in;
	ZSTD_inBuffer rest;
	bool ended; /* the frame is complete */
};

struct inflater *inflater_new(void)
{
	struct inflater *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	z->in = malloc(PIECE_BYTES);
	z->context = ZSTD_createDCtx();
	if (!z->in || !z->context ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(z->context, ZSTD_d_windowLogMax,
						STREAM_WINDOW_LOG))) {
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

ssize_t inflater_read(struct inflater *z, int fd, uint64_t *file_at, void *to, size_t len)
{
	ZSTD_outBuffer out = {to, len, 0};

	while (out.pos < out.size && !z->ended) {
		size_t before = out.pos, left;

		if (z->rest.pos == z->rest.size) {
			ssize_t n = file_read_at(fd, z->in, PIECE_BYTES, *file_at);

			if (n < 0)
				return n;
			*file_at += (uint64_t)n;
			z->rest = (ZSTD_inBuffer){z->in, (size_t)n, 0};
		}
		bool dry = z->rest.size == 0;

		left = ZSTD_decompressStream(z->context, &out, &z->rest);
		if (ZSTD_isError(left))
			return out.pos ? (z->ended = true, (ssize_t)out.pos) : -EBADMSG;
		if (left == 0)
			z->ended = true;
		else if (dry && out.pos == before)
			return out.pos ? (ssize_t)out.pos : -EBADMSG; /* cut off */
	}
	return (ssize_t)out.pos;
}

static int deflate(ZSTD_CCtx *context, int in, int out, unsigned char *buffers, uint64_t *bytes,
		   uint32_t *crc)
{
	uint64_t at = 0;
	size_t left = 1;
	ssize_t n;

	do {
		n = file_read_at(in, buffers, PIECE_BYTES, at);
		if (n < 0)
			return (int)n;
		at += (uint64_t)n;
		ZSTD_inBuffer src = {buffers, (size_t)n, 0};
		do {
			ZSTD_outBuffer dst = {buffers + PIECE_BYTES, PIECE_BYTES, 0};
			int err;

			left = ZSTD_compressStream2(context, &dst, &src,
						    n ? ZSTD_e_continue : ZSTD_e_end);
			if (ZSTD_isError(left))
				return -EIO;
			err = file_write(out, dst.dst, dst.pos);
			if (err)
				return err;
			*bytes += dst.pos;
			*crc = crc32c(*crc, dst.dst, dst.pos);
		} while (n ? src.pos < src.size : left != 0);
	} while (n);
	return 0;
}

int deflate_file(int dir, const char *from, const char *to, uint64_t *bytes, uint32_t *crc)
{
	int in = file_open_regular(dir, from), out = -1, err = -ENOMEM;
	unsigned char *buffers = malloc(2 * PIECE_BYTES);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	uint64_t size = 0;
	uint32_t sum = 0;

	if (in < 0) {
		err = in;
		goto end;
	}
	out = openat(dir, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (out < 0) {
		err = -errno;
		goto end;
	}
	if (!buffers || !context)
		goto end;
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, STREAM_WINDOW_LOG);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	err = deflate(context, in, out, buffers, &size, &sum);
end:
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) < 0 && !err)
		err = -errno;
	if (err && out >= 0)
		unlinkat(dir, to, 0);
	ZSTD_freeCCtx(context);
	free(buffers);
	if (!err) {
		*bytes = size;
		*crc = sum;
	}
	return err;
}
