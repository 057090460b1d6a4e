// Package bus is the port of transient messages between nodes. It may lose, and it may be slow: nothing on it is the truth,
// and every receiver has another way to what it missed.
//
// What it promises: the messages of one publisher (a Bus) on one subject come in their order, each at most once. A subscriber is
// told when some may be missing before what it hears next, and within seconds where nothing follows. The first time that it
// hears a publisher that spoke before it listened is such a hole as well.
//
// Subjects are few: they name nodes, lanes and partitions, never users or conversations. All methods may be called from many
// goroutines.
package bus

import (
	"context"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/errs"
)

// Bus carries messages to subscribers of a subject on any node.
type Bus interface {
	// Publish hands data over, at most MaxData bytes. It does not keep data after it returns. No error is no promise that
	// anybody hears it.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for each message, one at a time in the order of each publisher, until cancel is called. handle must
	// not keep data. missed, which may be nil, is called between messages where some may have been lost: it must be quick, since
	// the next message waits for it.
	Subscribe(subject string, handle func(data []byte), missed func()) (cancel func(), err error)
	// Request asks who responds to subject, and gives the answer. Without a responder it is ErrNoResponder at once; without an
	// answer in time (DefaultWait where ctx has no deadline) ErrNoAnswer. Whether the responder did what it was asked is
	// then unknown: a request must be one that can be repeated.
	Request(ctx context.Context, subject string, data []byte) ([]byte, error)
	// Respond answers requests to subject until cancel is called; of several responders one answers. handle is called many times
	// side by side, and must not keep data; beyond AtOnce the asker gets ErrBusy.
	Respond(subject string, handle func(data []byte) []byte) (cancel func(), err error)
	// Close hears out what has arrived, sends what was published, and ends.
	Close() error
}

// MaxData is the size of a message, a request or an answer, at most. It leaves room for a frame in a mebibyte, which is what an
// external NATS server takes by default.
const MaxData = 1<<20 - 1024

// DefaultWait is how long a request without a deadline waits for its answer.
const DefaultWait = 5 * time.Second

// AtOnce is how many requests a responder works at side by side; more get ErrBusy.
const AtOnce = 256

// Errors of buses.
var (
	ErrTooLarge    = errs.New(errs.Invalid, "bus_too_large", "a message between nodes has at most 1,047,552 bytes; send it in parts")
	ErrSubject     = errs.New(errs.Invalid, "bus_bad_subject", "a subject has 1 to 200 of a-z, A-Z, 0-9, -, _ and ., and no empty part between dots")
	ErrNoResponder = &errs.Error{Kind: errs.Unavailable, Reason: "bus_no_responder", Message: "no node does this at the moment; try again", Retry: 1e9}
	ErrNoAnswer    = &errs.Error{Kind: errs.Unavailable, Reason: "bus_no_answer", Message: "the node that does this did not answer in time; try again", Retry: 1e9}
	ErrBusy        = &errs.Error{Kind: errs.Unavailable, Reason: "bus_busy", Message: "the node that does this has too much to do; try again", Retry: 1e9}
	ErrDown        = &errs.Error{Kind: errs.Unavailable, Reason: "bus_down", Message: "this node is cut off from the others; it connects again by itself", Retry: 1e9}
	ErrClosed      = errs.New(errs.Unavailable, "bus_closed", "this node is stopping; ask another")
)

// Check gives ErrSubject or ErrTooLarge for what no bus takes.
func Check(subject string, data []byte) error {
	if !ValidSubject(subject) {
		return ErrSubject
	}
	if len(data) > MaxData {
		return ErrTooLarge
	}
	return nil
}

// ValidSubject tells whether a subject is one: 1 to 200 of a-z, A-Z, 0-9, -, _ and ., and no empty part between dots.
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

// Lanes is the number of subjects that deliveries to a node are spread over. What is for one user, or for one large
// conversation, always takes the same lane, so that its order is kept; lanes are handled side by side.
const Lanes = 2

// Node is the subject of deliveries for one node in a lane, 0 to Lanes-1.
func Node(name string, lane int) string {
	return "node." + name + ".deliver." + strconv.Itoa(lane)
}
