/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/query.h"

#include <string.h>

#include "base/order.h"
#include "map/fact/bytes.h"
#include "map/fact/fds.h"
#include "map/fact/kind.h"
#include "map/fact/mapping.h"
#include "map/fact/path.h"
#include "map/fact/peer.h"
#include "map/fact/tenures.h"

#define FORKS_FOLLOWED 64

/*
 * The last name that the thread which has the number then was given up to that time. The first name
 * that is told of a thread was its name before, too, back to when it was made: a snapshot tells it,
 * or a change or the end of the thread before the snapshot comes to it.
 */
const struct fact_name *query_name(const struct partial *p, u32 tid, u64 time_ns)
{
	const struct fact_name *names = p->facts.names.data;
	struct tenure tenure = tenure_at(&p->facts, tid, time_ns);
	size_t n = COUNT_BEFORE(&p->facts.names, e,
				e->tid < tid || (e->tid == tid && e->time_ns <= time_ns));

	if (n > 0 && names[n - 1].tid == tid && names[n - 1].time_ns >= tenure.from_ns)
		return &names[n - 1];
	/* a thread has its first name from its start on, which lies before its fork is told */
	if (n == p->facts.names.count || names[n].tid != tid ||
	    names[n].time_ns > tenure.until_ns || names[n].start_ns > time_ns)
		return NULL;
	return &names[n];
}

const char *query_comm(const struct partial *p, u32 tid, u64 time_ns)
{
	const struct fact_name *name = query_name(p, tid, time_ns);

	return name ? name->comm : NULL;
}

u64 query_held_until(const struct partial *p, u32 number, u64 time_ns)
{
	u64 until_ns = tenure_at(&p->facts, number, time_ns).until_ns;

	return until_ns == UINT64_MAX ? until_ns : until_ns - 1;
}

u32 query_pid(const struct partial *p, u32 tid, u64 time_ns)
{
	const struct fact_name *name = query_name(p, tid, time_ns);

	return name ? name->pid : 0;
}

static const struct fact_process *process_told(const struct partial *p, u32 pid, u64 time_ns,
					       const struct tenure *tenure)
{
	const struct fact_process *list = p->facts.processes.data;
	size_t n = COUNT_BEFORE(&p->facts.processes, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));

	if (n > 0 && list[n - 1].pid == pid && list[n - 1].time_ns >= tenure->from_ns)
		return &list[n - 1];
	/* a process whose birth is known needs no later snapshot */
	return !tenure->fork && n < p->facts.processes.count && list[n].pid == pid &&
			       list[n].snapshot && list[n].time_ns < tenure->until_ns
		       ? &list[n]
		       : NULL;
}

const struct fact_process *query_process(const struct partial *p, u32 pid, u64 time_ns)
{
	for (int forks = 0; forks < FORKS_FOLLOWED; forks++) {
		struct tenure tenure = tenure_at(&p->facts, pid, time_ns);
		const struct fact_process *process = process_told(p, pid, time_ns, &tenure);

		if (process || !tenure.fork)
			return process;
		pid = tenure.fork->parent_pid;
		time_ns = tenure.fork->time_ns;
	}
	return NULL;
}

/* The user that the process had itself, as a snapshot tells it. */
static u32 user_told(const struct partial *p, u32 pid, u64 time_ns, const struct tenure *tenure)
{
	const struct fact_process *list = p->facts.processes.data;
	size_t n = COUNT_BEFORE(&p->facts.processes, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));

	for (size_t i = n; i > 0 && list[i - 1].pid == pid; i--) {
		if (list[i - 1].time_ns < tenure->from_ns)
			break;
		if (list[i - 1].uid != USER_UNKNOWN)
			return list[i - 1].uid;
	}
	for (; n < p->facts.processes.count && list[n].pid == pid; n++) {
		if (list[n].time_ns >= tenure->until_ns)
			break;
		if (list[n].uid != USER_UNKNOWN)
			return list[n].uid;
	}
	return USER_UNKNOWN;
}

u32 query_user(const struct partial *p, u32 pid, u64 time_ns)
{
	for (int forks = 0; forks < FORKS_FOLLOWED; forks++) {
		struct tenure tenure = tenure_at(&p->facts, pid, time_ns);
		u32 uid = user_told(p, pid, time_ns, &tenure);

		if (uid != USER_UNKNOWN || !tenure.fork)
			return uid;
		pid = tenure.fork->parent_pid;
		time_ns = tenure.fork->time_ns;
	}
	return USER_UNKNOWN;
}

