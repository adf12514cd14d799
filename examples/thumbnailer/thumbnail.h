/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture out of a video, in the four steps whose cost is to be told apart. The steps are
 * called in this order on one object, by one thread; each returns 0 or a negative error, of
 * which thumbnail_error() makes a text. After an error only thumbnail_close() may follow.
 */
#ifndef THUMBNAILER_THUMBNAIL_H
#define THUMBNAILER_THUMBNAIL_H

#include <stddef.h>
#include <stdint.h>

enum {
	THUMBNAIL_WIDTH_MIN = 16,
	THUMBNAIL_WIDTH_MAX = 4096, /* of the height too */
	/* Frames decoded for one picture at most; a longer group of pictures is refused. */
	THUMBNAIL_FRAMES_MAX = 3000,
	/* Pixels of a frame of the video at most, so that a file cannot ask for any memory. */
	THUMBNAIL_PIXELS_MAX = 8192 * 4320,
};

enum thumbnail_format {
	THUMBNAIL_JPEG,
	THUMBNAIL_PNG,
};

struct thumbnail;

struct thumbnail_image {
	const uint8_t *data; /* of the thumbnail, until it is closed */
	size_t size;
	int width;
	int height;
};

/*
 * Opens the file, its best video stream and the decoder. -ENOENT: no such file; other errors
 * mean that it cannot be used as a video. *out is the caller's.
 */
int thumbnail_open(struct thumbnail **out, const char *path);

/* Goes to the last key frame at or before the time. -ERANGE: the video has ended by then. */
int thumbnail_seek(struct thumbnail *thumbnail, int64_t at_ms);

/* Decodes up to the frame that is shown at the time sought. */
int thumbnail_decode(struct thumbnail *thumbnail);

/* Frames decoded until now. */
unsigned thumbnail_frames(const struct thumbnail *thumbnail);

/* Scales the frame to the width, keeping its shape, and compresses it. */
int thumbnail_encode(struct thumbnail *thumbnail, int width, enum thumbnail_format format,
		     struct thumbnail_image *image);

/* Frees all of it; NULL is fine. */
void thumbnail_close(struct thumbnail *thumbnail);

/* The text for an error of the functions above, in `text`, which it returns. */
const char *thumbnail_error(int error, char *text, size_t size);

#endif
