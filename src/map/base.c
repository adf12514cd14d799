/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout: "fathombs", BASE_VERSION, the record contract's version, then what
 * archive_base() says, in its order. Whoever changes one of these functions or
 * a struct that they describe raises BASE_VERSION: a base of another version
 * is not read. The file around it has the checksum.
 */
#include "map/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/archive.h"
#include "map/internal.h"
#include "record/describe.h"

#define BASE_VERSION 19

static const char magic[8] = "fathombs";

/* ---- lives ---- */

static void archive_split(struct archive *a, struct split *split)
{
	u64 left = RECORD_TIME_END_NS; /* it is of one thread */

	for (int i = 0; i < SPLIT_PARTS_COUNT; i++) {
		archive_s64(a, &split->ns[i]);
		if (split->ns[i] < 0 || (u64)split->ns[i] > left) {
			archive_fail(a, -EBADMSG);
			*split = (struct split){0};
			return;
		}
		left -= (u64)split->ns[i];
	}
}

static void archive_wake(struct archive *a, struct life_wake *wake)
{
	archive_bool(a, &wake->has);
	if (!wake->has)
		return;
	archive_time(a, &wake->time_ns);
	archive_u32(a, &wake->waker_tid);
	archive_u8(a, &wake->context);
	archive_u8(a, &wake->vector);
	archive_u16(a, &wake->irq);
	archive_file(a, &wake->file);
	archive_u64(a, &wake->block);
}

static void archive_leave(struct archive *a, struct life_leave *leave)
{
	archive_time(a, &leave->time_ns);
	archive_time(a, &leave->visit_ns);
	archive_u64(a, &leave->arg0);
	archive_u16(a, &leave->nr);
	archive_u8(a, &leave->mode);
	archive_u8(a, &leave->state);
	archive_bool(a, &leave->fresh);
	archive_file(a, &leave->file);
	archive_context(a, &leave->ctx);
}

static void archive_stay(struct archive *a, struct life_stay *stay)
{
	archive_time(a, &stay->end_ns);
	if (!stay->end_ns)
		return;
	archive_time(a, &stay->begin_ns);
	archive_time(a, &stay->doubt_ns);
	archive_time(a, &stay->woken_ns);
	archive_time(a, &stay->known_ns);
	archive_wake(a, &stay->wake);
	if (stay->begin_ns > stay->woken_ns || stay->woken_ns > stay->known_ns ||
	    stay->known_ns > stay->end_ns ||
	    (stay->doubt_ns &&
	     (stay->doubt_ns < stay->begin_ns || stay->doubt_ns > stay->woken_ns)))
		archive_fail(a, -EBADMSG);
}

static void archive_state(struct archive *a, struct life_state *s)
{
	u8 place = (u8)s->place;

	archive_u8(a, &place);
	if (place > LIFE_GONE)
		archive_fail(a, -EBADMSG);
	s->place = place;
	archive_time(a, &s->last_ns);
	archive_leave(a, &s->leave);
	archive_wake(a, &s->wake);
	archive_time(a, &s->visit_ns);
	archive_time(a, &s->visit_guess_ns);
	archive_split(a, &s->visit_had);
	archive_time(a, &s->nested.from_ns);
	archive_time(a, &s->nested.doubt_ns);
	archive_split(a, &s->nested.had);
	archive_time(a, &s->doubt_from_ns);
	archive_time(a, &s->doubt_to_ns);
	archive_time(a, &s->slept_from_ns);
	archive_stay(a, &s->held);
	archive_time(a, &s->exec_ns);
	archive_u32(a, &s->exec_tid);
	archive_u16(a, &s->cpu);
}

/* Who owns the time from here on; what was owned before is not of interest any more. */
static void archive_book(struct archive *a, struct life_book *book)
{
	archive_bool(a, &book->known);
	archive_time(a, &book->since_ns);
	archive_context(a, &book->owner);
	archive_context(a, &book->guess.ctx);
	archive_bool(a, &book->guess.several);
	if (archive_reads(a)) {
		book->first = book->owner;
		book->first_ns = book->since_ns;
	}
}

