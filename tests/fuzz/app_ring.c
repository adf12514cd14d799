/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose ring holds what it likes, and capture that listens to it. An input is
 * a row of steps, each a byte that says which, and its arguments:
 *
 *	0 LANE KIND SLOTS N BYTES    a record, reserved and published; BYTES from its byte 24 on
 *	1 LANE SLOT OFFSET N BYTES   bytes anywhere in a slot
 *	2 LANE HEAD                  head of a lane, relative to its tail (2 bytes, signed)
 *	3 LANE TAIL                  the same for the tail
 *	4 LANE STATE
 *	5 OFFSET N BYTES             bytes anywhere in the header
 *	6                            capture polls
 *	7                            capture cuts
 *	8                            capture cuts, with times that lie in the past
 *
 * The very first byte says, too, which record the sink fails for.
 * Numbers take one byte where nothing else is said; a slot is relative to the head.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/counter.h"
#include "capture/app/internal.h"
#include "capture/app/rings.h"
#include "record/describe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MASK (APP_RING_SLOTS - 1)

static int ring_fd = -1;
static struct app_ring *ring; /* the process's side */

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t take(struct input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

/* N and as many bytes, at most `room` of them. */
static size_t take_bytes(struct input *in, const uint8_t **bytes, size_t room)
{
	size_t n = take(in);

	if (n > in->size)
		n = in->size;
	*bytes = in->data;
	in->data += n;
	in->size -= n;
	return n < room ? n : room;
}

/* A few lanes, at both ends of the table. */
static uint32_t take_lane(struct input *in)
{
	uint32_t lane = take(in) % 4;

	return lane == 3 ? APP_RING_LANES - 1 : lane;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void make_ring_once(void)
{
	if (ring)
		return;
	ring_fd = memfd_create("fuzz_ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (ring_fd < 0 || ftruncate(ring_fd, APP_RING_BYTES) < 0 ||
	    fcntl(ring_fd, F_ADD_SEALS, APP_RING_SEALS) < 0)
		abort();
	ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	if (ring == MAP_FAILED)
		abort();
}

/* The ring of a process that has not written yet. */
static void reset_ring(void)
{
	if (fallocate(ring_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, APP_RING_BYTES) < 0)
		abort();
	ring->magic = APP_RING_MAGIC;
	ring->version = APP_RING_VERSION;
	ring->header_bytes = offsetof(struct app_ring, lane);
	ring->lanes = APP_RING_LANES;
	ring->lane_bytes = sizeof(struct app_lane);
	ring->slots = APP_RING_SLOTS;
	ring->pid = (uint32_t)getpid();
	ring->lanes_used = 3; /* each that is looked at takes a page */
}

/* Reached without looking for it: everything else is as with any process. */
static struct app_ring_reached *reach(void)
{
	struct app_ring_reached *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->fd = dup(ring_fd);
	r->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	r->inode = 1;
	if (app_ring_open(ring_fd, &r->ring) < 0 ||
	    app_process_open(getpid(), &r->process, NULL) < 0)
		abort();
	return r;
}

static uint64_t last_cut_ns; /* 0: records of any time may come */

/* Checks the guarantees of capture for a record: its slots are readable, and its lengths valid. */
static int on_record(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	const struct record_kind_info *info = record_kind_info(r->kind);
	size_t bytes = (size_t)r->slots * RECORD_SLOT_BYTES;
	static uint8_t whole[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	uint16_t length = 0;
	char line[256];

	if (!info || bytes == 0 || bytes > sizeof(whole))
		abort();
	memset(whole, 0, sizeof(whole));
	memcpy(whole, r, bytes);
	if (info->text_max)
		memcpy(&length, whole + info->text_len_offset, 2);
	if (length > info->text_max || (length && info->fixed_size + length > bytes))
		abort();
	if (stream->kind != CAPTURE_STREAM_APP || stream->id != (uint32_t)getpid() ||
	    r->pid != stream->id || !r->tid || r->time_ns > now_ns() ||
	    (last_cut_ns && r->time_ns > last_cut_ns))
		abort();
	record_print(line, sizeof(line), (const struct record_head *)(void *)whole);
	return --*(int *)arg == 0 ? -EIO : 0;
}

static int on_lost(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	if (!lost->count || lost->head.tid != (uint32_t)getpid())
		abort();
	return 0;
}

static void publish(struct input *in)
{
	struct app_lane *lane = &ring->lane[take_lane(in)];
	uint64_t at = lane->control.head;
	struct record_head head = {.kind = take(in), .slots = take(in), .cpu = 0xffff};
	uint8_t record[64 * RECORD_SLOT_BYTES] = {0};
	const uint8_t *bytes;
	size_t n = take_bytes(in, &bytes, sizeof(record) - sizeof(head)), slots = head.slots % 64;

	head.seq = (uint32_t)(at + 1);
	head.time_ns = now_ns();
	if (at & 1) {
		head.cpu ^= APP_RECORD_COUNTED;
		head.time_ns = counter_read();
	}
	head.tid = head.pid = (uint32_t)getpid();
	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), bytes, n);
	for (size_t i = 0; i < slots; i++)
		memcpy(lane->slots[(at + i) & MASK].bytes, record + i * RECORD_SLOT_BYTES,
		       RECORD_SLOT_BYTES);
	lane->control.head = at + (slots ? slots : 1);
}

static void scribble(struct input *in)
{
	struct app_lane *lane = &ring->lane[take_lane(in)];
	uint8_t *slot = lane->slots[(lane->control.head - take(in)) & MASK].bytes;
	size_t offset = take(in) % RECORD_SLOT_BYTES;
	const uint8_t *bytes;
	size_t n = take_bytes(in, &bytes, RECORD_SLOT_BYTES - offset);

	memcpy(slot + offset, bytes, n);
}

static void move(struct input *in, uint64_t *what, const uint64_t *from)
{
	uint16_t by = take(in);

	by |= (uint16_t)(take(in) << 8);
	*what = *from + (uint64_t)(int64_t)(int16_t)by;
}

static void scribble_header(struct input *in)
{
	size_t offset = take(in) % 128;
	const uint8_t *bytes;
	size_t n = take_bytes(in, &bytes, 128);

	memcpy((uint8_t *)ring + offset, bytes, n);
}

static void cut(struct app_rings *rings, const struct capture_sink *sink, uint64_t ago_ns)
{
	last_cut_ns = now_ns() - ago_ns;
	if (app_rings_cut_begin(rings, last_cut_ns) == 0) {
		for (int i = 0; i < 3 && app_rings_cut_pass(rings, sink) == 0; i++)
			;
	}
	last_cut_ns = 0;
	app_rings_cut_losses(rings, sink);
}

static void step(struct input *in, struct app_rings *rings, const struct capture_sink *sink)
{
	uint32_t lane;

	switch (take(in) % 9) {
	case 0:
		publish(in);
		break;
	case 1:
		scribble(in);
		break;
	case 2:
		lane = take_lane(in);
		move(in, &ring->lane[lane].control.head, &ring->lane[lane].control.tail);
		break;
	case 3:
		lane = take_lane(in);
		move(in, &ring->lane[lane].control.tail, &ring->lane[lane].control.tail);
		break;
	case 4:
		ring->table[take_lane(in)].state = take(in) % 4;
		break;
	case 5:
		scribble_header(in);
		break;
	case 6:
		app_rings_poll(rings, sink);
		break;
	case 7:
		cut(rings, sink, 0);
		break;
	case 8:
		cut(rings, sink, 1000000);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct app_rings *rings = app_rings_new();
	int left = size ? data[0] % 8 : 0; /* records until the sink fails once; 0: it does not */
	const struct capture_sink sink = {&left, on_record, on_lost};

	make_ring_once();
	reset_ring();
	if (rings) { /* a rate is known from the begin on */
		counter_clock_add(&rings->clock, (struct counter_pair){counter_read() - 3000000,
								       now_ns() - 1000000});
		counter_clock_look(&rings->clock);
	}
	if (!rings || app_rings_add(rings, reach()) < 0)
		abort();
	while (in.size)
		step(&in, rings, &sink);
	app_rings_poll(rings, &sink);
	app_rings_free(rings);
	return 0;
}
