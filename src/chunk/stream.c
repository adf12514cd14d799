/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "chunk/file.h"
#include "chunk/inflate.h"

#define READ_BYTES ((size_t)PACKET_TARGET_BYTES)
#define FIRST_READ_BYTES ((size_t)16 << 10)
#define WASTE_FLOOR ((uint64_t)16 << 20)
#define WASTE_FACTOR 8 /* bytes checked in vain for each byte read */

/* Checks that a packet belongs to this stream: a file may have been copied. */
static long stream_cpu(const char *name)
{
	if (strncmp(name, "cpu", 3) == 0)
		return strtol(name + 3, NULL, 10);
	return strncmp(name, "app-", 4) ? -1 : (long)PACKET_NO_CPU;
}

int stream_init(struct stream *s, int dir, const char *name, const uint8_t *identity, bool growing)
{
	*s = (struct stream){.dir = dir, .growing = growing};
	strncpy(s->name, name, sizeof(s->name) - 1);
	s->cpu = stream_cpu(name);
	if (identity) {
		s->has_identity = true;
		memcpy(s->identity, identity, sizeof(s->identity));
	}
	if (unpacker_init(&s->unpacker))
		return -ENOMEM;
	s->compressed = chunk_file_is_compressed(name);
	return 0;
}

/* Counts the memory of a compressed stream: a few bytes of its file may demand much. */
static void stream_count(struct stream *s)
{
	uint64_t now = s->capacity + unpacker_bytes(&s->unpacker);

	if (s->inflater)
		now += inflater_bytes(s->inflater);
	s->budget->memory += now - s->held;
	s->held = now;
	s->uncounted = false;
}

void stream_free(struct stream *s)
{
	if (s->budget)
		s->budget->memory -= s->held;
	s->held = 0;
	inflater_free(s->inflater);
	unpacker_free(&s->unpacker);
	free(s->buffer);
	vec_free(&s->kept);
	s->inflater = NULL;
	s->buffer = NULL;
}

static void stream_open_hole(struct stream *s)
{
	if (s->hole)
		return;
	s->hole = true;
	/* inside of a packet, the unpacker has the time of the last delivered record */
	s->hole_from_ns = s->in_packet ? s->unpacker.time_ns : s->last_end_ns;
}

static void stream_damage(struct stream *s, const char *why)
{
	stream_open_hole(s);
	if (!s->damage)
		s->damage = why;
}

static ssize_t read_compressed(struct stream *s, int fd, size_t len)
{
	struct stream_budget *b = s->budget;
	uint64_t from = s->file_at;
	ssize_t n;

	stream_count(s);
	if (b->memory > INFLATING_MAX_BYTES)
		return -EFBIG;
	if (b->inflated > inflate_limit(b->deflated, b->vouched)) {
		stream_damage(s, "it is compressed beyond belief, or files beside it are");
		return -EFBIG;
	}
	if (!s->inflater)
		s->inflater = inflater_new();
	if (!s->inflater)
		return -ENOMEM;
	n = inflater_read(s->inflater, fd, &s->file_at, s->buffer + s->to, len);
	s->crc = inflater_crc(s->inflater);
	if (n < (ssize_t)len) {
		inflater_free(s->inflater);
		s->inflater = NULL;
	}
	stream_count(s);
	b->deflated += s->file_at - from;
	b->inflated += n > 0 ? (uint64_t)n : 0;
	return n;
}

static const char *read_failure(int err)
{
	if (err == -EFBIG)
		return "there are too many compressed files beside it";
	return err == -EBADMSG ? "its compression is damaged" : "cannot be read";
}

/* Reads more of the file, after buffer[to]. Sets file_ended. 0 or -ENOMEM. */
static int read_more(struct stream *s, size_t len)
{
	int fd = file_open_regular(s->dir, s->name);
	uint64_t from = s->file_at;
	ssize_t n;

	if (s->file_bytes && !s->compressed && len >= s->file_bytes - from) {
		len = s->file_bytes - from;
		s->file_ended = true;
		if (!s->damage && fd >= 0 && lseek(fd, 0, SEEK_END) > (off_t)s->file_bytes)
			s->damage = "it goes on behind what the manifest says";
	}
	if (fd < 0) {
		n = fd;
	} else if (s->compressed) {
		n = read_compressed(s, fd, len);
	} else {
		n = file_read_at(fd, s->buffer + s->to, len, s->file_at);
		if (n > 0)
			s->file_at += (uint64_t)n;
	}
	if (fd >= 0)
		close(fd);
	s->budget->read += s->file_at - from;
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n < 0) {
		s->read_err = (int)n;
		stream_damage(s, read_failure((int)n));
		s->file_ended = true;
		return 0;
	}
	s->to += (size_t)n;
	if ((size_t)n < len)
		s->file_ended = true;
	return 0;
}

