// SPDX-License-Identifier: Apache-2.0
/*
 * The consumer's side of the rings (record/ring.h), and the cut.
 *
 * Positions only grow. A ring is drained from tail towards a limit: head as it
 * was read once. A slot that is reserved and not published ends the drain.
 * Where a record took several slots, the first word of the later ones is
 * cleared before they are given back: it came from the traced program and
 * could look like a sequence number.
 *
 * The ring buffer `rare` has the kernel's layout: a page with the consumer's
 * position, a page with the producer's, then the data twice in a row; each
 * record behind a header of length, flags and page offset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "bpf/notice.h"
#include "capture/app_threads.h"
#include "capture/event.h"
#include "capture/internal.h"
#include "capture/stacks.h"
#include "programs.skel.h"

#define RING_BATCH 512		     /* slots after which they are given back */
#define RING_AHEAD 16		     /* slots: they come from another CPU's cache */
#define TELL_AGAIN_NS 10000000000ull /* for a flight recorder, which keeps what was told last */
#define RARE_BUSY (1u << 31)
#define RARE_DISCARD (1u << 30)
#define RARE_HEADER 8

u64 capture_now(void)
{
	return host_clock_now_ns();
}

/* ---- mapping ---- */

static int ring_map(struct capture *c, u32 cpu, int fd)
{
	size_t size = (size_t)RECORD_SLOT_BYTES << c->ring_bits;
	u8 *at = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	c->rings[cpu].slots = at;
	for (int i = 0; i < 2; i++) {
		if (mmap(at + i * size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 cpu * size) == MAP_FAILED)
			return -errno;
	}
	return 0;
}

