/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "serve/entry.h"
#include "serve/route.h"
#include "tests/unit/serve/http.h"

#define POST "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost"

/* A span with ids, and one without. */
static const unsigned char good[] = "\x0a\x20\x12\x1e\x12\x1c\x0a\x10"
				    "abcdefghijklmnop"
				    "\x12\x08"
				    "ABCDEFGH";
static const unsigned char bad[] = "\x0a\x04\x12\x02\x12\x00";
#define GOOD_BYTES (sizeof(good) - 1)
#define BAD_BYTES (sizeof(bad) - 1)

static char folder[] = "/tmp/fathom-receiver-XXXXXX";
static int dir;
static struct log *the_log;
static struct counts counts;
static struct receive_limits limits;
static struct access *access_of_all;
static atomic_size_t pending;
static struct quota answers;
static struct page *page;
static struct receiver *receiver;
static union address address;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	return remove(path);
}

static int document_make(struct query *q)
{
	for (int i = 0; i < 10000; i++)
		bytes_put(q->body, "0123456789", 10);
	return 200;
}

static int failure_make(struct query *q)
{
	return error_set(q->e, EIO, "cannot read \"it\"");
}

static const struct route routes[] = {{"/document", document_make},
				      {"/own/document", document_make},
				      {"/own/failure", failure_make},
				      {"/owner", failure_make},
				      {NULL, NULL}};

static void begin(const struct receive_limits *limits_wanted)
{
	static const struct route *const tables[] = {routes, NULL};
	const struct receiver_options options = {.protocol = &protocol_otlp,
						 .to = {.log = the_log,
							.counts = &counts,
							.access = access_of_all,
							.limits = &limits,
							.pending_bytes = &pending},
						 .queries = {{.access = access_of_all,
							      .page = page,
							      .limits = &limits,
							      .answers = &answers},
							     tables,
							     "/own"}};
	struct log_options log_options = {0};
	struct receiver_options with = options;
	int fd;

	strcpy(folder, "/tmp/fathom-receiver-XXXXXX");
	CHECK(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY);
	CHECK_EQ(log_open(dir, &log_options, &the_log, NULL), 0);
	CHECK_EQ(access_open(&(struct access_options){0}, &access_of_all, NULL), 0);
	limits = *limits_wanted;
	counts = (struct counts){0};
	answers.limit_bytes = 1 << 20;
	with.to.log = the_log;
	with.to.access = with.queries.source.access = access_of_all;
	fd = http_listen(&address);
	CHECK_EQ(receiver_start(fd, &with, &receiver), 0);
}

