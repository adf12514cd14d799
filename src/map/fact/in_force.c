/* SPDX-License-Identifier: Apache-2.0 */
#include "map/fact/in_force.h"

#include "map/fact/facts.h"
#include "map/fact/fds.h"

#define HOPS 64 /* forks and duplicates looked through */

/* ---- chains ---- */

/* Facts come in the order of time, but for some that came late. */
static int chain_add(struct in_force_chain *c, u64 owner, u64 time_ns, size_t fact)
{
	u32 last = (u32)(uintptr_t)map_get(&c->last, owner), after = last;
	struct in_force_link link = {.time_ns = time_ns, .fact = (u32)fact, .before = last};
	int err = vec_push(&c->links, link);
	struct in_force_link *links = c->links.data;

	if (err || !last || links[last - 1].time_ns <= time_ns)
		return err ? err : map_put(&c->last, owner, (void *)c->links.count);
	while (links[after - 1].before && links[links[after - 1].before - 1].time_ns > time_ns)
		after = links[after - 1].before;
	links[c->links.count - 1].before = links[after - 1].before;
	links[after - 1].before = (u32)c->links.count;
	return 0;
}

/*
 * The last link of the owner before that time; NULL: there is none that answers. Of a fact of the
 * same instant nothing tells which was first. Clears *last if there is a later link.
 */
static const struct in_force_link *chain_at(const struct facts *f, const struct in_force_chain *c,
					    u64 owner, u64 time_ns, bool *last)
{
	const struct in_force_link *links = c->links.data;
	u32 at = (u32)(uintptr_t)map_get(&c->last, owner);

	while (at && links[at - 1].time_ns >= time_ns) {
		at = links[at - 1].before;
		*last = false;
	}
	return at && links[at - 1].time_ns >= f->in_force.since_ns ? &links[at - 1] : NULL;
}

/* ---- stamps ---- */

static u32 stamp_slot(u64 owner)
{
	return (u32)(hash_u64(owner) >> (64 - IN_FORCE_STAMP_BITS));
}

/* Notes that the answer depends on an owner, whose chain has been asked for that time. */
static void stamp_add(const struct facts *f, struct in_force_stamp *stamp, u64 owner)
{
	u32 slot = stamp_slot(owner);

	if (stamp->count == IN_FORCE_STAMPS_MAX) {
		stamp->lasting = false;
		return;
	}
	stamp->slots[stamp->count++] = (u16)slot;
	stamp->changes += f->in_force.changes[slot];
}

static void chain_free(struct in_force_chain *c)
{
	map_free(&c->last);
	vec_free(&c->links);
	c->followed = 0;
}

void in_force_forget(struct facts *f)
{
	chain_free(&f->in_force.fds);
	chain_free(&f->in_force.files);
	chain_free(&f->in_force.ranges);
	chain_free(&f->in_force.forks);
	chain_free(&f->in_force.sockets);
	f->in_force.forgotten++;
}

/* ---- following ---- */

static u64 fd_owner(u32 pid, s32 fd)
{
	return (u64)pid << 32 | (u32)fd;
}

/* Two files with one hash are told apart by the fact. */
static u64 file_owner(u32 pid, const struct file_ref *file)
{
	return hash_pair(hash_pair(file->key, (u64)file->dev << 16 | file->kind), pid);
}

/* Adds a fact about an owner. */
static int owner_add(struct facts *f, struct in_force_chain *c, u64 owner, u64 time_ns, size_t fact)
{
	f->in_force.changes[stamp_slot(owner)]++;
	return chain_add(c, owner, time_ns, fact);
}

static int fds_follow(struct facts *f)
{
	struct in_force_chain *fds = &f->in_force.fds, *ranges = &f->in_force.ranges;
	int err = 0;

	for (; fds->followed < f->fds.count && !err; fds->followed++) {
		const struct fact_fd *d = &f->fds.data[fds->followed];

		if (d->op == FD_close_range)
			err = owner_add(f, ranges, d->pid, d->time_ns, fds->followed);
		else if (d->fd >= 0 && d->op != FD_cloexec && d->op != FD_unshare)
			err = owner_add(f, fds, fd_owner(d->pid, d->fd), d->time_ns, fds->followed);
		else if (d->fd < 0 && d->op == FD_open && d->path)
			err = owner_add(f, &f->in_force.files, file_owner(d->pid, &d->file),
					d->time_ns, fds->followed);
	}
	return err;
}

static int forks_follow(struct facts *f)
{
	struct in_force_chain *forks = &f->in_force.forks;
	int err = 0;

	for (; forks->followed < f->forks.count && !err; forks->followed++) {
		const struct fact_fork *k = &f->forks.data[forks->followed];

		if (!(k->flags & THREAD_IS_THREAD))
			err = owner_add(f, forks, k->tid, k->time_ns, forks->followed);
	}
	return err;
}

