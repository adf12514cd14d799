/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context_show PID: what is found out about the context of a process, one JSON
 * object per line: the process, then each thread that publishes a span now.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/context/locate.h"
#include "capture/context/process.h"
#include "tests/unit/capture/context/remote.h"

static void hex_print(const unsigned char *bytes, int len)
{
	for (int i = 0; i < len; i++)
		printf("%02x", bytes[i]);
}

static void thread_show(pid_t tid, const struct context_location *location)
{
	struct context context;

	if (context_read_remote(tid, location, &context, NULL) != 1)
		return;
	printf("{\"tid\":%d,\"trace\":\"", tid);
	hex_print(context.trace, sizeof(context.trace));
	printf("\",\"span\":\"");
	hex_print(context.span, sizeof(context.span));
	printf("\"}\n");
}

static int process_show(pid_t pid, struct context_location *location)
{
	static struct process_context context;
	struct error e = {0};
	int located = context_locate(NULL, pid, location, &e);
	int described = located < 0 ? 0 : process_context_read(pid, &context, &e);

	if (located < 0 || described < 0) {
		fprintf(stderr, "context_show: %s\n", e.text);
		return 1;
	}
	printf("{\"located\":%d,\"dynamic\":%d,\"described\":%d,\"schema\":\"%s\","
	       "\"language\":\"%s\",\"keys\":%d}\n",
	       located, located ? location->dynamic : 0, described, context.schema_name,
	       context.language, context.keys);
	return 0;
}

int main(int argc, char **argv)
{
	struct context_location location = {0};
	pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	if (pid <= 0)
		return 2;
	if (process_show(pid, &location))
		return 1;
	if (!location.known)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0)
			thread_show(atoi(entry->d_name), &location);
	if (tasks)
		closedir(tasks);
	return 0;
}
