/* SPDX-License-Identifier: MIT */
/*
 * In a guest in virtual time: section COMMAND... runs a command that has no marks of its own with memory
 * priced; section --unpriced COMMAND... runs one whose marks do not count; section --setting NUMBER
 * COMMAND... runs one, with marks of its own, on a machine of which one number is another.
 */
#include "section.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char **command)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		execvp(command[0], command);
		fprintf(stderr, "section: %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		fprintf(stderr, "section: %s\n", strerror(errno));
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 2) {
		fputs("section: name a command; before it --unpriced, or --setting and a number\n", stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--setting") && argc > 3 && atoi(argv[2]) <= LAST_SETTING) {
		take_setting(atoi(argv[2]));
		status = run(argv + 3);
		take_setting(0);
	} else if (!strcmp(argv[1], "--unpriced") && argc > 2) {
		begin_unpriced();
		status = run(argv + 2);
		end_unpriced();
	} else {
		begin_section();
		status = run(argv + 1);
		end_section();
	}
	return status;
}
