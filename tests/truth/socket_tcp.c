/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of a TCP connection over loopback with a slow peer: network. */
#include "tests/truth/loopback.h"

int main(void)
{
	struct truth truth;
	int ends[2];

	loopback_pair(ends);
	truth_peer(ends[1], 10, 20 * MS);
	truth_begin(&truth, "socket_tcp", "read with a slow peer");
	truth_end(&truth, "network", truth_receive(ends[0], 10));
	wait(NULL);
	return 0;
}
