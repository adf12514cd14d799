/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one stream of a chunk: from the window into packets, and from these to its file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/file.h"
#include "chunk/writer.h"

/* ---- packets to the file ---- */

/* Fills the head of the packet at `bytes`, and pads the packet to a multiple of 8 bytes. */
static void fill_head(const struct chunk_stream *s, u8 *bytes, uint64_t begin_ns, uint64_t end_ns,
		      uint32_t content)
{
	uint32_t size = (content + 7) & ~7u;
	struct packet_head *head = (struct packet_head *)bytes;
	uint32_t crc;

	*head = (struct packet_head){
		.magic = PACKET_MAGIC,
		.timestamp_begin = begin_ns,
		.timestamp_end = end_ns,
		.content_bits = 8ull * content,
		.packet_bits = 8ull * size,
		.events_discarded = s->discarded + s->told,
		.packet_seq = s->packets,
		.records_before = s->packet_records_before,
		.cpu_id = s->cpu,
	};
	memcpy(head->uuid, s->writer->info.identity, sizeof(head->uuid));
	memset(bytes + content, 0, size - content);
	crc = crc32c(0, bytes, offsetof(struct packet_head, checksum));
	head->checksum = crc32c(crc, bytes + PACKET_HEAD_BYTES, size - PACKET_HEAD_BYTES);
}

/*
 * Appends to the file. A failure leaves the file unchanged: readers must not find half a
 * packet before a whole one.
 */
static int append(struct chunk_stream *s, const u8 *bytes, size_t len)
{
	int dir = s->writer->dir, err;
	int fd = s->packets ? file_open_write(dir, s->name) : file_create(dir, s->name);

	if (fd < 0)
		return fd;
	err = lseek(fd, (off_t)s->file.bytes, SEEK_SET) < 0 ? -errno : 0;
	if (!err)
		err = file_write(fd, bytes, len);
	if (err && ftruncate(fd, (off_t)s->file.bytes) < 0)
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		return err;
	s->file.crc = crc32c(s->file.crc, bytes, len);
	s->file.bytes += len;
	memcpy(&s->last, bytes, sizeof(s->last));
	s->packets++;
	return 0;
}

/* Writes the empty packet with which a stream begins. */
static int append_first(struct chunk_stream *s, uint64_t time_ns)
{
	u8 bytes[PACKET_HEAD_BYTES] __attribute__((aligned(8)));
	uint64_t discarded = s->discarded, told = s->told;
	int err;

	s->discarded = s->told = 0;
	fill_head(s, bytes, time_ns, time_ns, sizeof(bytes));
	s->discarded = discarded;
	s->told = told;
	err = append(s, bytes, sizeof(bytes));
	return err;
}

void chunk_stream_lose(struct chunk_stream *s, uint64_t count, uint64_t since_ns)
{
	if (s->unwritten == s->told || since_ns < s->unwritten_since_ns)
		s->unwritten_since_ns = since_ns;
	s->unwritten += count;
}

/*
 * The disk had no room for the packet. The losses in its `lost` records must be written later.
 * Those of its `lost` records that count `unwritten` are not lost records themselves.
 */
static void packet_refused(struct chunk_stream *s, uint64_t begin_ns)
{
	uint64_t since_ns = s->doubt_since_ns < begin_ns ? s->doubt_since_ns : begin_ns;

	s->told = 0;
	chunk_stream_lose(s, s->packet.records - s->tellers, since_ns);
}

static void packet_taken(struct chunk_stream *s, uint64_t end_ns)
{
	s->file.records += s->packet.records;
	s->file.events += s->packet.events;
	s->encoded_ns = end_ns;
	s->writer->info.lost.buffer += s->told;
	s->discarded += s->told;
	s->unwritten -= s->told;
	s->told = 0;
}

int chunk_stream_write(struct chunk_stream *s, uint64_t end_ns)
{
	struct packet *p = &s->packet;
	uint64_t begin_ns = p->events ? p->begin_ns : end_ns;
	int err = 0;

	if (p->events && p->end_ns > end_ns)
		end_ns = p->end_ns;
	s->in_packet = false;
	if (s->packets == 0) {
		uint64_t cut = s->writer->info.begin_ns;

		err = append_first(s, begin_ns < cut ? begin_ns : cut);
	}
	if (!err) {
		fill_head(s, p->bytes, begin_ns, end_ns, p->unpadded);
		err = append(s, p->bytes, (p->unpadded + 7) & ~7u);
	}
	if (!err)
		packet_taken(s, end_ns);
	else
		packet_refused(s, begin_ns);
	if (err && !s->writer->write_err)
		s->writer->write_err = err;
	s->packet_records_before = s->file.records;
	return err;
}

