/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's side of an application ring. The writer may be hostile. */
#include "lib/app_ring.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MASK (APP_RING_SLOTS - 1)
#define PAGE_BYTES 4096 /* the smallest page size */

int app_ring_open(int fd, struct app_ring **out)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct app_ring *ring;
	struct stat st;

	/* an unsealed file could be truncated while we read it, which raises SIGBUS */
	if (seals < 0 || (seals & APP_RING_SEALS) != APP_RING_SEALS || fstat(fd, &st) < 0 ||
	    st.st_size != (off_t)APP_RING_BYTES)
		return -EINVAL;
	ring = mmap(NULL, APP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	if (__atomic_load_n(&ring->magic, __ATOMIC_ACQUIRE) != APP_RING_MAGIC ||
	    ring->version != APP_RING_VERSION ||
	    ring->header_bytes != offsetof(struct app_ring, lane) ||
	    ring->lanes != APP_RING_LANES || ring->lane_bytes != sizeof(struct app_lane) ||
	    ring->slots != APP_RING_SLOTS) {
		munmap(ring, APP_RING_BYTES);
		return -EINVAL;
	}
	*out = ring;
	return 0;
}

void app_ring_close(struct app_ring *ring)
{
	if (ring)
		munmap(ring, APP_RING_BYTES);
}

void app_ring_listen(struct app_ring *ring, u32 session, u64 until_ns)
{
	__atomic_store_n(&ring->lease_ns, until_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->listening, session, __ATOMIC_RELEASE);
}

void app_ring_count(struct app_ring *ring, u32 session)
{
	__atomic_store_n(&ring->counter, session, __ATOMIC_RELEASE);
}

bool app_ring_take_over(struct app_ring *ring, u32 session, u64 until_ns)
{
	u32 grace = APP_RING_GRACE;

	/* the lease first: a thread that finds the grace over must see that it holds again */
	__atomic_store_n(&ring->lease_ns, until_ns, __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&ring->listening, &grace, session, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return true;
	__atomic_store_n(&ring->listening, session, __ATOMIC_RELEASE);
	return false;
}

bool app_ring_renew(struct app_ring *ring, u32 session, u64 until_ns)
{
	/* the lease first, so that threads that look from now on find that it holds */
	__atomic_store_n(&ring->lease_ns, until_ns, __ATOMIC_SEQ_CST);
	return __atomic_exchange_n(&ring->listening, session, __ATOMIC_ACQ_REL) == session;
}

u64 app_ring_head(const struct app_ring *ring, u32 lane)
{
	return __atomic_load_n(&ring->lane[lane].control.head, __ATOMIC_ACQUIRE);
}

u32 app_ring_lanes(const struct app_ring *ring)
{
	u32 used = __atomic_load_n(&ring->lanes_used, __ATOMIC_ACQUIRE);

	return used < APP_RING_LANES ? used : APP_RING_LANES;
}

bool app_ring_is_stopped(const struct app_ring *ring)
{
	return __atomic_load_n(&ring->stopped, __ATOMIC_ACQUIRE) != 0;
}

u64 app_ring_lane_lost(const struct app_ring *ring, u32 lane)
{
	return __atomic_load_n(&ring->lane[lane].control.lost[RING_LOST_OTHER], __ATOMIC_RELAXED);
}

u64 app_ring_lost(const struct app_ring *ring)
{
	u64 lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);

	for (u32 i = 0, used = app_ring_lanes(ring); i < used; i++)
		lost += app_ring_lane_lost(ring, i);
	return lost;
}

/* A copy of a record, with room for the largest kind that a process writes. */
union app_record {
	struct record_head head;
	struct record_service service;
	struct record_span_begin span_begin;
	struct record_span_end span_end;
	struct record_span_event span_event;
	struct record_span_attribute span_attribute;
	u8 bytes[18 * RECORD_SLOT_BYTES];
};