static size_t pages_of(size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static size_t controls_size(const struct capture *c)
{
	return pages_of(c->ring_count * sizeof(struct ring_control));
}

static size_t losses_size(const struct capture *c)
{
	return pages_of(c->ring_count * sizeof(struct ring_losses));
}

static int controls_map(struct capture *c)
{
	const struct ring_losses *losses;

	c->controls = mmap(NULL, controls_size(c), PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(c->programs->maps.rings), 0);
	if (c->controls == MAP_FAILED) {
		c->controls = NULL;
		return -errno;
	}
	losses = mmap(NULL, losses_size(c), PROT_READ, MAP_SHARED,
		      bpf_map__fd(c->programs->maps.losses), 0);
	if (losses == MAP_FAILED)
		return -errno;
	c->losses = losses;
	return 0;
}

static int rare_map(struct capture *c, int fd)
{
	struct capture_rare *rare = &c->rare;
	u8 *at;

	rare->page = sysconf(_SC_PAGESIZE);
	rare->size = CAPTURE_RARE_BYTES;
	rare->mark.ns = rare->mark.before_ns = capture_now();
	at = mmap(NULL, rare->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	rare->consumer = (void *)at;
	at = mmap(NULL, rare->page + 2 * rare->size, PROT_READ, MAP_SHARED, fd, rare->page);
	if (at == MAP_FAILED)
		return -errno;
	rare->producer = (void *)at;
	rare->data = at + rare->page;
	return 0;
}

/* On an edge: that there is something to read is true all the time, and no reason to wake. */
static int wake_open(struct capture *c, int rare)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	c->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	if (c->wake_fd < 0 || epoll_ctl(c->wake_fd, EPOLL_CTL_ADD, rare, &event))
		return -errno;
	return 0;
}

void capture_wait(struct capture *c, u64 ns)
{
	struct timespec pause = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	struct epoll_event event;

	if (syscall(SYS_epoll_pwait2, c->wake_fd, &event, 1, &pause, NULL, 0) < 0 &&
	    errno == ENOSYS) /* before Linux 5.11 */
		nanosleep(&pause, NULL);
}

int capture_rings_map(struct capture *c, struct error *e)
{
	int fd = bpf_map__fd(c->programs->maps.slots), err;
	u64 now = capture_now();

	c->rings = calloc(c->ring_count, sizeof(*c->rings));
	if (!c->rings)
		return error_set(e, ENOMEM, "cannot map the rings");
	err = controls_map(c);
	for (u32 cpu = 0; cpu < c->ring_count && !err; cpu++) {
		c->rings[cpu].control = &c->controls[cpu];
		c->rings[cpu].checked_ns = now;
		c->rings[cpu].mark = (struct ring_mark){.ns = now, .before_ns = now};
		err = ring_map(c, cpu, fd);
	}
	if (!err)
		err = rare_map(c, bpf_map__fd(c->programs->maps.rare));
	if (!err)
		err = wake_open(c, bpf_map__fd(c->programs->maps.rare));
	return err ? error_set(e, err, "cannot map the rings") : 0;
}

void capture_rings_unmap(struct capture *c)
{
	size_t size = (size_t)RECORD_SLOT_BYTES << c->ring_bits;

	for (u32 cpu = 0; c->rings && cpu < c->ring_count; cpu++) {
		if (c->rings[cpu].slots)
			munmap(c->rings[cpu].slots, 2 * size);
	}
	free(c->rings);
	c->rings = NULL;
	if (c->controls)
		munmap(c->controls, controls_size(c));
	c->controls = NULL;
	if (c->losses)
		munmap((void *)c->losses, losses_size(c));
	c->losses = NULL;
	if (c->rare.consumer)
		munmap((void *)c->rare.consumer, c->rare.page);
	if (c->rare.producer)
		munmap((void *)c->rare.producer, c->rare.page + 2 * c->rare.size);
	memset(&c->rare, 0, sizeof(c->rare));
	held_free(&c->held);
}

/* ---- delivering ---- */

static void life_note(struct capture *c, const struct record_head *r)
{
	capture_watch_life(c->watch, r);
	if (c->apps)
		app_rings_life(c->apps, r);
}

int capture_deliver(struct capture *c, const struct capture_sink *sink,
		    const struct capture_stream *stream, const struct record_head *r)
{
	int err = r->kind == RECORD_stack ? capture_stacks_names(c->stacks, c, sink, r) : 0;

	if (err)
		return err < 0 ? err : 0;
	c->counts.records++;
	if (stream->kind == CAPTURE_STREAM_LIFE)
		life_note(c, r);
	if (r->kind == RECORD_stack)
		return capture_stacks_record(c->stacks, sink, stream, r);
	return sink->record(sink->arg, stream, r);
}

/* Delivers a record, or holds it back if it is later than the cut. */
static int drain_record(struct capture *c, const struct capture_sink *sink,
			const struct capture_stream *stream, const struct record_head *r,
			u64 until_ns)
{
	if (r->time_ns > until_ns)
		return held_add(&c->held, stream, r);
	return capture_deliver(c, sink, stream, r);
}

struct delivery {
	struct capture *c;
	const struct capture_sink *sink;
};

static int held_take(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	const struct delivery *to = arg;

	return capture_deliver(to->c, to->sink, stream, r);
}

/* What was held back and is not later than `until_ns`. */
static int deliver_held(struct capture *c, const struct capture_sink *sink, u64 until_ns)
{
	struct delivery to = {c, sink};

	return held_deliver(&c->held, until_ns, held_take, &to);
}

/* ---- the rings of the CPUs ---- */

struct drain {
	const struct capture_sink *sink;
	u64 until_ns; /* later records are held back */
};

static void ring_give_back(struct capture_ring *ring, u64 tail)
{
	__atomic_store_n(&ring->control->tail, tail, __ATOMIC_RELEASE);
}

/* Drains up to position `limit`. 1: there, 0: a slot is not published yet, or an error. */
static int ring_drain(struct capture *c, u32 cpu, u64 limit, const struct drain *d)
{
	struct capture_ring *ring = &c->rings[cpu];
	const struct capture_stream stream = {CAPTURE_STREAM_CPU, cpu};
	u64 mask = (1ull << c->ring_bits) - 1, tail = ring->control->tail, given = tail;
	int err = 0;

	while (tail < limit && !err) {
		u8 *slot = ring->slots + (tail & mask) * RECORD_SLOT_BYTES;
		struct record_head *r = (void *)slot;
		u32 n;

		if (__atomic_load_n(&r->seq, __ATOMIC_ACQUIRE) != (u32)(tail + 1))
			break;
		n = r->slots;
		if (n == 0 || n > limit - tail)
			return -EBADMSG;
		for (u32 i = 0; i < n; i++)
			__builtin_prefetch(slot + (RING_AHEAD + i) * RECORD_SLOT_BYTES);
		err = drain_record(c, d->sink, &stream, r, d->until_ns);
		for (u32 i = 1; i < n; i++)
			*(u32 *)(slot + i * RECORD_SLOT_BYTES) = 0;
		tail += n;
		if (tail - given >= RING_BATCH) {
			ring_give_back(ring, tail);
			given = tail;
		}
	}
	ring_give_back(ring, tail);
	if (err)
		return err;
	return tail >= limit;
}

static u64 ring_head(const struct capture_ring *ring)
{
	return __atomic_load_n(&ring->control->head, __ATOMIC_ACQUIRE);
}

/* Tells the sink what did not fit since the last time; this poll began at polled_ns. */
static int ring_tell_lost(struct capture *c, u32 cpu, u64 polled_ns,
			  const struct capture_sink *sink)
{
	struct capture_ring *ring = &c->rings[cpu];
	const struct capture_stream stream = {CAPTURE_STREAM_CPU, cpu};
	const struct ring_losses *losses = &c->losses[cpu];
	u64 now = 0, all = __atomic_load_n(&losses->all, __ATOMIC_RELAXED);
	int err = 0;

	for (u16 kind = 0; kind < RING_KINDS && ring->lost_told != all && !err; kind++) {
		u64 count = __atomic_load_n(&losses->kinds[kind], __ATOMIC_RELAXED);
		struct record_lost lost = {.why = LOST_buffer, .lost_kind = kind};

		if (count == ring->lost[kind])
			continue;
		now = now ? now : capture_now();
		lost.head.kind = RECORD_lost;
		lost.head.slots = 1;
		lost.head.cpu = cpu;
		lost.head.time_ns = now;
		lost.count = count - ring->lost[kind];
		lost.begin_ns = ring->checked_ns;
		ring->lost[kind] = count;
		ring->lost_told += lost.count;
		c->counts.lost_buffer += lost.count;
		if (sink->lost)
			err = sink->lost(sink->arg, &stream, &lost);
	}
	ring->checked_ns = polled_ns;
	return err;
}

/* ---- the ring buffer of rare things ---- */

static unsigned long rare_head(const struct capture *c)
{
	return __atomic_load_n(c->rare.producer, __ATOMIC_ACQUIRE);
}

/* True if it is no record, but a notice for ourselves. */
static bool notice_take(struct capture *c, const struct record_head *r)
{
	if (r->kind == RECORD_mapping && c->stacks)
		return capture_stacks_mapping(c->stacks, r);
	if (r->kind != NOTICE_KIND)
		return false;
	if (r->slots != NOTICE_THREAD)
		capture_watch_notice(c->watch, r);
	else if (c->apps)
		app_rings_thread(c->apps, &(struct app_thread){r->pid, r->seq, r->tid, r->time_ns});
	return true;
}

static int rare_drain(struct capture *c, unsigned long limit, const struct drain *d)
{
	static const struct capture_stream stream = {CAPTURE_STREAM_LIFE, 0};
	struct capture_rare *rare = &c->rare;
	unsigned long at = *rare->consumer;
	int err = 0;

	while (at < limit && !err) {
		const u8 *entry = rare->data + (at & (rare->size - 1));
		u32 length = __atomic_load_n((const u32 *)entry, __ATOMIC_ACQUIRE);
		const struct record_head *r;

		if (length & RARE_BUSY)
			break;
		r = (const void *)(entry + RARE_HEADER);
		if (!(length & RARE_DISCARD) && !notice_take(c, r))
			err = drain_record(c, d->sink, &stream, r, d->until_ns);
		length &= ~(RARE_BUSY | RARE_DISCARD);
		at += (length + RARE_HEADER + 7) / 8 * 8;
		__atomic_store_n(rare->consumer, at, __ATOMIC_RELEASE);
	}
	if (err)
		return err;
	return at >= limit;
}

/* ---- poll and cut ---- */

/* bpf/told.h */
static void tell_again(struct capture *c, u64 now)
{
	__atomic_fetch_add(&c->programs->bss->told_generation, 1, __ATOMIC_RELEASE);
	c->told_again_ns = now;
}

int capture_poll(struct capture *c, const struct capture_sink *sink)
{
	int err = capture_conditions_tell(c, sink, false);
	u64 now = c->flight ? capture_now() : 0;

	if (now > c->told_again_ns + TELL_AGAIN_NS)
		tell_again(c, now);
	if (!err)
		err = capture_drain(c, sink);
	return err ? err : capture_snapshot_moves(c, sink);
}

/* Drains to heads that were read after now_ns. As ring_drain() and rare_drain(). */
static int ring_pass(struct capture *c, u32 cpu, u64 head, u64 now_ns, const struct drain *d)
{
	int there = ring_drain(c, cpu, head, d);

	ring_mark_set(&c->rings[cpu].mark, c->rings[cpu].control->tail, head, now_ns);
	return there;
}

static int rare_pass(struct capture *c, unsigned long head, u64 now_ns, const struct drain *d)
{
	int there = rare_drain(c, head, d);

	ring_mark_set(&c->rare.mark, *c->rare.consumer, head, now_ns);
	return there;
}

int capture_drain(struct capture *c, const struct capture_sink *sink)
{
	const struct drain d = {sink, ~0ull};
	u64 polled_ns = capture_now();
	int err = deliver_held(c, sink, ~0ull);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!err)
		err = capture_events_tell(c, sink);
	if (!err)
		err = rare_pass(c, rare_head(c), polled_ns, &d);
	for (u32 cpu = 0; cpu < c->ring_count && err >= 0; cpu++) {
		if (!c->flight)
			err = ring_pass(c, cpu, ring_head(&c->rings[cpu]), polled_ns, &d);
		if (err >= 0)
			err = ring_tell_lost(c, cpu, polled_ns, sink);
	}
	if (err >= 0 && c->apps) {
		err = capture_watch_tell(c, sink);
		capture_watch_collect(c->watch, c->apps);
		if (!err)
			err = app_rings_poll(c->apps, sink);
	}
	if (err >= 0)
		err = capture_stacks_collect(c->stacks, c, sink, capture_now());
	return err < 0 ? err : 0;
}

