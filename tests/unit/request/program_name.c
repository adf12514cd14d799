/* SPDX-License-Identifier: Apache-2.0 */
/* What processes are called after their programs. */
#include "request/program_name.h"

#include "map/apply.h"

/* A snapshot of a process whose command is its name, its executable, and its arguments. */
static const char *named(const char *command, size_t bytes)
{
	static char text[256];
	struct partial *p = partial_new(NULL);
	struct record_process r = {
		.head = {.kind = RECORD_process, .time_ns = 10, .tid = 5, .pid = 5}, .start_ns = 1};

	CHECK(p != NULL);
	memcpy(r.command, command, bytes);
	r.command_len = (u16)bytes;
	partial_cover(p, 1, 100);
	apply(p, &r);
	CHECK_EQ(partial_finish(p), 0);
	program_name(p, 5, 50, text, sizeof(text));
	partial_free(p);
	return text;
}

#define NAMED(command) named(command, sizeof(command))

TEST(a_program)
{
	CHECK_STR(NAMED("nginx\0/usr/sbin/nginx\0nginx: worker process"), "nginx");
	CHECK_STR(NAMED("redis-server\0/usr/bin/redis-server\0redis-server *:6379"),
		  "redis-server");
	CHECK_STR(NAMED("redis-server\0/usr/bin/redis-check-rdb\0redis-server 127.0.0.1:6379"),
		  "redis-server");
	CHECK_STR(NAMED("a\0/usr/bin/busybox\0/bin/a\0-b"), "a");
	CHECK_STR(NAMED("old\0/opt/old (deleted)\0old\0--port\08080"), "old");
}

TEST(a_script)
{
	CHECK_STR(NAMED("python3\0/usr/bin/python3.11\0python3\0/srv/app.py\0--port\01"),
		  "python3 app.py");
	CHECK_STR(NAMED("python3\0/usr/bin/python3\0python3\0-u\0app.py"), "python3 app.py");
	CHECK_STR(NAMED("app.py\0/usr/bin/python3\0/usr/bin/python3\0./app.py"), "python3 app.py");
	CHECK_STR(NAMED("python3\0/usr/bin/python3\0python3\0-m\0http.server\08000"),
		  "python3 -m http.server");
	CHECK_STR(NAMED("python3\0/usr/bin/python3\0python3\0-c\0import this"), "python3 -c");
	CHECK_STR(NAMED("node\0/usr/bin/node\0node\0--require\0./hook.js\0/srv/index.js"),
		  "node index.js");
	CHECK_STR(NAMED("java\0/usr/bin/java\0java\0-Xmx1g\0-cp\0lib\0-jar\0/opt/shop.jar"),
		  "java -jar shop.jar");
	CHECK_STR(NAMED("bash\0/bin/bash\0bash"), "bash");
}

TEST(a_name_alone)
{
	struct partial *p = partial_new(NULL);
	char text[64];

	partial_cover(p, 1, 100);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_STR(program_name(p, 5, 50, text, sizeof(text)), "?");
	partial_free(p);
}

/* What a hostile process calls itself may end anywhere. */
TEST(any_end)
{
	static const char command[] = "python3\0/usr/bin/python3\0python3\0-m\0http.server";

	for (size_t bytes = 0; bytes < sizeof(command); bytes++)
		CHECK(named(command, bytes) != NULL);
}

TEST_MAIN()
