/* SPDX-License-Identifier: Apache-2.0 */
#include "base/beside.h"

#include "tests/unit/check.h"

TEST(a_folder_beside_that_of_the_program)
{
	char program[PATH_MAX], path[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	CHECK(n > 0);
	program[n] = '\0';
	*strrchr(program, '/') = '\0';
	*strrchr(program, '/') = '\0';
	CHECK(beside_program("share/x", path));
	CHECK(strncmp(path, program, strlen(program)) == 0);
	CHECK_STR(path + strlen(program), "/share/x");
}

TEST_MAIN()