int capture_settle(struct capture *c, const struct capture_sink *sink)
{
	int err = capture_poll(c, sink);

	if (err || !c->apps)
		return err;
	capture_watch_settle(c->watch);
	return capture_drain(c, sink);
}

/* One pass over what was reserved before the cut: 1 if all of it was there. */
static int cut_pass(struct capture *c, const u64 *heads, unsigned long rare, const struct drain *d)
{
	int all = rare_pass(c, rare, d->until_ns, d);

	for (u32 cpu = 0; cpu < c->ring_count && all >= 0 && !c->flight; cpu++) {
		int there = ring_pass(c, cpu, heads[cpu], d->until_ns, d);

		all = there < 0 ? there : all & there;
	}
	if (all >= 0 && c->apps) {
		int there = app_rings_cut_pass(c->apps, d->sink);

		all = there < 0 ? there : all & there;
	}
	return all;
}

/* ---- losses at a cut ---- */

struct cut_loss {
	struct capture_stream stream;
	struct record_lost lost;
};

/*
 * What was lost before a cut belongs to what it ends, and what is lost while the rings are being
 * emptied to what follows: it is read just before the cut, and told when the records are out.
 */
struct cut_losses {
	VEC(struct cut_loss) list;
};

static int loss_keep(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	struct cut_losses *losses = arg;

	return vec_push(&losses->list, ((struct cut_loss){*stream, *lost}));
}

