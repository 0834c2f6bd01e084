// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: pgpool/pgpool2#6, google/nsjail#231. Children make System V segments of 1 MiB, and exit
 * without IPC_RMID: nobody has them attached. `fixed`: they are removed. Their keys begin with the
 * parent's process id, by which the segments are removed in the end.
 *
 * kind: kernel memory
 * leak shm-orphans:
 *   part: .*(shared|shm|sysv|tmpfs|segment).*
 * healthy shm-removed: fixed
 */
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

static void worker(int number, int fixed)
{
	key_t key = (key_t)((unsigned)getppid() << 16 | (unsigned)(number + 1));
	int segment = shmget(key, 1 << 20, IPC_CREAT | 0600);
	char *attached = shmat(segment, 0, 0);

	memset(attached, 1, 1 << 20);
	shmdt(attached);
	if (fixed)
		shmctl(segment, IPC_RMID, 0);
	_exit(0);
}

int main(int count, char **arguments)
{
	(void)arguments;
	for (int number = 0; number < 1500; number++) {
		if (fork() == 0)
			worker(number, count > 1);
		wait(0);
		usleep(300000);
	}
}
