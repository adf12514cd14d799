/* SPDX-License-Identifier: Apache-2.0 */
/* What a process and a request wait for, in words. */
#include "answer/why.h"

#include <errno.h>

#include "request/talk.h"

#define HOG 300

/* The caller and the server of a talk, with what they did at the end. */
struct asked {
	struct talk t;
	struct request_answer a;
	struct request_host host;
	struct partial *p;
	struct why_answer out;
};

/* Each letter is an event of the talk; times are 2000, 3000, ... */
static void asked_begin(struct asked *w, const char *events)
{
	*w = (struct asked){0};
	talk_begin(&w->t);
	talk_say(&w->t, events);
	w->p = talk_map(&w->t, 0, w->t.records.count);
}

/* A thread was blocked in [begin_ns, ready_ns), and waited for the CPU of HOG up to end_ns. */
struct slept {
	u32 tid;
	u64 begin_ns, ready_ns, end_ns;
	u8 part, work;
};

static void asked_sleep(struct asked *w, const struct slept *s)
{
	struct kspan k = {.kind = KSPAN_WAIT,
			  .begin_ns = s->begin_ns,
			  .end_ns = s->end_ns,
			  .tid = s->tid,
			  .pid = s->tid,
			  .part = s->part,
			  .work = s->work,
			  .state = LEAVE_sleep,
			  .result = s->ready_ns < s->end_ns ? LIFE_HAD_CPU(HOG) : 0};

	k.split.ns[s->part] = (s64)(s->ready_ns - s->begin_ns);
	k.split.ns[SPLIT_runnable] = (s64)(s->end_ns - s->ready_ns);
	CHECK_EQ(kspans_add(&w->p->kspans, &k), 0);
}

static void asked_make(struct asked *w)
{
	CHECK_EQ(partial_finish(w->p), 0);
	w->host = (struct request_host){.p = w->p, .name = "host", .boot = 7};
	CHECK_EQ(requests_make(&w->a.requests, &w->host, 1, REQUEST_PROBABILITY_PPM), 0);
}

static void asked_end(struct asked *w)
{
	why_free(&w->out);
	requests_free(&w->a.requests);
	partial_free(w->p);
	vec_free(&w->t.records);
}

static const struct why_line *line_at(const struct asked *w, size_t chain, size_t link)
{
	const struct why_chain *c = &w->out.chains.data[chain];

	CHECK(chain < w->out.chains.count && c->first + link < c->end);
	return &w->out.lines.data[c->first + link];
}

/* The server has answered, and its client sleeps instead of asking again. */
TEST(waits_for_its_client)
{
	struct asked w;
	const struct why_line *line;

	asked_begin(&w, "CsSc"); /* up to 5000; the recording ends at 6000 */
	asked_sleep(&w, &(struct slept){SERVER, 4500, 6000, 6000, SPLIT_network, WORK_WAITS});
	asked_sleep(&w, &(struct slept){CALLER, 5500, 6000, 6000, SPLIT_timer, WORK_NOT});
	asked_make(&w);
	CHECK_EQ(why_process(&w.a, SERVER, false, &w.out), 0);
	CHECK_EQ(w.out.threads, 1);
	CHECK_EQ(w.out.lines.count, 2);
	CHECK_STR(w.out.who.name, "server");
	line = line_at(&w, 0, 0);
	CHECK_STR(line->subject, "server (pid 200)");
	CHECK_STR(line->verb, "has waited");
	CHECK_STR(line->state, "waiting");
	CHECK_STR(line->cause, "idle");
	CHECK_EQ(line->since_ns, 4500);
	CHECK_EQ(line->ns, 1500);
	CHECK_STR(line->rest, "for its client 127.0.0.1:40000, caller (pid 100), which it has "
			      "answered");
	line = line_at(&w, 0, 1);
	CHECK_EQ(line->depth, 1);
	CHECK_EQ(line->ns, 500);
	CHECK_STR(line->subject, "caller (pid 100)");
	CHECK_STR(line->rest, "for a time that it had set itself (sleep or timer)");
	CHECK_EQ(why_process(&w.a, HOG + 1, false, &w.out), -ENOENT);
	asked_end(&w);
}