/* From now on, losses are in doubt since a moment before this. */
static int cut_losses_read(struct capture *c, struct cut_losses *losses)
{
	const struct capture_sink keep = {.arg = losses, .lost = loss_keep};
	int err = capture_features_lost(c, &keep);

	for (u32 cpu = 0; cpu < c->ring_count && !err; cpu++)
		err = ring_tell_lost(c, cpu, capture_now(), &keep);
	return err;
}

static int cut_losses_tell(struct capture *c, const struct cut_losses *losses,
			   const struct capture_sink *sink, u64 cut_ns)
{
	int err = 0;

	for (size_t i = 0; i < losses->list.count && !err && sink->lost; i++) {
		struct cut_loss *loss = &losses->list.data[i];

		if (loss->lost.head.time_ns >= cut_ns)
			loss->lost.head.time_ns = cut_ns - 1; /* at the cut, the next begins */
		if (loss->lost.begin_ns > loss->lost.head.time_ns)
			loss->lost.begin_ns = loss->lost.head.time_ns;
		err = sink->lost(sink->arg, &loss->stream, &loss->lost);
	}
	return err || !c->apps ? err : app_rings_cut_losses(c->apps, sink);
}

/* Up to when all of the kernel's records are there, after the last pass. */
static u64 kernel_complete(const struct capture *c, const u64 *heads, unsigned long rare,
			   u64 cut_ns)
{
	u64 complete = cut_ns, clear;

	if (*c->rare.consumer < rare) {
		clear = ring_mark_clear_ns(&c->rare.mark, *c->rare.consumer);
		complete = clear < complete ? clear : complete;
	}
	for (u32 cpu = 0; cpu < c->ring_count && !c->flight; cpu++) {
		u64 tail = c->rings[cpu].control->tail;

		if (tail >= heads[cpu])
			continue;
		clear = ring_mark_clear_ns(&c->rings[cpu].mark, tail);
		complete = clear < complete ? clear : complete;
	}
	return complete;
}

