package natsbus

import "net"

// Kill ends the node's server under the bus, as the end of its process would for the others.
func (b *Bus) Kill() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// Clients gives where the node's server listens for clients: nowhere.
func (b *Bus) Clients() net.Addr { return b.server.Addr() }
