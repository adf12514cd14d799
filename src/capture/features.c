// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel offers, in one table: each row is a program of bpf/, what it
 * is for, and whether anything works without it. Rows are attached in their
 * order: life first, so that no thread slips between the snapshot and its fork.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "capture/event.h"
#include "capture/internal.h"
#include "capture/stacks.h"
#include "programs.skel.h"

struct feature_row {
	const char *name; /* of program and tracepoint */
	const char *what;
	bool needed;
	u16 lost_kind; /* what is lost when the kernel skips a run */
};

static const struct feature_row feature_rows[] = {
	{"task_newtask", "threads and processes that are made", true, RECORD_fork},
	{"sched_process_exec", "programs that are run", true, RECORD_exec},
	{"sched_process_exit", "ends of threads", true, RECORD_exit},
	{"task_rename", "names of threads that change", false, RECORD_name},
	{"cgroup_mkdir", "names of cgroups that are made", false, RECORD_cgroup},
	{"cgroup_attach_task", "processes that move to another cgroup", false,
	 RECORD_cgroup_attach},
	{"softirq_entry", "wake-ups by softirqs told from those by threads", false, 0},
	{"softirq_exit", "wake-ups by softirqs told from those by threads", false, 0},
	{"sk_data_ready", "sockets whose data woke a thread, and senders on this host", false, 0},
	{"inet_sock_set_state", "connections whose begin or end woke a thread", false, 0},
	{"irq_handler_entry", "wake-ups by devices told from those by threads", false, 0},
	{"irq_handler_exit", "wake-ups by devices told from those by threads", false, 0},
	{"local_timer_entry", "wake-ups by timers told from those by threads", false, 0},
	{"local_timer_exit", "wake-ups by timers told from those by threads", false, 0},
	{"hrtimer_expire_entry", "wake-ups by timers told from those by threads", false, 0},
	{"hrtimer_expire_exit", "wake-ups by timers told from those by threads", false, 0},
	{"workqueue_execute_start", "what kernel workers did told from what they do", false, 0},
	{"page_fault_user", "page faults, and time in them", false, 0},
	{"page_fault_kernel", "page faults inside system calls", false, 0},
	{"signal_deliver", "page faults that end as a signal", false, 0},
	{"block_bio_queue", "threads that block I/O is done for", false, 0},
	{"block_split", "threads that large block I/O is done for", false, 0},
	{"block_rq_issue", "block I/O", false, 0},
	{"block_rq_complete", "block I/O", false, RECORD_block},
	{"tcp_sendmsg_locked", "exact byte ranges where a TCP socket sends", false, 0},
	{"tcp_rcv_space_adjust", "exact byte ranges where a TCP socket receives", false, 0},
	{"sock_send_length", "bytes sent on connections", false, RECORD_bytes},
	{"sock_recv_length", "bytes received on connections", false, RECORD_bytes},
	{"io_uring_complete", "requests to io_uring", false, RECORD_uring},
	{"io_uring_req_failed", "requests to io_uring that are refused", false, 0},
	{"io_uring_submit_req", "requests to io_uring", false, RECORD_uring},
	{"sched_waking", "who woke whom, and time spent waiting for a CPU", true, RECORD_waking},
	{"sched_switch", "time on and off the CPU", true, RECORD_switch},
	{"sys_exit", "system calls", true, RECORD_syscall},
	{"sys_enter", "begin of system calls", true, 0},
};
#define FEATURE_ROWS (sizeof(feature_rows) / sizeof(*feature_rows))

_Static_assert(FEATURE_ROWS <= CAPTURE_FEATURES_MAX, "features");