static void archive_life(struct archive *a, struct life *l)
{
	u32 head_bytes = (u32)l->head_bytes;
	char *head = (char *)l->head;

	archive_u32(a, &l->tid);
	archive_u32(a, &l->left_tid);
	archive_u32(a, &l->pid);
	archive_bool(a, &l->settled);
	archive_bool(a, &l->doubted);
	archive_bool(a, &l->born);
	archive_bool(a, &l->severed);
	archive_time(a, &l->origin_ns);
	archive_u64(a, &l->start_ns);
	archive_time(a, &l->renamed_ns);
	archive_time(a, &l->first_ns);
	archive_time(a, &l->last_ns);
	archive_time(a, &l->exit_ns);
	archive_s32(a, &l->exit_code);
	archive_text(a, &head, &head_bytes);
	if (archive_reads(a)) {
		l->head = (u8 *)head;
		l->head_bytes = l->head_space = head ? head_bytes : 0;
		if (!a->err && !life_head_valid(l))
			archive_fail(a, -EBADMSG);
	}
	archive_state(a, &l->state);
	archive_book(a, &l->active);
	archive_book(a, &l->seen);
}

static void lives_read(struct archive *a, struct partial *p)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct life *l = calloc(1, sizeof(*l));

		if (!l || vec_push(&p->lives, l)) {
			free(l);
			archive_fail(a, -ENOMEM);
			return;
		}
		l->clip_from_ns = p->options.from_ns;
		l->clip_to_ns = p->options.to_ns;
		archive_life(a, l);
		if (!a->err && map_put(&p->current, l->tid, l))
			archive_fail(a, -ENOMEM);
	}
}

static void lives_write(struct archive *a, const struct partial *p)
{
	archive_count(a, p->lives.count);
	for (size_t i = 0; i < p->lives.count; i++)
		archive_life(a, p->lives.data[i]);
}

/* ---- facts ---- */

static void archive_name(struct archive *a, struct fact_name *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_bool(a, &f->weak);
	archive_bytes(a, f->comm, sizeof(f->comm));
	f->comm[sizeof(f->comm) - 1] = '\0';
}

/* There are some only while the zone at its end is open: else their tables are there. */
static void archive_fork(struct archive *a, struct fact_fork *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->parent_tid);
	archive_u32(a, &f->parent_pid);
	archive_u32(a, &f->flags);
	archive_u64(a, &f->start_ns);
	archive_u64(a, &f->cgroup);
}

static void archive_process(struct archive *a, struct fact_process *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->parent_pid);
	archive_u32(a, &f->old_tid);
	archive_u64(a, &f->start_ns);
	archive_u64(a, &f->cgroup);
	archive_u32(a, &f->files);
	archive_bool(a, &f->snapshot);
	archive_text(a, &f->command, &f->command_bytes);
	if (!f->command)
		archive_fail(a, -EBADMSG);
}

static void archive_path(struct archive *a, char **path)
{
	u32 bytes = *path ? (u32)strlen(*path) : 0;

	archive_text(a, path, &bytes);
}

static void archive_fd(struct archive *a, struct fact_fd *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->tid);
	archive_s32(a, &f->fd);
	archive_s32(a, &f->from);
	archive_u8(a, &f->op);
	archive_u8(a, &f->flags);
	archive_file(a, &f->file);
	archive_path(a, &f->path);
}

static void archive_socket(struct archive *a, struct fact_socket *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_bytes(a, &f->socket, offsetof(struct record_socket, path_len));
	archive_path(a, &f->path);
}

static void archive_service(struct archive *a, struct fact_service *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
	archive_text(a, &f->resource, &f->bytes);
	if (!f->resource)
		archive_fail(a, -EBADMSG);
}

static void archive_follow(struct archive *a, struct fact_follow *f)
{
	archive_time(a, &f->time_ns);
	archive_u32(a, &f->pid);
}

static void archive_cgroup(struct archive *a, struct fact_cgroup *f)
{
	archive_u64(a, &f->id);
	archive_u32(a, &f->hierarchy);
	archive_u32(a, &f->path_bytes);
	archive_bytes(a, f->container, sizeof(f->container));
	f->container[sizeof(f->container) - 1] = '\0';
}

static void archive_move(struct archive *a, struct fact_move *f)
{
	archive_time(a, &f->time_ns);
	archive_u64(a, &f->cgroup);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->hierarchy);
	archive_bool(a, &f->found);
}