const char *query_executable(const struct partial *p, u32 pid, u64 time_ns)
{
	const struct fact_process *process = query_process(p, pid, time_ns);
	size_t name = process ? strnlen(process->command, process->command_bytes) + 1 : 0;

	return process && name < process->command_bytes ? process->command + name : NULL;
}

struct span_place query_span_place(const struct partial *p, const struct app_span *span,
				   u64 begin_ns)
{
	struct span_place place = {span->tid, span->pid};

	if (!place.tid && span->seen.list.count)
		place.tid = span->seen.list.data[0].tid;
	if (!place.pid)
		place.pid = query_pid(p, place.tid, begin_ns);
	return place;
}

const char *query_resource(const struct partial *p, u32 pid, u64 time_ns, const char *key)
{
	const struct fact_service *list = p->facts.services.data;
	size_t n = COUNT_BEFORE(&p->facts.services, e,
				e->pid < pid || (e->pid == pid && e->time_ns <= time_ns));
	struct tenure tenure = tenure_at(&p->facts, pid, time_ns);
	const struct fact_service *s;

	if (n == 0 || list[n - 1].pid != pid || list[n - 1].time_ns < tenure.from_ns) {
		if (n == p->facts.services.count || list[n].pid != pid ||
		    list[n].time_ns >= tenure.until_ns)
			return NULL;
		n++;
	}
	s = &list[n - 1];
	for (const char *at = s->resource, *end = at + s->bytes; at < end;) {
		const char *value = at + strlen(at) + 1;

		if (value > end)
			return NULL;
		if (strcmp(at, key) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

static bool same_file(const struct file_ref *a, const struct file_ref *b)
{
	return a->key == b->key && a->dev == b->dev && a->kind == b->kind;
}

/* Whether one inode stands for all files of the kind: a name found by it may be another file's. */
static bool inode_is_shared(const struct file_ref *file)
{
	return (file->kind >= FILE_KIND_eventfd && file->kind <= FILE_KIND_anon_other) ||
	       file->kind == FILE_KIND_fanotify;
}

static bool file_is_before(const struct fact_fd *f, const struct file_ref *file, u32 pid,
			   u64 time_ns)
{
	if (f->file.key != file->key)
		return f->file.key < file->key;
	if (f->file.dev != file->dev)
		return f->file.dev < file->dev;
	return f->pid < pid || (f->pid == pid && f->time_ns <= time_ns);
}

/* The fact of the process last before that time, else first after it, else of a later process. */
static const struct fact_fd *file_told(const struct partial *p, u32 pid,
				       const struct file_ref *file, u64 time_ns)
{
	const struct fact_fd *fds = p->facts.fds.data;
	const u32 *index = p->facts.fds_by_file.data;
	size_t n = COUNT_BEFORE(&p->facts.fds_by_file, e,
				file_is_before(&fds[*e], file, pid, time_ns));

	if (n > 0 && fds[index[n - 1]].pid == pid && same_file(&fds[index[n - 1]].file, file))
		return &fds[index[n - 1]];
	if (n < p->facts.fds_by_file.count && same_file(&fds[index[n]].file, file))
		return &fds[index[n]];
	return NULL;
}

const char *query_file_path(const struct partial *p, u32 pid, const struct file_ref *file,
			    u64 time_ns)
{
	const struct fact_fd *f = file_told(p, pid, file, time_ns);

	if (inode_is_shared(file))
		return NULL;
	if (!f || f->pid != pid) {
		f = file_told(p, 0, file, 0); /* by the first process that told it */
		if (f)
			f = file_told(p, f->pid, file, time_ns);
	}
	return f ? f->path : NULL;
}

const char *query_slot_path(const struct partial *p, u32 pid, const struct file_ref *file,
			    u64 time_ns)
{
	const struct fact_fd *f = inode_is_shared(file) ? NULL : file_told(p, pid, file, time_ns);

	return f && f->pid == pid && f->fd < 0 ? f->path : NULL;
}

const char *query_sole_path(const struct partial *p, u32 pid, const struct file_ref *file)
{
	const struct fact_fd *fds = p->facts.fds.data;
	const u32 *index = p->facts.fds_by_file.data;
	size_t first = COUNT_BEFORE(&p->facts.fds_by_file, e,
				    file_is_before(&fds[*e], file, pid - 1, UINT64_MAX));
	size_t end = COUNT_BEFORE(&p->facts.fds_by_file, e,
				  file_is_before(&fds[*e], file, pid, UINT64_MAX));

	return end == first + 1 && same_file(&fds[index[first]].file, file) ? fds[index[first]].path
									    : NULL;
}

const struct fact_fd *query_fd_fact(const struct partial *p, const struct fd_question *q)
{
	const struct fact_fd *f = fds_origin(&p->facts, q);

	if (f && f->path && (!q->file.kind || same_file(&f->file, &q->file) || !f->file.kind))
		return f;
	return NULL;
}

const char *query_fd_name(const struct partial *p, const struct fd_question *question)
{
	const struct file_ref *file = &question->file;
	const struct fact_fd *fact = query_fd_fact(p, question);
	const char *path = fact ? fact->path : NULL;

	if (!path && file->kind)
		path = query_file_path(p, question->pid, file, question->time_ns);
	return path;
}

const struct fact_socket *query_socket(const struct partial *p, u64 key, u64 time_ns)
{
	const struct fact_socket *list = p->facts.sockets.data;
	size_t n = COUNT_BEFORE(&p->facts.sockets, e,
				e->socket.file.key < key ||
					(e->socket.file.key == key && e->time_ns <= time_ns));

	if (n > 0 && list[n - 1].socket.file.key == key)
		return &list[n - 1];
	return n < p->facts.sockets.count && list[n].socket.file.key == key ? &list[n] : NULL;
}

/* The local port and the sides of a connection, by all facts of its socket with the same peer. */
static u16 local_port(const struct partial *p, const struct record_socket *of, u16 *sides)
{
	const struct fact_socket *list = p->facts.sockets.data;
	size_t n = COUNT_BEFORE(&p->facts.sockets, e, e->socket.file.key < of->file.key);
	u16 port = 0;

	*sides = socket_side(of);
	for (; n < p->facts.sockets.count && list[n].socket.file.key == of->file.key; n++) {
		const struct record_socket *r = &list[n].socket;

		if (r->remote_port != of->remote_port || r->remote_lo != of->remote_lo)
			continue;
		*sides |= socket_side(r);
		port = port ? port : r->local_port;
	}
	return port ? port : of->local_port;
}

u16 query_socket_accepted(const struct partial *p, const struct fact_socket *socket)
{
	const struct record_socket *of = &socket->socket;
	u16 sides = 0, port = 0;
	size_t n;

	if (of->file.kind == FILE_KIND_tcp && of->remote_port)
		port = local_port(p, of, &sides);
	if (sides & FILE_SIDES)
		return sides & FILE_ACCEPTED ? port : 0;
	n = COUNT_BEFORE(&p->facts.listeners, e,
			 e->netns < of->netns || (e->netns == of->netns && e->port < port));

	if (!port || n == p->facts.listeners.count)
		return 0;
	return p->facts.listeners.data[n].netns == of->netns &&
			       p->facts.listeners.data[n].port == port
		       ? port
		       : 0;
}

/* The end that was told later names the other end. */
u64 query_socket_peer(const struct partial *p, const struct fact_socket *socket)
{
	const struct fact_socket *list = p->facts.sockets.data;
	const u32 *index = p->facts.sockets_by_peer.data;
	u64 key = socket->socket.file.key;
	size_t n;

	if (socket->socket.peer)
		return socket->socket.peer;
	n = COUNT_BEFORE(&p->facts.sockets_by_peer, e,
			 list[*e].socket.peer < key || (list[*e].socket.peer == key &&
							list[*e].time_ns < socket->time_ns));
	if (n == p->facts.sockets_by_peer.count || list[index[n]].socket.peer != key)
		return 0;
	return list[index[n]].socket.file.key;
}

size_t query_bytes(const struct partial *p, u32 tid, u64 begin_ns, u64 end_ns,
		   struct thread_place *first)
{
	const struct thread_facts *all = &p->facts.bytes;
	struct thread_place at = thread_facts_before(all, &bytes_order, tid, begin_ns);
	const struct fact_bytes *b;
	size_t count = 0;

	*first = at;
	while ((b = thread_facts_next(all, sizeof(*b), &at)) && b->tid == tid &&
	       b->time_ns <= end_ns)
		count++;
	return count;
}

const struct fact_path *query_call_path(const struct partial *p, const struct kspan *call,
					bool second)
{
	const struct thread_facts *all = &p->facts.paths;
	struct thread_place at = thread_facts_before(all, &path_order, call->tid,
						     call->begin_ns + 1);
	const struct fact_path *f = thread_facts_last(all, sizeof(*f), &at);
	u64 call_ns = f ? f->call_ns : 0;

	/* an exec with which a thread came into the scope begins, for a recording, at that time */
	for (; f && f->tid == call->tid && f->call_ns == call_ns;
	     f = thread_facts_last(all, sizeof(*f), &at))
		if (f->nr == call->nr && !(f->flags & PATH_SECOND) == !second &&
		    (call_ns == call->begin_ns || f->time_ns >= call->begin_ns))
			return f;
	return NULL;
}

const struct fact_peer *query_call_peer(const struct partial *p, const struct kspan *call)
{
	const struct thread_facts *all = &p->facts.peers;
	struct thread_place at = thread_facts_before(all, &peer_order, call->tid,
						     call->begin_ns + 1);
	const struct fact_peer *f = thread_facts_last(all, sizeof(*f), &at);

	return f && f->tid == call->tid && f->call_ns == call->begin_ns ? f : NULL;
}

const struct fact_stack *query_stack(const struct partial *p, u32 flags, u32 tid, u64 begin_ns,
				     u64 end_ns)
{
	const struct fact_stack *list = p->facts.stacks.data;
	/* stacks of waits before this one were told before it began */
	size_t n = COUNT_BEFORE(
		&p->facts.stacks, e,
		e->tid < tid || (e->tid == tid && (e->flags < flags ||
						   (e->flags == flags && e->time_ns <= begin_ns))));

	if (n == p->facts.stacks.count || list[n].tid != tid || list[n].flags != flags)
		return NULL;
	return list[n].since_ns < end_ns ? &list[n] : NULL;
}

/* Functions of the kernel are always there, and do not overlap. */
static const struct fact_mapping *kernel_mapping(const struct partial *p, u64 address)
{
	const struct fact_mapping *list = p->facts.mappings.data;
	size_t n = COUNT_BEFORE(&p->facts.mappings, e, e->pid == 0 && e->begin <= address);

	return n > 0 && list[n - 1].pid == 0 && address < list[n - 1].end ? &list[n - 1] : NULL;
}

/* A compiler in the program reuses its memory: what it put there last holds. */
static bool mapping_is_jit(const struct fact_mapping *m)
{
	return strcmp(m->path, RECORD_MAPPING_JIT) == 0;
}

/* The first mapping there that was told later of the same program, from number n on. */
static const struct fact_mapping *mapping_later(const struct partial *p, size_t n, u32 pid,
						u64 since_ns, u64 address)
{
	const struct fact_mapping *list = p->facts.mappings.data;

	for (; n < p->facts.mappings.count && list[n].pid == pid; n++) {
		const struct fact_mapping *m = &list[n];

		if (address >= m->begin && address < m->end)
			return mappings_image(&p->facts, pid, m->since_ns) == since_ns ? m : NULL;
	}
	return NULL;
}

const struct fact_mapping *query_mapping(const struct partial *p, const struct fact_stack *stack,
					 u64 address)
{
	const struct fact_mapping *list = p->facts.mappings.data, *found = NULL;
	u32 pid = stack->pid;
	size_t n = COUNT_BEFORE(&p->facts.mappings, e,
				e->pid < pid || (e->pid == pid && e->since_ns <= stack->time_ns));
	u64 since = mappings_image(&p->facts, pid, stack->time_ns);
	size_t later = n;

	if (stack->flags & STACK_KERNEL)
		return kernel_mapping(p, address);
	for (; n > 0 && list[n - 1].pid == pid && list[n - 1].since_ns >= since; n--) {
		const struct fact_mapping *m = &list[n - 1];

		if (address < m->begin || address >= m->end)
			continue;
		if (!found && mapping_is_jit(m))
			return m;
		if (found && (m->begin != found->begin))
			return NULL;
		found = found ? found : m;
	}
	return found ? found : mapping_later(p, later, pid, since, address);
}
