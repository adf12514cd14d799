/* SPDX-License-Identifier: Apache-2.0 */
/* The process context: decoded, read from a process, hostile. */
#include "capture/context/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/check.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* ---- a writer of messages ---- */

struct message {
	unsigned char bytes[65536];
	size_t len;
};

static void varint_put(struct message *m, uint64_t value)
{
	for (; value > 127; value >>= 7)
		m->bytes[m->len++] = (unsigned char)(value | 128);
	m->bytes[m->len++] = (unsigned char)value;
}

static void bytes_put(struct message *m, unsigned int number, const void *data, size_t len)
{
	varint_put(m, number << 3 | 2);
	varint_put(m, len);
	memcpy(m->bytes + m->len, data, len);
	m->len += len;
}

static struct message scratch[3];

static void message_put(struct message *m, unsigned int number, const struct message *inner)
{
	bytes_put(m, number, inner->bytes, inner->len);
}

/* Field `number` of m: a KeyValue with a string. */
static void string_put(struct message *m, unsigned int number, const char *key, const char *value)
{
	struct message *any = &scratch[0], *pair = &scratch[1];

	any->len = pair->len = 0;
	bytes_put(any, 1, value, strlen(value));
	bytes_put(pair, 1, key, strlen(key));
	message_put(pair, 2, any);
	message_put(m, number, pair);
}

/* Field 2 of m: the key map with `count` names "k<i>", each padded to `len` bytes. */
static void key_map_put(struct message *m, int count, int len)
{
	static struct message any, array, outer, pair;
	char name[256];

	array.len = outer.len = pair.len = 0;
	for (int i = 0; i < count; i++) {
		any.len = 0;
		snprintf(name, sizeof(name), "k%-*d", len - 1, i);
		bytes_put(&any, 1, name, strlen(name));
		message_put(&array, 1, &any);
	}
	message_put(&outer, 5, &array);
	bytes_put(&pair, 1, "threadlocal.attribute_key_map", 29);
	message_put(&pair, 2, &outer);
	message_put(m, 2, &pair);
}

static struct message payload, resource;

static void payload_make(const char *service, const char *sdk, const char *schema)
{
	payload.len = resource.len = 0;
	string_put(&resource, 1, "service.name", service);
	string_put(&resource, 1, "telemetry.sdk.name", sdk);
	message_put(&payload, 1, &resource);
	if (schema)
		string_put(&payload, 2, "threadlocal.schema_version", schema);
}

/* ---- decoding ---- */

TEST(decodes)
{
	struct process_context context = {0};

	payload_make("shop", "fathom", "tlsdesc_v1_dev");
	key_map_put(&payload, 3, 4);
	CHECK_EQ(process_context_decode(payload.bytes, payload.len, &context), 0);
	CHECK_STR(context.service, "shop");
	CHECK_STR(context.sdk, "fathom");
	CHECK_EQ(context.is_fathom, 1);
	CHECK_EQ(context.schema, SCHEMA_TLS);
	CHECK_EQ(context.keys, 3);
	CHECK_STR(process_context_key(&context, 0), "k0  ");
	CHECK_STR(process_context_key(&context, 2), "k2  ");
	CHECK(process_context_key(&context, 3) == NULL);
}

