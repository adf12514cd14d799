/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_TRUTH_LOOPBACK_H
#define TESTS_TRUTH_LOOPBACK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "tests/truth/truth.h"

/* The accepted and the connecting end of one with 127.0.0.1, without Nagle's delay. */
static inline void loopback_pair(int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	TRUTH_TRY(bind(listener, (struct sockaddr *)&address, len));
	TRUTH_TRY(listen(listener, 1));
	TRUTH_TRY(getsockname(listener, (struct sockaddr *)&address, &len));
	ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	TRUTH_TRY(connect(ends[1], (struct sockaddr *)&address, len));
	TRUTH_TRY(setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	ends[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	TRUTH_TRY(ends[0]);
	close(listener);
}

#endif
