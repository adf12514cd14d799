// SPDX-License-Identifier: Apache-2.0
/*
 * Records of the conditions of a recording: filters that the user set, steal time of each CPU, and
 * steps of the wall clock, after which the same point in time has another date. /proc/stat counts
 * steal time in ticks of 10 ms, so the error over a second is at most 1 %. CPUs that come and go
 * are noticed here, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/host_clock.h"
#include "capture/internal.h"
#include "capture/kernel/kernel.h"
#include "capture/stack/stacks.h"

#define STEAL_EVERY_NS 1000000000ull
#define CPUS_MAX 65536

static const struct capture_stream conditions_stream = {.kind = CAPTURE_STREAM_LIFE};

static int filter_tell(struct capture *c, const struct capture_sink *sink)
{
	union {
		struct record_filter filter;
		u8 slot[RECORD_SLOT_BYTES]; /* the sink reads whole slots */
	} r = {.slot = {0}};

	_Static_assert(sizeof(r) == RECORD_SLOT_BYTES, "filter");
	r.filter.head.kind = RECORD_filter;
	r.filter.head.slots = 1;
	r.filter.head.time_ns = host_clock_now_ns();
	r.filter.flags = c->filters;
	return c->filters && !c->levels.count
		       ? sink->record(sink->arg, &conditions_stream, &r.filter.head)
		       : 0;
}

/* Tells the steal time of a CPU if it grew, and at a cut always, which gives the number of CPUs. */
static int steal_tell(struct capture *c, const struct capture_sink *sink, u32 cpu, u64 steal_ns,
		      bool cut)
{
	u64 now = host_clock_now_ns();
	union {
		struct record_steal steal;
		u8 slot[RECORD_SLOT_BYTES];
	} r = {.slot = {0}};
	struct capture_steal *last;

	while (c->steal.count <= cpu) {
		if (vec_push(&c->steal, ((struct capture_steal){0, 0})))
			return -ENOMEM;
	}
	last = &c->steal.data[cpu];
	if (!last->time_ns) { /* the first reading of a CPU has nothing to be compared with */
		*last = (struct capture_steal){steal_ns, now};
		return 0;
	}
	if ((steal_ns <= last->steal_ns && !cut) || now <= last->time_ns)
		return 0;
	r.steal.head.kind = RECORD_steal;
	r.steal.head.slots = 1;
	r.steal.head.cpu = cpu;
	r.steal.head.time_ns = now;
	r.steal.of_cpu = cpu;
	r.steal.begin_ns = last->time_ns;
	r.steal.steal_ns = steal_ns > last->steal_ns ? steal_ns - last->steal_ns : 0;
	*last = (struct capture_steal){steal_ns, now};
	return sink->record(sink->arg, &conditions_stream, &r.steal.head);
}

static int steal_read(struct capture *c, const struct capture_sink *sink, bool cut)
{
	FILE *file = fopen("/proc/stat", "re");
	u64 tick_ns = 1000000000ull / (u64)sysconf(_SC_CLK_TCK);
	char line[512];
	int err = 0;

	while (file && !err && fgets(line, sizeof(line), file)) {
		u64 steal;
		u32 cpu;

		if (line[3] >= '0' && line[3] <= '9' && /* the line "cpu " is the sum of all CPUs */
		    sscanf(line, "cpu%" SCNu32 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu,
			   &steal) == 2 &&
		    cpu < CPUS_MAX)
			err = steal_tell(c, sink, cpu, steal * tick_ns, cut);
	}
	if (file)
		fclose(file);
	return err;
}

void capture_conditions_open(struct capture *c)
{
	/* a timer that never expires, and is only cancelled when the clock is set */
	const struct itimerspec never = {.it_value.tv_sec = INT64_MAX >> 24};

	c->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->clock_fd < 0)
		return;
	timerfd_settime(c->clock_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
	(void)capture_wait_for(c, c->clock_fd); /* without it a step is told a little later */
}

/* Tells a step of the wall clock, at most one in each poll. */
static int clock_tell(struct capture *c, const struct capture_sink *sink)
{
	union {
		struct record_clock clock;
		u8 slot[RECORD_SLOT_BYTES];
	} r = {.slot = {0}};
	u64 ends;

	if (c->clock_fd < 0 || read(c->clock_fd, &ends, sizeof(ends)) >= 0 || errno != ECANCELED)
		return 0;
	r.clock.head.kind = RECORD_clock;
	r.clock.head.slots = 1;
	r.clock.head.time_ns = host_clock_now_ns();
	r.clock.reason = 1;
	r.clock.realtime_ns = host_clock_read_ns(CLOCK_REALTIME);
	r.clock.boottime_ns = host_clock_read_ns(CLOCK_BOOTTIME);
	r.clock.error_ns = host_clock_now_ns() - r.clock.head.time_ns;
	return sink->record(sink->arg, &conditions_stream, &r.clock.head);
}

int capture_conditions_tell(struct capture *c, const struct capture_sink *sink, bool cut)
{
	u64 now = host_clock_now_ns();
	int err = clock_tell(c, sink);

	if (!err && !c->conditions_told) {
		err = filter_tell(c, sink);
	}
	if (!err) {
		err = capture_detail_tell(c, sink);
		c->conditions_told = true;
	}
	capture_features_cpus_changed(c);
	if (err || (!cut && now < c->steal_read_ns + STEAL_EVERY_NS))
		return err;
	c->steal_read_ns = now;
	(void)capture_features_cpus(c); /* a failure is tried again the next time */
	capture_stacks_cpus(c->stacks, c);
	return steal_read(c, sink, cut);
}
