/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/check.h"

static struct access *opened(const struct access_options *options)
{
	struct access *a = NULL;
	struct error e = {0};

	if (access_open(options, &a, &e))
		CHECK_FAIL("%s", e.text);
	return a;
}

static struct sockaddr *client(const char *text)
{
	static struct sockaddr_in v4;
	static struct sockaddr_in6 v6;

	v4 = (struct sockaddr_in){.sin_family = AF_INET};
	v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return (struct sockaddr *)&v4;
	CHECK_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return (struct sockaddr *)&v6;
}

TEST(names_can_be_added)
{
	static const char *const names[] = {"trace.example", "10.1.2.3", "[fd00::1]"};
	struct access *a = opened(&(struct access_options){.hosts = names, .hosts_count = 3});

	CHECK(access_host(a, "localhost:1"));
	CHECK(access_host(a, "trace.example"));
	CHECK(access_host(a, "Trace.Example:8080"));
	CHECK(access_host(a, "10.1.2.3:1"));
	CHECK(access_host(a, "[fd00::1]:1"));
	CHECK(!access_host(a, "x.trace.example"));
	CHECK(!access_host(a, "trace.example.evil"));
	CHECK(!access_host(a, ""));
	CHECK(!access_host(a, NULL));
	CHECK(access_origin(a, NULL));
	CHECK(access_origin(a, "https://trace.example:99"));
	CHECK(!access_origin(a, "https://evil.example"));
	CHECK(!access_origin(a, "null"));
	access_close(a);
}

TEST(without_a_token_only_this_host_is_answered)
{
	struct access *a = opened(&(struct access_options){0});
	struct sockaddr_un local = {.sun_family = AF_UNIX};

	CHECK(!access_needs_token(a, client("127.8.0.1"), false));
	CHECK(!access_needs_token(a, client("::1"), false));
	CHECK(!access_needs_token(a, client("::ffff:127.0.0.1"), false));
	CHECK(!access_needs_token(a, (struct sockaddr *)&local, false));
	CHECK(access_needs_token(a, client("10.0.0.1"), true));
	CHECK(access_needs_token(a, client("fe80::1"), true));
	CHECK(access_needs_token(a, NULL, true));
	CHECK(!access_token(a, "Bearer "));
	CHECK(!access_token(a, NULL));
	access_close(a);
}

TEST(a_token_is_for_all)
{
	struct access *a = opened(&(struct access_options){.token = "sesame"});

	CHECK(access_needs_token(a, client("127.0.0.1"), false));
	CHECK(access_token(a, "Bearer sesame"));
	CHECK(access_token(a, "bearer sesame"));
	CHECK(!access_token(a, "Bearer sesam"));
	CHECK(!access_token(a, "Bearer sesames"));
	CHECK(!access_token(a, "Bearer"));
	CHECK(!access_token(a, "sesame"));
	CHECK(!access_token(a, "Basic sesame"));
	access_close(a);
}

TEST(trusted_networks_send_without_it)
{
	static const char *const networks[] = {"172.17.0.0/15", "fd00::/9", "192.168.1.1"};
	struct access *a = opened(
		&(struct access_options){.token = "t", .trusted = networks, .trusted_count = 3});

	CHECK(!access_needs_token(a, client("172.16.3.4"), true));
	CHECK(!access_needs_token(a, client("::ffff:172.17.0.1"), true));
	CHECK(!access_needs_token(a, client("fd7f::1"), true));
	CHECK(!access_needs_token(a, client("192.168.1.1"), true));
	CHECK(access_needs_token(a, client("172.18.0.1"), true));
	CHECK(access_needs_token(a, client("fd80::1"), true));
	CHECK(access_needs_token(a, client("192.168.1.2"), true));
	CHECK(access_needs_token(a, client("127.0.0.1"), true));
	/* queries always need it */
	CHECK(access_needs_token(a, client("172.17.0.1"), false));
	access_close(a);
}

TEST(what_is_no_network_is_misuse)
{
	static const char *const wrong[] = {"",		 "host",	"10.0.0.0/33", "fd00::/129",
					    "10.0.0.0/", "10.0.0.0/8x", "10.0.0.0/-1", "10.0/8"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct access *a = NULL;
		struct error e = {0};

		if (access_open(&(struct access_options){.trusted = &wrong[i], .trusted_count = 1},
				&a, &e) != -EINVAL ||
		    !e.misuse || a)
			CHECK_FAIL("'%s' was taken", wrong[i]);
	}
}

/* Reads a token that a file has. */
static int read_back(const char *contents, mode_t mode, char token[ACCESS_TOKEN_BYTES],
		     struct error *e)
{
	char path[] = "/tmp/fathom-access-XXXXXX";
	int fd = mkstemp(path), err;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, contents, strlen(contents)), (ssize_t)strlen(contents));
	CHECK_EQ(fchmod(fd, mode), 0);
	close(fd);
	err = access_token_read(path, token, e);
	unlink(path);
	return err;
}

TEST(a_token_is_read_from_a_file_of_one_user)
{
	char token[ACCESS_TOKEN_BYTES], large[ACCESS_TOKEN_BYTES + 1];
	struct error e = {0};

	CHECK_EQ(read_back(" open-sesame \n", 0600, token, &e), 0);
	CHECK_STR(token, "open-sesame");
	CHECK_EQ(read_back("x", 0400, token, &e), 0);
	CHECK_EQ(read_back("x", 0604, token, &e), -EPERM);
	CHECK(strstr(e.text, "chmod 600"));
	CHECK_EQ(read_back("x", 0640, token, &e), -EPERM);
	CHECK_EQ(read_back("x", 0602, token, &e), -EPERM);
	CHECK_EQ(read_back(" \n", 0600, token, &e), -EINVAL);
	CHECK_EQ(read_back("", 0600, token, &e), -EINVAL);
	CHECK_EQ(read_back("a\nb", 0600, token, &e), -EINVAL);
	memset(large, 'x', ACCESS_TOKEN_BYTES);
	large[ACCESS_TOKEN_BYTES] = '\0';
	CHECK_EQ(read_back(large, 0600, token, &e), -EFBIG);
	CHECK_EQ(access_token_read("/nonexistent", token, &e), -ENOENT);
	CHECK_EQ(access_token_read("/tmp", token, &e), -EINVAL);
}

TEST_MAIN()
