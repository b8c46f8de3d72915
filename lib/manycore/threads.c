/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's two threads, the main loop's and the one that runs all CPUs, as their calls of the thread
 * library tell of them: when every CPU sleeps, when one is woken, and when one is about to be run.
 */
#include "machine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPU_SIZE 65536 /* no more than a CPU's state takes, and as much as its lock lies within */

static _Atomic int main_waits; /* for the vCPU thread, so that must not wait for it */
static _Atomic int vcpu_thread, asleep;
static pthread_cond_t *_Atomic slept_on; /* by the vCPU thread */
static struct CPUState **offered_cpu; /* QEMU's current_cpu, of the vCPU thread */
static pthread_mutex_t *big_lock;     /* QEMU's, as known from who sleeps with it */
static int (*real_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_unlock)(pthread_mutex_t *);
static int (*real_signal)(pthread_cond_t *), (*real_broadcast)(pthread_cond_t *);

/* Other libraries may start before this one. */
static void find_real(void)
{
	if (real_unlock)
		return;
	real_cond_wait = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	real_signal = dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
	real_broadcast = dlvsym(RTLD_NEXT, "pthread_cond_broadcast", "GLIBC_2.3.2");
	real_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (!real_cond_wait || !real_signal || !real_broadcast || !real_unlock)
		abort();
}

int thread_id(void)
{
	static __thread int id;

	if (!id)
		id = (int)syscall(SYS_gettid);
	return id;
}

bool on_vcpu_thread(void)
{
	return thread_id() == atomic_load_explicit(&vcpu_thread, memory_order_relaxed);
}

void vcpu_thread_is_this(void)
{
	atomic_store(&vcpu_thread, thread_id());
	offered_cpu = dlsym(RTLD_DEFAULT, "current_cpu");
}

int vcpu_thread_id(void)
{
	return atomic_load(&vcpu_thread);
}

bool main_loop_waits(void)
{
	return atomic_load(&main_waits);
}

bool all_cpus_sleep(void)
{
	return atomic_load(&asleep);
}

/*
 * QEMU looks at a CPU's queue of work, under that CPU's own lock, and then lets go of its big lock and
 * runs the CPU. The big lock alone is also let go of by a CPU that has asked a device.
 */
static void lock_was_dropped(pthread_mutex_t *mutex)
{
	static pthread_mutex_t *work_lock_of_first;
	static bool offers;
	struct CPUState *const first = first_cpu();
	const uintptr_t from_cpu = (uintptr_t)mutex - (uintptr_t)first;

	if (mutex == big_lock) {
		if (offers && *offered_cpu) {
			offers = false;
			before_turn(offered_cpu);
		}
	} else if (!work_lock_of_first && from_cpu < CPU_SIZE) {
		work_lock_of_first = mutex;
	} else if (work_lock_of_first) {
		offers |= is_of_some_cpu((uintptr_t)mutex - ((uintptr_t)work_lock_of_first - (uintptr_t)first));
	}
}

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int result;

	find_real();
	result = real_unlock(mutex);
	if (on_vcpu_thread() && offered_cpu && big_lock)
		lock_was_dropped(mutex);
	return result;
}

/* The main loop's thread waits for the vCPU thread when it starts, stops or pauses the machine. */
static int main_waits_for_vcpus(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	int result;

	atomic_store(&main_waits, 1);
	let_vcpus_go();
	result = real_cond_wait(cond, mutex);
	atomic_store(&main_waits, 0);
	return result;
}

/* The vCPU thread sleeps when every CPU is halted. */
EXPORTED int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	int result;

	find_real();
	if (thread_id() == getpid())
		return main_waits_for_vcpus(cond, mutex);
	if (!on_vcpu_thread())
		return real_cond_wait(cond, mutex);
	big_lock = mutex;
	atomic_store(&slept_on, cond);
	atomic_store(&asleep, 1);
	wake_main_loop();
	result = real_cond_wait(cond, mutex);
	atomic_store(&asleep, 0);
	return result;
}

/* Who is woken is not idle any more, however long the host takes to run it: the clock may not jump on. */
static void woken(pthread_cond_t *cond)
{
	find_real();
	if (cond == atomic_load(&slept_on))
		atomic_store(&asleep, 0);
}

EXPORTED int pthread_cond_signal(pthread_cond_t *cond)
{
	woken(cond);
	return real_signal(cond);
}

EXPORTED int pthread_cond_broadcast(pthread_cond_t *cond)
{
	woken(cond);
	return real_broadcast(cond);
}
