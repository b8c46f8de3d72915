/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections: from the first worker that begins until the last that ends, memory is priced and it is
 * counted where the CPUs' time goes. One JSON line a section. The marks are long NOPs, which do nothing
 * on any other machine: see lib/fsload/section.h.
 */
#include "machine.h"

#include <string.h>

static FILE *out;
static unsigned int inside, sections;
static uint64_t began_ps, began_real_ns, jumps_before, held_before, late_before, broken_before, lost_before;

bool open_statistics(const char *path)
{
	out = fopen(path, "ae");
	if (out)
		setvbuf(out, NULL, _IOLBF, 0);
	return out != NULL;
}

/* `cpu` has the mark: a section is as long as its CPUs' own times say, as QEMU's clock lags behind them. */
static void begin(const struct cpu *cpu)
{
	settle_all();
	for (unsigned int n = 0; n < machine.cpus; n++)
		memset(&machine.cpu[n].spent, 0, sizeof(machine.cpu[n].spent));
	began_ps = now_of(cpu);
	began_real_ns = real_ns();
	jumps_before = atomic_load(&idle_jumps);
	held_before = atomic_load(&held_jumps);
	late_before = atomic_load(&late_timers);
	broken_before = broken_waits;
	lost_before = lost_lines;
	forget_lines(); /* who held what before was not followed */
	machine.priced = true;
}

static struct spent total(void)
{
	struct spent sum = { 0 };

	for (unsigned int n = 0; n < machine.cpus; n++) {
		const uint64_t *of = (const uint64_t *)&machine.cpu[n].spent;
		uint64_t *to = (uint64_t *)&sum;

		for (size_t k = 0; k < sizeof(sum) / sizeof(*to); k++)
			to[k] += of[k];
	}
	return sum;
}

static void end(const struct cpu *cpu)
{
	const uint64_t now = now_of(cpu), reached = bring_clock_up();
	const uint64_t virtual_ps = now > began_ps ? now - began_ps : 0; /* CPUs are up to a quantum apart */
	struct spent spent;

	for (unsigned int n = 0; n < machine.cpus; n++) /* nobody notices from here on what they wait for */
		if (machine.cpu[n].state == SPINS)
			stop_spinning(&machine.cpu[n], reached);
	settle_all();
	spent = total();
	machine.priced = false;
	sections++;
	if (!out)
		return;
	fprintf(out,
		"{\"section\": %u, \"virtual_ns\": %lu, \"real_ns\": %lu, \"cpu_ns\": %lu, "
		"\"pause_ns\": %lu, \"atomic_ns\": %lu, \"transfer_ns\": %lu, \"queue_ns\": %lu, "
		"\"io_ns\": %lu, \"near\": %lu, \"far\": %lu, \"atomics\": %lu, \"pauses\": %lu, "
		"\"turns_refused\": %lu, \"idle_jumps\": %lu, \"held_jumps\": %lu, "
		"\"late_timers\": %lu, \"broken_waits\": %lu, \"lost_lines\": %lu, \"lines\": ",
		sections, virtual_ps / 1000, real_ns() - began_real_ns, spent.busy / 1000,
		spent.pause / 1000, spent.atomic / 1000, spent.transfer / 1000, spent.queue / 1000,
		spent.io / 1000, spent.near, spent.far, spent.atomics, spent.pauses, spent.yields,
		atomic_load(&idle_jumps) - jumps_before, atomic_load(&held_jumps) - held_before,
		atomic_load(&late_timers) - late_before, broken_waits - broken_before,
		lost_lines - lost_before);
	tell_hottest(out);
	fputs("}\n", out);
}

void take_mark(unsigned int number, void *which)
{
	const unsigned int mark = (unsigned int)(uintptr_t)which;
	static bool none;

	switch (mark) {
	case 0:
		if (!none && inside && !--inside)
			end(&machine.cpu[number]);
		break;
	case 1:
		if (!none && !inside++) {
			watch_memory(number);
			begin(&machine.cpu[number]);
		}
		break;
	case 2:
	case 3:
		none = mark == 2;
		break;
	default:
		take_setting(number, mark - FIRST_SETTING);
	}
}