int chunk_stream_discard(struct chunk_stream *s, uint64_t count)
{
	const size_t bytes = s->last.packet_bits / 8, rest = bytes - sizeof(s->last);
	const size_t at = offsetof(struct packet_head, checksum);
	struct packet_head head = s->last;
	int fd, err;

	if (s->packets < 2)
		return -ENOENT;
	fd = file_open_write(s->writer->dir, s->name);
	if (fd < 0)
		return fd;
	/* only the head changes, so its effect on both checksums is known */
	head.events_discarded += count;
	head.checksum ^= crc32c_moved(crc32c(0, &head, at) ^ crc32c(0, &s->last, at), rest);
	err = lseek(fd, (off_t)(s->file.bytes - bytes), SEEK_SET) < 0
		      ? -errno
		      : file_write(fd, &head, sizeof(head));
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		return err;
	s->file.crc ^= crc32c_moved(
		crc32c(0, &head, sizeof(head)) ^ crc32c(0, &s->last, sizeof(head)), rest);
	s->last = head;
	return 0;
}

int chunk_stream_begin(struct chunk_stream *s, u16 cpu)
{
	if (s->packet.capacity == 0) {
		/* packet_add() allocates for events; an empty packet needs only its head */
		s->packet.bytes = malloc(4096 + PACKET_SLACK);
		if (!s->packet.bytes)
			return -ENOMEM;
		s->packet.capacity = 4096;
	}
	packet_begin(&s->packet);
	s->doubt_since_ns = UINT64_MAX;
	s->tellers = 0;
	s->cpu = cpu;
	s->in_packet = true;
	return 0;
}

/* ---- from the window into the packet ---- */

static void count_loss(struct chunk_stream *s, const struct record_lost *lost)
{
	struct chunk_lost *sum = &s->writer->info.lost;
	uint64_t damaged = sum->damaged;

	chunk_lost_add(sum, lost);
	if (sum->damaged == damaged) /* damaged records are not discarded events */
		s->discarded += lost->count;
}

/* Ensures a packet that can take a record of that time and CPU. */
static int packet_for(struct chunk_stream *s, uint64_t time_ns, u16 cpu)
{
	int err = 0;

	if (s->in_packet && s->packet.events &&
	    (packet_must_end(&s->packet, time_ns) || cpu != s->cpu))
		chunk_stream_write(s, s->packet.end_ns);
	if (!s->in_packet)
		err = chunk_stream_begin(s, cpu);
	if (!err)
		s->cpu = cpu;
	return err;
}

static int encode_lost(struct chunk_stream *s, const struct record_lost *lost)
{
	int err = packet_add(&s->packet, &lost->head);

	if (!err && lost->begin_ns < s->doubt_since_ns)
		s->doubt_since_ns = lost->begin_ns;
	return err;
}

void chunk_stream_tell(struct chunk_stream *s, uint64_t time_ns)
{
	struct record_lost lost = {
		.head = {.kind = RECORD_lost,
			 .slots = 1,
			 .cpu = s->kind == CHUNK_STREAM_CPU ? (u16)s->number : PACKET_NO_CPU,
			 .time_ns = time_ns},
		.why = LOST_buffer,
	};

	if (s->kind == CHUNK_STREAM_APP) /* it was of a program, without a CPU */
		lost.head.tid = lost.head.pid = s->number;

	/* writing the previous packet can fail here, too */
	if (packet_for(s, time_ns, lost.head.cpu) || s->unwritten == s->told)
		return;
	lost.count = s->unwritten - s->told;
	lost.begin_ns = s->unwritten_since_ns < time_ns ? s->unwritten_since_ns : time_ns;
	if (encode_lost(s, &lost))
		return;
	s->told = s->unwritten;
	s->tellers++;
}

/* A loss without duration would leave nothing in doubt, so it is written with the next record. */
static bool must_tell(const struct chunk_stream *s, uint64_t time_ns)
{
	return s->unwritten != s->told && s->unwritten_since_ns < time_ns;
}

static int add_record(struct chunk_stream *s, const struct record_head *record)
{
	const struct record_lost *lost = (const void *)record;
	int err;

	if (record->kind != RECORD_lost)
		return packet_add(&s->packet, record);
	err = encode_lost(s, lost);
	if (!err)
		count_loss(s, lost);
	return err;
}

/* Encodes the `lost` record before any record that follows the loss. */
static int encode_record(struct chunk_stream *s, const struct record_head *record)
{
	int err = packet_for(s, record->time_ns, record->cpu);

	if (__builtin_expect(!err && must_tell(s, record->time_ns), 0)) {
		chunk_stream_tell(s, record->time_ns);
		err = packet_for(s, record->time_ns, record->cpu);
		if (!err && must_tell(s, record->time_ns))
			err = -ENOSPC;
	}
	return err ? err : add_record(s, record);
}

void chunk_stream_encode(struct chunk_stream *s, uint64_t up_to_ns)
{
	window_sort(&s->window);
	while (!window_is_empty(&s->window)) {
		const struct record_head *record = window_first(&s->window);

		if (record->time_ns >= up_to_ns)
			break;
		if (encode_record(s, record))
			chunk_stream_lose(s, 1, record->time_ns);
		window_pop(&s->window);
	}
	window_trim(&s->window);
	if (up_to_ns > s->advanced_ns)
		s->advanced_ns = up_to_ns;
}
