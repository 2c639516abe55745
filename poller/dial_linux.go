package poller

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, which package syscall does not name.
const tcpUserTimeout = 18

// giveUpUnanswered makes a connection fail when what was sent is not even acknowledged for so long: the
// path is dead, or a firewall forgot the connection. A server that hangs acknowledges all the same, so the
// two can be told apart, and a connection that died while idle is made again within the same poll.
func giveUpUnanswered(after time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		// What the kernel refuses here is no reason not to connect.
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(after/time.Millisecond))
		})
	}
}
