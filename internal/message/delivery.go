package message

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/id"
)

// DeliveryKind says what a delivery's body is.
type DeliveryKind byte

// Kinds of deliveries.
const (
	// DeliverEntry: body is a stored entry of Conversation at Seq.
	DeliverEntry DeliveryKind = 1
	// DeliverEvent: body is a field of rialto.chat.v1.Event (tag, length, value), as AppendBody makes.
	DeliverEvent DeliveryKind = 2
	// DeliverFrame: body is a whole rialto.gateway.v1.ServerFrame; transient, without a place in the stream, dropped first.
	DeliverFrame DeliveryKind = 3
	// DeliverFollow: the sessions of the targets follow the large Conversation from now on.
	DeliverFollow DeliveryKind = 4
	// DeliverUnfollow: they no longer do.
	DeliverUnfollow DeliveryKind = 5
)

// Target is a user that a delivery is for, with the place it has in the user's stream (0: none).
type Target struct {
	User     id.User
	At, Prev Position
}

// Delivery is one thing for users who are connected to a node. With Large, it is for all sessions that follow Conversation.
type Delivery struct {
	Kind         DeliveryKind
	Large        bool
	Conversation id.Conversation
	Seq          uint64
	Counted      uint64
	Body         []byte
	Targets      []Target
}

// ErrDelivery: the bytes are not deliveries.
var ErrDelivery = errors.New("not a delivery")

// Append appends the delivery's form on the bus. Forms follow each other in one bus message.
func (d *Delivery) Append(b []byte) []byte {
	kind := byte(d.Kind)
	if d.Large {
		kind |= 0x80
	}
	b = append(b, kind)
	b = binary.AppendUvarint(b, uint64(d.Conversation))
	b = binary.AppendUvarint(b, d.Seq)
	b = binary.AppendUvarint(b, d.Counted)
	b = binary.AppendUvarint(b, uint64(len(d.Body)))
	b = append(b, d.Body...)
	b = binary.AppendUvarint(b, uint64(len(d.Targets)))
	for _, t := range d.Targets {
		b = binary.AppendUvarint(b, uint64(t.User))
		b = binary.AppendUvarint(b, uint64(t.At))
		b = binary.AppendUvarint(b, uint64(t.Prev))
	}
	return b
}

// Size is at least the length of what Append appends.
func (d *Delivery) Size() int {
	return 1 + 5*binary.MaxVarintLen64 + len(d.Body) + 3*binary.MaxVarintLen64*len(d.Targets)
}

// Next reads the first delivery of b into d, whose Targets are reused, and gives what follows it. Body aliases b.
func (d *Delivery) Next(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, ErrDelivery
	}
	d.Kind, d.Large = DeliveryKind(b[0]&0x7f), b[0]&0x80 != 0
	if d.Kind < DeliverEntry || d.Kind > DeliverUnfollow {
		return nil, ErrDelivery
	}
	b = b[1:]
	ok := true
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok, b = false, nil
			return 0
		}
		b = b[n:]
		return v
	}
	d.Conversation = id.Conversation(next())
	d.Seq = next()
	d.Counted = next()
	size := next()
	if !ok || size > uint64(len(b)) {
		return nil, ErrDelivery
	}
	d.Body, b = b[:size:size], b[size:]
	count := next()
	if !ok || count > uint64(len(b)) {
		return nil, ErrDelivery
	}
	d.Targets = d.Targets[:0]
	for range count {
		d.Targets = append(d.Targets, Target{User: id.User(next()), At: Position(next()), Prev: Position(next())})
	}
	if !ok {
		return nil, ErrDelivery
	}
	return b, nil
}
