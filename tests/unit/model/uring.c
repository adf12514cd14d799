/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of io_uring against the kernel's own header; flags by name. */
#include "model/uring.h"

#include <linux/io_uring.h>

#include "tests/unit/check.h"

TEST(operations_are_those_of_the_kernel_headers)
{
	static const struct {
		int opcode;
		const char *name;
	} known[] = {
		{IORING_OP_NOP, "io_uring nop"},
		{IORING_OP_READV, "io_uring readv"},
		{IORING_OP_FSYNC, "io_uring fsync"},
		{IORING_OP_POLL_ADD, "io_uring poll_add"},
		{IORING_OP_SENDMSG, "io_uring sendmsg"},
		{IORING_OP_TIMEOUT, "io_uring timeout"},
		{IORING_OP_ACCEPT, "io_uring accept"},
		{IORING_OP_ASYNC_CANCEL, "io_uring async_cancel"},
		{IORING_OP_CONNECT, "io_uring connect"},
		{IORING_OP_OPENAT, "io_uring openat"},
		{IORING_OP_CLOSE, "io_uring close"},
		{IORING_OP_STATX, "io_uring statx"},
		{IORING_OP_READ, "io_uring read"},
		{IORING_OP_WRITE, "io_uring write"},
		{IORING_OP_SEND, "io_uring send"},
		{IORING_OP_RECV, "io_uring recv"},
		{IORING_OP_OPENAT2, "io_uring openat2"},
		{IORING_OP_EPOLL_CTL, "io_uring epoll_ctl"},
		{IORING_OP_SPLICE, "io_uring splice"},
		{IORING_OP_SHUTDOWN, "io_uring shutdown"},
		{IORING_OP_UNLINKAT, "io_uring unlinkat"},
		{IORING_OP_LINKAT, "io_uring linkat"},
		{IORING_OP_MSG_RING, "io_uring msg_ring"},
		{IORING_OP_SOCKET, "io_uring socket"},
		{IORING_OP_URING_CMD, "io_uring uring_cmd"},
		{IORING_OP_SEND_ZC, "io_uring send_zc"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_STR(uring_name((u8)known[i].opcode), known[i].name);
	CHECK(uring_name(63) == NULL && uring_name(255) == NULL);
}

TEST(which_make_descriptors)
{
	CHECK(uring_opens(IORING_OP_OPENAT) && uring_opens(IORING_OP_OPENAT2));
	CHECK(uring_opens(IORING_OP_ACCEPT) && uring_opens(IORING_OP_SOCKET));
	CHECK(!uring_opens(IORING_OP_READ) && !uring_opens(IORING_OP_CLOSE));
	CHECK(!uring_opens(255));
}

TEST(flags_of_a_submission)
{
	char buf[64];

	CHECK_EQ(uring_flags_format(buf, sizeof(buf), 0), 0);
	CHECK_STR(buf, "");
	uring_flags_format(buf, sizeof(buf), IOSQE_FIXED_FILE | IOSQE_ASYNC);
	CHECK_STR(buf, "IOSQE_FIXED_FILE|IOSQE_ASYNC");
	uring_flags_format(buf, sizeof(buf), IOSQE_CQE_SKIP_SUCCESS | 0x80);
	CHECK_STR(buf, "IOSQE_CQE_SKIP_SUCCESS|0x80");
	CHECK_EQ(uring_flags_format(buf, 4, IOSQE_IO_LINK), strlen("IOSQE_IO_LINK"));
	CHECK_STR(buf, "IOS");
	CHECK_EQ(uring_flags_format(NULL, 0, IOSQE_IO_LINK | IOSQE_ASYNC),
		 strlen("IOSQE_IO_LINK|IOSQE_ASYNC"));
}

TEST_MAIN()
