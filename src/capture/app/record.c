// SPDX-License-Identifier: Apache-2.0
/* Checks a record that an application wrote, and translates its time and thread. */
#include <string.h>

#include "base/host_clock.h"
#include "capture/app/internal.h"

union app_copy {
	struct record_head head;
	struct record_span_begin begin;
	struct record_span_end end;
	struct record_span_attach attach;
	struct record_span_detach detach;
	struct record_span_event event;
	struct record_span_attribute attribute;
	u8 bytes[18 * RECORD_SLOT_BYTES];
};

static const u8 no_id[16];

static bool context_is_set(const struct context *c)
{
	return memcmp(c->span, no_id, 8) != 0 && memcmp(c->trace, no_id, 16) != 0;
}

static bool context_is_none(const struct context *c)
{
	return memcmp(c->span, no_id, 8) == 0 && memcmp(c->trace, no_id, 16) == 0;
}

/* Checks the values of a record. The reader of the ring has checked the lengths. */
static bool content_is_sound(const union app_copy *r)
{
	switch (r->head.kind) {
	case RECORD_span_begin:
		return context_is_set(&r->begin.ctx) && r->begin.span_kind <= 4 &&
		       r->begin.level <= 7;
	case RECORD_span_end:
		return context_is_set(&r->end.ctx) && r->end.status <= 2 &&
		       (context_is_set(&r->end.next) || context_is_none(&r->end.next));
	case RECORD_span_attach:
		return context_is_set(&r->attach.ctx);
	case RECORD_span_detach:
		return context_is_set(&r->detach.ctx);
	case RECORD_span_event:
		return context_is_set(&r->event.ctx) && r->event.level <= 7;
	case RECORD_span_attribute:
		return context_is_set(&r->attribute.ctx) && r->attribute.of_event <= 1;
	}
	return true;
}

/*
 * Records of a lane that are closer than this keep their order. Later pairs of the clock may turn
 * two close readings of the counter around. A record that a signal handler wrote in the middle of
 * another one differs by more.
 */
#define CLOSE_NS 200

/*
 * The time of a stamp by the counter. UINT64_MAX, a time in the future that fails the check, if the
 * counter has not reached the value, or went back since. 0 if the stamp was for another listener.
 */
static u64 counted_time(const struct app_take *take, u64 counter)
{
	struct counter_clock *clock = &take->rings->clock;

	if (counter > counter_clock_newest(clock))
		counter_clock_look(clock);
	if (!counter_clock_is_ready(clock))
		return take->source->asked ? UINT64_MAX : 0;
	return counter > counter_clock_newest(clock) ? UINT64_MAX
						     : counter_clock_ns(clock, counter);
}

/* The time at which the record was written, in our clock. */
static u64 record_time(const struct app_take *take, const struct record_head *head)
{
	u64 ns = app_record_is_counted(head)
			 ? counted_time(take, head->time_ns)
			 : head->time_ns - (u64)take->source->r->process.clock_ns;

	if (ns < *take->newest_ns && *take->newest_ns - ns < CLOSE_NS)
		ns = *take->newest_ns;
	*take->newest_ns = ns;
	return ns;
}

/* Checks the record, and replaces process and thread ids by ours. False: the record is damaged. */
static bool record_translate(struct app_take *take, union app_copy *r)
{
	struct app_process *process = &take->source->r->process;

	if (!content_is_sound(r))
		return false;
	if (r->head.time_ns > take->now_ns) {
		take->now_ns = host_clock_now_ns();
		if (r->head.time_ns > take->now_ns)
			return false;
	}
	if (take->source->until_ns && r->head.time_ns >= take->source->until_ns)
		return false;
	r->head.tid = app_process_thread(process, &take->rings->owners, r->head.tid,
					 r->head.time_ns);
	r->head.pid = (u32)process->pid;
	if (r->head.tid && app_record_is_cut(&r->head))
		take->rings->counts.cut++;
	r->head.cpu = APP_RECORD_WHOLE;
	r->head.seq = 0;
	return r->head.tid != 0;
}

struct delivery {
	struct app_rings *rings;
	const struct capture_sink *sink;
};

static int record_deliver(void *arg, const struct capture_stream *stream,
			  const struct record_head *r)
{
	const struct delivery *to = arg;

	to->rings->counts.records++;
	if (r->kind == RECORD_service && to->rings->service)
		to->rings->service(to->rings->service_arg, (const struct record_service *)r);
	return to->sink->record(to->sink->arg, stream, r);
}

void app_record_taken(void *owner, const struct record_head *head)
{
	struct app_take *take = owner;
	struct capture_stream stream = {CAPTURE_STREAM_APP, 0};
	struct delivery to = {take->rings, take->sink};
	union app_copy r;

	memcpy(r.bytes, head, (size_t)head->slots * RECORD_SLOT_BYTES);
	memset(r.bytes + (size_t)head->slots * RECORD_SLOT_BYTES, 0,
	       sizeof(r) - (size_t)head->slots * RECORD_SLOT_BYTES);
	r.head.time_ns = record_time(take, head);
	if (r.head.time_ns < take->source->since_ns) {
		take->rings->counts.stale++;
		return;
	}
	if (!record_translate(take, &r)) {
		take->source->damaged++;
		return;
	}
	stream.id = r.head.pid;
	if (take->err || r.head.time_ns > take->until_ns) {
		if (held_add(&take->rings->held, &stream, &r.head))
			take->source->damaged++;
		return;
	}
	take->err = record_deliver(&to, &stream, &r.head);
}

int app_records_deliver_held(struct app_rings *rings, const struct capture_sink *sink, u64 until_ns)
{
	struct delivery to = {rings, sink};

	return held_deliver(&rings->held, until_ns, record_deliver, &to);
}
