package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports that systems give to no outgoing connection by themselves: a free one of those could be taken before a server listens on it.
const firstPort, endOfPorts = 12_000, 32_000

// FreePort returns a port of 127.0.0.1 that is free at the moment, and will not be taken for an outgoing connection. It fails if 100 ports were taken.
func FreePort() (port int, err error) {
	for range 100 {
		port = firstPort + rand.IntN(endOfPorts-firstPort)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}