static bool feature_in_btf(const struct btf *btf, const char *name)
{
	char type[96];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

int capture_features_probe(struct capture_feature *features, size_t max, struct error *e)
{
	struct btf *btf;

	capture_messages_begin();
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return error_say(
			e, ENOTSUP,
			"this kernel does not describe its types (no /sys/kernel/btf/vmlinux): "
			"a kernel built with CONFIG_DEBUG_INFO_BTF=y is needed");
	for (size_t i = 0; i < FEATURE_ROWS && i < max; i++)
		features[i] = (struct capture_feature){
			.name = feature_rows[i].name,
			.what = feature_rows[i].what,
			.needed = feature_rows[i].needed,
			.available = feature_in_btf(btf, feature_rows[i].name),
		};
	btf__free(btf);
	return FEATURE_ROWS;
}

static struct bpf_program *feature_program(const struct capture *c, const char *name)
{
	return bpf_object__find_program_by_name(c->programs->obj, name);
}

static bool feature_is_fault(const char *name)
{
	return strncmp(name, "page_fault", 10) == 0 || strcmp(name, "signal_deliver") == 0;
}

static bool feature_wanted(const struct capture_options *options, const char *name)
{
	if (feature_is_fault(name))
		return !options->no_faults;
	if (strncmp(name, "block_", 6) == 0)
		return !options->no_blocks;
	if (strncmp(name, "sock_", 5) == 0 || strncmp(name, "tcp_", 4) == 0)
		return !options->no_bytes;
	return true;
}

int capture_features_choose(struct capture *c, const struct capture_options *options,
			    struct error *e)
{
	int count = capture_features_probe(c->features, CAPTURE_FEATURES_MAX, e);

	if (count < 0)
		return count;
	c->feature_count = count;
	for (size_t i = 0; i < c->feature_count; i++) {
		struct capture_feature *feature = &c->features[i];
		struct bpf_program *program = feature_program(c, feature->name);

		if (feature->needed && !feature->available)
			return error_say(e, ENOTSUP, "this kernel has no tracepoint %s (%s)",
					 feature->name, feature->what);
		if (!program)
			continue;
		feature->on = feature->available && feature_wanted(options, feature->name);
		bpf_program__set_autoload(program, feature->on);
	}
	return 0;
}

/* A software event of a CPU that is online, period 1. */
static int perf_open(u64 event, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The link of a program to an event of a CPU; NULL if the CPU is gone again. */
static struct bpf_link *perf_attach(struct bpf_program *program, u64 event, int cpu)
{
	int fd = perf_open(event, cpu);
	struct bpf_link *link = fd < 0 ? NULL : bpf_program__attach_perf_event(program, fd);

	if (fd >= 0 && !link)
		close(fd);
	return link;
}

static bool faults_on(const struct capture *c)
{
	for (size_t i = 0; i < c->feature_count; i++) {
		if (strcmp(c->features[i].name, "page_fault_user") == 0)
			return c->features[i].on;
	}
	return false;
}

static void fault_ends_detach(struct capture_fault_ends *ends)
{
	bpf_link__destroy(ends->minor);
	bpf_link__destroy(ends->major);
	*ends = (struct capture_fault_ends){NULL, NULL};
}

/* The ends of page faults on one CPU. */
static void fault_ends_follow(struct capture *c, u32 cpu, bool online)
{
	struct capture_fault_ends *ends = &c->fault_ends[cpu];
	struct programs *p = c->programs;

	if (!online) {
		fault_ends_detach(ends); /* they would not come back with the CPU */
		return;
	}
	if (!ends->minor)
		ends->minor = perf_attach(p->progs.fault_minor_end, PERF_COUNT_SW_PAGE_FAULTS_MIN,
					  cpu);
	if (!ends->major)
		ends->major = perf_attach(p->progs.fault_major_end, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
					  cpu);
}

/* Reads a list of CPUs as in "0-3,5"; calls for each of the first `count` whether it is in. */
static void cpus_each(struct capture *c, FILE *list)
{
	u32 from, to, next = 0;

	while (fscanf(list, "%u", &from) == 1) {
		int c1 = fgetc(list);

		to = from;
		if (c1 == '-' && fscanf(list, "%u", &to) == 1)
			c1 = fgetc(list);
		for (; next < from && next < c->ring_count; next++)
			fault_ends_follow(c, next, false);
		for (; next <= to && next < c->ring_count; next++)
			fault_ends_follow(c, next, true);
		if (c1 != ',')
			break;
	}
	for (; next > 0 && next < c->ring_count; next++)
		fault_ends_follow(c, next, false);
}

void capture_features_cpus(struct capture *c)
{
	FILE *list = c->fault_ends ? fopen("/sys/devices/system/cpu/online", "re") : NULL;

	if (list)
		cpus_each(c, list);
	else
		for (u32 cpu = 0; c->fault_ends && cpu < c->ring_count; cpu++)
			fault_ends_follow(c, cpu, true);
	if (list)
		fclose(list);
}

static void faults_detach(struct capture *c)
{
	for (u32 cpu = 0; c->fault_ends && cpu < c->ring_count; cpu++)
		fault_ends_detach(&c->fault_ends[cpu]);
	free(c->fault_ends);
	c->fault_ends = NULL;
}

/*
 * Without these ends no fault is recorded: it would last until the next call. They are not
 * given to everybody (perf_event_paranoid, a seccomp filter).
 */
static int faults_attach(struct capture *c)
{
	c->fault_ends = calloc(c->ring_count, sizeof(*c->fault_ends));
	if (!c->fault_ends)
		return -ENOMEM;
	capture_features_cpus(c);
	for (u32 cpu = 0; cpu < c->ring_count; cpu++) {
		if (c->fault_ends[cpu].minor && c->fault_ends[cpu].major)
			return 0;
	}
	faults_detach(c);
	for (size_t i = 0; i < c->feature_count; i++)
		c->features[i].on &= !feature_is_fault(c->features[i].name);
	return 0;
}

int capture_features_attach(struct capture *c, struct error *e)
{
	if (faults_on(c) && faults_attach(c))
		return error_set(e, ENOMEM, "cannot attach to the kernel");
	for (size_t i = 0; i < c->feature_count; i++) {
		struct capture_feature *feature = &c->features[i];
		struct bpf_link *link;

		if (!feature->on)
			continue;
		link = bpf_program__attach(feature_program(c, feature->name));
		if (link) {
			c->links[i] = link;
			continue;
		}
		if (feature->needed) {
			int err = capture_messages_fail(e, errno, feature->name);

			capture_features_detach(c);
			return error_set(e, err, "cannot attach to the kernel");
		}
		feature->on = false;
	}
	return 0;
}

void capture_features_detach(struct capture *c)
{
	faults_detach(c);
	for (size_t i = CAPTURE_FEATURES_MAX; i-- > 0;) {
		bpf_link__destroy(c->links[i]);
		c->links[i] = NULL;
	}
}

static u64 feature_misses(const struct capture *c, const char *name)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(feature_program(c, name)), &info, &size))
		return 0;
	return info.recursion_misses;
}