static void archive_stack(struct archive *a, struct fact_stack *f)
{
	u32 bytes = (f->frames + f->words) * 8;
	char *addresses = (char *)f->addresses;

	archive_time(a, &f->time_ns);
	archive_u64(a, &f->since_ns);
	archive_u32(a, &f->tid);
	archive_u32(a, &f->pid);
	archive_u32(a, &f->flags);
	archive_u32(a, &f->frames);
	archive_u32(a, &f->words);
	archive_text(a, &addresses, &bytes);
	f->addresses = (u64 *)addresses;
	if (!addresses || bytes / 8 < f->frames || bytes / 8 - f->frames != f->words)
		archive_fail(a, -EBADMSG);
}

/* Behind its path are always the identity and the function. */
static void archive_mapping(struct archive *a, struct fact_mapping *f)
{
	archive_u64(a, &f->since_ns);
	archive_u64(a, &f->begin);
	archive_u64(a, &f->end);
	archive_u64(a, &f->offset);
	archive_u32(a, &f->pid);
	archive_text(a, &f->path, &f->bytes);
	if (!f->path || f->bytes < 3 || memcmp(f->path + f->bytes - 3, "\0\0", 3) != 0)
		archive_fail(a, -EBADMSG);
}

static void archive_facts(struct archive *a, struct facts *f)
{
	archive_list(a, &f->names, archive_name);
	archive_list(a, &f->forks, archive_fork);
	archive_list(a, &f->processes, archive_process);
	archive_list(a, &f->fds, archive_fd);
	archive_list(a, &f->sockets, archive_socket);
	archive_list(a, &f->services, archive_service);
	archive_list(a, &f->follows, archive_follow);
	archive_list(a, &f->cgroups, archive_cgroup);
	archive_list(a, &f->moves, archive_move);
	archive_list(a, &f->stacks, archive_stack);
	archive_list(a, &f->mappings, archive_mapping);
}

/* ---- spans, formats, records that wait ---- */

static void archive_attribute(struct archive *a, struct span_attribute *t)
{
	archive_text(a, &t->text, &t->text_bytes);
	archive_u32(a, &t->key_bytes);
	archive_u8(a, &t->type);
	archive_u64(a, &t->value);
	if (!t->text || t->key_bytes > t->text_bytes)
		archive_fail(a, -EBADMSG);
}

static void archive_event(struct archive *a, struct span_event *e)
{
	archive_time(a, &e->time_ns);
	archive_u32(a, &e->tid);
	archive_path(a, &e->name);
	archive_u8(a, &e->level);
	archive_list(a, &e->attributes, archive_attribute);
}

static void archive_share(struct archive *a, struct span_share *s)
{
	archive_u32(a, &s->tid);
	archive_u32(a, &s->pid);
	archive_time(a, &s->begin_ns);
	archive_time(a, &s->end_ns);
}

static void archive_span(struct archive *a, struct app_span *s)
{
	archive_bool(a, &s->begun);
	archive_bool(a, &s->ended);
	archive_u8(a, &s->status);
	archive_time(a, &s->end_ns);
	archive_path(a, &s->message);
	archive_u8(a, &s->kind);
	archive_u8(a, &s->level);
	archive_u8(a, &s->flags);
	archive_u32(a, &s->tid);
	archive_u32(a, &s->pid);
	archive_time(a, &s->begin_ns);
	archive_u64(a, &s->parent);
	archive_path(a, &s->name);
	archive_list(a, &s->active.list, archive_share);
	archive_list(a, &s->seen.list, archive_share);
	archive_list(a, &s->events, archive_event);
	archive_list(a, &s->attributes, archive_attribute);
	archive_u64(a, &s->events_deleted);
	archive_u64(a, &s->attributes_deleted);
}

static void spans_read(struct archive *a, struct partial *p)
{
	size_t count = archive_count(a, 0);

	for (size_t i = 0; i < count && !a->err; i++) {
		struct context ctx;
		struct app_span *span;

		archive_context(a, &ctx);
		if (a->err)
			return;
		span = span_get(p, &ctx);
		if (!span || p->spans.count != i + 1) /* or one id stands twice */
			archive_fail(a, span ? -EBADMSG : -ENOMEM);
		else
			archive_span(a, span);
	}
}

static void archive_format(struct archive *a, struct event_text *f)
{
	archive_u32(a, &f->format);
	archive_text(a, &f->text, &f->bytes);
	if (!f->text)
		archive_fail(a, -EBADMSG);
}

static void archive_raw(struct archive *a, struct raw_record *r)
{
	char *record = (char *)r->record;

	archive_text(a, &record, &r->bytes);
	archive_bool(a, &r->earlier);
	if (!archive_reads(a))
		return;
	if (!a->err)
		archive_fail(a, raw_read(r, record));
	free(record);
}

