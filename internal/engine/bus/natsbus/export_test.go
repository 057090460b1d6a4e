package natsbus

import (
	"net"
	"time"
)

// Kill ends the node's embedded server, as the others see it when the process ends.
func (b *Bus) Kill() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// Clients returns the address on which the node's server listens for clients, if any.
func (b *Bus) Clients() net.Addr { return b.server.Addr() }

// TallyAt publishes the tallies, as once in Config.Tally, and returns the number of the publisher's subjects.
func (b *Bus) TallyAt(now time.Time) int {
	b.tallyOnce(now)
	return len(b.subjects.list())
}
