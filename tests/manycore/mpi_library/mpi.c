/* SPDX-License-Identifier: MIT */
/* What ranks call of any MPI, for one rank: nothing has to be waited for. */

int MPI_Barrier(void *comm)
{
	return comm == 0;
}

int MPI_Finalize(void)
{
	return 0;
}
