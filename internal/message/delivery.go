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
	// Turn of an event: it is stored only while that lasts (job.Event); empty where no other node hands over anything.
	Turn string
}

// Why a delivery cannot be read.
var (
	ErrDelivery = errors.New("not a delivery")
	// ErrUnknownDelivery: it is of a kind that a later version has.
	ErrUnknownDelivery = errors.New("a delivery of an unknown kind")
)

// Append appends the delivery's form on the bus. Forms follow each other in one bus message, each behind its length.
func (d *Delivery) Append(b []byte) []byte {
	kind := byte(d.Kind)
	if d.Large {
		kind |= 0x80
	}
	b = binary.AppendUvarint(b, uint64(d.formLen()))
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
	if d.Turn != "" { // which earlier releases do not know
		b = binary.AppendUvarint(b, uint64(len(d.Turn)))
		b = append(b, d.Turn...)
	}
	return b
}

func (d *Delivery) formLen() int {
	n := 1 + uvarintLen(uint64(d.Conversation)) + uvarintLen(d.Seq) + uvarintLen(d.Counted) +
		uvarintLen(uint64(len(d.Body))) + len(d.Body) + uvarintLen(uint64(len(d.Targets)))
	for _, t := range d.Targets {
		n += uvarintLen(uint64(t.User)) + uvarintLen(uint64(t.At)) + uvarintLen(uint64(t.Prev))
	}
	if d.Turn != "" {
		n += uvarintLen(uint64(len(d.Turn))) + len(d.Turn)
	}
	return n
}

// Size is the length of what Append appends.
func (d *Delivery) Size() int {
	n := d.formLen()
	return uvarintLen(uint64(n)) + n
}

// Next reads the first delivery of b into d, whose Targets are reused, and gives what follows it: also with an error, where that is of
// this delivery alone. Body aliases b.
func (d *Delivery) Next(b []byte) (rest []byte, err error) {
	all := FieldsOf(b)
	form := all.Bytes()
	rest = all.Left()
	if len(form) == 0 {
		return rest, ErrDelivery
	}
	d.Kind, d.Large = DeliveryKind(form[0]&0x7f), form[0]&0x80 != 0
	if d.Kind > DeliverUnfollow {
		return rest, ErrUnknownDelivery
	}
	f := FieldsOf(form[1:])
	d.Conversation = id.Conversation(f.Uvarint())
	d.Seq = f.Uvarint()
	d.Counted = f.Uvarint()
	d.Body = f.Bytes()
	count := f.Uvarint()
	if d.Kind < DeliverEntry || count > uint64(len(f.Left())) {
		return rest, ErrDelivery
	}
	d.Targets = d.Targets[:0]
	for range count {
		d.Targets = append(d.Targets, Target{User: id.User(f.Uvarint()), At: Position(f.Uvarint()), Prev: Position(f.Uvarint())})
	}
	d.Turn = ""
	if len(f.Left()) > 0 {
		d.Turn = string(f.Bytes())
	}
	if f.Bad() {
		return rest, ErrDelivery
	}
	return rest, nil // what is left of the form is of a later version
}
