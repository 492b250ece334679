/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A connection as its kernel describes it. */
#include "information.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int information_read(int fd, union information *info)
{
	socklen_t bytes = sizeof *info;

	memset(info, 0, sizeof *info);
	return fd < 0 ? -1 : getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &bytes);
}