/* Each waits for the other: it ends there. */
TEST(waits_for_an_answer)
{
	struct asked w;

	asked_begin(&w, "Cs");
	asked_sleep(&w, &(struct slept){CALLER, 2500, 4000, 4000, SPLIT_network, WORK_NOT});
	asked_sleep(&w, &(struct slept){SERVER, 3500, 4000, 4000, SPLIT_lock, WORK_WAITS});
	asked_make(&w);
	CHECK_EQ(why_process(&w.a, CALLER, false, &w.out), 0);
	CHECK_EQ(w.out.lines.count, 2);
	CHECK_STR(line_at(&w, 0, 0)->rest, "for an answer of 127.0.0.1:8000, server (pid 200)");
	CHECK_STR(line_at(&w, 0, 1)->rest,
		  "for a lock or a condition, with a request of its client 127.0.0.1:40000");
	CHECK(!line_at(&w, 0, 1)->idle); /* it has a request */
	asked_end(&w);
}

/* In the middle of a recording, waits count up to then, and others ran. */
TEST(at_a_time)
{
	struct asked w;

	asked_begin(&w, "CsSc");
	asked_sleep(&w, &(struct slept){SERVER, 4500, 6000, 6000, SPLIT_network, WORK_WAITS});
	asked_sleep(&w, &(struct slept){CALLER, 2100, 4900, 4900, SPLIT_network, WORK_NOT});
	asked_sleep(&w, &(struct slept){CALLER, 5500, 6000, 6000, SPLIT_timer, WORK_NOT});
	asked_make(&w);
	w.p->options.from_ns = 5200;
	CHECK_EQ(why_process(&w.a, SERVER, true, &w.out), 0);
	CHECK_EQ(w.out.at_ns, 5200);
	CHECK_EQ(line_at(&w, 0, 0)->ns, 700);
	CHECK_STR(line_at(&w, 0, 1)->verb, "ran");
	asked_end(&w);
}

/* A row for each piece of the path of a request, in words. */
TEST(words_of_a_path)
{
	struct critical_answer path = {0};
	const struct critical_row *row;
	char id[TRACE_ID_BYTES];
	struct asked w;

	asked_begin(&w, "CsSc"); /* the server has it from 3000 to 4000 */
	asked_sleep(&w, &(struct slept){SERVER, 1500, 2200, 2900, SPLIT_network, WORK_WAITS});
	asked_sleep(&w, &(struct slept){CALLER, 2100, 4500, 4600, SPLIT_network, WORK_NOT});
	asked_make(&w);
	CHECK_EQ(w.a.requests.traces.count, 1);
	trace_id_format(id, w.a.requests.traces.data[0].id);
	CHECK_EQ(critical_answer_make(&w.a, id, &path), 0);
	CHECK_STR(path.trace_id, id);
	CHECK_STR(path.name, "server:8000");
	CHECK_EQ(path.begin_ns, 2000);
	CHECK_EQ(path.end_ns, 5000);
	CHECK_EQ(path.rows.count, 7);
	row = &path.rows.data[critical_longest(&path)];
	CHECK_STR(row->subject, "server (pid 200)");
	CHECK_STR(row->state, "running");
	row = &path.rows.data[1];
	CHECK_EQ(row->begin_ns, 2200);
	CHECK_EQ(row->end_ns, 2900);
	CHECK_STR(row->state, "runnable");
	CHECK_STR(row->cause, "runnable");
	CHECK_STR(row->verb, "waited");
	CHECK_EQ(row->by.tid, HOG);
	critical_answer_free(&path);
	path = (struct critical_answer){0};
	CHECK_EQ(critical_answer_make(&w.a, "0123456789abcdef", &path), -ENOENT);
	critical_answer_free(&path);
	asked_end(&w);
}

TEST_MAIN()
