// SPDX-License-Identifier: Apache-2.0
/*
 * Runs iterators of the kernel (bpf/snapshot.bpf.c) and hands over the records that they write.
 * Processes get their command line here, since only /proc has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "capture/scope/scope.h"
#include "capture/state.h"
#include "programs.skel.h"

#define SNAPSHOT_BUFFER 65536

static const struct capture_stream snapshot_stream = {.kind = CAPTURE_STREAM_LIFE};

/*
 * Adds executable and arguments to a process's name, as an exec record has them.
 * `number` is the process's in our pid namespace, 0: it is not in /proc.
 */
static void process_fill_command(struct capture *c, struct record_process *r, u32 number)
{
	size_t room = sizeof(r->command), at = r->command_len;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", number);
	if (!number || at + 2 > room)
		return;
	n = readlink(path, r->command + at, room - at - 1);
	if (n < 0)
		return; /* a kernel thread */
	at += n;
	if (at == room - 1) /* the path may be longer */
		c->counts.incomplete++;
	r->command[at++] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cmdline", number);
	if (at + 1 < room) {
		bool cut;

		at += bounded_read(&c->commands, path, r->command + at, room - at - 1, &cut);
		c->counts.incomplete += cut;
	}
	if (r->command[at - 1] != '\0')
		r->command[at++] = '\0';
	r->command_len = at;
}

static int deliver_process(struct capture *c, const struct capture_sink *sink,
			   const struct record_head *r)
{
	union {
		struct record_process process;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} copy;
	size_t bytes = (size_t)r->slots * RECORD_SLOT_BYTES;

	memset(&copy, 0, sizeof(copy));
	memcpy(&copy, r, bytes);
	copy.process.head.seq = 0;
	process_fill_command(c, &copy.process, r->seq);
	if (r->seq && map_put(&c->shown, r->seq, c))
		return -ENOMEM;
	if (c->moving && vec_push(&c->moved, r->seq))
		return -ENOMEM;
	bytes = offsetof(struct record_process, command) + copy.process.command_len;
	copy.process.head.slots = (bytes + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;
	return sink->record(sink->arg, &snapshot_stream, &copy.process.head);
}

/* Delivers the complete records in a buffer. *used gets their bytes. */
static int deliver_buffer(struct capture *c, const struct capture_sink *sink, const u8 *buffer,
			  size_t bytes, size_t *used)
{
	size_t at = 0;
	int err = 0;

	while (!err && at + RECORD_SLOT_BYTES <= bytes) {
		const struct record_head *r = (const void *)(buffer + at);
		size_t size = (size_t)r->slots * RECORD_SLOT_BYTES;

		if (size == 0 || size > (size_t)RECORD_MAX_SLOTS * RECORD_SLOT_BYTES)
			return -EBADMSG;
		if (at + size > bytes)
			break;
		if (r->kind == RECORD_process)
			err = deliver_process(c, sink, r);
		else if (r->seq)
			err = inherited_take(c, &snapshot_stream, r);
		else
			err = sink->record(sink->arg, &snapshot_stream, r);
		at += size;
	}
	*used = at;
	return err;
}

static int iterator_read(struct capture *c, const struct capture_sink *sink, int fd)
{
	u8 *buffer = malloc(SNAPSHOT_BUFFER);
	size_t have = 0;
	int err = buffer ? 0 : -ENOMEM;

	while (!err) {
		ssize_t n = read(fd, buffer + have, SNAPSHOT_BUFFER - have);
		size_t used = 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		have += n;
		err = deliver_buffer(c, sink, buffer, have, &used);
		memmove(buffer, buffer + used, have - used);
		have -= used;
	}
	free(buffer);
	return err;
}

int capture_iterator_run(struct capture *c, const struct capture_sink *sink,
			 struct bpf_program *program, u32 pid)
{
	union bpf_iter_link_info info = {.task.pid = pid};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));
	struct bpf_link *link = bpf_program__attach_iter(program, pid ? &options : NULL);
	int fd, err;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : iterator_read(c, sink, fd);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

static int nothing_recorded(void *arg, const struct capture_stream *stream,
			    const struct record_head *r)
{
	return 0;
}

int capture_scope_iterate(struct capture *c, struct bpf_program *program)
{
	static const struct capture_sink nobody = {.record = nothing_recorded};

	return capture_iterator_run(c, &nobody, program, 0);
}
