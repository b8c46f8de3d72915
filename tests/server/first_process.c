/* SPDX-License-Identifier: MIT */
/* The first process of a kernel that never gets to the server's own: it hangs, or ends, which is a panic. */
void _start(void)
{
#ifdef ENDS
	__asm__ volatile("syscall" : : "a"(60L), "D"(1L) : "rcx", "r11", "memory");
#endif
	for (;;)
		__asm__ volatile("pause");
}
