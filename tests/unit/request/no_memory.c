/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out somewhere in linking or learning: it says so, and all is freed. */
#include <errno.h>

#include "check.h"
#include "request/link.h"
#include "services.h"

/* The linker has all calls in this program go here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __wrap_free(void *p);

static long held;	/* allocations that are not freed */
static long until_fail; /* so many succeed, then one fails; negative: all succeed */

static bool fails(void)
{
	bool now = until_fail == 0;

	if (until_fail >= 0)
		until_fail--;
	return now;
}

static void *hold(void *p)
{
	held += p != NULL;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : hold(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : hold(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	void *p;

	if (fails())
		return NULL;
	p = __real_realloc(old, size);
	return old ? p : hold(p);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return __wrap_realloc(old, count * size);
}

void __wrap_free(void *p)
{
	held -= p != NULL;
	__real_free(p);
}

/* Runs out at each allocation in turn, until there are no more. */
static void at_each_allocation(const struct link_input *in, struct edge *edges)
{
	long before = held, at;
	int err = -ENOMEM;

	for (at = 0; err; at++) {
		struct learned learned = {0};

		until_fail = at;
		err = request_learn(in, &learned);
		until_fail = -1;
		learned_free(&learned);
		CHECK(!err || err == -ENOMEM);
		CHECK_EQ(held, before);
	}
	CHECK(at > 10);
	for (err = -ENOMEM, at = 0; err; at++) {
		until_fail = at;
		err = request_link(in, edges);
		until_fail = -1;
		CHECK(!err || err == -ENOMEM);
		CHECK_EQ(held, before);
	}
	CHECK(at > 20);
}

TEST(running_out_of_memory_is_said_and_leaks_nothing)
{
	until_fail = -1;
	for (int kind = 0; kind < SERVICE_KINDS; kind++) {
		struct service_plan plan = {.kind = (enum service_kind)kind,
					    .at_once = 4,
					    .requests = 20,
					    .seed = 1,
					    .lights = true};
		struct services s = services_run(&plan);
		struct link_input in = services_input(&s);
		struct request_fork fork = {.time_ns = 1, .parent = 1, .child = 2};
		struct learned learned = {0};
		struct edge *edges = calloc(in.exchange_count, sizeof(*edges));

		in.forks = &fork;
		in.fork_count = 1;
		s.details.data[1].trace[0] = 1;
		CHECK_EQ(request_learn(&in, &learned), 0);
		in.learned = &learned;
		at_each_allocation(&in, edges);
		free(edges);
		learned_free(&learned);
		services_free(&s);
	}
}

TEST_MAIN()
