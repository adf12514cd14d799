/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out where partials are finished or files of them merge: all is freed once. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "map/file/file.h"
#include "map/partial.h"
#include "simulate.h"

/* The linker has all calls in this program go here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __wrap_free(void *p);
char *__wrap_strdup(const char *text);

static long held;	/* allocations that are not freed */
static long until_fail; /* so many succeed, then one fails; negative: all succeed */
static bool failed;

static bool fails(void)
{
	bool now = until_fail == 0;

	if (until_fail >= 0)
		until_fail--;
	failed |= now;
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

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : hold(__real_aligned_alloc(alignment, size));
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

char *__wrap_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = __wrap_malloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

void __wrap_free(void *p)
{
	held -= p != NULL;
	__real_free(p);
}

/* Whether a record says what a thread does, and so waits for the neighbours of a partial. */
static bool is_of_life(const struct record_head *r)
{
	return r->kind == RECORD_switch || r->kind == RECORD_waking || r->kind == RECORD_syscall ||
	       r->kind == RECORD_fork || r->kind == RECORD_thread || r->kind == RECORD_exit;
}

/* Only the middle of it is seen on all streams: the records before and after it wait. */
static struct partial *partial_uneven(const struct simulation *s)
{
	struct partial *p = partial_new(&(struct partial_options){0});
	u64 third = (s->to_ns - s->from_ns) / 3;

	CHECK(p != NULL);
	partial_streams(p, s->from_ns + third, s->from_ns + 2 * third);
	for (size_t i = 0; i < s->records.count; i++)
		if (is_of_life(simulation_record(s, i)))
			CHECK_EQ(partial_apply(p, simulation_record(s, i)), 0);
	partial_cover(p, s->from_ns, s->to_ns);
	return p;
}

TEST(a_partial_that_cannot_be_finished_is_freed)
{
	struct simulation s = {0};
	long before, tries = 0;
	int err;

	until_fail = -1;
	simulate(&s, 7, 5, 40);
	before = held;
	do {
		struct partial *p = partial_uneven(&s);

		failed = false;
		until_fail = tries++;
		err = partial_finish(p);
		until_fail = -1;
		partial_free(p);
		CHECK_EQ(held, before);
	} while (failed);
	CHECK_EQ(err, 0);
	CHECK(tries > 20);
	simulation_free(&s);
}

/* A file of one chunk: one of the three thirds of a simulation. */
static struct partial_file *third_file(const struct simulation *s, u64 at)
{
	static const struct partial_terms terms = {.spans = true};
	struct partial_file *file = partial_file_new(&terms);
	const struct partial_options options = partial_file_options(file);
	struct partial *p = partial_new(&options);
	u64 third = (s->to_ns - s->from_ns) / 3, from_ns = s->from_ns + at * third;
	const struct chunk_info info = {.path = "/nowhere",
					.host = "host",
					.boot_id = "boot",
					.identity = {(u8)(at + 1)},
					.begin_ns = from_ns,
					.end_ns = from_ns + third,
					.begun_ns = from_ns,
					.complete_ns = from_ns + third,
					.state = CHUNK_SEALED,
					.clock = {.monotonic_ns = from_ns, .unix_ns = 7}};

	for (size_t i = 0; i < s->records.count; i++) {
		const struct record_head *r = simulation_record(s, i);

		if (is_of_life(r) && r->time_ns >= from_ns && r->time_ns < from_ns + third)
			CHECK_EQ(partial_apply(p, r), 0);
	}
	partial_cover(p, from_ns, from_ns + third);
	CHECK_EQ(partial_file_add(file, &info, &(struct chunk_lost){0}, p, NULL), 0);
	return file;
}

/* The middle third joins what `left` has on both sides of it. */
TEST(files_that_cannot_merge_are_freed)
{
	struct simulation s = {0};
	long before, tries = 0;
	int err;

	until_fail = -1;
	simulate(&s, 7, 5, 40);
	before = held;
	do {
		struct partial_file *left = third_file(&s, 0), *right = third_file(&s, 1);

		CHECK_EQ(partial_file_merge(left, third_file(&s, 2), NULL), 0);
		failed = false;
		until_fail = tries++;
		err = partial_file_merge(left, right, NULL);
		until_fail = -1;
		partial_file_free(left);
		CHECK_EQ(held, before);
	} while (failed);
	CHECK_EQ(err, 0);
	CHECK(tries > 10);
	simulation_free(&s);
}

TEST_MAIN()
