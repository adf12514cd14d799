// SPDX-License-Identifier: Apache-2.0
/* Opens, attaches, starts, stops and closes a capture. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/host_clock.h"
#include "bpf/recording.h"
#include "capture/app/rings.h"
#include "capture/deliver.h"
#include "capture/internal.h"
#include "capture/kernel/event.h"
#include "capture/kernel/kernel.h"
#include "capture/kernel/meter.h"
#include "capture/kernel/types.h"
#include "capture/scope/scope.h"
#include "capture/stack/stacks.h"
#include "capture/watch.h"
#include "programs.skel.h"

#define RING_PARTS 2
#define STATES_MAX 262144 /* threads; the buckets take 4 MiB, entries are allocated when needed */
#define DRAIN_NICE (-10)  /* against one thread of nice 0, ours gets nine tenths of a CPU */

/* Sets byte and mask of task_struct.throttled for the programs, if the kernel has that field. */
static void throttled_find(struct programs *programs, const struct btf *btf)
{
	u32 id = capture_type_id("task_struct", BTF_KIND_STRUCT);
	const struct btf_type *task = id ? btf__type_by_id(btf, id) : NULL;

	for (u32 i = 0; task && i < btf_vlen(task); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(task)[i].name_off);
		u32 bit = btf_member_bit_offset(task, i), bits = btf_member_bitfield_size(task, i);

		if (!name || strcmp(name, "throttled") != 0)
			continue;
		programs->rodata->throttled_offset = bit / 8;
		programs->rodata->throttled_mask = bits ? ((1u << bits) - 1) << (bit % 8) : 0xff;
	}
}

/*
 * Sets how this kernel gives a completion of io_uring to a tracepoint: older ones give its fields
 * one by one, as eight arguments instead of four.
 */
static void uring_find(struct programs *programs, const struct btf *btf)
{
	u32 id = capture_type_id("btf_trace_io_uring_complete", BTF_KIND_TYPEDEF);
	const struct btf_type *type = id ? btf__type_by_id(btf, id) : NULL;

	while (type && !btf_is_func_proto(type))
		type = btf__type_by_id(btf, type->type);
	if (type)
		programs->rodata->uring_gives_cqe = btf_vlen(type) == 4;
}

/* If states of threads are in a hash (bpf/kernel_versions.h), sizes it for the threads of a host.
 */
static int states_size(struct programs *programs)
{
	if (capture_type_has("cgroup", "bpf_cgrp_storage"))
		return 0;
	return bpf_map__set_max_entries(programs->maps.states_by_task, STATES_MAX);
}

/* Sets what the programs must know of the kernel's types. */
static int types_find(struct programs *programs)
{
	const struct btf *btf = capture_types();

	if (!btf)
		return 0;
	throttled_find(programs, btf);
	uring_find(programs, btf);
	capture_softirqs_find(programs, btf);
	return states_size(programs);
}

static int open_sizes(struct capture *c, const struct capture_options *options)
{
	struct programs *p = c->programs;
	int cpus = libbpf_num_possible_cpus();
	int err;

	if (cpus < 0)
		return cpus;
	c->ring_count = cpus;
	c->ring_bits = capture_ring_bits(cpus, options->buffer_bytes);
	p->rodata->ring_bits = c->ring_bits;
	if (!options->flight)
		p->rodata->ring_part = (1ull << c->ring_bits) / RING_PARTS;
	err = bpf_map__set_max_entries(p->maps.slots, (u32)cpus << c->ring_bits);
	if (!err)
		err = bpf_map__set_max_entries(p->maps.rings, cpus);
	if (!err)
		err = bpf_map__set_max_entries(p->maps.losses, cpus);
	if (!err)
		err = bpf_map__set_max_entries(p->maps.interrupts, cpus);
	if (!err)
		err = bpf_map__set_max_entries(p->maps.rare, CAPTURE_RARE_BYTES);
	return err;
}

/* Names of files that hold elsewhere say where. */
static u32 own_mounts(void)
{
	struct stat st;

	return stat("/proc/self/ns/mnt", &st) ? 0 : (u32)st.st_ino;
}

