/* SPDX-License-Identifier: Apache-2.0 */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map/fact/query.h"
#include "map/tree/tree.h"
#include "map/unknown.h"

static void print_split(FILE *out, const struct split *split)
{
	for (int i = 0; i < SPLIT_PARTS_COUNT; i++)
		fprintf(out, " %lld", (long long)split->ns[i]);
	fprintf(out, "\n");
}

static void print_work(FILE *out, const struct work_split *work)
{
	for (int i = 0; i < WORK_PARTS_COUNT; i++)
		fprintf(out, " %lld", (long long)work->ns[i]);
	fprintf(out, "\n");
}

static void print_context(FILE *out, const struct context *ctx)
{
	for (int i = 0; i < 8; i++)
		fprintf(out, "%02x", ctx->span[i]);
}

static void print_sums(FILE *out, const char *what, const struct sums *sums)
{
	for (size_t i = 0; i < sums->list.count; i++) {
		const struct sum *sum = &sums->list.data[i];

		fprintf(out,
			"%s %llx pid %u file %llu count %llu errors %llu read %llu written %llu "
			"p50 %llu max %llu:",
			what, (unsigned long long)sum->key, sum->pid,
			(unsigned long long)sum->file.key, (unsigned long long)sum->count,
			(unsigned long long)sum->errors, (unsigned long long)sum->read_bytes,
			(unsigned long long)sum->written_bytes,
			(unsigned long long)histogram_percentile(&sum->durations, 5000),
			(unsigned long long)sum->durations.max);
		print_split(out, &sum->split);
		print_work(out, &sum->idle);
	}
}

/* A file as reports name it. */
struct file_row {
	char name[64];
	struct sum sum;
};

struct file_rows { /* a VEC */
	struct file_row *data;
	size_t count, capacity;
};

static int file_row_compare(const void *a, const void *b)
{
	const struct file_row *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (names)
		return names;
	if (x->sum.key != y->sum.key)
		return x->sum.key < y->sum.key ? -1 : 1;
	return x->sum.pid < y->sum.pid ? -1 : x->sum.pid > y->sum.pid;
}

/* The row of one sum; it borrows the histogram of the sum. */
static struct file_row file_row_of(const struct partial *p, const struct sum *sum, bool peers)
{
	const struct fact_socket *s = peers ? opening_socket(p, sum) : NULL;
	u32 mounts;
	const char *path = opening_path(p, sum, &mounts);
	struct file_row row = {.sum = *sum};

	if (path) /* each thread tells a slot by a name of its own, of which one may come late */
		snprintf(row.name, sizeof(row.name), "%.*s", (int)strcspn(path, " "), path);
	else
		snprintf(row.name, sizeof(row.name), "%llu, peer %u",
			 (unsigned long long)sum->file.key, s ? s->socket.remote_port : 0);
	return row;
}

static void sum_add(struct sum *to, const struct sum *sum)
{
	to->count += sum->count;
	to->errors += sum->errors;
	to->read_bytes += sum->read_bytes;
	to->written_bytes += sum->written_bytes;
	split_add(&to->split, &sum->split);
	work_add(&to->idle, &sum->idle);
	must(histogram_merge(&to->durations, &sum->durations));
}

/* Sums of files by their names: how many sums these have depends on what is known to the left. */
static void print_files(FILE *out, const struct partial *p, const struct sums *sums,
			const char *what, bool peers)
{
	struct file_rows rows = {0};

	for (size_t i = 0; i < sums->list.count; i++)
		must(vec_push(&rows, file_row_of(p, &sums->list.data[i], peers)));
	if (rows.count)
		qsort(rows.data, rows.count, sizeof(*rows.data), file_row_compare);
	for (size_t i = 0, end; i < rows.count; i = end) {
		const struct file_row *row = &rows.data[i];
		struct sum sum = {.key = row->sum.key, .pid = row->sum.pid};
		const struct sums one = {.list = {&sum, 1, 1}};

		for (end = i; end < rows.count && file_row_compare(row, &rows.data[end]) == 0;
		     end++)
			sum_add(&sum, &rows.data[end].sum);
		fprintf(out, "%s ", what);
		print_sums(out, row->name, &one);
		histogram_free(&sum.durations);
	}
	vec_free(&rows);
}

