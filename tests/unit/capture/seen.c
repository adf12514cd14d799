/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/capture/seen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_command(const struct seen *s, u32 id)
{
	return id == (u32)capture_child(s->c);
}

static void see_syscall(struct seen *s, const struct record_head *head)
{
	const struct record_syscall *r = (const void *)head;
	bool mine = !s->child || head->pid == (u32)s->child;

	if (r->nr == SYS_getppid) {
		s->counted += mine;
		s->counted_elsewhere += !mine;
		s->with_context += s->context && head->slots == 3 &&
				   memcmp(&r->ctx, s->context, sizeof(r->ctx)) == 0;
	}
	s->reads_of_pipe += r->nr == SYS_read && mine && head->slots > 1 &&
			    r->file.kind == FILE_KIND_pipe;
	s->begin_unknown += (r->flags & SYSCALL_BEGIN_UNKNOWN) != 0;
}

static void see_switch(struct seen *s, const struct record_head *head)
{
	const struct record_switch *r = (const void *)head;

	s->switches++;
	s->dead += r->state == LEAVE_dead && is_command(s, head->pid);
}

static void see_waking(struct seen *s, const struct record_head *head)
{
	const struct record_waking *r = (const void *)head;

	s->wakings_by_task += r->context == WAKE_task;
}

static void see_fault(struct seen *s, const struct record_head *head)
{
	const struct record_fault *r = (const void *)head;

	s->faults += s->counted == 1 && (r->flags & FAULT_USER) && (r->flags & FAULT_WRITE) &&
		     !(r->flags & FAULT_SOFT_END) && r->duration_ns > 0 && r->address;
}

static void see_socket(struct seen *s, const struct record_head *head)
{
	const struct record_socket *r = (const void *)head;

	if (r->file.flags & FILE_ASKED) {
		s->asked = *r;
		s->records[RECORD_socket]--;
		return;
	}
	s->sockets[s->records[RECORD_socket] & 1] = *r;
}

static void see_bytes(struct seen *s, const struct record_head *head)
{
	if (s->records[RECORD_bytes] <= 4)
		memcpy(&s->bytes[s->records[RECORD_bytes] - 1], head, RECORD_SLOT_BYTES);
}

static void see_block(struct seen *s, const struct record_head *head)
{
	const struct record_block *r = (const void *)head;

	s->written += (r->flags & BLOCK_WRITE) && r->bytes == 4096 && r->duration_ns && r->dev &&
		      is_command(s, head->tid);
}

static void see_filter(struct seen *s, const struct record_head *head)
{
	for (size_t i = sizeof(struct record_filter); i < RECORD_SLOT_BYTES; i++)
		s->filter_rest += ((const u8 *)head)[i];
}

static void see_fd(struct seen *s, const struct record_head *head)
{
	const struct record_fd *r = (const void *)head;

	s->fd_named += s->fd_name[0] && r->path_len == strlen(s->fd_name) &&
		       memcmp(r->path, s->fd_name, r->path_len) == 0;
	if (r->fd < 0 || r->fd >= 64)
		return;
	if (r->op == FD_open || r->op == FD_dup || r->op == FD_snapshot)
		snprintf(s->fd_names[r->fd], 64, "%.*s", r->path_len, r->path);
	if (r->op == FD_close)
		s->fd_names[r->fd][0] = '\0';
}

static void (*const see_kind[RECORD_KIND_MAX + 1])(struct seen *, const struct record_head *) = {
	[RECORD_syscall] = see_syscall, [RECORD_switch] = see_switch, [RECORD_waking] = see_waking,
	[RECORD_fault] = see_fault,	[RECORD_socket] = see_socket, [RECORD_bytes] = see_bytes,
	[RECORD_block] = see_block,	[RECORD_filter] = see_filter, [RECORD_fd] = see_fd,
};

int seen_record(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct seen *s = arg;

	if (r->kind > RECORD_KIND_MAX || r->kind == 0 || r->slots == 0)
		return -EBADMSG;
	s->records[r->kind]++;
	if (!s->first_kind && r->kind != RECORD_cgroup && r->kind != RECORD_device) {
		s->first_kind = r->kind;
		s->first_is_child = is_command(s, r->tid);
	}
	if (r->time_ns > s->newest_ns)
		s->newest_ns = r->time_ns;
	if (see_kind[r->kind])
		see_kind[r->kind](s, r);
	return 0;
}

int seen_lost(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	struct seen *s = arg;

	if (lost->why == LOST_buffer)
		s->lost += lost->count;
	return 0;
}

void calls_make(void)
{
	for (int i = 0; i < SEEN_CALLS; i++)
		syscall(SYS_getppid);
}
