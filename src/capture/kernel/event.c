// SPDX-License-Identifier: Apache-2.0
/*
 * Tracepoints that the user chose. They are found in tracefs by name or glob, and attached through
 * perf to one program, to which each of them is described (bpf/event.h). Their formats are in every
 * chunk. The id of a format is a hash of its text, so it is the same on each host and boot.
 */
#include "capture/kernel/event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cpu_list.h"
#include "base/hash.h"
#include "base/host_clock.h"
#include "bpf/event.h"
#include "capture/kernel/kernel.h"
#include "capture/kernel/tracefs.h"
#include "programs.skel.h"

#define NAMED_THREADS 65536
#define ENDED_THREADS 16384
#define NAME_BYTES 160
#define FORMAT_BYTES 16384

struct event {
	char name[NAME_BYTES]; /* subsystem:name */
	struct event_config config;
	struct record_format *record; /* owned, whole slots */
	struct bpf_link *link;
};

struct capture_events {
	VEC(struct event) list;
	bool named; /* one of them has the id of a thread as a field */
	bool due;   /* the formats are to be told */
	u64 misses; /* as told to the sink */
	struct bpf_link *vectors[CAPTURE_VECTOR_PROGRAMS];
};

/* ---- what a format says that the program has to know ---- */

/* Events whose field `pid` is not the thread that they are about, or not the kernel's number. */
static const char *const other_pids[] = {
	"sched:sched_process_wait", /* the thread that is waited for */
	"syscalls:*",		    /* an argument, in the caller's namespace */
};

/* Whether the field is the id of the thread that the event is about. */
static bool field_names_thread(const char *event, const char *declaration)
{
	static const char *const fields[] = {"pid_t pid", "int pid", "pid_t tid", "int tid"};

	for (size_t i = 0; i < sizeof(other_pids) / sizeof(*other_pids); i++)
		if (fnmatch(other_pids[i], event, 0) == 0)
			return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strcmp(fields[i], declaration) == 0)
			return true;
	return false;
}

