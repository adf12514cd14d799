// SPDX-License-Identifier: Apache-2.0
#include "thumbnail.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>

struct thumbnail {
	AVFormatContext *input;
	AVStream *stream;
	AVCodecContext *decoder;
	AVPacket *packet;
	AVFrame *frame; /* the one to show, once decoded */
	AVFrame *spare; /* the decoder fills it */
	int64_t target; /* in the stream's time base */
	unsigned frames;
	AVCodecContext *encoder;
	AVFrame *picture; /* `frame`, scaled */
	AVPacket *image;
};

/*
 * Only containers that hold their own data: a playlist would make the server open whatever
 * addresses stand in it.
 */
static int input_open(struct thumbnail *thumbnail, const char *path)
{
	AVDictionary *options = NULL;
	char url[4200];
	int error;

	if ((size_t)snprintf(url, sizeof(url), "file:%s", path) >= sizeof(url))
		return -ENAMETOOLONG;
	av_dict_set(&options, "protocol_whitelist", "file", 0);
	av_dict_set(&options, "format_whitelist", "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm", 0);
	error = avformat_open_input(&thumbnail->input, url, NULL, &options);
	av_dict_free(&options);
	if (error < 0)
		return error;
	error = avformat_find_stream_info(thumbnail->input, NULL);
	return error < 0 ? error : 0;
}

