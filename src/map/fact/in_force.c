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
 * same instant nothing tells which was first.
 */
static const struct in_force_link *chain_at(const struct facts *f, const struct in_force_chain *c,
					    u64 owner, u64 time_ns)
{
	const struct in_force_link *links = c->links.data;
	u32 at = (u32)(uintptr_t)map_get(&c->last, owner);

	while (at && links[at - 1].time_ns >= time_ns)
		at = links[at - 1].before;
	return at && links[at - 1].time_ns >= f->in_force.since_ns ? &links[at - 1] : NULL;
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

static int fds_follow(struct facts *f)
{
	struct in_force_chain *fds = &f->in_force.fds, *ranges = &f->in_force.ranges;
	int err = 0;

	for (; fds->followed < f->fds.count && !err; fds->followed++) {
		const struct fact_fd *d = &f->fds.data[fds->followed];

		if (d->op == FD_close_range)
			err = chain_add(ranges, d->pid, d->time_ns, fds->followed);
		else if (d->fd >= 0 && d->op != FD_cloexec && d->op != FD_unshare)
			err = chain_add(fds, fd_owner(d->pid, d->fd), d->time_ns, fds->followed);
		else if (d->fd < 0 && d->op == FD_open && d->path)
			err = chain_add(&f->in_force.files, file_owner(d->pid, &d->file),
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
			err = chain_add(forks, k->tid, k->time_ns, forks->followed);
	}
	return err;
}

static int sockets_follow(struct facts *f)
{
	struct in_force_chain *sockets = &f->in_force.sockets;
	int err = 0;

	for (; sockets->followed < f->sockets.count && !err; sockets->followed++) {
		const struct fact_socket *s = &f->sockets.data[sockets->followed];

		err = chain_add(sockets, s->socket.file.key, s->time_ns, sockets->followed);
	}
	return err;
}

/* ---- questions ---- */

/* Whether a range closed the descriptor after that time. */
static bool range_closed(const struct facts *f, const struct fd_in_force *of, u64 after_ns)
{
	const struct in_force_chain *c = &f->in_force.ranges;
	const struct in_force_link *l = chain_at(f, c, of->pid, of->time_ns);

	for (; l && l->time_ns > after_ns; l = l->before ? &c->links.data[l->before - 1] : NULL) {
		const struct fact_fd *d = &f->fds.data[l->fact];

		if (d->fd <= of->fd && of->fd <= d->from)
			return true;
	}
	return false;
}

/* One step back. True: `at` is the answer. */
static bool fd_step(const struct facts *f, struct fd_in_force *at)
{
	const struct in_force_link *told = chain_at(f, &f->in_force.fds, fd_owner(at->pid, at->fd),
						    at->time_ns);
	const struct in_force_link *fork = chain_at(f, &f->in_force.forks, at->pid, at->time_ns);
	u64 since_ns = told ? told->time_ns : 0;

	if (fork && fork->time_ns > since_ns) /* the process got a copy of another table later */
		told = NULL;
	if (!told)
		since_ns = fork ? fork->time_ns : 0;
	if (range_closed(f, at, since_ns)) {
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
	struct fd_in_force at = {.force = FD_GONE, .pid = pid, .fd = fd, .time_ns = time_ns};
	int err = fds_follow(f);

	err = err ? err : forks_follow(f);
	if (err)
		return err;
	for (int hops = 0; hops < HOPS && !fd_step(f, &at); hops++)
		at.force = FD_GONE;
	*found = at;
	return 0;
}

int in_force_file(struct facts *f, u32 pid, const struct file_ref *file, u64 time_ns,
		  const struct fact_fd **found)
{
	int err = fds_follow(f);
	const struct in_force_link *l =
		err ? NULL : chain_at(f, &f->in_force.files, file_owner(pid, file), time_ns);

	if (!err)
		*found = l ? &f->fds.data[l->fact] : NULL;
	return err;
}

int in_force_socket(struct facts *f, u64 key, u64 time_ns, const struct fact_socket **found)
{
	int err = sockets_follow(f);
	const struct in_force_link *l = err ? NULL
					    : chain_at(f, &f->in_force.sockets, key, time_ns);

	if (!err)
		*found = l ? &f->sockets.data[l->fact] : NULL;
	return err;
}