/* A checkpoint does not keep when a context was seen first that nobody has for a while. */
static void print_shares(FILE *out, const char *what, const struct span_shares *shares, u64 from_ns)
{
	for (size_t i = 0; i < shares->list.count; i++) {
		const struct span_share *s = &shares->list.data[i];

		if (from_ns && s->end_ns <= from_ns)
			continue;
		fprintf(out, "  %s tid %u %llu-%llu:", what, s->tid,
			from_ns ? 0 : (unsigned long long)s->begin_ns,
			(unsigned long long)s->end_ns);
		for (size_t k = 0; k < s->holds.count && !from_ns; k++)
			fprintf(out, " %llu-%llu %lld",
				(unsigned long long)s->holds.data[k].begin_ns,
				(unsigned long long)s->holds.data[k].end_ns,
				(long long)split_total(&s->holds.data[k].split));
		print_split(out, &s->split);
	}
}

static void print_attribute(FILE *out, const struct span_attribute *a)
{
	fprintf(out, " %.*s: %llu", (int)a->text_bytes, a->text, (unsigned long long)a->value);
}

/* What was told about it. */
static void print_told(FILE *out, const struct app_span *s)
{
	for (size_t i = 0; i < s->events.count; i++) {
		const struct span_event *e = &s->events.data[i];

		fprintf(out, "  %s at %llu with", e->name ? e->name : "?",
			(unsigned long long)e->time_ns);
		for (size_t k = 0; k < e->attributes.count; k++)
			print_attribute(out, &e->attributes.data[k]);
		fprintf(out, "\n");
	}
	fprintf(out, "  attributes");
	for (size_t i = 0; i < s->attributes.count; i++)
		print_attribute(out, &s->attributes.data[i]);
	fprintf(out, "\n");
}

static void print_span(FILE *out, const struct app_span *s, u64 from_ns)
{
	fprintf(out, "span ");
	print_context(out, &s->ctx);
	fprintf(out, " %s %llu-%llu parent %llx\n", s->name ? s->name : "?",
		(unsigned long long)(s->begun ? s->begin_ns : 0), (unsigned long long)s->end_ns,
		(unsigned long long)s->parent);
	print_shares(out, "active", &s->active, from_ns);
	print_shares(out, "seen", &s->seen, from_ns);
	print_told(out, s);
}

static void print_span_time(FILE *out, const struct span_time *t)
{
	fprintf(out, "  time:");
	print_split(out, &t->split);
}

static struct span_time *times_of(const struct partial *p)
{
	struct span_time *times = calloc(p->spans.count + 1, sizeof(*times));

	must(times ? span_times(p, times) : -1);
	return times;
}

static void print_spans(FILE *out, const struct partial *p)
{
	struct span_time *times = times_of(p);

	for (size_t i = 0; i < p->spans.count; i++) {
		print_span(out, p->spans.data[i], 0);
		print_span_time(out, &times[i]);
	}
	free(times);
}

static void print_stack(FILE *out, const struct partial *p, u32 flags, const struct kspan *k)
{
	const struct fact_stack *s = query_stack(p, flags, k->tid, k->begin_ns, k->end_ns);

	if (!s || k->kind != KSPAN_WAIT)
		return;
	fprintf(out, "  stack %u since %llu told %llu, %u and %u%s:", s->flags,
		(unsigned long long)s->since_ns, (unsigned long long)s->time_ns, s->frames,
		s->words, s->cut ? ", cut" : "");
	for (u32 i = 0; i < s->frames + s->words; i++) {
		const struct fact_mapping *m = query_mapping(p, s, s->addresses[i]);

		fprintf(out, " %llx %s %llu", (unsigned long long)s->addresses[i],
			m ? m->path : "?", (unsigned long long)(m ? m->offset : 0));
	}
	fprintf(out, "\n");
}

/* What was told once, of what has no life: the waker, and the file of a slot. */
static void print_told_once(FILE *out, const struct partial *p, const struct kspan *k)
{
	const char *waker = k->wake.has ? query_comm(p, k->wake.waker_tid, k->wake.time_ns) : NULL;
	const char *path = NULL;

	if (k->kind == KSPAN_URING && k->file.key >= SIMULATED_SLOTS)
		path = query_file_path(p, k->pid, &k->file, k->end_ns);
	if (waker || path)
		fprintf(out, "  told %s %s\n", waker ? waker : "-", path ? path : "-");
}

