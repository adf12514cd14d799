/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/openings.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "map/fact/mounts.h"
#include "map/fact/peer.h"
#include "map/fact/query.h"
#include "map/kernel/call_details.h"
#include "map/partial.h"

/* What the key of an opening is made of, so that keys of two kinds differ. */
#define KEY_OF_FD 0x6664ull
#define KEY_OF_FILE 0x6669ull
#define KEY_OF_SOCKET 0x736bull

static u64 key_of(const struct opening *o)
{
	switch (o->kind) {
	case OPENING_PATH:
		return mounts_hash(o->path, o->mounts) | 1;
	case OPENING_FD_BEFORE:
		return hash_pair(hash_pair(KEY_OF_FD, o->only_ns), (u64)o->pid << 32 | (u32)o->fd);
	case OPENING_FILE_BEFORE:
		return hash_pair(hash_pair(hash_pair(KEY_OF_FILE, o->only_ns) + o->pid, o->socket),
				 (u64)o->dev << 16 | o->file_kind);
	default:
		return hash_pair(hash_pair(hash_pair(KEY_OF_SOCKET, o->only_ns), o->socket),
				 o->told ? o->told->peer_hash : 0);
	}
}

/* Adds the opening with its key, or notes an earlier use of it. */
static int opening_add(struct openings *all, const struct opening *o)
{
	size_t number = (size_t)map_get(&all->index, o->key);
	int err;

	if (number) {
		struct opening *known = &all->list.data[number - 1];

		if (o->first_ns < known->first_ns)
			known->first_ns = o->first_ns;
		return 0;
	}
	err = vec_push(&all->list, *o);
	return err ? err : map_put(&all->index, o->key, (void *)all->list.count);
}

int openings_take(struct openings *all, struct opening *o)
{
	o->key = key_of(o);
	return opening_add(all, o);
}

static bool is_socket(const struct file_ref *file)
{
	return file->kind == FILE_KIND_tcp || file->kind == FILE_KIND_udp ||
	       file->kind == FILE_KIND_unix;
}

/* Whether only a descriptor tells the name; others have one that the kernel makes. */
static bool is_named(const struct file_ref *file)
{
	switch (file->kind) {
	case FILE_KIND_regular:
	case FILE_KIND_directory:
	case FILE_KIND_block:
	case FILE_KIND_character:
	case FILE_KIND_fifo:
	case FILE_KIND_pseudo:
	case FILE_KIND_network_fs:
	case FILE_KIND_memory_fs:
	case FILE_KIND_tty:
	case FILE_KIND_null:
	case FILE_KIND_other:
		return true;
	default:
		return false;
	}
}

static bool same_file(const struct file_ref *a, const struct file_ref *b)
{
	return a->key == b->key && a->dev == b->dev && a->kind == b->kind;
}

static int socket_of(struct partial *p, const struct file_use *use, struct opening *o,
		     struct in_force_stamp *stamp)
{
	struct socket_in_force at;
	int err = in_force_socket(&p->facts, use->file.key, use->time_ns, &at);

	if (err)
		return err;
	*stamp = at.stamp;
	o->told = at.fact;
	o->kind = o->told ? OPENING_SOCKET : OPENING_SOCKET_BEFORE;
	o->socket = use->file.key;
	if (o->told)
		o->first_ns = o->only_ns = 0;
	return 0;
}

/* A copy that lives as long as the texts, of what a peer is told by alone. */
static int told_copy(struct partial *p, struct opening *o)
{
	struct fact_socket *s = arena_take(&p->facts.texts.arena, sizeof(*s));
	const struct record_socket *told = &o->told->socket;

	if (!s)
		return -ENOMEM;
	*s = (struct fact_socket){
		.socket = {.file = {.key = told->file.key, .kind = told->file.kind},
			   .netns = told->netns,
			   .family = told->family,
			   .remote_port = told->remote_port,
			   .remote_hi = told->remote_hi,
			   .remote_lo = told->remote_lo},
		.path = o->told->path,
		.peer_hash = o->told->peer_hash};
	if (told->family == AF_UNIX && !s->path)
		s->socket.peer = told->peer;
	if (s->path)
		s->path = (char *)texts_keep(&p->facts.texts, s->path, strlen(s->path));
	if (o->told->path && !s->path)
		return -ENOMEM;
	o->told = s;
	return 0;
}

