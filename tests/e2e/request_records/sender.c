/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: sender [COUNT]: sends messages to itself over a Unix socket, COUNT from its main thread
 * and as many from another one, or, without COUNT, for ever. With publisher/go.c its main thread
 * seems to run a goroutine. A variable of its own makes the place of Go's another one than usual.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

__thread char volatile others[100] = {1};
static int ends[2];

static void *messages_send(void *count)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char byte = others[0];

	for (long i = 0; !count || i < *(long *)count; i++) {
		if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
			abort();
		if (!count)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	messages_send(argc > 1 ? &count : NULL);
	if (pthread_create(&thread, NULL, messages_send, &count))
		return 1;
	return pthread_join(thread, NULL);
}