static void print_kspan(FILE *out, const struct partial *p, const struct kspan *k)
{
	struct split idle;

	fprintf(out,
		"kspan %u tid %u %llu-%llu nr %u part %u in %llu waker %u block %llx args %llx "
		"%llx "
		"%llx %llx mode %u = %lld:",
		k->kind, k->tid, (unsigned long long)k->begin_ns, (unsigned long long)k->end_ns,
		k->nr, k->part, (unsigned long long)k->visit_ns, k->wake.waker_tid,
		(unsigned long long)k->wake.block, (unsigned long long)k->args[0],
		(unsigned long long)k->args[1], (unsigned long long)k->args[2],
		(unsigned long long)k->args[3], k->mode, (long long)k->result);
	idle = idle_split(p, k);
	print_split(out, &idle);
	if (idle.ns[SPLIT_unknown])
		fprintf(out, "  unknown %x\n",
			unknown_reasons(p, &(struct unknown_of){.tid = k->tid,
								.begin_ns = k->begin_ns,
								.end_ns = k->end_ns}));
	print_told_once(out, p, k);
	print_stack(out, p, STACK_KERNEL, k);
	print_stack(out, p, STACK_USER, k);
}

static void print_samples(FILE *out, const char *what, const struct samples *samples)
{
	for (size_t i = 0; i < samples->list.count; i++) {
		const struct sample_sum *sum = &samples->list.data[i];
		const struct sample_key *key = &sum->key;

		fprintf(out,
			"%s %u of %u, %u+%u+%u, flags %u, %llu times, %llu ns, last %llu:", what,
			key->tid, key->pid, key->kernel, key->user, key->words, key->flags,
			(unsigned long long)sum->count, (unsigned long long)sum->ns,
			(unsigned long long)sum->last_ns);
		for (u16 at = 0; at < key->bytes; at++)
			fprintf(out, "%02x", (u8)key->frames[at]);
		print_context(out, &key->ctx);
		fputc('\n', out);
	}
}

static void print_life(FILE *out, const struct partial *p, const struct life *l)
{
	u64 from_ns = l->origin_ns > p->options.from_ns ? l->origin_ns : p->options.from_ns;
	const char *comm = query_comm(p, l->tid, query_held_until(p, l->tid, from_ns));

	fprintf(out, "life %u pid %u exit %d at %llu %s:", l->tid, l->pid, l->exit_code,
		(unsigned long long)l->exit_ns, comm ? comm : "?");
	print_split(out, &l->total);
}

/* That a context was seen which nobody has any more is not kept: its events may be their thread's.
 */
static void print_events(FILE *out, const struct partial *p, bool each)
{
	print_sums(out, "event", &p->events.counts);
	for (size_t i = 0; i < p->events.counts.list.count; i++) {
		u32 id = (u32)p->events.counts.list.data[i].key;
		const struct event_text *text = query_event_format(p, id);

		fprintf(out, "format %u %s %u\n", id, text ? text->text : "?",
			text ? text->bytes : 0);
	}
	for (size_t i = 0; each && i < p->events.list.count; i++) {
		const struct kevent *k = &p->events.list.data[i];

		fprintf(out, "event %u tid %u %llu %u bytes of %u in ", k->format, k->tid,
			(unsigned long long)k->time_ns, k->bytes, (unsigned char)k->payload[0]);
		print_context(out, &k->ctx);
		fprintf(out, " of life %zu\n", k->life);
	}
}

static void print_facts(FILE *out, const struct facts *f)
{
	struct thread_place at = {0};
	const struct fact_path *path;

	for (size_t i = 0; i < f->names.count; i++)
		fprintf(out, "name %u %s %llu\n", f->names.data[i].tid, f->names.data[i].comm,
			(unsigned long long)f->names.data[i].time_ns);
	for (size_t i = 0; i < f->forks.count; i++)
		fprintf(out, "fork %u of %u\n", f->forks.data[i].tid, f->forks.data[i].parent_tid);
	for (size_t i = 0; i < f->processes.count; i++)
		fprintf(out, "process %u %s\n", f->processes.data[i].pid,
			f->processes.data[i].command);
	for (size_t i = 0; i < f->fds.count; i++)
		fprintf(out, "fd %u %d op %u %s\n", f->fds.data[i].pid, f->fds.data[i].fd,
			f->fds.data[i].op, f->fds.data[i].path ? f->fds.data[i].path : "?");
	while ((path = thread_facts_next(&f->paths, sizeof(*path), &at)))
		fprintf(out, "path %u %s\n", path->tid, path->path);
	for (size_t i = 0; i < f->services.count; i++)
		fprintf(out, "service %u %u\n", f->services.data[i].pid, f->services.data[i].bytes);
}

