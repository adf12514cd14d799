/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of descriptors. Most belong to a process, but a thread can part with
 * its process (unshare, close_range), and processes can have one together. A
 * table begins with a fork that copies, an unshare, or an exec, each of which
 * copies the one before; and whoever had none of these in the recording has
 * the one that its process had at the begin. What happened to a descriptor is
 * kept under the table that its thread had then.
 */
#include "map/fact/fds.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/order.h"

#define HOPS 64		      /* forks looked through */
#define OF_EVENT (1ull << 32) /* with the event's number; else a pid: a table from the begin */

static int event_compare(const void *a, const void *b)
{
	const struct table_event *x = a, *y = b;

	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	COMPARE(x->kind, y->kind);
	COMPARE(x->from_tid, y->from_tid);
	COMPARE(x->from_pid, y->from_pid);
	return 0;
}

/* The number of events that stand before (tid, time), those at that time included. */
static size_t events_before(const struct facts *f, u32 tid, u64 time_ns)
{
	return COUNT_BEFORE(&f->tables, e,
			    e->tid < tid || (e->tid == tid && e->time_ns <= time_ns));
}

/* The last event of a thread at a time; for a whole process, events of one thread do not count. */
static const struct table_event *event_of(const struct facts *f, u32 tid, u64 time_ns,
					  bool of_process)
{
	const struct table_event *list = f->tables.data;
	size_t n = events_before(f, tid, time_ns);

	while (n > 0 && list[n - 1].tid == tid && of_process && list[n - 1].kind == TABLE_UNSHARED)
		n--;
	if (n > 0 && list[n - 1].tid == tid)
		return &list[n - 1];
	if (!of_process && n < f->tables.count && list[n].tid == tid &&
	    list[n].kind == TABLE_WAS_OWN)
		return &list[n];
	return NULL;
}

u64 fds_table(const struct facts *f, u32 tid, u32 pid, u64 time_ns)
{
	bool of_process = false;

	for (int hops = 0; hops < HOPS; hops++) {
		const struct table_event *e = event_of(f, tid, time_ns, of_process);

		if (e && e->kind != TABLE_FORK_SHARES)
			return OF_EVENT | (u64)(e - f->tables.data);
		if (e) {
			tid = e->from_tid;
			pid = e->from_pid;
			time_ns = e->time_ns;
			of_process = false;
		} else if (tid != pid && pid) {
			tid = pid;
			of_process = true;
		} else {
			break;
		}
	}
	return pid ? pid : tid;
}

/* ---- making the lists ---- */

static int events_collect(struct facts *f)
{
	int err = 0;

	f->tables.count = 0;
	for (size_t i = 0; i < f->forks.count && !err; i++) {
		const struct fact_fork *k = &f->forks.data[i];
		struct table_event e = {.tid = k->tid,
					.from_tid = k->parent_tid,
					.from_pid = k->parent_pid,
					.time_ns = k->time_ns};

		e.kind = k->flags & THREAD_SHARES_FILES ? TABLE_FORK_SHARES : TABLE_FORK_COPIES;
		err = vec_push(&f->tables, e);
	}
	for (size_t i = 0; i < f->processes.count && !err; i++) {
		const struct fact_process *p = &f->processes.data[i];
		struct table_event e = {.tid = p->pid,
					.from_tid = p->old_tid ? p->old_tid : p->pid,
					.from_pid = p->pid,
					.time_ns = p->time_ns,
					.kind = TABLE_EXEC};

		if (p->snapshot && (!p->files || p->files == p->pid))
			continue;
		if (p->snapshot) { /* it was so before, too */
			e.from_tid = e.from_pid = p->files;
			e.kind = TABLE_FORK_SHARES;
			e.time_ns = 0;
		}
		err = vec_push(&f->tables, e);
	}
	for (size_t i = 0; i < f->fds.count && !err; i++) {
		const struct fact_fd *d = &f->fds.data[i];
		struct table_event e = {.tid = d->tid,
					.from_tid = d->tid,
					.from_pid = d->pid,
					.time_ns = d->time_ns};

		e.kind = d->op == FD_unshare ? TABLE_UNSHARED : TABLE_WAS_OWN;
		if (d->op == FD_unshare || (d->op == FD_snapshot && d->flags & FD_OWN_TABLE))
			err = vec_push(&f->tables, e);
	}
	return err;
}

