/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's process context (OTEP 4719) is a mapping that readers outside the process find by
 * its name:
 *
 *	offset size field
 *	0      8    "OTEL_CTX"
 *	8      4    version, 2
 *	12     4    payload size
 *	16     8    published at, CLOCK_BOOTTIME; 0 while it is being changed
 *	24     8    address of the payload, which follows in the same mapping
 */
#include "lib/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lib/memory_file.h"
#include "lib/protobuf_write.h"
#include "lib/quiet.h"
#include "lib/ring_file.h"
#include "lib/thread.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define CONTEXT_BYTES 4096
#define TEXT_BYTES 1024

struct process_context {
	char signature[8];
	u32 version;
	u32 payload_bytes;
	u64 published_ns;
	u64 payload;
	u8 data[CONTEXT_BYTES - 32];
};

struct identity_text {
	char text[TEXT_BYTES]; /* key, NUL, value, NUL, ...; service.name first */
	size_t bytes;
};

static struct {
	struct identity_text is;
	bool stands_down;
	bool beside; /* another copy of this library publishes */
	struct process_context *context;
} identity;

/*
 * Takes the identity if no thread has it. In a child whose fork handlers did not run, the thread of
 * the parent that had it does not exist, and has another pid.
 */
static bool identity_try(u32 pid)
{
	u32 *word = &fathom_process.own->busy, busy = __atomic_load_n(word, __ATOMIC_RELAXED);

	return busy != pid && __atomic_compare_exchange_n(word, &busy, pid, false, __ATOMIC_ACQUIRE,
							  __ATOMIC_RELAXED);
}

/*
 * Takes the identity, and waits for it if necessary. False after a while, since our own thread may
 * have it, below a signal handler. Once a wait was in vain, no thread of the process waits again,
 * until the identity was given back after all.
 */
static bool identity_take(void)
{
	u32 pid = (u32)getpid(), *kept = &fathom_process.own->kept;

	for (int i = 0; i < QUIET_TRIES; i++) {
		if (identity_try(pid)) {
			__atomic_store_n(kept, 0, __ATOMIC_RELAXED);
			return true;
		}
		if (__atomic_load_n(kept, __ATOMIC_RELAXED) == pid)
			return false;
		fathom_quiet_wait(i);
	}
	__atomic_store_n(kept, pid, __ATOMIC_RELAXED);
	return false;
}

static void identity_give(void)
{
	__atomic_store_n(&fathom_process.own->busy, 0, __ATOMIC_RELEASE);
}

/* Replaces the value of a key, or appends both. 0 or -E2BIG. */
static int text_set(struct identity_text *t, const char *key, const char *value)
{
	size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
	size_t at = 0, old = 0;

	while (at < t->bytes) {
		size_t k = strlen(t->text + at) + 1;
		size_t v = strlen(t->text + at + k) + 1;

		if (strcmp(t->text + at, key) == 0) {
			old = k + v;
			break;
		}
		at += k + v;
	}
	if (t->bytes - old + key_bytes + value_bytes > TEXT_BYTES)
		return -E2BIG;
	memmove(t->text + at + key_bytes + value_bytes, t->text + at + old, t->bytes - at - old);
	memcpy(t->text + at, key, key_bytes);
	memcpy(t->text + at + key_bytes, value, value_bytes);
	t->bytes += key_bytes + value_bytes - old;
	return 0;
}

void fathom_identity_start(void)
{
	struct identity_text *t = &identity.is;
	const char *name = secure_getenv("FATHOM_SERVICE");

	if (!name || !*name)
		name = secure_getenv("OTEL_SERVICE_NAME");
	text_set(t, "service.name", program_invocation_short_name);
	text_set(t, "telemetry.sdk.name", "fathom");
	text_set(t, "telemetry.sdk.language", "c");
	text_set(t, "telemetry.sdk.version", FATHOM_VERSION);
	if (name && *name) /* last, so that a long name takes no room from the others */
		text_set(t, "service.name", name);
}

size_t fathom_identity_text(char *out, size_t size)
{
	struct quiet quiet;
	size_t bytes = 0;

	fathom_quiet_begin(&quiet);
	if (identity_try((u32)getpid())) {
		bytes = identity.is.bytes <= size ? identity.is.bytes : 0;
		memcpy(out, identity.is.text, bytes);
		identity_give();
	}
	fathom_quiet_end(&quiet);
	return bytes;
}

/* Writes the attributes of the resource; with NULL only computes their length. */
static size_t resource_encode(struct protobuf *out)
{
	size_t bytes = 0;

	for (size_t at = 0; at < identity.is.bytes;) {
		const char *key = identity.is.text + at;
		const char *value = key + strlen(key) + 1;

		if (out)
			protobuf_attribute(out, 1, key, value);
		bytes += protobuf_attribute_bytes(key, value);
		at += strlen(key) + strlen(value) + 2;
	}
	return bytes;
}