static void path_is(struct opening *o, const struct fact_fd *fact)
{
	o->kind = OPENING_PATH;
	o->path = fact->path;
	o->mounts = fact->mounts;
	o->key = fact->path_hash | 1;
	o->first_ns = o->only_ns = 0;
}

/* Of a file that a slot of an io_uring or a mapping holds, or whose descriptor is not known. */
static int file_of(struct partial *p, const struct file_use *use, struct opening *o)
{
	const struct fact_fd *fact;
	int err = in_force_file(&p->facts, use->pid, &use->file, use->time_ns, &fact);

	if (err)
		return err;
	if (fact) {
		path_is(o, fact);
		return 0;
	}
	o->kind = OPENING_FILE_BEFORE;
	o->pid = use->pid;
	o->socket = use->file.key;
	o->dev = use->file.dev;
	o->file_kind = use->file.kind;
	return 0;
}

/* With *known false: the file has no name that is known. */
static int named_of(struct partial *p, const struct file_use *use, struct opening *o, bool *known,
		    struct in_force_stamp *stamp)
{
	struct fd_in_force at;
	int err = in_force_fd(&p->facts, use->pid, use->fd, use->time_ns, &at);

	if (err)
		return err;
	*stamp = at.stamp;
	*known = at.force != FD_GONE;
	if (at.force == FD_TOLD && !file_is_of_fd(&use->file) &&
	    !same_file(&at.fact->file, &use->file))
		*known = false; /* what was opened since was not told */
	if (!*known)
		return 0;
	if (at.force == FD_TOLD) {
		path_is(o, at.fact);
	} else {
		o->kind = OPENING_FD_BEFORE;
		o->pid = at.pid;
		o->fd = at.fd;
		o->first_ns = at.time_ns;
		if (o->only_ns)
			o->only_ns = at.time_ns;
	}
	return 0;
}

/* Facts from before that time may not be all that there are: see partial.uneven, partial.late_ns.
 */
static u64 facts_since(const struct partial *p)
{
	return p->uneven ? p->begun_ns : p->begin_ns;
}

/* The file of a sum of a path: the inode does not matter any more. */
static struct file_ref file_of_path(const struct file_ref *file)
{
	return (struct file_ref){.dev = file->dev, .kind = file->kind};
}

/* ---- memos ---- */

/*
 * A thread uses the same few descriptors again and again. To look one up takes half a dozen hash
 * tables, so the answers of the last ones are kept with what they depend on.
 */
#define MEMO_BITS 9

/* One cache line. */
struct opening_memo {
	u64 opening, time_ns;
	struct file_ref file; /* that is used */
	u32 pid;
	s32 fd;
	bool path; /* the sum has the file of a path */
	struct in_force_stamp stamp;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct opening_memo) == 64, "a memo is a cache line");

struct opening_memos {
	struct opening_memo list[1 << MEMO_BITS];
	/* of the facts: all answers are void if one of these changes */
	u64 since_ns;
	u32 forgotten;
};

/* NULL: there is no memory for any. */
static struct opening_memo *memo_of(struct openings *all, const struct in_force *in,
				    const struct file_use *use)
{
	u64 h = hash_u64(((u64)use->pid << 32 | (u32)use->fd) ^ use->file.key << 20);
	struct opening_memos *memos = all->memos;

	if (!memos)
		all->memos = memos = aligned_alloc(alignof(struct opening_memos), sizeof(*memos));
	else if (memos->since_ns == in->since_ns && memos->forgotten == in->forgotten)
		return &memos->list[h >> (64 - MEMO_BITS)];
	if (!memos)
		return NULL;
	*memos = (struct opening_memos){.since_ns = in->since_ns, .forgotten = in->forgotten};
	return &memos->list[h >> (64 - MEMO_BITS)];
}