/*
 * Each snapshot tells with each file that a thread has its own table: only the first event of a
 * thread is news. That a process shares the table of another is told as of the begin; a process
 * that was born since has copied it.
 */
static void events_dedup(struct facts *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->tables.count; i++) {
		struct table_event *e = &f->tables.data[i];
		bool first = n == 0 || f->tables.data[n - 1].tid != e->tid;

		if (e->kind == TABLE_WAS_OWN && !first)
			continue;
		if (!first && event_compare(&f->tables.data[n - 1], e) == 0)
			continue;
		f->tables.data[n++] = *e;
	}
	f->tables.count = n;
}

int fds_find_tables(struct facts *f)
{
	int err = events_collect(f);

	if (err)
		return err;
	if (f->tables.count)
		qsort(f->tables.data, f->tables.count, sizeof(*f->tables.data), event_compare);
	events_dedup(f);
	for (size_t i = 0; i < f->fds.count; i++) {
		struct fact_fd *d = &f->fds.data[i];

		d->table = fds_table(f, d->tid, d->pid, d->time_ns);
	}
	return 0;
}

bool fd_is_range(const struct fact_fd *d)
{
	return d->op == FD_close_range || (d->op == FD_cloexec && d->from >= 0);
}

static int range_compare(const void *a, const void *b, void *arg)
{
	const struct facts *f = arg;
	const u32 *i = a, *j = b;
	const struct fact_fd *x = &f->fds.data[*i], *y = &f->fds.data[*j];

	COMPARE(x->table, y->table);
	COMPARE(x->time_ns, y->time_ns);
	return *i < *j ? -1 : *i > *j;
}

int fds_index_ranges(struct facts *f)
{
	int err = 0;

	f->fd_ranges.count = 0;
	for (size_t i = 0; i < f->fds.count && !err; i++) {
		if (fd_is_range(&f->fds.data[i]))
			err = vec_push(&f->fd_ranges, (u32)i);
	}
	if (!err && f->fd_ranges.count)
		qsort_r(f->fd_ranges.data, f->fd_ranges.count, sizeof(u32), range_compare, f);
	return err;
}

/* ---- what a descriptor was at a time ---- */

/* A search back in time. The first fact that is found says whether close-on-exec was set. */
struct looking {
	const struct facts *f;
	s32 fd;
	bool exec_follows; /* an exec lies between the fact and the question */
	bool flag_known, flag;
	bool cloexec; /* at the time of the question: before an exec, and now */
};

static void flag_found(struct looking *l, bool flag)
{
	if (!l->flag_known)
		l->flag = flag;
	if (!l->flag_known && !l->exec_follows)
		l->cloexec = flag;
	l->flag_known = true;
}

/* The last range over the descriptor in (after, until], NULL if there is none. */
static const struct fact_fd *range_last(const struct looking *l, u64 table, u64 after_ns,
					u64 until_ns)
{
	const struct fact_fd *fds = l->f->fds.data;
	const u32 *ranges = l->f->fd_ranges.data;
	size_t n = COUNT_BEFORE(&l->f->fd_ranges, i,
				fds[*i].table < table ||
					(fds[*i].table == table && fds[*i].time_ns <= until_ns));

	while (n > 0) {
		const struct fact_fd *d = &fds[ranges[--n]];

		if (d->table != table || d->time_ns <= after_ns)
			break;
		if (d->fd <= l->fd && l->fd <= d->from)
			return d;
	}
	return NULL;
}

static size_t facts_before(const struct looking *l, u64 table, u64 time_ns)
{
	return COUNT_BEFORE(&l->f->fds, d,
			    d->table < table ||
				    (d->table == table &&
				     (d->fd < l->fd || (d->fd == l->fd && d->time_ns <= time_ns))));
}