/* The names of all descriptors after each change of one. */
static void print_fd_names(FILE *out, const struct partial *p)
{
	for (size_t i = 0; i < p->facts.fds.count; i++) {
		const struct fact_fd *f = &p->facts.fds.data[i];
		struct fd_question q = {.tid = f->tid, .pid = f->pid, .time_ns = f->time_ns + 1};

		fprintf(out, "names of %u at %llu:", q.tid, (unsigned long long)q.time_ns);
		for (q.fd = 3; q.fd < 9; q.fd++) {
			const char *name = query_fd_name(p, &q);

			fprintf(out, " %s", name ? name : "-");
		}
		fprintf(out, "\n");
	}
}

static void print_traffic(FILE *out, const struct partial *p)
{
	struct thread_place at = {0};
	const struct fact_bytes *b;

	for (size_t i = 0; i < p->facts.sockets.count; i++) {
		const struct fact_socket *s = &p->facts.sockets.data[i];

		fprintf(out, "socket %llu at %llu peer %llu\n",
			(unsigned long long)s->socket.file.key, (unsigned long long)s->time_ns,
			(unsigned long long)query_socket_peer(p, s));
	}
	while ((b = thread_facts_next(&p->facts.bytes, sizeof(*b), &at))) {
		fprintf(out, "bytes of %llu tid %u at %llu: %u %llu + %llu flags %u\n",
			(unsigned long long)b->key, b->tid, (unsigned long long)b->time_ns,
			b->direction, (unsigned long long)b->from, (unsigned long long)b->length,
			b->flags);
	}
}

static void print_container(FILE *out, const struct partial *p, u32 pid, u64 time_ns)
{
	const char *id = query_container(p, pid, time_ns);

	fprintf(out, "  container %s\n", id ? id : "-");
}

/* What names say of a syscall, fault or wait at its begin, or at from_ns. */
static void print_names(FILE *out, const struct partial *p, const struct kspan *k, u64 from_ns)
{
	u64 time_ns = k->begin_ns > from_ns ? k->begin_ns : from_ns;
	const struct fd_question q = {
		.tid = k->tid, .pid = k->pid, .fd = (s32)k->args[0], .time_ns = time_ns};
	const char *comm = query_comm(p, k->tid, time_ns);
	const struct fact_process *process = query_process(p, k->pid, time_ns);
	const char *path = k->kind == KSPAN_SYSCALL && k->file.kind ? query_fd_name(p, &q) : NULL;

	fprintf(out, " %s %s %s\n", comm ? comm : "?", process ? process->command : "?",
		path ? path : "?");
	print_container(out, p, k->pid, time_ns);
}

/* When the last thread of a process ended. */
static u64 process_last(const struct partial *p, u32 pid)
{
	u64 last = 0;

	for (size_t i = 0; i < p->lives.count; i++) {
		struct life *l = p->lives.data[i];
		u64 end = map_get(&p->current, l->tid) == l ? UINT64_MAX : l->last_ns;

		if (l->pid == pid && end > last)
			last = end;
	}
	return last;
}

static u64 span_last(const struct partial *p, const struct app_span *s)
{
	u64 last = s->ended ? s->end_ns : s->begun ? process_last(p, s->pid) : 0;

	for (size_t i = 0; i < s->seen.list.count && !s->begun; i++)
		if (s->seen.list.data[i].end_ns > last)
			last = s->seen.list.data[i].end_ns;
	return last;
}

/* Under what conditions it was recorded, and what is missing. */
static void print_conditions(FILE *out, const struct partial *p)
{
	fprintf(out, "filters %x cpus %u steal %llu lost", partial_filters(p, 0, UINT64_MAX),
		p->cpus, (unsigned long long)p->steal_ns);
	for (size_t i = 0; i < sizeof(p->lost) / sizeof(p->lost[0]); i++)
		fprintf(out, " %llu", (unsigned long long)p->lost[i]);
	fprintf(out, "\ncovers %llu-%llu\n", (unsigned long long)p->from_ns,
		(unsigned long long)p->to_ns);
}

struct hit_count {
	u64 key, count;
};

