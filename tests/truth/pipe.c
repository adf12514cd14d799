/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of a pipe with a slow writer: ipc. */
#include "tests/truth/truth.h"

int main(void)
{
	struct truth truth;
	int ends[2];

	TRUTH_TRY(pipe2(ends, O_CLOEXEC));
	truth_peer(ends[1], 10, 20 * MS);
	truth_begin(&truth, "pipe", "read with a slow writer");
	truth_end(&truth, "ipc", truth_receive(ends[0], 10));
	wait(NULL);
	return 0;
}