/* Whether the event fires in an interrupt, and so says nothing about the thread below it. */
static bool fires_in_interrupt(const char *event)
{
	static const char *const names[] = {
		"irq_vectors:*_entry", "irq_vectors:*_exit",   "irq:softirq_e*",
		"irq:irq_handler_*",   "timer:*_expire_entry", "timer:*_expire_exit",
		"irq:tasklet_e*",      "nmi:nmi_handler",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (fnmatch(names[i], event, 0) == 0)
			return true;
	return false;
}

/* Parses a line like "field:pid_t pid; offset:12; size:4; signed:1;". */
static void field_apply(struct event *event, const char *line)
{
	struct event_config *c = &event->config;
	unsigned int offset, size;
	char declaration[128];

	if (sscanf(line, " field:%127[^;]; offset:%u; size:%u;", declaration, &offset, &size) !=
		    3 ||
	    offset + size > EVENT_PAYLOAD_MAX)
		return;
	if (offset + size > c->fixed)
		c->fixed = offset + size;
	if (offset && size == 4 && !c->thread_at && field_names_thread(event->name, declaration))
		c->thread_at = offset;
	/* for system calls the kernel gives programs the arguments only, without strings */
	if (strncmp(event->name, "syscalls:", 9) == 0 || c->location_count == EVENT_LOCATIONS)
		return;
	if (strncmp(declaration, "__rel_loc", 9) == 0)
		c->relative |= 1u << c->location_count;
	else if (strncmp(declaration, "__data_loc", 10) != 0)
		return;
	c->location_at[c->location_count++] = offset;
}

static void fields_apply(struct event *event, const char *format)
{
	for (const char *line = format; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		field_apply(event, line);
	}
}

/* Makes the record with name and format. A long format loses its print format, or is cut. */
static int record_make(struct event *event, const char *format)
{
	size_t name = strlen(event->name) + 1, text = strlen(format);
	struct record_format *r = calloc(RECORD_MAX_SLOTS, RECORD_SLOT_BYTES);

	if (!r)
		return -ENOMEM;
	if (name + text > sizeof(r->text)) {
		const char *print = strstr(format, "\nprint fmt:");

		text = print ? (size_t)(print + 1 - format) : text;
		if (name + text > sizeof(r->text))
			text = sizeof(r->text) - name;
	}
	memcpy(r->text, event->name, name);
	memcpy(r->text + name, format, text);
	r->text_len = name + text;
	r->format = (u32)hash_bytes(r->text, r->text_len);
	r->head.kind = RECORD_format;
	r->head.cpu = 0xffff;
	r->head.slots =
		(offsetof(struct record_format, text) + r->text_len + RECORD_SLOT_BYTES - 1) /
		RECORD_SLOT_BYTES;
	event->config.format = r->format;
	event->record = r;
	return 0;
}

/* ---- choosing ---- */

static int event_read(struct capture_events *events, int tracefs, const char *name, struct error *e)
{
	struct event event = {0};
	char format[FORMAT_BYTES], number[32];
	int err;

	snprintf(event.name, sizeof(event.name), "%s", name);
	err = tracefs_read(tracefs, name, "id", number, sizeof(number));
	if (!err)
		err = tracefs_read(tracefs, name, "format", format, sizeof(format));
	if (err)
		return error_set(e, err, "cannot read the format of %s", name);
	event.config.type = strtoul(number, NULL, 10);
	event.config.flags = fires_in_interrupt(name) ? EVENT_IN_INTERRUPT : 0;
	if (strcmp(name, "sched:sched_process_exec") == 0)
		event.config.flags |= EVENT_IS_EXEC;
	fields_apply(&event, format);
	err = record_make(&event, format);
	if (!err)
		err = vec_push(&events->list, event);
	if (err) {
		free(event.record);
		return error_set(e, err, "cannot select %s", name);
	}
	events->named |= event.config.thread_at != 0;
	return 0;
}

static bool event_chosen(const struct capture_events *events, const char *name)
{
	for (size_t i = 0; i < events->list.count; i++) {
		if (strcmp(events->list.data[i].name, name) == 0)
			return true;
	}
	return false;
}

static int event_missing(const struct tracefs_names *names, const char *wanted, struct error *e)
{
	char near[256];

	if (names->closed)
		return error_say(
			e, EACCES,
			"no permission to read the kernel's events in /sys/kernel/tracing: record "
			"as root, or with CAP_DAC_READ_SEARCH");
	tracefs_near(names, wanted, near, sizeof(near));
	if (near[0])
		return error_say(e, ENOENT, "this kernel has no event %s; similar names: %s",
				 wanted, near);
	return error_say(e, ENOENT,
			 "this kernel has no event %s (see /sys/kernel/tracing/available_events)",
			 wanted);
}

/* Removes the events that match `unwanted` from those that were chosen. */
static int event_leave_out(struct capture_events *events, const struct tracefs_names *names,
			   const char *unwanted, struct error *e)
{
	bool found = false;
	size_t kept = 0;

	for (size_t i = 0; i < names->list.count && !found; i++)
		found = fnmatch(unwanted, names->list.data[i], 0) == 0;
	if (!found)
		return event_missing(names, unwanted, e);
	events->named = false;
	for (size_t i = 0; i < events->list.count; i++) {
		struct event *event = &events->list.data[i];

		if (fnmatch(unwanted, event->name, 0) == 0) {
			free(event->record);
			continue;
		}
		events->named |= event->config.thread_at != 0;
		events->list.data[kept++] = *event;
	}
	events->list.count = kept;
	return 0;
}

static int event_choose(struct capture_events *events, int tracefs,
			const struct tracefs_names *names, const char *wanted, struct error *e)
{
	bool found = false;
	int err = 0;

	for (size_t i = 0; i < names->list.count && !err; i++) {
		const char *name = names->list.data[i];

		if (fnmatch(wanted, name, 0) != 0)
			continue;
		found = true;
		if (!event_chosen(events, name))
			err = event_read(events, tracefs, name, e);
	}
	return err || found ? err : event_missing(names, wanted, e);
}

static int events_choose(struct capture_events *events, const struct capture_options *options,
			 struct error *e)
{
	struct tracefs_names names = {0};
	int tracefs = tracefs_open(e), err;

	if (tracefs < 0)
		return tracefs;
	err = tracefs_list(tracefs, &names);
	if (err)
		error_set(e, err, "cannot list the kernel's events");
	for (size_t i = 0; i < options->event_count && !err; i++) {
		if (options->events[i][0] != '!')
			err = event_choose(events, tracefs, &names, options->events[i], e);
	}
	for (size_t i = 0; i < options->event_count && !err; i++) {
		if (options->events[i][0] == '!')
			err = event_leave_out(events, &names, options->events[i] + 1, e);
	}
	if (!err && !events->list.count)
		err = error_say(e, EINVAL, "--event selects no event");
	tracefs_names_free(&names);
	close(tracefs);
	return err;
}

int capture_events_open(struct capture *c, const struct capture_options *options, struct error *e)
{
	struct programs *p = c->programs;
	int err;

	bpf_program__set_autoload(p->progs.event_fired, options->event_count > 0);
	capture_vectors_choose(p, options->event_count > 0 && options->host);
	if (!options->event_count)
		return 0;
	c->events = calloc(1, sizeof(*c->events));
	if (!c->events)
		return error_set(e, ENOMEM, "cannot select events");
	err = events_choose(c->events, options, e);
	c->event_count = c->events->list.count;
	if (err)
		return err;
	c->events->due = true;
	p->rodata->event_names_threads = c->events->named;
	err = bpf_map__set_max_entries(p->maps.event_configs, c->events->list.count);
	if (!err && c->events->named)
		err = bpf_map__set_max_entries(p->maps.named_threads, NAMED_THREADS);
	if (!err && c->events->named)
		err = bpf_map__set_max_entries(p->maps.ended_threads, ENDED_THREADS);
	return err ? error_set(e, err, "cannot select events") : 0;
}

/* ---- attaching ---- */

/* The first CPU that is online. */
static int cpu_first(u32 cpus)
{
	char online[CPU_LIST_BYTES];
	bool known = cpu_list_online(online) == 0;

	for (u32 cpu = 0; known && cpu < cpus; cpu++)
		if (cpu_list_has(online, cpu))
			return cpu;
	return 0;
}

static int event_attach(struct capture *c, u32 index, struct error *e)
{
	struct event *event = &c->events->list.data[index];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = event->config.type,
	};
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = index);
	int configs = bpf_map__fd(c->programs->maps.event_configs), fd, err;

	if (bpf_map_update_elem(configs, &index, &event->config, BPF_ANY))
		return error_set(e, errno, "cannot describe %s", event->name);
	/* opened on one CPU, but the program runs on all of them */
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu_first(c->ring_count), -1,
		     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return error_set(e, errno, "cannot open the event %s", event->name);
	capture_messages_begin();
	event->link = bpf_program__attach_perf_event_opts(c->programs->progs.event_fired, fd,
							  &opts);
	if (event->link)
		return 0;
	err = capture_messages_fail(e, errno, event->name);
	close(fd);
	return error_set(e, err, "cannot attach to an event");
}

