// Package bus is the port of transient messages between nodes. It may lose, and it may be slow: nothing on it is the truth,
// and every receiver has another way to what it missed.
//
// All methods may be called from many goroutines.
package bus

// Bus carries messages to subscribers of a subject on any node.
type Bus interface {
	// Publish hands data over; it does not wait for receivers. The caller must not change data afterwards.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for each message, one at a time in the order of each publisher, until the returned function is
	// called. handle must not keep data.
	Subscribe(subject string, handle func(data []byte)) (cancel func(), err error)
	Close() error
}

// Node is the subject of deliveries for one node.
func Node(name string) string { return "node." + name + ".deliver" }