static void end(void)
{
	receiver_stop(receiver);
	CHECK_EQ(pending, 0);
	CHECK_EQ(answers.used, 0);
	access_close(access_of_all);
	CHECK_EQ(log_close(the_log), 0);
	close(dir);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int entries(void)
{
	struct log_reader *reader;
	struct log_entry entry;
	int count = 0;

	CHECK_EQ(log_reader_open(dir, 0, &reader, NULL), 0);
	while (log_reader_next(reader, log_status(the_log).synced, &entry, NULL) > 0) {
		struct bytes body = {0};
		enum entry_kind kind;

		CHECK_EQ(entry_decode(entry.data, entry.bytes, &kind, &body), 0);
		CHECK_EQ(body.count, GOOD_BYTES);
		CHECK_MEM(body.data, good, GOOD_BYTES);
		bytes_free(&body);
		count++;
	}
	log_reader_close(reader);
	return count;
}

TEST(what_is_acknowledged_is_durable)
{
	begin(&RECEIVE_LIMITS_DEFAULT);
	for (int i = 1; i <= 3; i++) {
		CHECK_EQ(http_status(http_ask(&address, POST, good, GOOD_BYTES)), 200);
		CHECK_EQ(entries(), i);
	}
	CHECK_EQ(counts.requests_accepted, 3);
	CHECK_EQ(counts.spans_accepted, 3);
	end();
}

TEST(what_has_nothing_to_keep_is_not_logged)
{
	begin(&RECEIVE_LIMITS_DEFAULT);
	CHECK_EQ(http_status(http_ask(&address, POST, "", 0)), 200);
	CHECK_EQ(http_status(http_ask(&address, POST, bad, BAD_BYTES)), 200);
	CHECK_EQ(counts.spans_rejected, 1);
	CHECK_EQ(http_status(http_ask(&address, POST, good, GOOD_BYTES - 1)), 400);
	CHECK_EQ(http_status(
			 http_ask(&address, POST "\r\nContent-Encoding: gzip", good, GOOD_BYTES)),
		 400);
	CHECK_EQ(counts.requests_refused, 2);
	CHECK_EQ(entries(), 0);
	end();
}

TEST(limits_are_those_that_were_chosen)
{
	struct receive_limits small = RECEIVE_LIMITS_DEFAULT;
	static unsigned char large[5000];

	small.body_bytes = 1000;
	begin(&small);
	CHECK_EQ(http_status(http_ask(&address, POST, large, 1001)), 413);
	end();
	small.body_bytes = 10000;
	small.pending_bytes = 2000;
	begin(&small);
	CHECK(strstr(http_ask(&address, POST, large, 5000), "Retry-After: "));
	CHECK_EQ(http_status(http_ask(&address, POST, large, 5000)), 429);
	CHECK_EQ(http_status(http_ask(&address, POST, good, GOOD_BYTES)), 200);
	end();
}

TEST(a_request_that_trickles_is_ended)
{
	struct receive_limits small = RECEIVE_LIMITS_DEFAULT;
	uint64_t begun_ns = clock_now_ns();
	int fd, other;

	small.request_ns = 300000000;
	begin(&small);
	fd = http_connect(&address);
	other = http_connect(&address); /* says nothing at all */
	/* each byte comes in time, the request does not */
	while (send(fd, "P", 1, MSG_NOSIGNAL) == 1)
		CHECK(clock_now_ns() - begun_ns < 20 * (uint64_t)1000000000);
	http_read(other);
	CHECK(clock_now_ns() - begun_ns < 20 * (uint64_t)1000000000);
	close(fd);
	close(other);
	CHECK_EQ(http_status(http_ask(&address, POST, good, GOOD_BYTES)), 200);
	end();
}

TEST(queries_have_the_other_paths)
{
	const char *answer;

	begin(&RECEIVE_LIMITS_DEFAULT);
	answer = http_ask(&address, GET("/document"), "", 0);
	CHECK_EQ(http_status(answer), 200);
	CHECK(strstr(answer, "X-Content-Type-Options: nosniff"));
	CHECK(strlen(strstr(answer, "\r\n\r\n")) > 60000);
	CHECK_EQ(http_status(http_ask(&address, GET("/nothing"), "", 0)), 404);
	CHECK_EQ(
		http_status(http_ask(&address, "PUT /document HTTP/1.1\r\nHost: localhost", "", 0)),
		405);
	CHECK_EQ(http_status(http_ask(&address, "GET /document HTTP/1.1\r\nHost: evil", "", 0)),
		 403);
	answers.limit_bytes = 50000;
	answer = http_ask(&address, GET("/document"), "", 0);
	CHECK_EQ(http_status(answer), 503);
	CHECK(strstr(answer, "Retry-After: "));
	end();
}

/* Of an answer that is an error of fathom's own API, why; else "". */
static const char *own_why(const char *answer)
{
	static const char begin[] = "\r\n\r\n{\"version\":1,\"error\":\"";
	const char *why = strstr(answer, begin);

	return why && strstr(answer, "Content-Type: application/json\r\n") ? why + sizeof(begin) - 1
									   : "";
}

TEST(errors_of_the_own_api_are_json)
{
	const char *answer;

	begin(&RECEIVE_LIMITS_DEFAULT);
	answer = http_ask(&address, GET("/own/failure"), "", 0);
	CHECK_EQ(http_status(answer), 500);
	CHECK_STR(own_why(answer), "cannot read \\\"it\\\": Input/output error\"}\n");
	answer = http_ask(&address, GET("/own/nothing"), "", 0);
	CHECK_EQ(http_status(answer), 404);
	CHECK_STR(own_why(answer), "there is no such path\"}\n");
	answer = http_ask(&address, "GET /own/document HTTP/1.1\r\nHost: evil", "", 0);
	CHECK_EQ(http_status(answer), 403);
	CHECK_STR(own_why(answer), ACCESS_FOREIGN "\"}\n");
	answers.limit_bytes = 50000;
	answer = http_ask(&address, GET("/own/document"), "", 0);
	CHECK_EQ(http_status(answer), 503);
	CHECK(strstr(answer, "Retry-After: ") && *own_why(answer));
	answer = http_ask(&address, GET("/owner"), "", 0);
	CHECK_EQ(http_status(answer), 500);
	CHECK(strstr(answer, "\r\n\r\ncannot read \"it\""));
	end();
}

static void file_make(const char *name, const char *text)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/page/%s", folder, name);
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0);
	fclose(file);
}

