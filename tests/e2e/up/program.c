/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes spans when it is told to:
 *
 *	e2e-up-program
 *
 * Each line of its input, "MS" or "MS error", makes a span "request" that sleeps for so long, with
 * a child "inner" that asks for its parent's pid. It prints the span's traceparent when it ends.
 * "serve" makes it listen, and prints the port: each byte of the next connection is a request, with
 *a span "answer" and an answer of one byte.
 */
#include <arpa/inet.h>
#include <fathom/fathom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void request(long ms, int is_error)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	struct fathom_span span = fathom_span_begin("request"), inner;
	struct fathom_context context = fathom_span_context(&span);
	char text[FATHOM_TRACEPARENT_BYTES];

	fathom_span_string(&span, "shop.item", "tea");
	fathom_span_integer(&span, "shop.count", 3);
	inner = fathom_span_begin("inner");
	syscall(SYS_getppid);
	fathom_span_end(&inner);
	nanosleep(&pause, NULL);
	if (is_error)
		fathom_span_end_status(&span, FATHOM_FAILED, "no tea");
	else
		fathom_span_end(&span);
	fathom_inject_traceparent(&context, text);
	puts(text);
	fflush(stdout);
}

static void answer(int fd, char byte)
{
	struct timespec pause = {0, 2000000};
	struct fathom_span span = fathom_span_begin("answer");

	nanosleep(&pause, NULL);
	write(fd, &byte, 1) == 1 ? (void)0 : abort();
	fathom_span_end(&span);
}

static void serve(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	char byte;

	if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&at, &size))
		abort();
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	fd = accept(listener, NULL, NULL);
	while (read(fd, &byte, 1) == 1)
		answer(fd, byte);
	close(fd);
	close(listener);
}

int main(void)
{
	char line[64];

	fathom_init("teashop");
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "serve\n") == 0)
			serve();
		else
			request(atol(line), strstr(line, "error") != NULL);
	}
	return 0;
}