static int open_configure(struct capture *c, const struct capture_options *options, struct error *e)
{
	struct programs *p = c->programs;
	int err = open_sizes(c, options);

	if (err)
		return error_set(e, err, "cannot set the size of the ring buffers");
	p->rodata->ring_overwrites = options->flight;
	p->rodata->scope_host = options->host;
	p->rodata->spans_only = options->spans_only;
	p->rodata->record_files = !options->no_files;
	p->rodata->path_own_mounts = own_mounts();
	for (int nr = 0; options->syscalls && nr < CAPTURE_SYSCALLS; nr++)
		p->rodata->syscall_unwanted[nr] = !options->syscalls[nr];
	err = types_find(p);
	if (err)
		return error_set(e, err, "cannot set the size of the table of threads");
	for (int nr = 0; options->syscalls && nr < CAPTURE_SYSCALLS; nr++)
		c->filters |= options->syscalls[nr] ? 0 : FILTER_SYSCALLS;
	c->drop_capabilities = options->drop_capabilities;
	c->keep_capabilities = options->keep_capabilities;
	c->filters |= options->spans_only ? FILTER_SPANS : 0;
	err = capture_detail_open(c, options, e);
	if (err)
		return err;
	c->faults = !options->no_faults;
	c->flight = options->flight;
	c->files = !options->no_files;
	err = capture_scope_set(c, options, e);
	if (!err)
		err = capture_stacks_open(&c->stacks, c, options, e);
	if (!err)
		err = capture_events_open(c, options, e);
	if (!err)
		err = capture_features_choose(c, options, e);
	return err;
}

/* Lets the programs find our own process, which is not to be recorded. */
static int own_find(struct capture *c, struct error *e)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int err = bpf_prog_test_run_opts(bpf_program__fd(c->programs->progs.own_find), &run);

	if (!err && run.retval)
		err = EFAULT;
	return err ? error_set(e, err, "cannot exclude the recorder from the recording") : 0;
}

static int open_load(struct capture *c, const struct capture_options *options, struct error *e)
{
	int err;

	capture_messages_begin();
	c->programs = capture_programs_open();
	if (!c->programs)
		return capture_messages_fail(e, errno, "cannot prepare the kernel programs");
	err = open_configure(c, options, e);
	capture_types_drop();
	if (err)
		return err;
	capture_messages_begin();
	err = programs__load(c->programs);
	if (err == -EPERM || (err == -EACCES && !capture_capabilities_suffice()))
		return error_say(e, EPERM,
				 "not allowed to load kernel programs: run as %s the capabilities "
				 "CAP_BPF and CAP_PERFMON",
				 geteuid() ? "root, or with"
					   : "root of the host, or give its container");
	if (err)
		return capture_messages_fail(e, err, "the kernel refused the programs");
	c->keep_capabilities |= capture_capabilities_bpf(bpf_map__fd(c->programs->maps.locations));
	capture_softirqs_read(c, options->no_calls || options->calls_may_end);
	err = own_find(c, e);
	if (!err)
		err = capture_rings_map(c, e);
	if (!err && (err = capture_wait_open(c)))
		error_set(e, err, "cannot wait for the ring buffers");
	return err;
}

int capture_open(const struct capture_options *options, struct capture **out, struct error *e)
{
	struct capture *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return error_set(e, ENOMEM, "cannot open the capture");
	c->go_fd = -1;
	c->exec_fd = c->child_fd = -1;
	c->wake_fd = c->clock_fd = -1;
	err = host_clock_check();
	if (err)
		error_set(e, err, "cannot find the host's time in this time namespace");
	else
		err = open_load(c, options, e);
	if (!err)
		err = capture_scope_add(c, options, e);
	if (!err)
		err = capture_scopes_add(c, e);
	if (err) {
		error_set(e, err, "cannot start recording");
		capture_descriptors_hint(c, err, e);
		capture_close(c);
		return err;
	}
	*out = c;
	return 0;
}

