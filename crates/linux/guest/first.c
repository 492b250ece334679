/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A connection that carries nothing: from its end on the kernel gives the route's ssthresh to new ones. */
#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static void await(int fd, short what)
{
	struct pollfd one = { .fd = fd, .events = what };

	if (poll(&one, 1, -1) != 1)
		fail("poll");
}

void first_connection(int from, int listening, const struct sockaddr_in *to)
{
	int near, far;
	char end;

	node_enter(from);
	near = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (near < 0 || (connect(near, (const struct sockaddr *)to, sizeof *to) && errno != EINPROGRESS))
		fail("a first connection");
	await(near, POLLOUT);
	await(listening, POLLIN);
	far = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (far < 0 || shutdown(near, SHUT_WR))
		fail("a first connection");
	await(far, POLLIN);
	close(far);
	await(near, POLLIN);
	if (recv(near, &end, sizeof end, 0))
		fail("the end of a first connection");
	close(near);
}