static int misses_tell(struct capture *c, const struct capture_sink *sink, u16 lost_kind, u64 count,
		       u64 now)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	struct record_lost lost = {.why = LOST_recursion, .lost_kind = lost_kind, .count = count};

	if (!count)
		return 0;
	c->counts.lost_recursion += count;
	lost.head.kind = RECORD_lost;
	lost.head.slots = 1;
	lost.head.time_ns = now;
	lost.begin_ns = c->recursion_ns;
	return sink->lost ? sink->lost(sink->arg, &stream, &lost) : 0;
}

int capture_features_lost(struct capture *c, const struct capture_sink *sink)
{
	u64 now = capture_now();
	int err = misses_tell(c, sink, RECORD_event, capture_events_missed(c), now);

	if (!err)
		err = misses_tell(c, sink, RECORD_stack, capture_stacks_missed(c->stacks, c), now);
	for (size_t i = 0; i < c->feature_count && !err; i++) {
		u64 misses, told = c->recursion[i];

		if (!c->features[i].on || !feature_rows[i].lost_kind)
			continue;
		misses = feature_misses(c, c->features[i].name);
		if (misses <= told)
			continue;
		c->recursion[i] = misses;
		err = misses_tell(c, sink, feature_rows[i].lost_kind, misses - told, now);
	}
	c->recursion_ns = now;
	return err;
}
