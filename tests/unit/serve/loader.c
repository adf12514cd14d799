/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/loader.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "serve/entry.h"
#include "tests/unit/check.h"

static char dir_name[64];
static _Atomic int warnings;

static void warn(const char *text)
{
	warnings++;
}

/* Appends an OTLP request without spans, as an entry of that kind. Returns its begin. */
static uint64_t append(struct log *log, uint8_t kind)
{
	struct bytes entry = {0};
	struct log_part part;
	uint64_t begin = log_status(log).end, end = 0;

	CHECK_EQ(entry_encode(&entry, ENTRY_OTLP_PROTOBUF, "", 0), 0);
	entry.data[0] = kind;
	part = (struct log_part){entry.data, entry.count};
	CHECK_EQ(log_append(log, &part, 1, &end), 0);
	CHECK_EQ(log_sync(log, end), 0);
	bytes_free(&entry);
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
	append(loading.log, ENTRY_OTLP_PROTOBUF);
	bad = append(loading.log, 200); /* of a newer fathom */
	append(loading.log, ENTRY_OTLP_PROTOBUF);
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
	log_close(loading.log);
	store_close(store);
	close(loading.log_dir);
	snprintf(name, sizeof(name), "rm -r %s", dir_name);
	CHECK_EQ(system(name), 0);
}

TEST_MAIN()
