// SPDX-License-Identifier: Apache-2.0
/*
 * Linked with --gc-sections, the line table still has the function that nothing calls, as if it were at
 * address 0. It is so long that its last lines' addresses would be in the other function.
 */
#define LONG __asm__ volatile(".skip 0x3000")

static volatile int sum;

int discarded(int n);

#line 100
int discarded(int n)
{
	sum += n;
	LONG;
	sum -= n;
	return sum;
}

#line 200
int main(void)
{
	LONG;
	sum = 1;
	return sum;
}
