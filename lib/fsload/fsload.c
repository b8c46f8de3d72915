/* SPDX-License-Identifier: MIT */
/*
 * fsload runs one test case in processes or threads and prints JSON lines (report.c). Nothing is
 * printed on stdout unless all of it worked. Exit 0; 1 when the run failed; 2 when it was asked for
 * wrongly; an error is one JSON line on stderr.
 */
#include "runner.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORKERS 4096
#define MAX_ITEMS 100000000
#define MAX_SECONDS 86400
#define USAGE                                                                       \
	"use: fsload TEST --dir D --processes N|--threads N --items M|--seconds S "     \
	"[--phase NAME|both] [--containers C] [--pin] [--latency], where TEST is "      \
	"append_files, creat_clo, create_unlink, fallocate2, open_close, rename_own_dir " \
	"or truncate_orphan"

static const struct testcase *const testcases[] = { &append_files,   &creat_clo,  &create_unlink,
						    &fallocate2,     &open_close, &rename_own_dir,
						    &truncate_orphan };

/* A whole decimal number from 1 to most, else 0. */
static long whole_number(const char *text, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && value >= 1 && value <= most ? value : 0;
}

/* A decimal number from 0.001 to MAX_SECONDS, else 0. */
static double seconds(const char *text)
{
	double value = strtod(text, NULL);

	if (text[strspn(text, "0123456789.")] || strchr(text, '.') != strrchr(text, '.'))
		return 0;
	return value >= 0.001 && value <= MAX_SECONDS ? value : 0;
}

static int choose_test(struct run *run, const char *name)
{
	for (size_t i = 0; i < sizeof(testcases) / sizeof(*testcases); i++)
		if (!strcmp(testcases[i]->name, name))
			run->test = testcases[i];
	return run->test ? 0 : report_error(2, "no test is called %s; " USAGE, name);
}

/* `both`, the default, is every phase; one alone leaves its files or takes those that are there. */
static int choose_phases(struct run *run, const char *name)
{
	const struct phase *phases = run->test->phases;
	int count = 0, chosen = -1;

	for (; phases[count].name; count++)
		if (!strcmp(phases[count].name, name))
			chosen = count;
	if (chosen < 0 && strcmp(name, "both"))
		return report_error(2, "%s has no phase %s; " USAGE, run->test->name, name);
	if (chosen >= 0 && count > 1 && run->seconds)
		return report_error(2,
				    "--seconds takes all phases of %s, for the later ones do what "
				    "the first did: leave --phase out",
				    run->test->name);
	run->first = chosen < 0 ? 0 : chosen;
	run->last = chosen < 0 ? count - 1 : chosen;
	return 0;
}

static int set_workers(struct run *run, bool threads, const char *text)
{
	const char *name = threads ? "threads" : "processes";

	if (run->workers)
		return report_error(2, "give --processes or --threads, once");
	run->threads = threads;
	run->workers = whole_number(text, MAX_WORKERS);
	if (!run->workers)
		return report_error(2, "--%s takes 1 to %d, not %s", name, MAX_WORKERS, text);
	return 0;
}

static int set_option(struct run *run, int option, const char *text)
{
	if (option == 'd' && !*text)
		return report_error(2, "--dir takes a directory, not an empty name: use . for this one");
	else if (option == 'd')
		run->dir = text;
	else if (option == 'n' || option == 't')
		return set_workers(run, option == 't', text);
	else if (option == 'i' && !(run->items = whole_number(text, MAX_ITEMS)))
		return report_error(2, "--items takes 1 to %d, not %s", MAX_ITEMS, text);
	else if (option == 's' && !(run->seconds = seconds(text)))
		return report_error(2, "--seconds takes 0.001 to %d, not %s", MAX_SECONDS, text);
	else if (option == 'c' && !(run->containers = whole_number(text, MAX_WORKERS)))
		return report_error(2, "--containers takes 1 to %d, not %s", MAX_WORKERS, text);
	else if (option == 'k')
		run->pin = true;
	else if (option == 'l')
		run->latency = true;
	return 0;
}

static int check(struct run *run)
{
	if (!run->dir || !run->workers)
		return report_error(2, "--dir and --processes or --threads are needed; " USAGE);
	if (!run->items == !run->seconds)
		return report_error(2, "one of --items and --seconds is needed; " USAGE);
	if (run->containers && run->workers % run->containers)
		return report_error(2, "%ld workers do not divide into %ld containers of one size",
				    run->workers, run->containers);
	if (run->seconds)
		run->items = LONG_MAX;
	return 0;
}

static int read_arguments(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "processes", required_argument, NULL, 'n' },
		{ "threads", required_argument, NULL, 't' },
		{ "items", required_argument, NULL, 'i' },
		{ "seconds", required_argument, NULL, 's' },
		{ "phase", required_argument, NULL, 'p' },
		{ "containers", required_argument, NULL, 'c' },
		{ "pin", no_argument, NULL, 'k' },
		{ "latency", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *phase = "both";
	int option;

	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option == ':')
			return report_error(2, "%s needs a value; " USAGE, argv[optind - 1]);
		if (option == '?')
			return report_error(2, "%s is not understood; " USAGE, argv[optind - 1]);
		if (option == 'h')
			exit(puts(USAGE) < 0 || fflush(stdout));
		if (option == 'p')
			phase = optarg;
		else if (set_option(run, option, optarg))
			return 2;
	}
	if (optind != argc - 1)
		return report_error(2, "one test is needed; " USAGE);
	if (choose_test(run, argv[optind]) || check(run))
		return 2;
	return choose_phases(run, phase);
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	int status;

	setlinebuf(stderr);
	status = read_arguments(&run, argc, argv);
	if (!status)
		status = run_test(&run);
	return status ? status : print_run(&run);
}
