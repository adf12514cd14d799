/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of a Unix socket with a slow peer: ipc. */
#include <sys/socket.h>

#include "tests/truth/truth.h"

int main(void)
{
	struct truth truth;
	int ends[2];

	TRUTH_TRY(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	truth_peer(ends[1], 10, 20 * MS);
	truth_begin(&truth, "socket_unix", "read with a slow peer");
	truth_end(&truth, "ipc", truth_receive(ends[0], 10));
	wait(NULL);
	return 0;
}