static bool memo_holds(struct partial *p, const struct opening_memo *m, const struct file_use *use)
{
	return m->time_ns && m->time_ns <= use->time_ns && m->pid == use->pid && m->fd == use->fd &&
	       same_file(&m->file, &use->file) && in_force_holds(&p->facts, &m->stamp);
}

static void memo_keep(struct partial *p, struct opening_memo *m, const struct file_use *use,
		      const struct sum_of *of, const struct in_force_stamp *stamp)
{
	bool path = !of->file.key && use->file.key;

	if (!m || !stamp->lasting || use->time_ns < p->facts.in_force.since_ns)
		return;
	*m = (struct opening_memo){.opening = of->opening,
				   .time_ns = use->time_ns,
				   .file = use->file,
				   .pid = use->pid,
				   .fd = use->fd,
				   .path = path,
				   .stamp = *stamp};
}

/* The openings of which they tell are in another partial now. */
static void memos_forget(struct openings *all)
{
	free(all->memos);
	all->memos = NULL;
}

/* ---- uses ---- */

static bool is_memorable(const struct file_use *use)
{
	return is_socket(&use->file) || (is_named(&use->file) && use->fd >= 0);
}

static int opening_find(struct partial *p, const struct file_use *use, struct sum_of *of,
			struct in_force_stamp *stamp)
{
	struct opening o = {.first_ns = use->time_ns};
	bool known = true;
	int err = 0;

	if (o.first_ns < facts_since(p))
		o.only_ns = o.first_ns;
	if (is_socket(&use->file))
		err = socket_of(p, use, &o, stamp);
	else if (use->fd >= 0)
		err = named_of(p, use, &o, &known, stamp);
	else
		err = file_of(p, use, &o);
	if (err || !known)
		return err;
	if (!o.key)
		o.key = key_of(&o);
	if (o.told && !map_get(&p->openings.index, o.key))
		err = told_copy(p, &o);
	if (err)
		return err;
	of->opening = o.key;
	if (o.kind == OPENING_PATH)
		of->file = file_of_path(&use->file);
	return opening_add(&p->openings, &o);
}

int opening_of(struct partial *p, const struct file_use *use, struct sum_of *of)
{
	struct in_force_stamp stamp = {0};
	struct opening_memo *memo = NULL;
	int err;

	of->file = use->file;
	of->file.flags = 0; /* they can differ from use to use */
	of->opening = 0;
	if (!is_socket(&use->file) && !is_named(&use->file))
		return 0;
	p->facts.in_force.since_ns = facts_since(p);
	if (is_memorable(use))
		memo = memo_of(&p->openings, &p->facts.in_force, use);
	if (memo && memo_holds(p, memo, use)) {
		if (memo->path)
			of->file = file_of_path(&use->file);
		of->opening = memo->opening;
		return 0;
	}
	err = opening_find(p, use, of, &stamp);
	if (!err)
		memo_keep(p, memo, use, of, &stamp);
	return err;
}

int opening_named(struct partial *p, const struct file_use *use, const struct call_detail *detail,
		  struct sum_of *of)
{
	struct fact_socket socket;
	const struct file_use ended = {detail->ended, use->pid, -1, detail->ended_ns};
	struct opening o = {.kind = OPENING_PATH, .path = detail->path, .mounts = detail->mounts};
	int err = 0;