/* Makes `need` bytes (at most a packet) available at `from` if the file has them. */
static int stream_fill(struct stream *s, size_t need)
{
	size_t piece = s->capacity ? READ_BYTES : FIRST_READ_BYTES;

	if (s->to - s->from >= need || s->file_ended)
		return 0;
	if (s->from) {
		memmove(s->buffer, s->buffer + s->from, s->to - s->from);
		s->to -= s->from;
		s->from = 0;
	}
	while (s->to < need && !s->file_ended) {
		int err;

		if (s->to + piece > s->capacity) {
			u8 *more = realloc(s->buffer, s->to + piece + UNPACK_SLACK);

			if (!more)
				return -ENOMEM;
			s->buffer = more;
			s->capacity = s->to + piece;
		}
		err = read_more(s, piece);
		if (err)
			return err;
		piece = READ_BYTES;
	}
	return 0;
}

static const char *check_head(const struct stream *s, const struct packet_head *head)
{
	if (head->magic != PACKET_MAGIC)
		return "a packet does not begin where it should";
	if (s->has_identity && memcmp(head->uuid, s->identity, sizeof(s->identity)) != 0)
		return "a packet belongs to another chunk";
	if (s->cpu >= 0 && (long)head->cpu_id != s->cpu)
		return "a packet belongs to another file";
	if (head->content_bits % 8 || head->packet_bits % 64 ||
	    head->packet_bits > 8ull * PACKET_MAX_BYTES || head->content_bits > head->packet_bits ||
	    head->content_bits < 8ull * PACKET_HEAD_BYTES ||
	    head->timestamp_begin > head->timestamp_end ||
	    head->timestamp_end >= RECORD_TIME_END_NS || head->cpu_id > 0xffff)
		return "the head of a packet makes no sense";
	if (head->timestamp_begin < s->last_end_ns)
		return "a packet is older than the one before it";
	return NULL;
}

/* Continues the checksum of the file by that of the packet, so that bytes are read once. */
static bool check_sum(struct stream *s, const u8 *packet, const struct packet_head *head)
{
	const size_t at = offsetof(struct packet_head, checksum);
	const size_t rest = head->packet_bits / 8 - PACKET_HEAD_BYTES;
	uint32_t crc = crc32c(0, packet, at);

	if (crc32c(crc, packet + PACKET_HEAD_BYTES, rest) != head->checksum)
		return false;
	if (!s->compressed) {
		uint32_t file = crc32c(s->crc, packet, PACKET_HEAD_BYTES);

		s->crc = head->checksum ^ crc32c_moved(file ^ crc, rest);
	}
	return true;
}

/* Searches the next magic number after `from`. */
static int stream_resync(struct stream *s)
{
	static const u32 magic = PACKET_MAGIC;
	size_t skip = 1;

	for (;;) {
		u8 *begin = s->buffer + s->from, *found = NULL;
		size_t len = s->to - s->from;

		if (len > skip)
			found = memmem(begin + skip, len - skip, &magic, sizeof(magic));
		if (found) {
			s->skipped += (size_t)(found - begin);
			s->from += (size_t)(found - begin);
			return 0;
		}
		if (s->file_ended) {
			s->skipped += len;
			s->from = s->to;
			return 0;
		}
		/* the last three bytes may be the begin of a magic number */
		size_t drop = len > 3 ? len - 3 : 0;

		s->skipped += drop;
		s->from += drop;
		skip = drop ? 0 : skip;
		int err = stream_fill(s, s->to - s->from + READ_BYTES);
		if (err)
			return err;
	}
}

/* Counts the records lost in a hole: a valid packet has the number of records before it. */
static void stream_close_hole(struct stream *s, uint64_t before)
{
	if (s->skipped || s->truncated_packet || before > s->delivered + s->damaged) {
		/* an event has at least 8 bytes, which bounds their number */
		uint64_t most = (s->skipped + PACKET_MAX_BYTES) / 8;
		uint64_t known = s->delivered + s->damaged;
		uint64_t count = before > known ? before - known : 0;

		s->damaged += count < most ? count : most;
		stream_damage(s, "a packet is missing");
	}
	s->skipped = 0;
	s->truncated_packet = false;
}

/* Remembers the range of the valid packet at `from`. */
static int stream_keep(struct stream *s, size_t bytes)
{
	struct stream_part part = {s->file_at - (s->to - s->from), bytes};
	struct stream_part *last = s->kept.count ? &s->kept.data[s->kept.count - 1] : NULL;

	if (!last || last->at + last->bytes != part.at)
		return vec_push(&s->kept, part);
	last->bytes += bytes;
	return 0;
}

