/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of QEMU's own that its plugin interface does not offer, found by their names. */
#include "machine.h"

#include <dlfcn.h>

struct qemu_internals qemu;

bool find_internals(void)
{
	*(void **)&qemu.get_cpu = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	*(void **)&qemu.cpu_exit = dlsym(RTLD_DEFAULT, "cpu_exit");
	*(void **)&qemu.loop_exit = dlsym(RTLD_DEFAULT, "cpu_loop_exit_restore");
	*(void **)&qemu.set_parallel = dlsym(RTLD_DEFAULT, "tcg_cpu_init_cflags");
	*(void **)&qemu.exec = dlsym(RTLD_DEFAULT, "tcg_cpu_exec");
	*(void **)&qemu.step_atomic = dlsym(RTLD_DEFAULT, "cpu_exec_step_atomic");
	*(void **)&qemu.flush = dlsym(RTLD_DEFAULT, "tb_flush");
	if (!qemu.flush) /* its name from QEMU 10.2 on */
		*(void **)&qemu.flush = dlsym(RTLD_DEFAULT, "queue_tb_flush");
	return qemu.get_cpu && qemu.cpu_exit && qemu.loop_exit && qemu.set_parallel && qemu.exec &&
	       qemu.step_atomic && qemu.flush;
}

/*
 * With one thread for all CPUs, QEMU would write the number of the CPU that translates a block into the
 * block as a constant (seen in 10.0), and the others run it too. Code for parallel CPUs asks for it.
 */
void translate_for_all(unsigned int number)
{
	qemu.get_cpu_of[number] = qemu.get_cpu((int)number);
	qemu.set_parallel(qemu.get_cpu_of[number], true);
}

/* From now on: boots and unpriced loads are much faster without. */
void watch_memory(unsigned int number)
{
	if (machine.watched)
		return;
	machine.watched = true;
	translate_anew(number);
}

/* What code does beside its work was decided when it was translated. */
void translate_anew(unsigned int number)
{
	qemu.flush(qemu.get_cpu_of[number]);
	atomic_fetch_add(&interrupts, 1); /* QEMU carries it out before another CPU's turn */
}

struct CPUState *first_cpu(void)
{
	return qemu.get_cpu_of[0];
}

bool is_of_some_cpu(uintptr_t state)
{
	static unsigned int last; /* QEMU goes through them in turn */
	static uintptr_t least = UINTPTR_MAX, most;
	static unsigned int known;

	for (; known < machine.cpus; known++) {
		const uintptr_t cpu = (uintptr_t)qemu.get_cpu_of[known];

		least = cpu < least ? cpu : least;
		most = cpu > most ? cpu : most;
	}
	if (state < least || state > most)
		return false;
	for (unsigned int k = 0; k < machine.cpus; k++) {
		const unsigned int n = (last + k) % machine.cpus;

		if ((uintptr_t)qemu.get_cpu_of[n] == state) {
			last = n;
			return true;
		}
	}
	return false;
}