	if (detail->ended.kind)
		return opening_of(p, &ended, of);
	if (!detail->path) {
		socket = peer_socket(&detail->peer);
		o.kind = OPENING_SOCKET;
		o.socket = use->file.key;
		o.told = &socket;
	}
	o.key = key_of(&o);
	of->opening = o.key;
	of->file = use->file;
	of->file.flags = 0;
	if (detail->path)
		of->file = (struct file_ref){.kind = FILE_KIND_other};
	if (o.told && !map_get(&p->openings.index, o.key))
		err = told_copy(p, &o);
	return err ? err : opening_add(&p->openings, &o);
}

/* ---- merge ---- */

bool openings_answer(const struct partial *p)
{
	return p->openings.list.count || p->calls.list.count || p->call_waits.list.count ||
	       p->waits.list.count || p->facts.fds.count || p->facts.sockets.count ||
	       p->facts.forks.count;
}

/* Two partials of which the right one's openings before may have an answer in the left one. */
struct answering {
	struct partial *left;
	const struct openings *right;
};

static const struct opening *opening_get(const struct openings *all, u64 key)
{
	size_t number = key ? (size_t)map_get(&all->index, key) : 0;

	return number ? &all->list.data[number - 1] : NULL;
}

static int answer_sum(void *arg, const struct sum *sum, struct sum_of *of)
{
	struct answering *a = arg;
	const struct opening *o = opening_get(a->right, sum->opening);
	struct file_use use = {.file = sum->file};

	*of = sum_names(sum);
	if (!o)
		return 0;
	if (o->kind == OPENING_PATH || o->kind == OPENING_SOCKET)
		return opening_add(&a->left->openings, o);
	use.pid = o->pid;
	use.fd = o->kind == OPENING_FILE_BEFORE ? -1 : o->fd;
	use.time_ns = o->first_ns;
	return opening_of(a->left, &use, of);
}

int openings_merge(struct partial *left, struct partial *right, bool answers)
{
	struct sums *const to[] = {&left->calls, &left->call_waits, &left->waits};
	struct sums *const from[] = {&right->calls, &right->call_waits, &right->waits};
	struct answering a = {left, &right->openings};
	bool moves = !answers && !left->uneven; /* nothing there has an answer */
	int err = 0;

	memos_forget(&left->openings);
	memos_forget(&right->openings);
	if (moves) {
		struct openings none = left->openings;

		left->openings = right->openings;
		right->openings = none;
	}
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]) && !err; i++)
		err = moves ? sums_merge(to[i], from[i])
			    : sums_merge_as(to[i], from[i], answer_sum, &a);
	return err;
}

void openings_free(struct openings *o)
{
	memos_forget(o);
	vec_free(&o->list);
	map_free(&o->index);
}

/* ---- names ---- */

/* The path that a fact has, and its mount namespace. */
static const char *fact_path_of(const struct fact_fd *fact, u32 *mounts)
{
	*mounts = fact ? fact->mounts : 0;
	return fact ? fact->path : NULL;
}

const char *opening_path(const struct partial *p, const struct sum *sum, u32 *mounts)
{
	const struct opening *o = opening_get(&p->openings, sum->opening);
	struct fd_question q = {.file = sum->file};

	*mounts = 0;
	if (!is_named(&sum->file) || !o)
		return NULL;
	if (o->kind == OPENING_PATH) {
		*mounts = o->mounts;
		return o->path;
	}
	if (o->kind == OPENING_FILE_BEFORE)
		return query_slot_path(p, o->pid, &sum->file, o->first_ns);
	q.tid = q.pid = o->pid;
	q.fd = o->fd;
	q.time_ns = o->first_ns;
	if (file_is_of_fd(&q.file))
		q.file.kind = 0;
	return fact_path_of(query_fd_fact(p, &q), mounts);
}

const struct fact_socket *opening_socket(const struct partial *p, const struct sum *sum)
{
	const struct opening *o = opening_get(&p->openings, sum->opening);

	if (!o || !is_socket(&sum->file))
		return NULL;
	return o->told ? o->told : query_socket(p, sum->file.key, o->first_ns);
}