static void archive_loss(struct archive *a, struct record_lost *lost)
{
	u64 begin_ns = lost->begin_ns, end_ns = lost->head.time_ns;

	archive_time(a, &begin_ns);
	archive_time(a, &end_ns);
	if (begin_ns >= end_ns)
		archive_fail(a, -EBADMSG);
	lost->head.kind = RECORD_lost;
	lost->head.cpu = LIFE_CPU_UNKNOWN;
	lost->head.time_ns = end_ns;
	lost->begin_ns = begin_ns;
}

static void archive_span_loss(struct archive *a, struct span_loss *loss)
{
	archive_u32(a, &loss->pid);
	archive_time(a, &loss->begin_ns);
	archive_time(a, &loss->end_ns);
	if (loss->begin_ns >= loss->end_ns)
		archive_fail(a, -EBADMSG);
}

static void archive_losses(struct archive *a, struct partial *p)
{
	archive_list(a, &p->losses, archive_loss);
	p->losses_told = (u32)p->losses.count;
	for (size_t i = 0; i < p->lives.count; i++)
		p->lives.data[i]->losses_before = p->lives.data[i]->losses_seen = p->losses_told;
}

static void archive_rest(struct archive *a, struct partial *p)
{
	archive_bool(a, &p->zoned);
	archive_time(a, &p->begun_ns);
	archive_u64(a, &p->complete_ns);
	archive_list(a, &p->raw.list, archive_raw);
	archive_list(a, &p->events.formats, archive_format);
	archive_u32(a, &p->filters);
	archive_u32(a, &p->cpus);
	archive_losses(a, p);
	archive_list(a, &p->span_losses, archive_span_loss);
}

/* ---- the whole ---- */

int base_write(struct partial *p, struct bytes *out)
{
	u32 versions[2] = {BASE_VERSION, RECORD_CONTRACT_VERSION};
	struct archive a = {.out = out};
	int err = base_prune(p);

	if (err)
		return err;
	bytes_put(out, magic, sizeof(magic));
	archive_u32(&a, &versions[0]);
	archive_u32(&a, &versions[1]);
	archive_time(&a, &p->from_ns);
	archive_time(&a, &p->to_ns);
	lives_write(&a, p);
	archive_facts(&a, &p->facts);
	archive_count(&a, p->spans.count);
	for (size_t i = 0; i < p->spans.count; i++) {
		archive_context(&a, &p->spans.data[i]->ctx);
		archive_span(&a, p->spans.data[i]);
	}
	archive_rest(&a, p);
	return out->failed ? -ENOMEM : a.err;
}

static int base_parse(struct archive *a, struct partial *p)
{
	char head[sizeof(magic)] = "";
	u32 versions[2] = {0};
	u64 from_ns = 0, at_ns = 0;

	archive_bytes(a, head, sizeof(head));
	if (memcmp(head, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	archive_u32(a, &versions[0]);
	archive_u32(a, &versions[1]);
	if (!a->err && (versions[0] != BASE_VERSION || versions[1] != RECORD_CONTRACT_VERSION))
		return -EPROTO;
	archive_time(a, &from_ns);
	archive_time(a, &at_ns);
	lives_read(a, p);
	archive_facts(a, &p->facts);
	spans_read(a, p);
	archive_rest(a, p);
	partial_cover(p, from_ns, at_ns);
	if (!a->err && a->in.at != a->in.end)
		return -EBADMSG;
	return a->err ? a->err : events_index(&p->events);
}

int base_read(struct partial **base, const void *data, size_t bytes,
	      const struct partial_options *options)
{
	struct archive a = {.in = bytes_reader_over(data, bytes)};
	struct partial *p = partial_new(options);
	int err = p ? base_parse(&a, p) : -ENOMEM;

	if (err) {
		partial_free(p);
		return err;
	}
	*base = p;
	return 0;
}

int base_follow(struct partial *base, u64 covered_ns, u64 at_ns)
{
	struct record_gap gap = {.head = {.kind = RECORD_gap, .time_ns = at_ns},
				 .begin_ns = covered_ns};

	for (size_t i = 0; i < base->lives.count; i++) {
		struct life *l = base->lives.data[i];

		l->severed = true;
		if (l->origin_ns < at_ns)
			l->origin_ns = at_ns;
	}
	return vec_push(&base->gaps, gap);
}
