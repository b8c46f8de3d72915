/* SPDX-License-Identifier: MIT */
/*
 * The JSON lines: the run; for each phase its workers, its containers, its latencies, its summary.
 *
 * rate_per_s counts from the first start to the last end. rate_slowest_rank_per_s is the slowest
 * worker's own rate times the workers, which is what the summary of mdtest 4.x means.
 * rate_per_container_per_s is the mean of the containers' rates.
 */
#include "runner.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* The least mean of ten batches: what disturbs one, a preemption for instance, is not the cost. */
static double least_mean_ns(void (*twice)(struct worker *), struct worker *worker)
{
	enum { BATCHES = 10, CALLS = 1000 };
	int64_t least = INT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		int64_t start = now_ns(), took;

		for (int i = 0; i < CALLS; i++)
			twice(worker);
		took = now_ns() - start;
		least = took < least ? took : least;
	}
	return (double)least / CALLS;
}

static void read_clock_twice(struct worker *worker)
{
	worker->began_ns = now_ns();
	worker->began_ns = now_ns();
}

static void empty_item(struct worker *worker)
{
	begin_item(worker);
	end_item(worker);
}

static void print_header(const struct run *run)
{
	static struct histogram latency;
	struct worker worker = { .latency = &latency };

	printf("{\"tool\":\"fsload\",\"version\":\"" FSLOAD_VERSION "\",\"test\":\"%s\","
	       "\"workers\":%ld,\"as\":\"%s\",\"pinned\":%s",
	       run->test->name, run->workers, run->threads ? "threads" : "processes",
	       run->pin ? "true" : "false");
	if (run->seconds)
		printf(",\"seconds\":%.3f", run->seconds);
	else
		printf(",\"items\":%ld", run->items);
	if (run->containers) {
		printf(",\"containers\":%ld,\"controllers\":", run->containers);
		json_string(stdout, run->controllers);
	}
	printf(",\"phases\":[");
	for (int phase = run->first; phase <= run->last; phase++)
		printf("%s\"%s\"", phase > run->first ? "," : "", run->test->phases[phase].name);
	printf("],\"dir\":");
	json_string(stdout, run->dir);
	printf(",\"clock\":\"CLOCK_MONOTONIC\",\"clock_pair_ns\":%.1f",
	       least_mean_ns(read_clock_twice, &worker));
	if (run->latency)
		printf(",\"bins_per_octave\":%d,\"latency_overhead_ns\":%.1f", BINS_PER_OCTAVE,
		       least_mean_ns(empty_item, &worker));
	printf("}\n");
}

/* Some workers of a phase together. */
struct tally {
	long count;
	int64_t start_ns, end_ns;
	double least_rate; /* of one worker */
};

static double rate_per_s(long count, int64_t ns)
{
	return (double)count * 1e9 / (double)(ns > 0 ? ns : 1);
}

static struct tally tally(const struct run *run, int phase, long from, long to)
{
	struct tally all = { 0, INT64_MAX, 0, 0 };

	for (long w = from; w < to; w++) {
		const struct timing *t = &run->shared->workers[w].timings[phase];
		double rate = rate_per_s(t->count, t->end_ns - t->start_ns);

		all.count += t->count;
		all.start_ns = t->start_ns < all.start_ns ? t->start_ns : all.start_ns;
		all.end_ns = t->end_ns > all.end_ns ? t->end_ns : all.end_ns;
		all.least_rate = w == from || rate < all.least_rate ? rate : all.least_rate;
	}
	return all;
}

static void print_workers(const struct run *run, int phase)
{
	for (long w = 0; w < run->workers; w++) {
		const struct worker *worker = &run->shared->workers[w];
		const struct timing *t = &worker->timings[phase];

		printf("{\"phase\":\"%s\",\"worker\":%ld,", run->test->phases[phase].name, w);
		if (run->pin)
			printf("\"cpu\":%d,", worker->cpu);
		if (run->latency)
			printf("\"max_ns\":%lld,", (long long)latencies_of(run, phase, w)->max_ns);
		printf("\"count\":%ld,\"ready_ns\":%lld,\"start_ns\":%lld,\"end_ns\":%lld,"
		       "\"seconds\":%.9f}\n",
		       t->count, (long long)t->ready_ns, (long long)t->start_ns,
		       (long long)t->end_ns, (double)(t->end_ns - t->start_ns) / 1e9);
	}
}

/* Returns the mean of the containers' rates. */
static double print_containers(const struct run *run, int phase)
{
	const long each = run->workers / groups_of(run);
	double sum = 0;

	for (long c = 0; c < run->containers; c++) {
		struct tally own = tally(run, phase, c * each, (c + 1) * each);
		double rate = rate_per_s(own.count, own.end_ns - own.start_ns);

		printf("{\"phase\":\"%s\",\"container\":%ld,\"count\":%ld,\"seconds\":%.9f,"
		       "\"rate_per_s\":%.3f}\n",
		       run->test->phases[phase].name, c, own.count,
		       (double)(own.end_ns - own.start_ns) / 1e9, rate);
		sum += rate;
	}
	return sum / (double)groups_of(run);
}

static void print_latencies(const struct run *run, int phase)
{
	static struct histogram all;
	const char *separator = "";

	all = (struct histogram){ 0 };
	for (long w = 0; w < run->workers; w++)
		add_histogram(&all, latencies_of(run, phase, w));
	printf("{\"phase\":\"%s\",\"latency\":true,\"count\":%llu,\"bins\":[",
	       run->test->phases[phase].name, (unsigned long long)latencies_in(&all));
	for (int bin = 0; bin < BINS; bin++)
		if (all.counts[bin]) {
			printf("%s[%lld,%llu]", separator, (long long)bin_low_ns(bin),
			       (unsigned long long)all.counts[bin]);
			separator = ",";
		}
	printf("],\"p50_ns\":%lld,\"p90_ns\":%lld,\"p99_ns\":%lld,\"p99.9_ns\":%lld,"
	       "\"max_ns\":%lld}\n",
	       (long long)percentile_ns(&all, 500), (long long)percentile_ns(&all, 900),
	       (long long)percentile_ns(&all, 990), (long long)percentile_ns(&all, 999),
	       (long long)all.max_ns);
}

static void print_phase(const struct run *run, int phase)
{
	const struct tally all = tally(run, phase, 0, run->workers);
	double per_container;

	print_workers(run, phase);
	per_container = print_containers(run, phase);
	if (run->latency)
		print_latencies(run, phase);
	printf("{\"phase\":\"%s\",\"summary\":true,\"count\":%ld,\"seconds\":%.9f,"
	       "\"rate_per_s\":%.3f,\"rate_slowest_rank_per_s\":%.3f",
	       run->test->phases[phase].name, all.count, (double)(all.end_ns - all.start_ns) / 1e9,
	       rate_per_s(all.count, all.end_ns - all.start_ns),
	       all.least_rate * (double)run->workers);
	if (run->containers)
		printf(",\"rate_per_container_per_s\":%.3f", per_container);
	printf("}\n");
}

int print_run(const struct run *run)
{
	for (int phase = run->first; phase <= run->last; phase++)
		if (!tally(run, phase, 0, run->workers).count)
			return report_error(1, "no item of %s was done in %.3f seconds: give more",
					    run->test->phases[phase].name, run->seconds);
	print_header(run);
	for (int phase = run->first; phase <= run->last; phase++)
		print_phase(run, phase);
	if (fflush(stdout) || ferror(stdout))
		return report_error(1, "cannot write the result: %s", strerror(errno));
	return 0;
}