int capture_events_attach(struct capture *c, struct error *e)
{
	int err;

	if (!c->events)
		return 0;
	err = capture_vectors_attach(c->programs, c->events->vectors, e);
	capture_descriptors_room(c);
	for (size_t i = 0; i < c->events->list.count && !err; i++)
		err = event_attach(c, i, e);
	return err;
}

void capture_events_detach(struct capture *c)
{
	for (size_t i = 0; c->events && i < c->events->list.count; i++) {
		bpf_link__destroy(c->events->list.data[i].link);
		c->events->list.data[i].link = NULL;
	}
	if (c->events)
		capture_vectors_detach(c->events->vectors);
}

void capture_events_close(struct capture *c)
{
	if (!c->events)
		return;
	capture_events_detach(c);
	for (size_t i = 0; i < c->events->list.count; i++)
		free(c->events->list.data[i].record);
	vec_free(&c->events->list);
	free(c->events);
	c->events = NULL;
}

/* ---- telling ---- */

int capture_events_tell(struct capture *c, const struct capture_sink *sink)
{
	static const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	int err = 0;

	if (!c->events || !c->events->due)
		return 0;
	for (size_t i = 0; i < c->events->list.count && !err; i++) {
		struct record_format *r = c->events->list.data[i].record;

		r->head.time_ns = host_clock_now_ns();
		err = sink->record(sink->arg, &stream, &r->head);
	}
	c->events->due = err != 0;
	return err;
}

void capture_events_tell_again(struct capture *c)
{
	if (c->events)
		c->events->due = true;
}

/* The kernel does not run the program inside another one, but counts the skipped runs. */
u64 capture_events_missed(struct capture *c)
{
	struct bpf_prog_info info = {0};
	u32 size = sizeof(info);
	u64 missed;

	if (!c->events ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(c->programs->progs.event_fired), &info, &size) ||
	    info.recursion_misses <= c->events->misses)
		return 0;
	missed = info.recursion_misses - c->events->misses;
	c->events->misses = info.recursion_misses;
	return missed;
}