static int stream_enter(struct stream *s, const struct packet_head *head)
{
	size_t bytes = head->packet_bits / 8;
	int err = s->keep ? stream_keep(s, bytes) : 0;

	if (err)
		return err;
	if (!s->has_identity) {
		memcpy(s->identity, head->uuid, sizeof(s->identity));
		s->has_identity = true;
	}
	stream_close_hole(s, head->records_before);
	unpacker_begin(&s->unpacker, s->buffer + s->from, head);
	s->uncounted = s->compressed;
	s->in_packet = true;
	if (s->packets++ == 0)
		s->first_begin_ns = head->timestamp_begin;
	else if (head->content_bits == 8ull * PACKET_HEAD_BYTES)
		s->empty_ns = head->timestamp_end;
	s->last_end_ns = head->timestamp_end;
	s->discarded = head->events_discarded;
	s->from += bytes;
	return 1;
}

/* Checks the packet at `from`. 1: valid, 0: skipped, -ENOMEM. */
static int stream_try_packet(struct stream *s)
{
	struct packet_head head;
	const char *why;
	size_t bytes;

	memcpy(&head, s->buffer + s->from, sizeof(head));
	why = check_head(s, &head);
	bytes = head.packet_bits / 8;
	if (!why) {
		int err = stream_fill(s, bytes);

		if (err)
			return err;
		if (s->to - s->from < bytes) {
			why = s->growing ? NULL : "its last packet is cut off";
			if (!why) {
				s->from = s->to;
				return 0;
			}
		} else if (!check_sum(s, s->buffer + s->from, &head)) {
			why = "the checksum of a packet is wrong";
			s->budget->wasted += bytes;
		}
	}
	if (!why)
		return stream_enter(s, &head);
	stream_damage(s, why);
	return stream_resync(s);
}

/* Enters the next valid packet. 1, 0 at the end, or -ENOMEM. */
static int stream_next_packet(struct stream *s)
{
	while (!s->gave_up) {
		int err;

		if (s->compressed && s->budget->memory > INFLATING_MAX_BYTES && s->packets) {
			stream_damage(s, read_failure(-EFBIG));
			s->gave_up = s->truncated_packet = true;
			return 0;
		}
		err = stream_fill(s, PACKET_HEAD_BYTES);
		size_t left = s->to - s->from;

		if (err)
			return err;
		if (left < PACKET_HEAD_BYTES) {
			if (left && !s->growing) {
				stream_damage(s, "its last packet is cut off");
				s->skipped += left;
			}
			s->from = s->to;
			return 0;
		}
		err = stream_try_packet(s);
		if (err)
			return err;
		if (s->budget->wasted > WASTE_FLOOR + WASTE_FACTOR * s->budget->read) {
			stream_damage(s, "it is too damaged to be searched");
			s->gave_up = true;
		}
	}
	return 0;
}

int stream_peek(struct stream *s)
{
	for (;;) {
		if (s->in_packet) {
			int got = unpacker_peek(&s->unpacker);

			if (__builtin_expect(s->uncounted, 0))
				stream_count(s);
			if (got == 1 || got == -ENOMEM)
				return got;
			if (got < 0) {
				stream_damage(s, "an event makes no sense");
				s->truncated_packet = true;
			}
			s->in_packet = false;
		}
		int err = stream_next_packet(s);
		if (err <= 0)
			return err;
	}
}

void stream_untake(struct stream *s)
{
	stream_damage(s, "an event makes no sense");
	s->truncated_packet = true;
	s->in_packet = false;
}

void stream_count_lost(struct stream *s, struct chunk_lost *lost)
{
	const struct record_lost *record = &s->unpacker.record.lost_;
	uint64_t damaged = lost->damaged;

	chunk_lost_add(lost, record);
	if (lost->damaged == damaged) /* damaged records are not discarded events */
		s->told += record->count;
}

void stream_count_untold(const struct stream *s, struct chunk_lost *lost)
{
	uint64_t untold = s->discarded > s->told ? s->discarded - s->told : 0;

	if (strncmp(s->name, "app-", 4) == 0)
		lost->application += untold;
	else
		lost->buffer += untold;
}

void stream_expect(struct stream *s, uint64_t records, const uint32_t *crc)
{
	if (records > s->delivered + s->damaged)
		stream_damage(s, "it is cut off");
	/* a recovered chunk has holes whose records the manifest counts */
	s->damaged = records > s->delivered ? records - s->delivered : 0;
	if (crc && *crc != s->crc && !s->damage) {
		s->damage = "its checksum is not the one in the manifest";
		s->damaged += !s->damaged; /* their number is unknown */
	}
	s->skipped = 0;
	s->truncated_packet = false;
}
