/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenTelemetry thread and process context, as readers outside of the process find it. */
#include "unit/lib/listener.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct thread_context {
	u8 trace[16];
	u8 span[8];
	u8 valid;
	u8 flags;
	u16 attributes_bytes;
};

extern __thread struct thread_context *otel_thread_ctx_v1;

struct process_context {
	char signature[8];
	u32 version;
	u32 payload_bytes;
	u64 published_ns;
	const u8 *payload;
};

/* The number of process contexts that are mapped; the last in *out. */
static int contexts_mapped(struct process_context **out)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "OTEL_CTX"))
			continue;
		*out = (struct process_context *)strtoul(line, NULL, 16);
		found++;
	}
	if (maps)
		fclose(maps);
	return found;
}

TEST(the_active_span_is_published)
{
	struct fathom_span root = fathom_span_begin("root"), child;
	struct thread_context *outer;

	outer = otel_thread_ctx_v1;
	CHECK(outer != NULL);
	CHECK_EQ((uintptr_t)outer % 2, 0);
	CHECK_EQ(outer->valid, 1);
	CHECK_EQ(outer->attributes_bytes, 0);
	CHECK_EQ(outer->flags & 1, 1);
	CHECK_MEM(outer->trace, root.trace_id, 16);
	CHECK_MEM(outer->span, root.span_id, 8);
	child = fathom_span_begin("child");
	CHECK_MEM(otel_thread_ctx_v1->span, child.span_id, 8);
	fathom_span_end(&child);
	CHECK(otel_thread_ctx_v1 == outer);
	fathom_span_end(&root);
	CHECK(otel_thread_ctx_v1 == NULL);
}

TEST(what_is_not_sampled_is_published_as_such)
{
	struct fathom_span s;

	CHECK_EQ(fathom_sampling_set("never"), 0);
	s = fathom_span_begin("root");
	CHECK(otel_thread_ctx_v1 != NULL);
	CHECK_EQ(otel_thread_ctx_v1->flags & 1, 0);
	fathom_span_end(&s);
	CHECK_EQ(fathom_sampling_set("always"), 0);
}

TEST(the_process_is_published)
{
	struct process_context *c = NULL;
	u64 before;

	CHECK_EQ(fathom_init("shop"), 0);
	CHECK_EQ(contexts_mapped(&c), 1);
	CHECK_MEM(c->signature, "OTEL_CTX", 8);
	CHECK_EQ(c->version, 2);
	CHECK(c->published_ns != 0);
	/* KeyValue "service.name" = "shop", as bytes of protobuf */
	CHECK(memmem(c->payload, c->payload_bytes,
		     "\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop", 24));
	CHECK(memmem(c->payload, c->payload_bytes,
		     "\x12\x08\x0a\x06"
		     "fathom",
		     10));
	CHECK(memmem(c->payload, c->payload_bytes,
		     "\x0a\x1athreadlocal.schema_version\x12\x10\x0a\x0etlsdesc_v1_dev", 46));
	CHECK(memmem(c->payload, c->payload_bytes,
		     "\x0a\x1dthreadlocal.attribute_key_map\x12\x02\x2a\x00", 35));
	before = c->published_ns;
	CHECK_EQ(fathom_init("shop-2"), 0);
	CHECK_EQ(contexts_mapped(&c), 1);
	CHECK(c->published_ns > before);
	CHECK(memmem(c->payload, c->payload_bytes, "shop-2", 6));
}

TEST(a_child_publishes_anew)
{
	struct fathom_span s = fathom_span_begin("parent");
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct process_context *c = NULL;

		if (otel_thread_ctx_v1 || contexts_mapped(&c) != 0)
			_exit(1);
		s = fathom_span_begin("child");
		_exit(!otel_thread_ctx_v1 || contexts_mapped(&c) != 1 || !c->published_ns);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fathom_span_end(&s);
}

static struct thread_context **thread_variable;

static void key_destructor(void *arg)
{
	/* Ours was made later: when it has run, nothing is published any more. */
	if (*thread_variable == NULL)
		__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
}

static pthread_key_t late_key;
static int seen_cleared, rounds;

static void late_destructor(void *arg)
{
	if (++rounds < 3) /* behind the library's, whatever the order of keys */
		pthread_setspecific(late_key, arg);
	else
		key_destructor(arg);
}

static void *thread_leaves_span_open(void *arg)
{
	fathom_span_begin("never ends");
	thread_variable = &otel_thread_ctx_v1;
	pthread_setspecific(late_key, &seen_cleared);
	return otel_thread_ctx_v1 ? NULL : "nothing published";
}

TEST(a_thread_that_ends_publishes_nothing)
{
	pthread_t thread;
	void *result;

	CHECK_EQ(pthread_key_create(&late_key, late_destructor), 0);
	CHECK_EQ(pthread_create(&thread, NULL, thread_leaves_span_open, NULL), 0);
	pthread_join(thread, &result);
	CHECK_STR(result, NULL);
	CHECK_EQ(seen_cleared, 1);
}

static struct thread_context foreign;

static void *thread_with_a_foreign_context(void *arg)
{
	struct fathom_span s = fathom_span_begin("s");

	thread_variable = &otel_thread_ctx_v1;
	if (s.state == 0 || otel_thread_ctx_v1)
		return "this library does not stand down";
	fathom_span_end(&s);
	otel_thread_ctx_v1 = &foreign;
	pthread_setspecific(late_key, arg);
	return NULL;
}

static int foreign_seen;

static void foreign_destructor(void *arg)
{
	if (++rounds < 3)
		pthread_setspecific(late_key, arg);
	else
		foreign_seen = *thread_variable == &foreign;
}

/* In a process in which another library has published before. 0, or the number of the failure. */
static int foreign_is_kept(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC), status = -1;
	struct fathom_span s;
	pthread_t thread;
	void *result;
	pid_t pid;

	if (fd < 0 || ftruncate(fd, 4096) < 0 ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 2;
	s = fathom_span_begin("s");
	if (s.state == 0 || otel_thread_ctx_v1)
		return 3;
	otel_thread_ctx_v1 = &foreign;
	pid = fork();
	if (pid == 0)
		_exit(otel_thread_ctx_v1 != &foreign);
	if (waitpid(pid, &status, 0) != pid || status)
		return 4;
	if (pthread_key_create(&late_key, foreign_destructor) ||
	    pthread_create(&thread, NULL, thread_with_a_foreign_context, &foreign) ||
	    pthread_join(thread, &result) || result)
		return 5;
	return foreign_seen ? 0 : 6;
}

/* It is the other's to say when its context is void: in a child, and when a thread ends. */
TEST(what_another_library_publishes_is_left_alone)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		rounds = 0;
		_exit(foreign_is_kept());
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST_MAIN()
