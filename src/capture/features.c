// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel offers, in one table: each row is a program of bpf/, what it
 * is for, and whether anything works without it. Rows are attached in their
 * order: life first, so that no thread slips between the snapshot and its fork.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "capture/event.h"
#include "capture/internal.h"
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
	{"page_fault_user", "page faults, and time in them", false, 0},
	{"page_fault_kernel", "page faults inside system calls", false, 0},
	{"block_bio_queue", "threads that block I/O is done for", false, 0},
	{"block_rq_issue", "block I/O", false, 0},
	{"block_rq_complete", "block I/O", false, RECORD_block},
	{"sock_send_length", "bytes sent on connections", false, RECORD_bytes},
	{"sock_recv_length", "bytes received on connections", false, RECORD_bytes},
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

static bool feature_wanted(const struct capture_options *options, const char *name)
{
	if (strncmp(name, "page_fault", 10) == 0)
		return !options->no_faults;
	if (strncmp(name, "block_", 6) == 0)
		return !options->no_blocks;
	if (strncmp(name, "sock_", 5) == 0)
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

/* A software event on each CPU that is online, period 1. */
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

static int perf_attach(struct capture *c, struct bpf_program *program, u64 event)
{
	int attached = 0;

	for (u32 cpu = 0; cpu < c->ring_count; cpu++) {
		int fd = perf_open(event, cpu), err;
		struct bpf_link *link;

		if (fd < 0)
			continue; /* no such CPU just now */
		link = bpf_program__attach_perf_event(program, fd);
		err = link ? vec_push(&c->perf_links, link) : -errno;
		if (!link)
			close(fd);
		else if (err)
			bpf_link__destroy(link);
		attached += err == 0;
	}
	return attached;
}

static bool faults_on(const struct capture *c)
{
	for (size_t i = 0; i < c->feature_count; i++) {
		if (strcmp(c->features[i].name, "page_fault_user") == 0)
			return c->features[i].on;
	}
	return false;
}

/* The ends of page faults; without them no fault is recorded. */
static void faults_attach(struct capture *c)
{
	struct programs *p = c->programs;

	if (faults_on(c)) {
		perf_attach(c, p->progs.fault_minor_end, PERF_COUNT_SW_PAGE_FAULTS_MIN);
		perf_attach(c, p->progs.fault_major_end, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	}
}

int capture_features_attach(struct capture *c, struct error *e)
{
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
	faults_attach(c);
	return 0;
}

void capture_features_detach(struct capture *c)
{
	for (size_t i = 0; i < c->perf_links.count; i++)
		bpf_link__destroy(c->perf_links.data[i]);
	vec_free(&c->perf_links);
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

static int misses_tell(struct capture *c, const struct capture_sink *sink, u16 lost_kind,
		       u64 count, u64 now)
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
