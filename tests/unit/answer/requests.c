/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as answers: what spans of servers say, and what lies below them. */
#include "answer/requests.h"

#include "talk.h"

#define EVENT_TEXT "sched:sched_migrate_task"

struct answered {
	struct partial *p;
	struct source source;
	struct sources sources;
	struct request_answer answer;
};

static void event_tell(struct partial *p, u64 time_ns, u32 tid)
{
	struct record_format format = {.head = {.kind = RECORD_format, .time_ns = 1000},
				       .format = 9};
	struct record_event event = {
		.head = {.kind = RECORD_event, .time_ns = time_ns, .tid = tid, .pid = tid},
		.format = 9};

	format.text_len = sizeof(EVENT_TEXT);
	memcpy(format.text, EVENT_TEXT, sizeof(EVENT_TEXT));
	apply(p, &format);
	apply(p, &event);
}

/* A call of the server with a page fault of its own before it, while it has the request. */
static void server_works(struct partial *p, u64 time_ns)
{
	const struct record_fault fault = {.head = {.kind = RECORD_fault,
						    .time_ns = time_ns + 200,
						    .tid = SERVER,
						    .pid = SERVER},
					   .flags = FAULT_USER,
					   .duration_ns = 100};
	const struct record_syscall call = {.head = {.kind = RECORD_syscall,
						     .time_ns = time_ns + 600,
						     .tid = SERVER,
						     .pid = SERVER},
					    .nr = 1,
					    .duration_ns = 200};

	apply(p, &fault);
	event_tell(p, time_ns + 300, SERVER);
	event_tell(p, time_ns + 310, SERVER);
	event_tell(p, time_ns + 320, CALLER); /* of another thread */
	apply(p, &call);
}

/* Two requests; the server works for the first one. */
static void answered_make(struct answered *a)
{
	struct talk t = {0};
	bool worked = false;

	talk_begin(&t);
	talk_say(&t, "CsScCsSc");
	*a = (struct answered){.p = partial_new(&(struct partial_options){.spans = true})};
	partial_cover(a->p, 1, t.now_ns + 1000);
	for (size_t i = 0; i < t.records.count; i++) {
		const struct record_bytes *b = &t.records.data[i].bytes;

		apply(a->p, b);
		if (b->head.kind == RECORD_bytes && b->head.tid == SERVER && !worked) {
			server_works(a->p, b->head.time_ns);
			worked = true;
		}
	}
	CHECK_EQ(partial_finish(a->p), 0);
	vec_free(&t.records);
	a->source.partial = a->p;
	strcpy(a->source.host, "host");
	CHECK_EQ(vec_push(&a->sources.list, &a->source), 0);
	CHECK_EQ(request_answer_of(&a->sources, REQUEST_PROBABILITY_PPM, &a->answer), 0);
}

static void answered_free(struct answered *a)
{
	request_answer_free(&a->answer);
	vec_free(&a->sources.list);
	partial_free(a->p);
}

/* What was seen of the traces that were given. */
struct seen {
	size_t traces, servers, calls, faults, counted;
	u64 events, faults_counted;
};

static void attributes_see(struct seen *seen, const struct span *span)
{
	for (size_t i = 0; i < span->attributes_count; i++) {
		const struct attribute *a = &span->attributes[i];

		if (strcmp(a->key, "events.count") != 0)
			continue;
		CHECK_EQ(a->type, VALUE_MAP);
		seen->counted++;
		for (size_t n = 0; n < a->count; n++) {
			if (strcmp(a->items[n].key, EVENT_TEXT) == 0)
				seen->events += (u64)a->items[n].integer;
			else if (strcmp(a->items[n].key, "exceptions:page_fault_user") == 0)
				seen->faults_counted += (u64)a->items[n].integer;
			else
				CHECK(false);
		}
	}
}

static int trace_see(void *arg, const struct trace *trace)
{
	struct seen *seen = arg;
	u64 server = 0;

	seen->traces++;
	for (size_t i = 0; i < trace->spans_count; i++) {
		const struct span_position at = trace->position(trace, i);
		const struct span *span = trace->span(trace, i, false);

		CHECK(span != NULL);
		CHECK_EQ(span->begin_ns, at.begin_ns);
		if (strcmp(span->kind, "server") == 0) {
			seen->servers++;
			server = at.id;
		}
		if (at.kernel)
			CHECK(at.parent == server);
		seen->calls += strcmp(span->kind, "syscall") == 0;
		seen->faults += strcmp(span->kind, "fault") == 0;
		attributes_see(seen, span);
	}
	return 0;
}

static struct seen seen_of(const struct answered *a, const struct request_choice *choice)
{
	struct seen seen = {0};
	struct request_counts counts;

	CHECK_EQ(request_answer_give(&a->answer, choice, &(struct trace_sink){trace_see, &seen},
				     &counts),
		 0);
	CHECK_EQ(counts.given, seen.traces);
	return seen;
}

TEST(events_are_counted_for_the_request_in_which_they_were)
{
	struct answered a;
	struct seen seen;

	answered_make(&a);
	seen = seen_of(&a, &(struct request_choice){.all = true});
	CHECK_EQ(seen.traces, 2);
	CHECK_EQ(seen.servers, 2);
	CHECK_EQ(seen.counted, 1);
	CHECK_EQ(seen.events, 2);
	CHECK_EQ(seen.faults_counted, 1);
	CHECK_EQ(seen.calls + seen.faults, 0);
	answered_free(&a);
}

TEST(what_the_kernel_did_lies_below_the_server)
{
	struct answered a;
	struct seen seen;

	answered_make(&a);
	seen = seen_of(&a, &(struct request_choice){.kernel = true});
	CHECK_EQ(seen.traces, 2);
	CHECK_EQ(seen.calls, 1);
	CHECK_EQ(seen.faults, 1);
	answered_free(&a);
}

TEST_MAIN()
