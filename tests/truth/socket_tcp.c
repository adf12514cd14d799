/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of a TCP connection over loopback with a slow peer: network if it made the connection,
 * idle if it accepted it and so waits for a client.
 */
#include "tests/truth/loopback.h"

static void reads(int from, int to, const char *what, const char *part)
{
	struct truth truth;

	truth_peer(to, 10, 20 * MS);
	truth_begin(&truth, "socket_tcp", what);
	truth_end(&truth, part, truth_receive(from, 10));
	wait(NULL);
}

int main(void)
{
	int ends[2];

	loopback_pair(ends);
	reads(ends[1], ends[0], "read with a slow server", "network");
	reads(ends[0], ends[1], "read with a slow client", "idle");
	return 0;
}