static int sockets_follow(struct facts *f)
{
	struct in_force_chain *sockets = &f->in_force.sockets;
	int err = 0;

	for (; sockets->followed < f->sockets.count && !err; sockets->followed++) {
		const struct fact_socket *s = &f->sockets.data[sockets->followed];

		err = owner_add(f, sockets, s->socket.file.key, s->time_ns, sockets->followed);
	}
	return err;
}

/* ---- questions ---- */

/* Whether a range closed the descriptor after that time. */
static bool range_closed(const struct facts *f, const struct fd_in_force *of, u64 after_ns,
			 bool *last)
{
	const struct in_force_chain *c = &f->in_force.ranges;
	const struct in_force_link *l = chain_at(f, c, of->pid, of->time_ns, last);

	for (; l && l->time_ns > after_ns; l = l->before ? &c->links.data[l->before - 1] : NULL) {
		const struct fact_fd *d = &f->fds.data[l->fact];

		if (d->fd <= of->fd && of->fd <= d->from)
			return true;
	}
	return false;
}

/* One step back. True: `at` is the answer. Clears *last if a fact is later than at->time_ns. */
static bool fd_step(const struct facts *f, struct fd_in_force *at, bool *last)
{
	const u64 owner = fd_owner(at->pid, at->fd);
	const struct in_force_link *told = chain_at(f, &f->in_force.fds, owner, at->time_ns, last);
	const struct in_force_link *fork = chain_at(f, &f->in_force.forks, at->pid, at->time_ns,
						    last);
	u64 since_ns = told ? told->time_ns : 0;

	stamp_add(f, &at->stamp, owner);
	stamp_add(f, &at->stamp, at->pid);
	if (fork && fork->time_ns > since_ns) /* the process got a copy of another table later */
		told = NULL;
	if (!told)
		since_ns = fork ? fork->time_ns : 0;
	if (range_closed(f, at, since_ns, last)) {
		at->force = FD_GONE;
		return true;
	}
	if (told) {
		at->fact = &f->fds.data[told->fact];
		at->force = at->fact->op == FD_close || !at->fact->path ? FD_GONE : FD_TOLD;
		if (at->fact->op != FD_dup || at->fact->path || at->fact->from < 0)
			return true;
		at->fd = at->fact->from; /* it had been closed again when it was told */
		at->time_ns = told->time_ns;
	} else if (fork) {
		at->pid = f->forks.data[fork->fact].parent_pid;
		at->time_ns = fork->time_ns;
	} else {
		at->force = FD_BEFORE;
		return true;
	}
	return false;
}

int in_force_fd(struct facts *f, u32 pid, s32 fd, u64 time_ns, struct fd_in_force *found)
{
	struct fd_in_force at = {.force = FD_GONE,
				 .pid = pid,
				 .fd = fd,
				 .time_ns = time_ns,
				 .stamp = {.lasting = true}};
	int err = fds_follow(f);

	err = err ? err : forks_follow(f);
	if (err)
		return err;
	for (int hops = 0; hops < HOPS; hops++) {
		bool further = true; /* the time of a fork or a duplicate stays the same */

		if (fd_step(f, &at, hops ? &further : &at.stamp.lasting))
			break;
		at.force = FD_GONE;
	}
	*found = at;
	return 0;
}

int in_force_file(struct facts *f, u32 pid, const struct file_ref *file, u64 time_ns,
		  const struct fact_fd **found)
{
	int err = fds_follow(f);
	bool last;
	const struct in_force_link *l =
		err ? NULL : chain_at(f, &f->in_force.files, file_owner(pid, file), time_ns, &last);

	if (!err)
		*found = l ? &f->fds.data[l->fact] : NULL;
	return err;
}

int in_force_socket(struct facts *f, u64 key, u64 time_ns, struct socket_in_force *found)
{
	const struct in_force_link *l;
	int err = sockets_follow(f);

	if (err)
		return err;
	*found = (struct socket_in_force){.stamp = {.lasting = true}};
	l = chain_at(f, &f->in_force.sockets, key, time_ns, &found->stamp.lasting);
	found->fact = l ? &f->sockets.data[l->fact] : NULL;
	stamp_add(f, &found->stamp, key);
	return 0;
}

bool in_force_holds(struct facts *f, const struct in_force_stamp *stamp)
{
	u32 changes = 0;

	if (fds_follow(f) || forks_follow(f) || sockets_follow(f))
		return false;
	for (u8 i = 0; i < stamp->count; i++)
		changes += f->in_force.changes[stamp->slots[i]];
	return stamp->lasting && changes == stamp->changes;
}