u64 capture_complete(const struct capture *c, bool applications)
{
	if (applications && c->apps_complete_ns < c->kernel_complete_ns)
		return c->apps_complete_ns;
	return c->kernel_complete_ns;
}

/* What is told of before a cut. */
static int cut_prepare(struct capture *c, const struct capture_sink *sink,
		       struct cut_losses *losses)
{
	int err = capture_conditions_tell(c, sink, true);

	if (!err)
		err = capture_events_tell(c, sink);
	if (!err)
		err = capture_stacks_open_waits(c->stacks, c, sink);
	return err ? err : cut_losses_read(c, losses);
}

/* Hands over what was reserved before `d->until_ns`. 1: all of it; 0: a producer is in the way. */
static int cut_drain(struct capture *c, const u64 *heads, unsigned long rare, const struct drain *d)
{
	struct timespec pause = {0, 50000};
	int all = c->apps ? app_rings_cut_begin(c->apps, d->until_ns) : 0;

	if (!all)
		all = deliver_held(c, d->sink, d->until_ns);
	while (all >= 0) {
		all = cut_pass(c, heads, rare, d);
		if (all || capture_now() > d->until_ns + CAPTURE_CUT_WAIT_NS)
			break;
		nanosleep(&pause, NULL);
	}
	c->kernel_complete_ns = kernel_complete(c, heads, rare, d->until_ns);
	c->apps_complete_ns = c->apps ? app_rings_complete(c->apps) : d->until_ns;
	return all;
}

static int cut_end(struct capture *c, const struct cut_losses *losses,
		   const struct capture_sink *sink, u64 cut_ns)
{
	int err = capture_stacks_settle(c->stacks, c, sink, cut_ns);

	if (!err)
		err = cut_losses_tell(c, losses, sink, cut_ns);
	capture_events_tell_again(c);
	c->conditions_told = false;
	return err;
}

int capture_cut(struct capture *c, const struct capture_sink *sink, u64 *cut_ns)
{
	u64 *heads = calloc(c->ring_count, sizeof(*heads));
	struct cut_losses losses = {0};
	struct drain d = {.sink = sink};
	unsigned long rare;
	int err = heads ? cut_prepare(c, sink, &losses) : -ENOMEM, all = 0;

	if (err)
		goto out;
	/* before the cut: then what follows it can only miss what was told since, just before it */
	tell_again(c, capture_now());
	d.until_ns = capture_now();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (u32 cpu = 0; cpu < c->ring_count; cpu++)
		heads[cpu] = ring_head(&c->rings[cpu]);
	rare = rare_head(c);
	all = cut_drain(c, heads, rare, &d);
	err = all < 0 ? all : cut_end(c, &losses, sink, d.until_ns);
	if (all >= 0)
		*cut_ns = d.until_ns;
out:
	vec_free(&losses.list);
	free(heads);
	return err ? err : !all;
}

void capture_counts(const struct capture *c, struct capture_counts *out)
{
	*out = c->counts;
	for (u32 cpu = 0; cpu < c->ring_count; cpu++)
		out->incomplete += c->controls[cpu].incomplete;
	out->not_followed = capture_watch_missed(c->watch);
	out->incomplete += out->not_followed;
	out->no_kernel_stacks = !capture_stacks_of_kernel(c->stacks);
	if (c->apps) {
		struct app_rings_counts apps;

		app_rings_counts(c->apps, &apps);
		out->records += apps.records;
		out->lost_application = apps.lost + apps.damaged;
		out->incomplete += apps.cut;
		out->rings_missed = apps.not_reached;
	}
}
