package gateway

// The life of a connection is one state. It only moves forward:
//
//	unauthenticated ──credentials──> greeting ──Hello queued──> ready
//	       │                            │                         │
//	       └────────────────────────────┴──close frame queued─────┤
//	                                                              v
//	                                                           closing
//	                                                              │
//	any of these ──hang up──> aborted ──transport is done──> closed
//
// A transport may also end in any state, by the other side. What follows is independent of this state, and has states of its own: whether
// the transport reads (readFlow), whether it writes (writeFlow), and whether the hub and the directory know the connection
// (registrationState).

// connState is how far a connection is in its life.
type connState uint8

const (
	stateUnauthenticated connState = iota // only an auth frame is accepted
	stateGreeting                         // the credentials are checked, and what Hello says is read; received frames wait
	stateReady                            // Hello is queued; frames are handled, and events are pushed
	stateClosing                          // nothing is queued any more; the connection ends when all is written and the client closes
	stateAborted                          // the transport was told to end; what waits is not written
	stateClosed                           // the transport neither reads nor writes any more
	connStates
)

// connTransitions has, for each state, a bit for each state that may follow.
var connTransitions = [connStates]uint8{
	stateUnauthenticated: 1<<stateGreeting | 1<<stateClosing | 1<<stateAborted | 1<<stateClosed,
	stateGreeting:        1<<stateReady | 1<<stateClosing | 1<<stateAborted | 1<<stateClosed,
	stateReady:           1<<stateClosing | 1<<stateAborted | 1<<stateClosed,
	stateClosing:         1<<stateAborted | 1<<stateClosed,
	stateAborted:         1 << stateClosed,
	stateClosed:          0,
}

// advance changes the state, and is the only function that does. It reports whether the state has changed: a transition that the table does
// not allow is ignored, because the connection has advanced further. The caller holds mu.
func (c *conn) advance(to connState) bool {
	if connTransitions[c.state]&(1<<to) == 0 {
		return false
	}
	c.state = to
	return true
}

// isEnding reports whether nothing more is queued for the connection. The caller holds mu.
func (c *conn) isEnding() bool { return c.state >= stateClosing }

// readFlow is the flow control of reading.
type readFlow struct {
	reads          readState
	decodingAsync  bool   // a frame is decoded by another goroutine, and what follows it waits
	throttledUntil uint32 // second until which nothing is read, 0 while the limits allow it
	isQueued       bool   // it is among the connections of its user that wait (sender.go)
}

// readState is whether the transport reads. It is paused during the greeting, while a large frame is decoded, while too many sends have no receipt, while the limits are
// exceeded, and after an error of the client.
type readState uint8

const (
	readOn         readState = iota
	readPaused               // the transport does not read
	readBacklogged           // neither, and frames that were read before wait until the limits, or the sends in flight of the user, allow them
)

// pauseReading stops the transport from reading. The caller holds mu.
func (c *conn) pauseReading() {
	if c.reads == readOn {
		c.reads = readPaused
		c.transport.setReading(c, false)
	}
}

// writeFlow is the flow control of writing.
type writeFlow struct {
	writes          writeState
	stalledSince    uint32         // second since which unsent has not shrunk, 0 without unsent bytes
	queued          bool           // in the flusher's list
	queuedLater     bool           // in the flusher's list of what is written later
	traced          *[]queuedWrite // sampled messages of the next write; nil: none
	needsHint       bool           // events were left out, or came before Hello; the next write is a hint
	inUnreadHolders bool           // in the server's list of connections with unread answers
}

// writeState is what an event loop does with the connection's socket. The other transport writes in a goroutine of its own.
type writeState uint8

const (
	writeIdle    writeState = iota
	writeActive             // a goroutine writes; no other one does
	writeBlocked            // the socket is full; the loop continues when it is writable
)

// registrationState is whether the hub and the directory have the connection. A lock of its own guards it, which is held while these are
// told.
type registrationState uint8

const (
	unregistered registrationState = iota
	registered
	deregistered // the connection is over, and must not be registered any more
)
