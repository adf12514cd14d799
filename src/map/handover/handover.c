/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk comes: it is merged, and a copy of what is kept is finished and asked. */
#include "map/handover/handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/checkpoint/checkpoint.h"
#include "map/file/whole.h"
#include "map/handover/internal.h"

/* The texts of facts are written anew beyond so many blocks: those of facts that are gone go. */
#define TEXT_BLOCKS_MAX 256

struct handover *handover_new(const struct handover_options *options)
{
	const struct partial_options mapping = handover_partial_options();
	struct handover *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->options = *options;
	if (!h->options.spans_max)
		h->options.spans_max = 65536;
	if (!h->options.children_max)
		h->options.children_max = 2000;
	if (!h->options.children_total_max)
		h->options.children_total_max = 65536;
	h->running = partial_new(&mapping);
	h->gone_ring = calloc(GONE_MAX, sizeof(*h->gone_ring));
	if (h->running && h->gone_ring)
		return h;
	handover_free(h);
	return NULL;
}

void handover_free(struct handover *h)
{
	struct bytes_map_entry entry;
	size_t at = 0;

	if (!h)
		return;
	while (bytes_map_next(&h->table, &at, &entry)) {
		struct handed *handed = entry.value;

		vec_free(&handed->children);
		free(handed);
	}
	bytes_map_free(&h->table);
	map_free(&h->gone);
	free(h->gone_ring);
	partial_free(h->running);
	free(h);
}

struct partial_options handover_partial_options(void)
{
	return (struct partial_options){.spans = true};
}

struct handover_counts handover_counts(const struct handover *h)
{
	struct handover_counts counts = h->counts;

	counts.spans = h->running->spans.count;
	return counts;
}

/* ---- a finished copy ---- */

#define RELEASE(release, what)                                                                     \
	do {                                                                                       \
		release(what);                                                                     \
		memset(what, 0, sizeof(*(what)));                                                  \
	} while (0)

/* Sums, events and samples tell nothing of spans: each chunk has its own. */
static void sums_drop(struct partial *p)
{
	RELEASE(sums_free, &p->calls);
	RELEASE(sums_free, &p->call_waits);
	RELEASE(sums_free, &p->waits);
	RELEASE(sums_free, &p->blocks);
	RELEASE(sums_free, &p->futexes);
	RELEASE(openings_free, &p->openings);
	RELEASE(events_free, &p->events);
	RELEASE(samples_free, &p->samples);
	RELEASE(samples_free, &p->wait_stacks);
	RELEASE(costs_free, &p->costs);
	RELEASE(hits_free, &p->hits);
}

/* Facts of which there is one for each call: no time of a span depends on them. */
static void facts_of_calls_drop(struct facts *f)
{
	RELEASE(thread_facts_free, &f->bytes);
	RELEASE(thread_facts_free, &f->paths);
	RELEASE(thread_facts_free, &f->peers);
	f->clocks.count = f->steps.count = 0;
}

static int partial_copy(struct partial *p, struct partial **out)
{
	struct bytes bytes = {0};
	int err = partial_write(p, &bytes);

	err = err ? err : partial_read(out, bytes.data, bytes.count, &p->options);
	bytes_free(&bytes);
	for (size_t i = 0; i < p->spans.count && !err; i++) /* both are in one order */
		(*out)->spans.data[i]->over_ns = p->spans.data[i]->over_ns;
	return err;
}

/* Facts of files and code, which are many: no time of a span depends on them. */
#define EACH_FACT_ASIDE(K) K(fds) K(sockets) K(stacks) K(mappings) K(cgroups) K(devices)

/*
 * Copies what times of spans depend on; with `lends`, names, events and attributes of spans are
 * lent.
 */
static int partial_copy_spans(struct partial *p, bool lends, struct partial **out)
{
	struct facts *f = &p->facts, all = *f;
	struct partial whole = *p;
	int err;

#define K(list) memset(&f->list, 0, sizeof(f->list));
	EACH_FACT_ASIDE(K)
#undef K
	if (lends)
		memset(&p->spans, 0, sizeof(p->spans));
	err = partial_copy(p, out);
	memcpy(&p->spans, &whole.spans, sizeof(p->spans));
#define K(list) memcpy(&f->list, &all.list, sizeof(f->list));
	EACH_FACT_ASIDE(K)
#undef K
	return err || !lends ? err : handover_spans_lend(p, *out);
}

static int texts_renew(struct handover *h)
{
	struct partial *renewed = NULL;
	int err;

	if (h->running->facts.texts.arena.blocks.count <= TEXT_BLOCKS_MAX)
		return 0;
	err = partial_copy(h->running, &renewed);
	if (err)
		return err;
	partial_free(h->running);
	h->running = renewed;
	return 0;
}

/* ---- what is handed out ---- */

static u64 hash_text(u64 hash, const char *text)
{
	return hash_pair(hash, text ? hash_bytes(text, strlen(text)) + 1 : 0);
}

