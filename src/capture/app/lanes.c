// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the lanes of a ring that are in use. The ring's file is sparse. Reading a hole through a
 * mapping allocates the page, so a hostile program could make us allocate 129 MiB for each ring.
 */
#include <sys/types.h>
#include <unistd.h>

#include "capture/app/internal.h"

static u64 lane_offset(u32 lane)
{
	return offsetof(struct app_ring, lane) + lane * sizeof(struct app_lane);
}

static bool lane_is_there(const struct app_source *s, u32 lane)
{
	return s->there[lane / 64] >> lane % 64 & 1;
}

/* Finds the first lane, from this one on, whose control is not in a hole. */
static u32 lane_next(int fd, u32 lane)
{
	off_t data = lseek(fd, (off_t)lane_offset(lane), SEEK_DATA);
	u64 behind;

	if (data < 0)
		return APP_RING_LANES;
	behind = (u64)data - offsetof(struct app_ring, lane);
	return (u32)((behind + sizeof(struct app_lane) - 1) / sizeof(struct app_lane));
}

/* Whether slots of the lane were ever reserved. Unlike a mapping, pread() fills no hole. */
static bool lane_was_used(int fd, u32 lane)
{
	u64 head;

	return pread(fd, &head, sizeof(head), (off_t)lane_offset(lane)) == sizeof(head) && head;
}

void app_source_look(struct app_source *s, u32 most)
{
	u32 lanes = app_ring_lanes(s->r->ring), i = most < APP_RING_LANES ? s->next_look : 0;

	for (; i < lanes && most; i++) {
		u32 next;

		if (lane_is_there(s, i))
			continue;
		most--;
		next = lane_next(s->r->fd, i);
		if (next == i && lane_was_used(s->r->fd, i))
			s->there[i / 64] |= 1ull << i % 64;
		else if (next > i)
			i = next - 1;
	}
	s->next_look = i < lanes ? i : 0;
}

bool app_source_head(struct app_source *s, u32 lane, u64 *head)
{
	if (s->broken || !lane_is_there(s, lane))
		return false;
	*head = app_ring_head(s->r->ring, lane);
	if (lane >= s->taken.count || *head >= s->taken.data[lane].mark.head)
		return true;
	s->broken = true; /* the process punched a hole into the file, or writes nonsense */
	s->damaged++;
	return false;
}

u64 app_source_lost(const struct app_source *s)
{
	u64 lost = __atomic_load_n(&s->r->ring->lost, __ATOMIC_RELAXED);

	if (s->broken)
		return s->lost_told;
	for (u32 i = 0, lanes = app_ring_lanes(s->r->ring); i < lanes; i++) {
		if (lane_is_there(s, i))
			lost += app_ring_lane_lost(s->r->ring, i);
	}
	return lost;
}

bool app_source_has(const struct app_source *s, u32 lane, u64 offset)
{
	off_t at = (off_t)(lane_offset(lane) + offset);

	return lseek(s->r->fd, at, SEEK_DATA) == at;
}