/* Goes back through the facts of the descriptor in one table. */
static enum fd_known look_in(struct looking *l, u64 table, u64 time_ns,
			     const struct fact_fd **found)
{
	const struct fact_fd *list = l->f->fds.data;
	size_t n = facts_before(l, table, time_ns), at = n;

	for (;;) {
		const struct fact_fd *d = at > 0 ? &list[at - 1] : NULL, *range;

		if (d && (d->table != table || d->fd != l->fd))
			d = NULL;
		if (d && fd_is_range(d)) { /* range_last() finds it */
			at--;
			continue;
		}
		range = range_last(l, table, d ? d->time_ns : 0, time_ns);
		if (range && range->op == FD_close_range)
			return FD_IS_CLOSED;
		if (range) {
			flag_found(l, range->flags & FD_CLOEXEC_SET);
			time_ns = range->time_ns - 1;
			continue;
		}
		if (!d)
			break;
		if (d->op == FD_close)
			return FD_IS_CLOSED;
		flag_found(l, d->flags & FD_CLOEXEC_SET);
		if (d->op != FD_cloexec) {
			*found = d;
			return l->exec_follows && l->flag ? FD_IS_CLOSED : FD_IS_OPEN;
		}
		time_ns = d->time_ns;
		at--;
	}
	/* a snapshot tells what held before, too */
	if (n < l->f->fds.count && list[n].table == table && list[n].fd == l->fd &&
	    list[n].op == FD_snapshot) {
		*found = &list[n];
		flag_found(l, list[n].flags & FD_CLOEXEC_SET);
		return l->exec_follows && l->flag ? FD_IS_CLOSED : FD_IS_OPEN;
	}
	return FD_NOT_KNOWN;
}

enum fd_known fds_look(const struct facts *f, const struct fd_question *q, struct fd_found *found)
{
	u64 time_ns = q->time_ns, table = fds_table(f, q->tid, q->pid, time_ns);
	struct looking l = {.f = f, .fd = q->fd};

	for (int hops = 0; hops < HOPS; hops++) {
		enum fd_known known = look_in(&l, table, time_ns, &found->fact);
		const struct table_event *e;

		found->cloexec = l.cloexec;
		if (known != FD_NOT_KNOWN || !(table & OF_EVENT))
			return known;
		e = &f->tables.data[table & (OF_EVENT - 1)];
		if (e->kind == TABLE_WAS_OWN)
			return FD_NOT_KNOWN;
		if (e->kind == TABLE_EXEC) {
			if (l.exec_follows && l.flag_known && l.flag)
				return FD_IS_CLOSED;
			l = (struct looking){
				.f = f, .fd = q->fd, .exec_follows = true, .cloexec = l.cloexec};
		}
		if (!e->time_ns)
			return FD_NOT_KNOWN;
		time_ns = e->time_ns - 1;
		table = fds_table(f, e->from_tid, e->from_pid, time_ns);
	}
	return FD_NOT_KNOWN;
}

const struct fact_fd *fds_origin(const struct facts *f, const struct fd_question *question)
{
	const struct fact_fd *named = NULL;
	struct fd_question q = *question;
	struct fd_found found;

	for (int hops = 0; hops < 16 && q.fd >= 0; hops++) {
		if (fds_look(f, &q, &found) != FD_IS_OPEN)
			return named;
		if (found.fact->path)
			named = found.fact;
		if (found.fact->op != FD_dup || found.fact->from == q.fd || found.fact->from < 0)
			return named ? named : found.fact;
		q.fd = found.fact->from;
		q.time_ns = found.fact->time_ns - 1;
	}
	return named;
}

/* ---- all that are open ---- */

/* The first fact of a table. */
static size_t table_begin(const struct facts *f, u64 table)
{
	return COUNT_BEFORE(&f->fds, d, d->table < table);
}

int fds_each(const struct facts *f, const struct fd_question *who,
	     int (*each)(void *arg, const struct fd_question *q, const struct fd_found *found),
	     void *arg)
{
	u64 table = fds_table(f, who->tid, who->pid, who->time_ns);
	struct map asked = {0};
	int err = 0;

	for (int hops = 0; hops < HOPS && !err; hops++) {
		const struct table_event *e;
		size_t i = table_begin(f, table);

		for (; i < f->fds.count && f->fds.data[i].table == table && !err; i++) {
			struct fd_question q = *who;
			struct fd_found found;

			q.fd = f->fds.data[i].fd;
			if (map_get(&asked, (u32)q.fd))
				continue;
			err = map_put(&asked, (u32)q.fd, &asked);
			if (!err && fds_look(f, &q, &found) == FD_IS_OPEN)
				err = each(arg, &q, &found);
		}
		if (!(table & OF_EVENT))
			break;
		e = &f->tables.data[table & (OF_EVENT - 1)];
		if (e->kind == TABLE_WAS_OWN || !e->time_ns)
			break;
		table = fds_table(f, e->from_tid, e->from_pid, e->time_ns - 1);
	}
	map_free(&asked);
	return err;
}
