/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `fathom up`, as its parts tell it. */
#include "up/status.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "tests/unit/check.h"

/* All run, and nothing is behind. */
static struct board *board_make(void)
{
	struct board *b = board_new();

	CHECK(b != NULL);
	for (int part = 0; part < PARTS; part++) {
		atomic_store(&b->parts[part].state, PART_RUNNING);
		atomic_store(&b->parts[part].pid, getpid());
	}
	atomic_store(&b->capture.sealed_ns, clock_now_ns());
	atomic_store(&b->map.to_ns, clock_now_ns());
	return b;
}

static int append(void *arg, const char *data, size_t bytes)
{
	bytes_put(arg, data, bytes);
	return 0;
}

TEST(all_parts_that_run_are_ok)
{
	struct board *b = board_make();

	CHECK_STR(up_state(b, NULL), "ok");
	CHECK_STR(up_state(b, "loading"), "ok");
	CHECK_STR(up_state(b, "store failed"), "store failed");
}

TEST(a_part_that_died_lags)
{
	struct board *b = board_make();

	atomic_store(&b->parts[PART_MAP].state, PART_WAITING);
	CHECK_STR(up_state(b, NULL), "lagging");
}

TEST(a_part_that_is_off_is_no_lack)
{
	struct board *b = board_make();

	atomic_store(&b->parts[PART_CAPTURE].state, PART_OFF);
	atomic_store(&b->parts[PART_MAP].state, PART_OFF);
	atomic_store(&b->map.to_ns, 1);
	CHECK_STR(up_state(b, NULL), "ok");
}

TEST(a_stage_behind_lags)
{
	uint64_t long_ago = clock_now_ns() - UP_LAG_NS - 1;
	struct board *b = board_make();

	atomic_store(&b->map.to_ns, long_ago);
	CHECK_STR(up_state(b, NULL), "lagging");
	b = board_make();
	atomic_store(&b->serve.behind_since_ns, long_ago);
	CHECK_STR(up_state(b, NULL), "lagging");
}

TEST(what_serve_says_of_itself_reaches_the_document)
{
	struct board *b = board_make();
	struct bytes text = {0};
	const struct json_sink sink = {append, &text};
	struct json j;

	CHECK_STR(up_state(b, "full"), "full");
	atomic_store(&b->map.to_ns, 1);
	CHECK_STR(up_state(b, "store failed"), "store failed");
	CHECK_STR(up_state(b, "ok"), "lagging");
	strcpy(b->serve.state, "log failed");
	atomic_store(&b->serve.failed, EIO);
	json_init(&j, &sink);
	up_status_write(b, &j);
	CHECK_EQ(json_end(&j), 0);
	bytes_put_u8(&text, 0);
	CHECK(strstr((char *)text.data, "\"state\":\"log failed\"") != NULL);
	CHECK(strstr((char *)text.data, "\"log_error\":\"Input/output error\"") != NULL);
	bytes_free(&text);
}

TEST(a_map_that_never_mapped_lags)
{
	struct board *b = board_make();

	atomic_store(&b->map.to_ns, 0);
	atomic_store(&b->capture.begun_ns, clock_now_ns());
	CHECK_STR(up_state(b, NULL), "ok");
	atomic_store(&b->capture.begun_ns, clock_now_ns() - UP_LAG_NS - 1);
	CHECK_STR(up_state(b, NULL), "lagging");
}

TEST(a_full_disk_is_told_before_all_else)
{
	struct board *b = board_make();

	atomic_store(&b->parts[PART_MAP].state, PART_WAITING);
	strcpy(b->serve.error, "cannot write x: No space left on device");
	CHECK_STR(up_state(b, "store failed"), "full");
}

TEST(a_process_is_told_with_its_memory)
{
	struct board *b = board_make();
	struct bytes text = {0};
	const struct json_sink sink = {append, &text};
	struct json j;

	strcpy(b->parts[PART_SERVE].why, "it \"broke\"");
	json_init(&j, &sink);
	up_status_write(b, &j);
	CHECK_EQ(json_end(&j), 0);
	bytes_put_u8(&text, 0);
	CHECK(strstr((char *)text.data, "\"name\":\"serve\",\"state\":\"running\"") != NULL);
	CHECK(strstr((char *)text.data, "\"why\":\"it \\\"broke\\\"\"") != NULL);
	CHECK(strstr((char *)text.data, "\"memory_bytes\":0") !=
	      NULL); /* of the supervisor, pid 0 */
	bytes_free(&text);
}

TEST(texts_without_an_end_are_cut)
{
	struct board *b = board_make();
	struct bytes text = {0};
	const struct json_sink sink = {append, &text};
	struct json j;

	memset(b->user, 'u', sizeof(b->user));
	memset(b->dir, 'd', sizeof(b->dir));
	memset(&b->serve.addresses, 'a', sizeof(b->serve.addresses) - 1);
	memset(b->serve.error, 'e', sizeof(b->serve.error));
	memset(b->parts[PART_MAP].why, 'w', sizeof(b->parts[PART_MAP].why));
	json_init(&j, &sink);
	up_status_write(b, &j);
	CHECK_EQ(json_end(&j), 0);
	bytes_put_u8(&text, 0);
	CHECK(strstr((char *)text.data, "uuu\",") != NULL);
	CHECK(strstr((char *)text.data, "ddd\",") != NULL);
	CHECK(strstr((char *)text.data, "aaa\",\"otlp-http\":\"aaa") != NULL);
	CHECK(text.count < 4096 + 10 * ERROR_TEXT_BYTES);
	bytes_free(&text);
}

TEST(a_missing_store_says_so_and_is_no_lag)
{
	static const char document[] =
		"\"store\":{\"spans\":0,\"bytes\":0,\"behind_bytes\":0,\"error\":\"none\","
		"\"state\":\"missing\",\"unlisted_spans\":0,\"lost_files\":0,\"log_lost_bytes\":0,"
		"\"log_cut_bytes\":0,\"free_bytes\":0,\"min_free_bytes\":0}";
	struct board *b = board_make();
	struct bytes text = {0};
	const struct json_sink sink = {append, &text};
	struct json j;

	atomic_store(&b->parts[PART_SERVE].state, PART_OFF);
	atomic_store(&b->serve.store_missing, true);
	strcpy(b->serve.error, "none");
	CHECK_STR(up_state(b, NULL), "ok");
	json_init(&j, &sink);
	up_status_write(b, &j);
	CHECK_EQ(json_end(&j), 0);
	bytes_put_u8(&text, 0);
	CHECK(strstr((const char *)text.data, document));
	bytes_free(&text);
}

TEST_MAIN()
