package natsbus

import (
	"net"
	"time"
)

// Kill ends the node's server under the bus, as the end of its process would for the others.
func (b *Bus) Kill() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// Clients gives where the node's server listens for clients: nowhere.
func (b *Bus) Clients() net.Addr { return b.server.Addr() }

// TallyAt is what the bus does once in Config.Tally, and gives the number of subjects that it speaks on.
func (b *Bus) TallyAt(now time.Time) int {
	b.tallyOnce(now)
	return len(b.subjects.list())
}
