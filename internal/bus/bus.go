// Package bus is the port of transient messages between nodes. It may lose, and it may be slow: nothing on it is the truth,
// and every receiver has another way to what it missed.
//
// All methods may be called from many goroutines.
package bus

import "strconv"

// Bus carries messages to subscribers of a subject on any node.
type Bus interface {
	// Publish hands data over. It does not keep data after it returns.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for each message, one at a time in the order of each publisher, until the returned function is
	// called. handle must not keep data.
	Subscribe(subject string, handle func(data []byte)) (cancel func(), err error)
	Close() error
}

// Lanes is the number of subjects that deliveries to a node are spread over. What is for one user, or for one large
// conversation, always takes the same lane, so that its order is kept; lanes are handled side by side.
const Lanes = 2

// Node is the subject of deliveries for one node in a lane, 0 to Lanes-1.
func Node(name string, lane int) string {
	return "node." + name + ".deliver." + strconv.Itoa(lane)
}