/* Whether lengths and counts of the record keep a reader of its struct inside of it. */
static bool record_is_sound(const union app_record *r)
{
	size_t bytes = (size_t)r->head.slots * RECORD_SLOT_BYTES;

#define TEXT_FITS(kind, text)                                                                      \
	(r->kind.text##_len <= sizeof(r->kind.text) &&                                             \
	 (r->kind.text##_len == 0 ||                                                               \
	  offsetof(struct record_##kind, text) + r->kind.text##_len <= bytes))
	switch (r->head.kind) {
	case RECORD_service:
		return TEXT_FITS(service, resource);
	case RECORD_span_begin:
		return TEXT_FITS(span_begin, name);
	case RECORD_span_end:
		return TEXT_FITS(span_end, message);
	case RECORD_span_event:
		return TEXT_FITS(span_event, name);
	case RECORD_span_attribute:
		return TEXT_FITS(span_attribute, text) &&
		       r->span_attribute.key_len <= r->span_attribute.text_len &&
		       r->span_attribute.type >= ATTRIBUTE_string &&
		       r->span_attribute.type <= ATTRIBUTE_boolean;
	case RECORD_span_attach:
	case RECORD_span_detach:
		return true;
	}
	return false;
#undef TEXT_FITS
}

/*
 * Copies the record at a position. `reserved` slots from there on are reserved, and those up to
 * `there` are no hole. Returns its slots; 0: it is not published yet; negative: damage.
 */
static int record_take(const struct app_lane *lane, u64 at, u64 reserved, u64 there,
		       union app_record *out)
{
	const struct ring_slot *slots = lane->slots;
	u32 seq, n;

	if (there == 0)
		return 0;
	seq = __atomic_load_n((const u32 *)(const void *)slots[at & MASK].bytes, __ATOMIC_ACQUIRE);
	if (seq != (u32)(at + 1))
		return 0;
	memcpy(out->bytes, slots[at & MASK].bytes, RECORD_SLOT_BYTES);
	n = out->head.slots;
	if (n == 0 || n > reserved || n > sizeof(out->bytes) / RECORD_SLOT_BYTES)
		return -EINVAL;
	if (n > there)
		return 0;
	for (u32 i = 1; i < n; i++)
		memcpy(out->bytes + (size_t)i * RECORD_SLOT_BYTES, slots[(at + i) & MASK].bytes,
		       RECORD_SLOT_BYTES);
	memset(out->bytes + (size_t)n * RECORD_SLOT_BYTES, 0,
	       sizeof(out->bytes) - (size_t)n * RECORD_SLOT_BYTES);
	return (int)n;
}

/*
 * The position up to which no slot is in a hole. A producer writes all slots of a record before it
 * publishes it, so the slots of a record that is seen as published later are no holes.
 */
static u64 lane_there(const struct app_ring_sink *sink, u32 lane, u64 at, u64 limit)
{
	const u64 origin = offsetof(struct app_ring, lane) + lane * sizeof(struct app_lane);

	while (sink->has && at != limit) {
		u64 offset = offsetof(struct app_lane, slots) + (at & MASK) * RECORD_SLOT_BYTES;
		u64 page = (PAGE_BYTES - (origin + offset) % PAGE_BYTES) / RECORD_SLOT_BYTES;
		u64 wrap = APP_RING_SLOTS - (at & MASK), step = page < wrap ? page : wrap;

		if (!sink->has(sink->owner, lane, offset))
			return at;
		at += step < limit - at ? step : limit - at;
	}
	return limit;
}

/* Gives the slots between the two positions back, cleared so that no text looks like a seq. */
static void slots_give_back(struct app_lane *lane, u64 from, u64 to)
{
	for (; from != to; from++)
		__atomic_store_n((u32 *)(void *)lane->slots[from & MASK].bytes, 0,
				 __ATOMIC_RELAXED);
}

/* A part of a lane: what is reserved, and up to where it is no hole. */
struct stretch {
	u64 at, limit, there;
};

static int stretch_take(const struct app_lane *lane, const struct stretch *s, union app_record *out)
{
	return record_take(lane, s->at, s->limit - s->at, s->there - s->at, out);
}

/*
 * Skips damage, or a record that nobody will finish, whose length is not known. Records that a
 * signal handler wrote behind it are whole, so this goes on to the next slot that looks like one.
 */
static void stretch_skip(const struct app_lane *lane, struct stretch *s, union app_record *r)
{
	while (s->at != s->there) {
		s->at++;
		if (stretch_take(lane, s, r) > 0 && record_is_sound(r))
			return;
	}
	s->at = s->limit;
}

/* Drains up to `limit`, a head that was read before. True: nothing before it is missing. */
static bool lane_drain(struct app_lane *lane, struct stretch *s, bool ended,
		       const struct app_ring_sink *sink, struct app_drained *drained)
{
	u64 tail = s->at;
	union app_record r;

	while (s->at != s->limit) {
		int n = stretch_take(lane, s, &r);

		if (n == 0 && !ended)
			break;
		if (n <= 0) {
			drained->damaged++;
			stretch_skip(lane, s, &r);
			continue;
		}
		s->at += (u64)n;
		if (record_is_sound(&r)) {
			sink->record(sink->owner, &r.head);
			drained->records++;
		} else {
			drained->damaged++;
		}
	}
	slots_give_back(lane, tail, s->at - tail < s->there - tail ? s->at : s->there);
	__atomic_store_n(&lane->control.tail, s->at, __ATOMIC_RELEASE);
	return s->at == s->limit;
}

bool app_ring_drain_lane(struct app_ring *ring, u32 i, u64 limit, const struct app_ring_sink *sink,
			 struct app_drained *drained)
{
	bool ended = __atomic_load_n(&ring->table[i].state, __ATOMIC_ACQUIRE) == APP_LANE_LEFT;
	struct app_lane *lane = &ring->lane[i];
	struct stretch s = {__atomic_load_n(&lane->control.tail, __ATOMIC_RELAXED), limit, 0};

	if (limit - s.at > APP_RING_SLOTS) { /* libfathom never does this */
		drained->damaged++;
		__atomic_store_n(&lane->control.tail, limit, __ATOMIC_RELEASE);
		return true;
	}
	s.there = lane_there(sink, i, s.at, limit);
	return s.at == limit || lane_drain(lane, &s, ended, sink, drained);
}

u64 app_ring_drain(struct app_ring *ring, const struct app_ring_sink *sink, u64 *damaged)
{
	struct app_drained drained = {0};
	u32 used = app_ring_lanes(ring);

	for (u32 i = 0; i < used; i++)
		app_ring_drain_lane(ring, i, app_ring_head(ring, i), sink, &drained);
	*damaged += drained.damaged;
	return drained.records;
}