static int hit_compare(const void *a, const void *b)
{
	const struct hit_count *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* What recording cost, and whom it hit. */
static void print_overhead(FILE *out, const struct partial *p)
{
	VEC(struct hit_count) hits = {0};
	struct map_entry entry;
	size_t at = 0;

	for (size_t i = 0; i < p->costs.list.count; i++) {
		const struct cost_sum *sum = &p->costs.list.data[i];

		fprintf(out, "cost %s %u %u: %llu runs %llu ns\n", sum->of.name, sum->of.made,
			sum->of.flags, (unsigned long long)sum->runs,
			(unsigned long long)sum->cost_ns);
	}
	for (size_t i = 0; i < p->facts.steps.count; i++)
		fprintf(out, "step %llu %u %u\n",
			(unsigned long long)p->facts.steps.data[i].time_ns,
			p->facts.steps.data[i].why, p->facts.steps.data[i].cost_ppm);
	while (map_next(&p->hits.counts, &at, &entry))
		must(vec_push(&hits, ((struct hit_count){entry.key, (u64)entry.value})));
	if (hits.count)
		qsort(hits.data, hits.count, sizeof(*hits.data), hit_compare);
	for (size_t i = 0; i < hits.count; i++)
		fprintf(out, "hit %llx %llu\n", (unsigned long long)hits.data[i].key,
			(unsigned long long)hits.data[i].count);
	for (size_t i = 0; i < p->hits.spans.count; i++) {
		const struct span_hits *span = &p->hits.spans.data[i];

		fprintf(out, "hit %llx", (unsigned long long)span_number(span->ctx.span));
		for (int slot = 0; slot < HIT_SLOTS; slot++)
			fprintf(out, " %llu", (unsigned long long)span->counts[slot]);
		fputc('\n', out);
	}
	vec_free(&hits);
}

/* What a finished partial knows of the time from from_ns on. Frees it. */
char *answers_since(struct partial *p, const struct simulation *s, u64 from_ns)
{
	struct span_time *times;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	p->to_ns = s->to_ns;
	must(partial_finish(p));
	for (size_t i = 0; i < p->lives.count; i++) {
		if (split_total(&p->lives.data[i]->total) == 0)
			continue;
		print_life(out, p, p->lives.data[i]);
	}
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		print_kspan(out, p, &k);
		print_names(out, p, &k, from_ns);
	}
	print_files(out, p, &p->calls, "call",
		    false); /* no descriptor keeps the simulated sockets */
	print_files(out, p, &p->waits, "wait", false);
	print_sums(out, "block", &p->blocks);
	print_sums(out, "futex", &p->futexes);
	times = times_of(p);
	for (size_t i = 0; i < p->spans.count; i++) {
		if (span_last(p, p->spans.data[i]) <= from_ns)
			continue;
		print_span(out, p->spans.data[i], from_ns);
		/* of the end of one that has no record a checkpoint may know less */
		if (p->spans.data[i]->begun && p->spans.data[i]->ended)
			print_span_time(out, &times[i]);
	}
	free(times);
	print_events(out, p, false);
	fclose(out);
	partial_free(p);
	return text;
}

/* Everything that a finished partial knows, as text. Frees it. */
char *answers(struct partial *p, const struct simulation *s)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	partial_cover(p, s->from_ns, s->to_ns);
	must(partial_finish(p));
	for (size_t i = 0; i < p->lives.count; i++) {
		print_life(out, p, p->lives.data[i]);
	}
	for (size_t i = 0; i < kspans_count(&p->kspans); i++) {
		struct kspan k;

		kspans_get(&p->kspans, i, &k);
		print_kspan(out, p, &k);
		print_container(out, p, k.pid, k.begin_ns);
	}
	print_files(out, p, &p->calls, "call", true);
	print_files(out, p, &p->waits, "wait", true);
	print_sums(out, "block", &p->blocks);
	print_sums(out, "futex", &p->futexes);
	print_spans(out, p);
	print_events(out, p, true);
	print_samples(out, "sample", &p->samples);
	print_samples(out, "stack of a wait", &p->wait_stacks);
	print_fd_names(out, p);
	print_facts(out, &p->facts);
	print_traffic(out, p);
	print_conditions(out, p);
	print_overhead(out, p);
	fclose(out);
	partial_free(p);
	return text;
}

/* The line in which two texts first differ, for the reader of a failure. */
void print_difference(const char *a, const char *b)
{
	while (*a && *b) {
		size_t x = strcspn(a, "\n"), y = strcspn(b, "\n");

		if (x != y || memcmp(a, b, x) != 0) {
			printf("# whole: %.*s\n# cut:   %.*s\n", (int)x, a, (int)y, b);
			return;
		}
		a += x + 1;
		b += y + 1;
	}
}