/* Of all that is handed out: equal ones need not be handed out again. */
static u64 handed_hash(const struct handed_span *s, const struct handed *entry)
{
	const struct app_span *span = s->span;
	const u64 numbers[] = {span->begun,
			       span->ended,
			       span->kind,
			       span->level,
			       span->status,
			       span->flags,
			       span->pid,
			       span->parent,
			       span->events.count + span->events_deleted,
			       span->attributes.count + span->attributes_deleted,
			       s->time.begin_ns,
			       s->time.end_ns,
			       s->time.begin_soft,
			       s->time.end_soft,
			       s->time.threads,
			       entry ? entry->children_seen : 0,
			       entry ? entry->children_ns : 0};
	u64 hash = hash_bytes(numbers, sizeof(numbers));

	hash = hash_pair(hash, hash_bytes(&s->time.split, sizeof(s->time.split)));
	for (size_t i = 0; i < span->events.count; i++)
		hash = hash_pair(hash, span->events.data[i].attributes.count);
	return hash_text(hash_text(hash, span->name), span->message);
}

struct handing {
	struct handover *h;
	handover_fn *fn;
	void *arg;
	struct kspan_list children;
	struct bytes_map owners; /* contexts that threads have */
};

static int span_hand(struct handing *w, const struct handed_span *span, struct handed *entry)
{
	struct handover *h = w->h;
	struct handed_span s = *span;
	u64 hash = s.open ? 0 : handed_hash(&s, entry);
	int err;

	if (entry->version && entry->open == s.open && entry->hash == hash)
		return 0;
	err = handed_children_sort(entry, &w->children);
	s.children = w->children.data;
	s.children_count = w->children.count;
	s.more_count = entry->children_seen - s.children_count;
	s.more_ns = entry->children_ns;
	for (size_t i = 0; i < s.children_count; i++)
		s.more_ns -= s.children[i].end_ns - s.children[i].begin_ns;
	err = err ? err : w->fn(w->arg, &s);
	if (err)
		return err;
	h->counts.handed += !entry->version;
	h->counts.again += entry->version != 0;
	entry->version = s.version;
	entry->open = s.open;
	entry->hash = hash;
	return 0;
}

/* Whether only its context was seen, and no thread has it. */
static bool context_is_over(const struct handing *w, const struct app_span *span)
{
	return w->h->options.contexts && !span->begun && !span->ended &&
	       !bytes_map_get(&w->owners, &span->ctx, sizeof(span->ctx));
}

static int spans_hand(struct handing *w, const struct partial *finished,
		      const struct span_time *times)
{
	int err = w->h->options.contexts ? handover_owners(w->h->running, &w->owners) : 0;

	for (size_t i = 0; i < finished->spans.count && !err; i++) {
		const struct app_span *span = finished->spans.data[i];
		struct handed_span s = {.span = span,
					.partial = finished,
					.running = w->h->running,
					.time = times[i],
					.version = w->h->counts.chunks,
					.open = !handover_is_over(finished, span, &times[i]) &&
						!context_is_over(w, span)};
		struct handed *entry = s.open ? bytes_map_get(&w->h->table, &span->ctx,
							      sizeof(span->ctx))
					      : handed_get(w->h, &span->ctx);

		if (!entry && !s.open)
			err = -ENOMEM;
		else if (entry && (entry->version || !s.open))
			err = span_hand(w, &s, entry);
	}
	vec_free(&w->children);
	bytes_map_free(&w->owners);
	return err;
}

/* Hands out what has ended, then leaves what goes on. */
static int handover_settle(struct handing *w)
{
	struct handover *h = w->h;
	struct span_time *times = NULL;
	struct partial *finished = NULL;
	/* where records wait, the end of the copy applies them to its spans */
	bool lends = !uneven_cut_is_open(h->running);
	int err = partial_copy_spans(h->running, lends, &finished);

	err = err ? err : partial_finish(finished);
	if (!err)
		times = calloc(finished->spans.count + 1, sizeof(*times));
	if (!err)
		err = times ? span_times(finished, times) : -ENOMEM;
	err = err ? err : spans_hand(w, finished, times);
	err = err ? err : handover_prune(h, finished, times);
	free(times);
	if (finished && lends)
		handover_spans_return(finished);
	partial_free(finished);
	return err;
}

int handover_take(struct handover *h, struct partial *chunk, handover_fn *fn, void *arg)
{
	struct handing w = {.h = h, .fn = fn, .arg = arg};
	int err = partial_merge(h->running, chunk);

	h->counts.chunks++;
	sums_drop(h->running);
	facts_of_calls_drop(&h->running->facts);
	err = err ? err : handover_children_take(h);
	if (err)
		return err;
	handover_late_drop(h);
	err = handover_settle(&w);
	return err ? err : texts_renew(h);
}

/* ---- a hand-over that goes on in another process ---- */

int handover_state_write(struct handover *h, struct bytes *out)
{
	struct partial *copy = NULL;
	int err = partial_copy(h->running, &copy);

	err = err ? err : checkpoint_write(copy, out);
	partial_free(copy);
	return err;
}

int handover_begin(struct handover *h, const void *data, size_t bytes)
{
	const struct partial_options options = handover_partial_options();
	struct partial *state = NULL;
	int err = checkpoint_read(&state, data, bytes, &options);

	if (err)
		return err;
	partial_free(h->running);
	h->running = state;
	return 0;
}
