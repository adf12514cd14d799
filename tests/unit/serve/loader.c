/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/protobuf.h"
#include "serve/entry.h"
#include "tests/unit/check.h"

static char dir_name[64];
static _Atomic int warnings;

static void warn(const char *text)
{
	warnings++;
}

/* A message as a field of another one. */
static void message_put(struct bytes *to, uint32_t number, const struct bytes *message)
{
	bytes_put_varint(to, number << 3 | PROTOBUF_BYTES);
	bytes_put_varint(to, message->count);
	bytes_put(to, message->data, message->count);
}

/* An OTLP request with so many spans. */
static struct bytes request_make(uint64_t count)
{
	struct bytes spans = {0}, scope = {0}, request = {0};

	for (uint64_t i = 1; i <= count; i++) {
		struct bytes span = {0};

		bytes_put(&span, "\x0a\x10", 2);
		bytes_put_u64(&span, 1);
		bytes_put_u64(&span, i);
		bytes_put(&span, "\x12\x08", 2);
		bytes_put_u64(&span, i);
		message_put(&spans, 2, &span);
		bytes_free(&span);
	}
	message_put(&scope, 2, &spans);
	message_put(&request, 1, &scope);
	CHECK(!spans.failed && !scope.failed && !request.failed);
	bytes_free(&spans);
	bytes_free(&scope);
	return request;
}

/* Appends an OTLP request, as an entry of that kind. Returns its begin. */
static uint64_t append(struct log *log, uint8_t kind, uint64_t spans)
{
	struct bytes entry = {0}, request = request_make(spans);
	struct log_part part;
	uint64_t begin = log_status(log).end, end = 0;

	CHECK_EQ(entry_encode(&entry, ENTRY_OTLP_PROTOBUF, request.data, request.count), 0);
	entry.data[0] = kind;
	part = (struct log_part){entry.data, entry.count};
	CHECK_EQ(log_append(log, &part, 1, &end), 0);
	CHECK_EQ(log_sync(log, end), 0);
	bytes_free(&entry);
	bytes_free(&request);
	return begin;
}

static bool is_stored(const struct store *store, uint64_t position)
{
	const struct timespec pause = {0, 20000000};

	for (int i = 0; i < 3000 && store_position(store) < position; i++)
		nanosleep(&pause, NULL);
	return store_position(store) >= position;
}

static struct store *store_make(void)
{
	struct error e = {0};
	struct store *store = NULL;
	int err;

	snprintf(dir_name, sizeof(dir_name), "/tmp/fathom-loader-XXXXXX");
	CHECK(mkdtemp(dir_name));
	err = store_open(&(struct store_options){.dir = dir_name}, &store, &e);
	if (err == -ELIBACC) {
		rmdir(dir_name);
		SKIP("%.200s", e.text);
	}
	CHECK_EQ(err, 0);
	return store;
}

static void all_close(const struct loader_options *loading)
{
	char command[100];

	log_close(loading->log);
	store_close(loading->store);
	close(loading->log_dir);
	snprintf(command, sizeof(command), "rm -r %s", dir_name);
	CHECK_EQ(system(command), 0);
}

TEST(an_entry_that_fails_alone_is_kept_and_passed_over)
{
	struct store *store = store_make();
	struct counts counts = {.lock = PTHREAD_MUTEX_INITIALIZER};
	const struct log_options options = {0};
	struct loader_options loading = {.store = store, .counts = &counts, .warn = warn};
	struct loader *loader;
	char name[100];
	uint64_t bad;

	loading.log_dir = open(dir_name, O_RDONLY | O_DIRECTORY);
	CHECK_EQ(log_open(loading.log_dir, &options, &loading.log, NULL), 0);
	append(loading.log, ENTRY_OTLP_PROTOBUF, 0);
	bad = append(loading.log, 200, 0); /* of a newer fathom */
	append(loading.log, ENTRY_OTLP_PROTOBUF, 0);
	CHECK_EQ(loader_start(&loading, &loader), 0);
	loader_wake(loader);
	CHECK(is_stored(store, log_status(loading.log).end));
	loader_stop(loader);
	CHECK_EQ(atomic_load(&counts.entries_refused), 1);
	CHECK(atomic_load(&counts.store_failures) > 1);
	CHECK_EQ(atomic_load(&counts.entries_bad), 0);
	CHECK(warnings > 0);
	CHECK_STR(counts.store_error, "");
	snprintf(name, sizeof(name), "refused-%llu", (unsigned long long)bad);
	CHECK_EQ(faccessat(loading.log_dir, name, R_OK, 0), 0);
	CHECK_EQ(unlinkat(loading.log_dir, name, 0), 0);
	all_close(&loading);
}

/* The first spans of the entry were stored before, and it fills more than a group of rows. */
TEST(the_rest_of_an_entry_is_stored_once)
{
	const uint64_t count = STORE_GROUP_SPANS + 5000, before = 100;
	struct store *store = store_make();
	struct counts counts = {.lock = PTHREAD_MUTEX_INITIALIZER};
	const struct log_options options = {0};
	struct loader_options loading = {.store = store, .counts = &counts, .warn = warn};
	struct store_counts stored;
	struct loader *loader;

	loading.log_dir = open(dir_name, O_RDONLY | O_DIRECTORY);
	CHECK_EQ(log_open(loading.log_dir, &options, &loading.log, NULL), 0);
	CHECK_EQ(store_commit_part(store, append(loading.log, ENTRY_OTLP_PROTOBUF, count), before,
				   NULL),
		 0);
	CHECK_EQ(loader_start(&loading, &loader), 0);
	loader_wake(loader);
	CHECK(is_stored(store, log_status(loading.log).end));
	loader_stop(loader);
	CHECK_EQ(store_count(store, &stored, NULL), 0);
	CHECK_EQ(stored.spans, count - before);
	CHECK_EQ(atomic_load(&counts.spans_stored), count - before);
	CHECK_EQ(atomic_load(&counts.store_failures), 0);
	CHECK_EQ(store_passed(store), 0);
	all_close(&loading);
}

TEST_MAIN()
