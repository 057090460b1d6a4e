// Package bus is the interface for transient messages between nodes. Messages may be lost or delayed: nothing on the bus is
// authoritative, and every receiver has another way to recover what it missed.
//
// Guarantees: the messages of one publisher (a Bus) on one subject arrive in order, each at most once. A subscriber is notified of
// possibly missing messages before the next message, or within seconds if none follows. The first message that it receives from a
// publisher that sent earlier ones counts as a gap as well.
//
// Subjects are few: they name nodes, lanes and partitions, never users or conversations. All methods are safe for concurrent use.
package bus

import (
	"context"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

// Bus brings messages to the subscribers of a subject on any node.
type Bus interface {
	// Publish sends data, at most MaxData bytes. It does not keep data after it returns. Success does not mean that any subscriber
	// receives it.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for each message, one at a time and in the order of each publisher, until cancel is called. handle must not
	// keep data. missed, which may be nil, is called between messages where some may have been lost. It must be quick, because the next
	// message waits for it. A message to a subject of the publisher's own node (NodeSubject) is handled before Publish returns, so handle
	// must not publish to a subject whose handler publishes to this one.
	Subscribe(subject string, handle func(data []byte), missed func()) (cancel func(), err error)
	// Request asks a responder of subject, and returns its answer. Without a responder it fails with ErrNoResponder at once. Without an
	// answer in time (DefaultWait if ctx has no deadline) it fails with ErrNoAnswer; the responder may still have acted, so requests must
	// be repeatable.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// Respond answers requests to subject until cancel is called. Of several responders, one answers. handle is called concurrently, and
	// data is its own. Beyond AtOnce concurrent calls, requesters get ErrBusy.
	Respond(subject string, handle func(data []byte) []byte) (cancel func(), err error)
	// Close handles what has arrived, sends what was published, and ends.
	Close() error
}

// MaxData is the maximum size of a message, a request or an answer. A frame with it fits into a mebibyte, the default limit of external
// NATS servers.
const MaxData = 1<<20 - 1024

// DefaultWait is how long a request without a deadline waits for its answer.
const DefaultWait = 5 * time.Second

// AtOnce is how many requests a responder handles concurrently. More get ErrBusy.
const AtOnce = 256

// Errors of buses.
var (
	ErrTooLarge    = errs.New(errs.Invalid, "bus_too_large", "a message between nodes has at most 1,047,552 bytes; send it in parts")
	ErrSubject     = errs.New(errs.Invalid, "bus_bad_subject", "a subject has 1 to 200 of a-z, A-Z, 0-9, -, _ and ., and no empty part between dots")
	ErrNoResponder = &errs.Error{Kind: errs.Unavailable, Reason: "bus_no_responder", Message: "no node serves this request at the moment; try again", Retry: 1e9}
	ErrNoAnswer    = &errs.Error{Kind: errs.Unavailable, Reason: "bus_no_answer", Message: "the node that serves this request did not answer in time; try again", Retry: 1e9}
	ErrBusy        = &errs.Error{Kind: errs.Unavailable, Reason: "bus_busy", Message: "the node that serves this request is overloaded; try again", Retry: 1e9}
	ErrDown        = &errs.Error{Kind: errs.Unavailable, Reason: "bus_down", Message: "this node has no connection to the others; it reconnects by itself", Retry: 1e9}
	ErrClosed      = errs.New(errs.Unavailable, "bus_closed", "this node is stopping; use another node")
)

// Check returns ErrSubject or ErrTooLarge for messages that no bus accepts.
func Check(subject string, data []byte) error {
	if !ValidSubject(subject) {
		return ErrSubject
	}
	if len(data) > MaxData {
		return ErrTooLarge
	}
	return nil
}

// ValidSubject reports whether a subject is valid: 1 to 200 of a-z, A-Z, 0-9, -, _ and ., without empty parts between dots.
func ValidSubject(subject string) bool {
	if subject == "" || len(subject) > 200 || subject[len(subject)-1] == '.' {
		return false
	}
	last := byte('.')
	for i := range len(subject) {
		switch c := subject[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '.' && last != '.':
		default:
			return false
		}
		last = subject[i]
	}
	return true
}

// Lanes is the number of subjects that deliveries to a node are spread over. Deliveries for one user, or for one large conversation, use
// the same lane, which keeps their order. Lanes are handled concurrently.
const Lanes = 2

// Node is the subject of deliveries for one node in a lane, 0 to Lanes-1.
func Node(name string, lane int) string {
	return NodeSubject(name, "deliver."+strconv.Itoa(lane))
}

// NodeSubject is a subject of one node. Only that node subscribes to it.
func NodeSubject(name, of string) string { return "node." + name + "." + of }