static void page_make(const char *base)
{
	char path[200], outside[200];
	struct error e = {0};

	strcpy(folder, "/tmp/fathom-receiver-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/page", folder);
	CHECK_EQ(page_open(path, base, &page, &e), -ENOENT);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(page_open(path, base, &page, &e), -ENOENT);
	file_make("index.html", "<the page>");
	file_make("a.js", "the script");
	file_make("../secret.txt", "the secret");
	snprintf(outside, sizeof(outside), "%s/page/link.txt", folder);
	CHECK_EQ(symlink("../secret.txt", outside), 0);
	CHECK_EQ(page_open(path, base, &page, &e), 0);
}

static void page_remove(void)
{
	page_close(page);
	page = NULL;
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TEST(a_page_is_served_unchanged)
{
	char pages[sizeof(folder)];
	const char *answer;

	page_make("/ui/");
	strcpy(pages, folder);
	begin(&RECEIVE_LIMITS_DEFAULT);
	answer = http_ask(&address, GET("/ui/"), "", 0);
	CHECK(strstr(answer, "Content-Type: text/html"));
	CHECK(strstr(answer, "\r\n\r\n<the page>"));
	answer = http_ask(&address, GET("/ui/a.js"), "", 0);
	CHECK(strstr(answer, "Content-Type: text/javascript"));
	CHECK(strstr(answer, "\r\n\r\nthe script"));
	/* places in the page */
	CHECK(strstr(http_ask(&address, GET("/ui/trace/abc"), "", 0), "<the page>"));
	/* the way there */
	answer = http_ask(&address, GET("/"), "", 0);
	CHECK_EQ(http_status(answer), 302);
	CHECK(strstr(answer, "Location: /ui/\r\n"));
	CHECK_EQ(http_status(http_ask(&address, GET("/ui"), "", 0)), 302);
	/* the query API goes first */
	CHECK(strstr(http_ask(&address, GET("/document"), "", 0), "0123456789"));
	end();
	strcpy(folder, pages);
	page_remove();
}

TEST(nothing_else_is_served)
{
	static const char *const heads[] = {GET("/ui/b.js"),
					    GET("/ui/../secret.txt"),
					    GET("/ui/%2e%2e/secret.txt"),
					    GET("/ui//etc/passwd.txt"),
					    GET("/ui/link.txt"),
					    GET("/ui/api/x"),
					    GET("/other")};
	char pages[sizeof(folder)];

	page_make("/ui/");
	strcpy(pages, folder);
	begin(&RECEIVE_LIMITS_DEFAULT);
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		const char *answer = http_ask(&address, heads[i], "", 0);

		if (http_status(answer) != 404)
			CHECK_FAIL("%s: %s", heads[i], answer);
	}
	CHECK_EQ(http_status(http_ask(&address, "PUT /ui/a.js HTTP/1.1\r\nHost: localhost", "", 0)),
		 404);
	end();
	strcpy(folder, pages);
	page_remove();
}

TEST(an_ambiguous_length_is_refused)
{
	const char *answer;
	int fd;

	begin(&RECEIVE_LIMITS_DEFAULT);
	fd = http_connect(&address);
	http_write(fd, POST "\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
		   strlen(POST "\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n"));
	answer = http_read(fd); /* the server closes */
	CHECK_EQ(http_status(answer), 400);
	close(fd);
	end();
}

TEST_MAIN()