static u32 context_encode(u8 *out, size_t size)
{
	struct protobuf all;

	protobuf_init(&all, out, size);
	protobuf_varint(&all, 1 << 3 | 2);
	protobuf_varint(&all, resource_encode(NULL));
	resource_encode(&all);
	protobuf_attribute(&all, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	protobuf_empty_array(&all, 2, "threadlocal.attribute_key_map");
	return all.full ? 0 : (u32)all.bytes;
}

/* Writes the mapping and announces it. The caller has taken the identity. */
static void context_write(struct process_context *context)
{
	u64 before = context->published_ns, now = clock_read_ns(CLOCK_BOOTTIME);

	__atomic_store_n(&context->published_ns, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(context->signature, "OTEL_CTX", 8);
	context->version = 2;
	context->payload = (u64)(uintptr_t)context->data;
	context->payload_bytes = context_encode(context->data, sizeof(context->data));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&context->published_ns, now > before ? now : before + 1, __ATOMIC_RELEASE);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, context, CONTEXT_BYTES, "OTEL_CTX");
}

static struct process_context *context_map(void)
{
	const unsigned int how = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = fathom_memory_file_create("OTEL_CTX", how | MFD_NOEXEC_SEAL, CONTEXT_BYTES);
	int flags = MAP_PRIVATE;
	void *map;

	if (fd < 0)
		fd = fathom_memory_file_create("OTEL_CTX", how, CONTEXT_BYTES);
	if (fd < 0)
		flags |= MAP_ANONYMOUS;
	map = mmap(NULL, CONTEXT_BYTES, PROT_READ | PROT_WRITE, flags,
		   flags & MAP_ANONYMOUS ? -1 : fd, 0);
	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return NULL;
	madvise(map, CONTEXT_BYTES, MADV_DONTFORK);
	return map;
}

/* Whether a line of /proc/self/maps names a process context. */
static bool line_is_context(const char *line)
{
	const char *name = strchr(line, '/');

	if (!name)
		name = strchr(line, '[');
	return name &&
	       (strncmp(name, "/memfd:OTEL_CTX", 15) == 0 || strcmp(name, "[anon:OTEL_CTX]") == 0 ||
		strcmp(name, "[anon_shmem:OTEL_CTX]") == 0);
}

/* The inode in a line of /proc/self/maps: the fifth word. */
static u64 line_inode(const char *line)
{
	for (int i = 0; i < 4; i++) {
		line = strchr(line, ' ');
		if (!line)
			return 0;
		line++;
	}
	return strtoul(line, NULL, 10);
}

/* Mappings of other libraries in this process. */
struct mapped {
	bool context, ring;
};

/* Notes what a line shows. Our own ring, which is mapped in several parts, does not count. */
static void line_judge(const char *line, struct mapped *mapped)
{
	mapped->context |= line_is_context(line);
	mapped->ring |= strstr(line, "/memfd:" APP_RING_NAME) != NULL &&
			!fathom_ring_is(line_inode(line));
}

/* Reads which mappings other libraries have. To be called before we have a context. */
static struct mapped mapped_read(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char block[1024], line[160]; /* the stack may be that of a handler */
	struct mapped mapped = {0};
	size_t filled = 0;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, block, sizeof(block))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (block[i] != '\n') {
				if (filled < sizeof(line) - 1)
					line[filled++] = block[i];
				continue;
			}
			line[filled] = '\0';
			filled = 0;
			line_judge(line, &mapped);
		}
	}
	if (fd >= 0)
		close(fd);
	return mapped;
}

int fathom_identity_publish(void)
{
	u32 *looked = &fathom_process.own->looked, pid = (u32)getpid();
	struct process_context *context;
	struct mapped mapped;

	if (__atomic_load_n(looked, __ATOMIC_ACQUIRE) == pid)
		return 0;
	if (!identity_take())
		return -EBUSY;
	if (*looked != pid) {
		identity.context = NULL; /* a forked child has no mapping any more */
		mapped = mapped_read();
		identity.stands_down = mapped.context;
		identity.beside = mapped.context && mapped.ring;
		context = identity.stands_down ? NULL : context_map();
		if (context)
			context_write(context);
		identity.context = context;
		__atomic_store_n(looked, pid, __ATOMIC_RELEASE);
	}
	identity_give();
	return 0;
}

bool fathom_identity_stands_down(void)
{
	return identity.stands_down;
}

bool fathom_identity_is_beside(void)
{
	return identity.beside;
}

void fathom_identity_forked(void)
{
	fathom_process.own->busy = 0; /* a thread that had it is not in this process */
	fathom_process.own->kept = 0;
	fathom_process.own->looked = 0;
	identity.context = NULL;
}

void fathom_identity_withdraw(void)
{
	struct process_context *context;

	__atomic_store_n(&fathom_process.own->kept, 0, __ATOMIC_RELAXED); /* do wait */
	if (!identity_take())
		return;
	context = fathom_process.own->looked == (u32)getpid() ? identity.context : NULL;
	identity.context = NULL;
	identity_give();
	if (!context)
		return;
	__atomic_store_n(&context->published_ns, 0, __ATOMIC_RELEASE);
	/* readers are notified by the name, look once more, and find no context */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, context, CONTEXT_BYTES, "OTEL_CTX");
	munmap(context, CONTEXT_BYTES);
}

int fathom_identity_replace(u32 pid, const struct identity_attribute *attributes, size_t count)
{
	struct identity_text text;
	int err = 0;

	if (!identity_take())
		return -EBUSY;
	text = identity.is;
	for (size_t i = 0; i < count && !err; i++) {
		if (attributes[i].value)
			err = text_set(&text, attributes[i].key, attributes[i].value);
	}
	if (!err)
		identity.is = text;
	if (!err && identity.context && fathom_process.own->looked == pid)
		context_write(identity.context);
	identity_give();
	return err;
}
