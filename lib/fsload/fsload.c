/* SPDX-License-Identifier: MIT */
/*
 * fsload TEST --dir D --processes N --items M [--phase NAME|both]
 *
 * Runs one test case in N processes and prints JSON lines: the run, each phase of each process,
 * each phase. Nothing is printed on stdout unless all of it worked. Exit 0; 1 when the run failed;
 * 2 when it was asked for wrongly; an error is one JSON line on stderr. `both`, the default, is
 * every phase; one alone leaves its files (create) or takes those that are there (remove).
 *
 * A phase has two rates: rate_per_s counts from the first start to the last end;
 * rate_slowest_rank_per_s is the slowest process's own rate times the processes, which is what
 * the summary of mdtest 4.x means.
 */
#include "runner.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROCESSES 4096
#define MAX_ITEMS 100000000
#define USAGE                                                                       \
	"use: fsload TEST --dir D --processes N --items M [--phase NAME|both], where " \
	"TEST is append_files, create_unlink, fallocate2 or truncate_orphan"

static const struct testcase *const testcases[] = {
	&append_files, &create_unlink, &fallocate2, &truncate_orphan
};

static void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

int report_error(int status, const char *format, ...)
{
	char sentence[PATH_MAX + 256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	fputs("{\"error\":", stderr);
	json_string(stderr, sentence);
	fputs("}\n", stderr);
	return status;
}

static double clock_overhead_ns(void)
{
	enum { CALLS = 1000 };
	int64_t start = now_ns();

	for (int i = 1; i < CALLS; i++)
		now_ns();
	return (double)(now_ns() - start) / CALLS;
}

static void print_header(const struct run *run)
{
	printf("{\"tool\":\"fsload\",\"version\":\"" FSLOAD_VERSION "\",\"test\":\"%s\","
	       "\"processes\":%ld,\"items\":%ld,\"phases\":[",
	       run->test->name, run->processes, run->items);
	for (int phase = run->first; phase <= run->last; phase++)
		printf("%s\"%s\"", phase > run->first ? "," : "", run->test->phases[phase].name);
	printf("],\"dir\":");
	json_string(stdout, run->dir);
	printf(",\"clock\":\"CLOCK_MONOTONIC\",\"clock_overhead_ns\":%.1f}\n", clock_overhead_ns());
}

static void print_phase(const struct run *run, int phase)
{
	const char *name = run->test->phases[phase].name;
	int64_t first = INT64_MAX, last = 0, slowest = 1;
	long count = 0;

	for (long p = 0; p < run->processes; p++) {
		const struct timing *t = &run->shared->workers[p].timing[phase];
		int64_t took = t->end_ns - t->start_ns;

		first = t->start_ns < first ? t->start_ns : first;
		last = t->end_ns > last ? t->end_ns : last;
		slowest = took > slowest ? took : slowest;
		count += t->count;
		printf("{\"phase\":\"%s\",\"process\":%ld,\"count\":%ld,\"ready_ns\":%lld,"
		       "\"start_ns\":%lld,\"end_ns\":%lld,\"seconds\":%.9f}\n",
		       name, p, t->count, (long long)t->ready_ns, (long long)t->start_ns,
		       (long long)t->end_ns, (double)took / 1e9);
	}
	printf("{\"phase\":\"%s\",\"summary\":true,\"count\":%ld,\"seconds\":%.9f,"
	       "\"rate_per_s\":%.3f,\"rate_slowest_rank_per_s\":%.3f}\n",
	       name, count, (double)(last - first) / 1e9,
	       (double)count * 1e9 / (double)(last - first > 0 ? last - first : 1),
	       (double)count * 1e9 / (double)slowest);
}

static int print_run(const struct run *run)
{
	print_header(run);
	for (int phase = run->first; phase <= run->last; phase++)
		print_phase(run, phase);
	if (fflush(stdout) || ferror(stdout))
		return report_error(1, "cannot write the result: %s", strerror(errno));
	return 0;
}

/* A whole decimal number from 1 to most, else 0. */
static long whole_number(const char *text, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && value >= 1 && value <= most ? value : 0;
}

static int choose_test(struct run *run, const char *name)
{
	for (size_t i = 0; i < sizeof(testcases) / sizeof(*testcases); i++)
		if (!strcmp(testcases[i]->name, name))
			run->test = testcases[i];
	return run->test ? 0 : report_error(2, "no test is called %s; " USAGE, name);
}

static int choose_phases(struct run *run, const char *name)
{
	const struct phase *phases = run->test->phases;
	int count = 0, chosen = -1;

	for (; phases[count].name; count++)
		if (!strcmp(phases[count].name, name))
			chosen = count;
	if (chosen < 0 && strcmp(name, "both"))
		return report_error(2, "%s has no phase %s; " USAGE, run->test->name, name);
	run->first = chosen < 0 ? 0 : chosen;
	run->last = chosen < 0 ? count - 1 : chosen;
	return 0;
}

static int read_arguments(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "processes", required_argument, NULL, 'n' },
		{ "items", required_argument, NULL, 'i' },
		{ "phase", required_argument, NULL, 'p' },
		{ 0 },
	};
	const char *phase = "both";
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd')
			run->dir = optarg;
		else if (option == 'p')
			phase = optarg;
		else if (option == 'n' && !(run->processes = whole_number(optarg, MAX_PROCESSES)))
			return report_error(2, "--processes takes 1 to %d, not %s", MAX_PROCESSES, optarg);
		else if (option == 'i' && !(run->items = whole_number(optarg, MAX_ITEMS)))
			return report_error(2, "--items takes 1 to %d, not %s", MAX_ITEMS, optarg);
		else if (option == '?')
			return report_error(2, "%s is not understood; " USAGE, argv[optind - 1]);
	}
	if (optind != argc - 1 || !run->dir || !run->processes || !run->items)
		return report_error(2, "one test and --dir, --processes and --items are needed; " USAGE);
	if (choose_test(run, argv[optind]))
		return 2;
	return choose_phases(run, phase);
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	int status = read_arguments(&run, argc, argv);

	if (!status)
		status = run_test(&run);
	return status ? status : print_run(&run);
}