static int decoder_open(struct thumbnail *thumbnail)
{
	const AVCodec *codec = NULL;
	int index = av_find_best_stream(thumbnail->input, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
	int error;

	if (index < 0)
		return index;
	thumbnail->stream = thumbnail->input->streams[index];
	/* The other streams need not even be read. */
	for (unsigned i = 0; i < thumbnail->input->nb_streams; i++)
		if ((int)i != index)
			thumbnail->input->streams[i]->discard = AVDISCARD_ALL;
	thumbnail->decoder = avcodec_alloc_context3(codec);
	if (!thumbnail->decoder)
		return -ENOMEM;
	error = avcodec_parameters_to_context(thumbnail->decoder, thumbnail->stream->codecpar);
	if (error < 0)
		return error;
	/* The pool is what runs in parallel: a request's work stays on the thread that has it. */
	thumbnail->decoder->thread_count = 1;
	thumbnail->decoder->max_pixels = THUMBNAIL_PIXELS_MAX;
	thumbnail->decoder->pkt_timebase = thumbnail->stream->time_base;
	return avcodec_open2(thumbnail->decoder, codec, NULL);
}

int thumbnail_open(struct thumbnail **out, const char *path)
{
	struct thumbnail *thumbnail = calloc(1, sizeof(*thumbnail));
	int error;

	if (!thumbnail)
		return -ENOMEM;
	thumbnail->packet = av_packet_alloc();
	thumbnail->frame = av_frame_alloc();
	thumbnail->spare = av_frame_alloc();
	thumbnail->picture = av_frame_alloc();
	thumbnail->image = av_packet_alloc();
	error = thumbnail->packet && thumbnail->frame && thumbnail->spare && thumbnail->picture &&
				thumbnail->image
			? input_open(thumbnail, path)
			: -ENOMEM;
	if (!error)
		error = decoder_open(thumbnail);
	if (error < 0) {
		thumbnail_close(thumbnail);
		return error;
	}
	*out = thumbnail;
	return 0;
}

int thumbnail_seek(struct thumbnail *thumbnail, int64_t at_ms)
{
	const AVStream *stream = thumbnail->stream;
	int64_t at_us = at_ms * 1000;
	int error;

	if (at_ms < 0 ||
	    (thumbnail->input->duration != AV_NOPTS_VALUE && at_us >= thumbnail->input->duration))
		return -ERANGE;
	thumbnail->target = av_rescale_q(at_us, AV_TIME_BASE_Q, stream->time_base);
	if (stream->start_time != AV_NOPTS_VALUE)
		thumbnail->target += stream->start_time;
	error = av_seek_frame(thumbnail->input, stream->index, thumbnail->target,
			      AVSEEK_FLAG_BACKWARD);
	if (error < 0)
		return error;
	avcodec_flush_buffers(thumbnail->decoder);
	return 0;
}

/* Hands the decoder its next packet, or at the end of the file the flush. */
static int packet_feed(struct thumbnail *thumbnail)
{
	AVPacket *packet = thumbnail->packet;
	int error = av_read_frame(thumbnail->input, packet);

	if (error == AVERROR_EOF)
		return avcodec_send_packet(thumbnail->decoder, NULL);
	if (error < 0)
		return error;
	if (packet->stream_index == thumbnail->stream->index)
		error = avcodec_send_packet(thumbnail->decoder, packet);
	av_packet_unref(packet);
	/* A damaged packet costs its frame; a frame after it may well be whole. */
	return error == AVERROR_INVALIDDATA ? 0 : error;
}

/* Takes the decoded frame; 1 once it is the one to show. */
static int frame_accept(struct thumbnail *thumbnail)
{
	AVFrame *frame = thumbnail->spare;
	int64_t begin = frame->best_effort_timestamp;
	AVRational rate = av_guess_frame_rate(thumbnail->input, thumbnail->stream, frame);
	int64_t length = frame->pkt_duration;

	if (length <= 0 && rate.num > 0)
		length = av_rescale_q(1, av_inv_q(rate), thumbnail->stream->time_base);
	thumbnail->spare = thumbnail->frame;
	thumbnail->frame = frame;
	av_frame_unref(thumbnail->spare);
	return begin == AV_NOPTS_VALUE || begin + (length > 0 ? length : 1) > thumbnail->target;
}

int thumbnail_decode(struct thumbnail *thumbnail)
{
	while (thumbnail->frames < THUMBNAIL_FRAMES_MAX) {
		int error = avcodec_receive_frame(thumbnail->decoder, thumbnail->spare);

		if (error == AVERROR(EAGAIN)) {
			error = packet_feed(thumbnail);
			if (error < 0 && error != AVERROR_EOF)
				return error;
		} else if (error == AVERROR_EOF) {
			/* The stream may end a little before its container says: show the last. */
			return thumbnail->frames ? 0 : AVERROR_INVALIDDATA;
		} else if (error < 0) {
			return error;
		} else {
			thumbnail->frames++;
			if (frame_accept(thumbnail))
				return 0;
		}
	}
	return -ETIME;
}

unsigned thumbnail_frames(const struct thumbnail *thumbnail)
{
	return thumbnail->frames;
}

/* The height that keeps the shape of the frame as it is shown; both are even, for 4:2:0. */
static int picture_size(const struct thumbnail *thumbnail, int *width, int *height)
{
	const AVFrame *frame = thumbnail->frame;
	AVRational shape = av_guess_sample_aspect_ratio(thumbnail->input, thumbnail->stream,
							(AVFrame *)frame);
	int64_t shown_width = frame->width;
	int64_t shown_height = frame->height;

	if (shape.num > 0 && shape.den > 0) {
		shown_width *= shape.num;
		shown_height *= shape.den;
	}
	*width &= ~1;
	*height = (int)av_rescale(*width, shown_height, shown_width * 2) * 2;
	if (*height < 2)
		*height = 2;
	return *height > THUMBNAIL_WIDTH_MAX ? -ERANGE : 0;
}

static int picture_scale(struct thumbnail *thumbnail, int width, int height,
			 enum AVPixelFormat format)
{
	AVFrame *from = thumbnail->frame;
	AVFrame *to = thumbnail->picture;
	struct SwsContext *scaler = sws_getContext(from->width, from->height, from->format, width,
						   height, format, SWS_BILINEAR | SWS_ACCURATE_RND,
						   NULL, NULL, NULL);
	const int *colours;
	int error;

	if (!scaler)
		return -ENOMEM;
	/* JPEG's values use the full range, a video's mostly do not. */
	colours = sws_getCoefficients(from->colorspace == AVCOL_SPC_BT709 ? SWS_CS_ITU709
									  : SWS_CS_DEFAULT);
	sws_setColorspaceDetails(scaler, colours, from->color_range == AVCOL_RANGE_JPEG,
				 sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
	to->width = width;
	to->height = height;
	to->format = format;
	to->color_range = AVCOL_RANGE_JPEG;
	error = av_frame_get_buffer(to, 0);
	if (!error)
		error = sws_scale(scaler, (const uint8_t *const *)from->data, from->linesize, 0,
				  from->height, to->data, to->linesize);
	sws_freeContext(scaler);
	return error < 0 ? error : 0;
}

static int picture_compress(struct thumbnail *thumbnail, enum AVCodecID id)
{
	const AVCodec *codec = avcodec_find_encoder(id);
	AVFrame *picture = thumbnail->picture;
	AVCodecContext *encoder;
	int error;

	if (!codec)
		return AVERROR_ENCODER_NOT_FOUND;
	encoder = thumbnail->encoder = avcodec_alloc_context3(codec);
	if (!encoder)
		return -ENOMEM;
	encoder->width = picture->width;
	encoder->height = picture->height;
	encoder->pix_fmt = picture->format;
	encoder->color_range = AVCOL_RANGE_JPEG;
	encoder->time_base = (AVRational){1, 25};
	encoder->thread_count = 1;
	if (id == AV_CODEC_ID_MJPEG) {
		encoder->flags |= AV_CODEC_FLAG_QSCALE;
		encoder->global_quality = 4 * FF_QP2LAMBDA;
		picture->quality = encoder->global_quality;
	}
	error = avcodec_open2(encoder, codec, NULL);
	if (!error)
		error = avcodec_send_frame(encoder, picture);
	if (!error)
		error = avcodec_send_frame(encoder, NULL);
	return error ? error : avcodec_receive_packet(encoder, thumbnail->image);
}

int thumbnail_encode(struct thumbnail *thumbnail, int width, enum thumbnail_format format,
		     struct thumbnail_image *image)
{
	static const struct {
		enum AVPixelFormat pixels;
		enum AVCodecID codec;
	} kinds[] = {
		[THUMBNAIL_JPEG] = {AV_PIX_FMT_YUV420P, AV_CODEC_ID_MJPEG},
		[THUMBNAIL_PNG] = {AV_PIX_FMT_RGB24, AV_CODEC_ID_PNG},
	};
	int height;
	int error;

	if (width < THUMBNAIL_WIDTH_MIN || width > THUMBNAIL_WIDTH_MAX)
		return -ERANGE;
	error = picture_size(thumbnail, &width, &height);
	if (!error)
		error = picture_scale(thumbnail, width, height, kinds[format].pixels);
	if (!error)
		error = picture_compress(thumbnail, kinds[format].codec);
	if (error)
		return error;
	*image = (struct thumbnail_image){
		.data = thumbnail->image->data,
		.size = (size_t)thumbnail->image->size,
		.width = width,
		.height = height,
	};
	return 0;
}

void thumbnail_close(struct thumbnail *thumbnail)
{
	if (!thumbnail)
		return;
	av_packet_free(&thumbnail->image);
	av_frame_free(&thumbnail->picture);
	avcodec_free_context(&thumbnail->encoder);
	av_frame_free(&thumbnail->spare);
	av_frame_free(&thumbnail->frame);
	av_packet_free(&thumbnail->packet);
	avcodec_free_context(&thumbnail->decoder);
	avformat_close_input(&thumbnail->input);
	free(thumbnail);
}

const char *thumbnail_error(int error, char *text, size_t size)
{
	if (error == -ETIME)
		snprintf(text, size, "no frame within %d of the key frame", THUMBNAIL_FRAMES_MAX);
	else if (error == -ERANGE)
		snprintf(text, size, "out of range");
	else
		av_strerror(error, text, size);
	return text;
}