int capture_attach(struct capture *c, struct error *e)
{
	int err;

	c->recursion_ns = host_clock_now_ns();
	capture_conditions_open(c);
	c->apps = app_rings_new();
	if (c->apps)
		app_rings_services(c->apps, capture_services_note, c);
	err = c->apps ? capture_watch_open(c, &c->watch, e) : error_set(e, ENOMEM, "cannot start");
	if (!err)
		err = capture_meter_open(&c->meter, c, e);
	if (!err) /* without it results of the watch wait a little */
		(void)capture_wait_for(c, capture_watch_fd(c->watch));
	if (!err)
		err = capture_stacks_start(c->stacks, c, e);
	if (!err)
		err = capture_features_attach(c, e);
	if (!err)
		err = capture_stacks_attach(c->stacks, c, e);
	if (!err)
		err = capture_events_attach(c, e);
	if (!err)
		err = capture_scope_look_again(c, e);
	if (!err)
		err = capture_scope_add_children(c, e);
	if (!err)
		err = capture_snapshot_scope(c, e);
	return err ? err : capture_scopes_seed(c, e);
}

/*
 * Raises the priority of the thread that drains. If every CPU is busy, a thread that waits for its
 * turn finds its rings full; it needs little time, but soon. Threads and processes that it makes
 * start at nice 0. A niceness other than 0 is left alone, since somebody chose it.
 */
static void drain_hurry(void)
{
	struct sched_attr attr = {.size = sizeof(attr),
				  .sched_policy = SCHED_NORMAL,
				  .sched_flags = SCHED_FLAG_RESET_ON_FORK,
				  .sched_nice = DRAIN_NICE};

	if (getpriority(PRIO_PROCESS, 0) == 0)
		syscall(SYS_sched_setattr, 0, &attr, 0); /* fails without CAP_SYS_NICE */
}

void capture_turn_on(struct capture *c, u64 begin_ns)
{
	c->programs->bss->recording_ns = begin_ns;
	__atomic_store_n(&c->programs->bss->recording, RECORDING_ALL, __ATOMIC_RELEASE);
	capture_meter_begin(c->meter);
}

int capture_start(struct capture *c, u64 begin_ns, const struct capture_sink *sink, struct error *e)
{
	int err = c->apps ? 0 : capture_attach(c, e);
	struct capture_delivery to;

	if (err)
		return err;
	if (!c->programs->bss->recording)
		capture_turn_on(c, begin_ns ? begin_ns : host_clock_now_ns());
	drain_hurry();
	capture_delivery_make(&to, c, sink);
	err = capture_snapshot(c, &to, e);
	/* a CPU may come later, or come back: its perf events are opened then */
	if (capture_features_open_events(c) || capture_stacks_await_cpus(c->stacks))
		c->keep_capabilities |= 1ull << CAP_PERFMON;
	if (!err && c->drop_capabilities && (err = capture_capabilities_drop(c->keep_capabilities)))
		error_set(e, err, "cannot drop privileges");
	return err;
}

bool capture_keeps_bpf(const struct capture *c)
{
	return c->keep_capabilities >> CAP_BPF & 1;
}

pid_t capture_child(const struct capture *c)
{
	return c->child;
}

u64 capture_descendants(const struct capture *c)
{
	return __atomic_load_n(&c->programs->bss->descendants, __ATOMIC_ACQUIRE);
}

const struct capture_feature *capture_features(const struct capture *c, size_t *count)
{
	*count = c->feature_count;
	return c->features;
}

int capture_probe(struct capture_feature *features, size_t max, struct error *e)
{
	int count = capture_features_probe(features, max, e);

	capture_types_drop();
	return count;
}

void capture_costs_read(struct capture *c, struct capture_costs *out)
{
	capture_meter_read(c->meter, out);
}

void capture_stop(struct capture *c)
{
	capture_events_detach(c);
	capture_stacks_detach(c->stacks);
	capture_features_detach(c);
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	capture_spawn_abandon(c);
	capture_meter_close(c->meter);
	capture_events_close(c);
	capture_features_detach(c);
	capture_watch_close(c->watch);
	capture_stacks_close(c->stacks);
	bounded_reader_end(&c->commands);
	vec_free(&c->levels);
	vec_free(&c->detail_cgroups);
	capture_services_free(c);
	app_rings_free(c->apps);
	vec_free(&c->steal);
	map_free(&c->shown);
	vec_free(&c->named);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	if (c->clock_fd >= 0)
		close(c->clock_fd);
	capture_rings_unmap(c);
	programs__destroy(c->programs);
	free(c);
}
