/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the ranks of an MPI program in a guest in virtual time: one section from the first barrier,
 * when all ranks are there, to MPI_Finalize(). How mpirun starts them, reading its libraries through the
 * host, is no part of it.
 */
#include "section.h"

#include <dlfcn.h>
#include <sys/mman.h>

static int measured;

/* comm is a pointer in Open MPI and an int in MPICH; either is handed on as it came. */
int MPI_Barrier(void *comm)
{
	int (*barrier)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "MPI_Barrier");
	int error;

	if (!measured)
		mlockall(MCL_CURRENT); /* no page of code comes from the host later; without leave it may */
	error = barrier(comm);
	if (!measured) {
		measured = 1;
		begin_section();
	}
	return error;
}

int MPI_Finalize(void)
{
	int (*finalize)(void) = (int (*)(void))dlsym(RTLD_NEXT, "MPI_Finalize");

	if (measured)
		end_section();
	return finalize();
}