TEST(schemas)
{
	static const struct {
		const char *name;
		enum process_schema schema;
	} rows[] = {
		{NULL, SCHEMA_ABSENT},
		{"tls_v1", SCHEMA_TLS},
		{"tlsdesc_v1", SCHEMA_TLS},
		{"tlsdesc_v1_dev", SCHEMA_TLS},
		{"nodejs_v1_dev", SCHEMA_NODEJS},
		{"go_pprof_labels_v1", SCHEMA_GO_LABELS},
		{"tls_v2", SCHEMA_UNKNOWN},
		{"", SCHEMA_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct process_context context = {0};

		payload_make("a", "fathomless", rows[i].name);
		CHECK_EQ(process_context_decode(payload.bytes, payload.len, &context), 0);
		CHECK_EQ(context.schema, rows[i].schema);
		CHECK_EQ(context.is_fathom, 0);
	}
}

/* Some writers put what belongs to the threads into the resource. */
TEST(schema_in_the_resource)
{
	struct process_context context = {0};

	payload.len = resource.len = 0;
	string_put(&resource, 1, "threadlocal.schema_version", "tls_v1");
	message_put(&payload, 1, &resource);
	CHECK_EQ(process_context_decode(payload.bytes, payload.len, &context), 0);
	CHECK_EQ(context.schema, SCHEMA_TLS);
}

TEST(too_much_is_cut)
{
	struct process_context context = {0};
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	payload_make(text, text, text);
	key_map_put(&payload, 300, 8);
	CHECK_EQ(process_context_decode(payload.bytes, payload.len, &context), 0);
	CHECK_EQ(strlen(context.service), sizeof(context.service) - 1);
	CHECK_EQ(context.keys, PROCESS_CONTEXT_KEYS_MAX);
	CHECK_STR(process_context_key(&context, 255), "k255    ");
	payload.len = 0;
	key_map_put(&payload, 256, 200);
	CHECK_EQ(process_context_decode(payload.bytes, payload.len, &context), 0);
	CHECK_EQ(context.keys, PROCESS_CONTEXT_KEY_BYTES / 201);
}

/* Cut anywhere or changed anywhere: an answer or -EPROTO, and nothing else. */
TEST(malformed)
{
	struct process_context context, untouched;

	payload_make("shop", "fathom", "tls_v1");
	key_map_put(&payload, 20, 8);
	memset(&context, 0x5a, sizeof(context));
	untouched = context;
	CHECK_EQ(process_context_decode("\x0a\x7f", 2, &context), -EPROTO);
	CHECK_EQ(process_context_decode("\x0b", 1, &context), -EPROTO);
	CHECK_EQ(process_context_decode("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10, &context),
		 -EPROTO);
	CHECK_MEM(&context, &untouched, sizeof(context));
	for (size_t len = 0; len < payload.len; len++) {
		int err = process_context_decode(payload.bytes, len, &context);

		CHECK(err == 0 || err == -EPROTO);
	}
	for (size_t i = 0; i < payload.len * 256; i++) {
		unsigned char kept = payload.bytes[i / 256];
		int err;

		payload.bytes[i / 256] = (unsigned char)i;
		err = process_context_decode(payload.bytes, payload.len, &context);
		payload.bytes[i / 256] = kept;
		CHECK(err == 0 || err == -EPROTO);
	}
}

TEST(names_of_the_mapping)
{
	CHECK(process_context_is_mapping("[anon_shmem:OTEL_CTX]"));
	CHECK(process_context_is_mapping("[anon:OTEL_CTX]"));
	CHECK(process_context_is_mapping("/memfd:OTEL_CTX (deleted)"));
	CHECK(process_context_is_mapping("/memfd:OTEL_CTX"));
	CHECK(!process_context_is_mapping("/memfd:OTEL_CTX2"));
	CHECK(!process_context_is_mapping("[anon:OTEL_CTX] x"));
	CHECK(!process_context_is_mapping(""));
}

/* ---- reading a process ---- */

struct header {
	char signature[8];
	u32 version, payload_bytes;
	u64 published_ns, payload;
};

static pid_t child;
static int child_protection = PROT_READ | PROT_WRITE; /* of its mapping, when it is done */

static char *child_letters; /* if set: LETTERS of its payload that it changes again and again */

#define LETTERS 100

/* The time says which letter the payload is full of. */
static void child_update(struct header *header)
{
	struct timespec pause = {.tv_nsec = 1};

	for (u64 n = 1;; n++) {
		__atomic_store_n(&header->published_ns, 0, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		memset(child_letters, 'a' + n % 26, LETTERS);
		__atomic_store_n(&header->published_ns, n, __ATOMIC_SEQ_CST);
		nanosleep(&pause, NULL);
	}
}

/* A child that publishes the payload as a writer without libfathom does. */
static void child_start(const struct header *wanted, bool as_memfd)
{
	int ready[2];
	char byte;

	CHECK_EQ(pipe(ready), 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		int fd = as_memfd ? memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
		struct header *header;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (as_memfd && ftruncate(fd, 4096))
			_exit(1);
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | (as_memfd ? 0 : MAP_ANONYMOUS), fd, 0);
		*header = *wanted;
		if (!as_memfd)
			prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, 4096, "OTEL_CTX");
		if (mprotect(header, 4096, child_protection))
			_exit(1);
		if (write(ready[1], "x", 1) == 1 && child_letters)
			child_update(header);
		pause();
		_exit(0);
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static void child_end(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static struct header header_make(void)
{
	struct header header = {.signature = {'O', 'T', 'E', 'L', '_', 'C', 'T', 'X'},
				.version = 2,
				.payload_bytes = (u32)payload.len,
				.published_ns = 77,
				.payload = (u64)(uintptr_t)payload.bytes};

	return header;
}

static int child_read(const struct header *header, bool as_memfd, struct process_context *context)
{
	int result;

	child_start(header, as_memfd);
	result = process_context_read(child, context, NULL);
	child_end();
	return result;
}

TEST(read_from_a_memfd)
{
	struct process_context context = {0};
	struct header header;

	payload_make("shop", "fathom", "tls_v1");
	header = header_make();
	CHECK_EQ(child_read(&header, true, &context), 1);
	CHECK_EQ(context.published_ns, 77);
	CHECK_STR(context.service, "shop");
}

TEST(read_from_named_memory)
{
	struct process_context context = {0};
	struct header header;
	int result;

	payload_make("shop", "other", NULL);
	header = header_make();
	result = child_read(&header, false, &context);
	if (!result)
		SKIP("this kernel does not name anonymous memory");
	CHECK_EQ(result, 1);
	CHECK_STR(context.service, "shop");
}

TEST(read_what_is_no_context)
{
	struct process_context context;
	struct header header;

	payload_make("shop", "fathom", "tls_v1");
	header = header_make();
	header.version = 3;
	CHECK_EQ(child_read(&header, true, &context), 0);
	header = header_make();
	header.signature[7] = 'Y';
	CHECK_EQ(child_read(&header, true, &context), 0);
	header = header_make();
	header.published_ns = 0; /* being written, forever */
	CHECK_EQ(child_read(&header, true, &context), -EAGAIN);
	header = header_make();
	header.payload_bytes = UINT32_MAX;
	CHECK_EQ(child_read(&header, true, &context), -EPROTO);
	header = header_make();
	header.payload = 16;
	CHECK_EQ(child_read(&header, true, &context), -EFAULT);
	CHECK_EQ(process_context_read(getpid(), &context, NULL), 0);
}

/* A context that changes while it is read is read again, and is never half old and half new. */
TEST(read_while_it_is_updated)
{
	char letters[LETTERS + 1] = "", should[LETTERS + 1] = "";
	struct process_context context;
	struct header header;
	int found = 0, result = 1;

	memset(letters, 'a' + 77 % 26, LETTERS);
	payload_make(letters, "fathom", "tls_v1");
	header = header_make();
	child_letters = memmem(payload.bytes, payload.len, letters, LETTERS);
	CHECK(child_letters != NULL);
	child_start(&header, true);
	child_letters = NULL;
	for (int i = 0; i < 3000 && (result == 1 || result == -EAGAIN); i++) {
		result = process_context_read(child, &context, NULL);
		if (result != 1)
			continue;
		found++;
		memset(should, 'a' + context.published_ns % 26, LETTERS);
		if (strcmp(context.service, should) != 0)
			break;
	}
	child_end();
	CHECK(result == 1 || result == -EAGAIN);
	CHECK(found > 0);
	CHECK_STR(context.service, should);
}

TEST(code_is_no_context)
{
	struct process_context context;
	struct header header;
	int found;

	payload_make("shop", "fathom", "tls_v1");
	header = header_make();
	child_protection = PROT_READ | PROT_EXEC;
	found = child_read(&header, true, &context);
	child_protection = PROT_READ | PROT_WRITE;
	CHECK_EQ(found, 0);
}

TEST_MAIN()
