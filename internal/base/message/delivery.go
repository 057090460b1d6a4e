package message

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// DeliveryKind is the kind of a delivery's body.
type DeliveryKind byte

// Kinds of deliveries.
const (
	// DeliverEntry: body is a stored entry of Conversation at Seq.
	DeliverEntry DeliveryKind = 1
	// DeliverEvent: body is a field of rialto.chat.v1.Event (tag, length, value), as AppendBody appends it.
	DeliverEvent DeliveryKind = 2
	// DeliverFrame: body is a whole rialto.gateway.v1.ServerFrame; transient, without a position in the stream, dropped first.
	DeliverFrame DeliveryKind = 3
	// DeliverFollow: the sessions of the targets follow the large Conversation from now on.
	DeliverFollow DeliveryKind = 4
	// DeliverUnfollow: they no longer follow it.
	DeliverUnfollow DeliveryKind = 5
)

// Target is a user who gets a delivery, with its position in the user's stream (0: none).
type Target struct {
	User     id.User
	At, Prev Position
}

// Delivery is an event or frame for users who are connected to a node. With Large, it is for all sessions that follow Conversation.
// An entry that was edited or recalled before it is delivered is an event.
type Delivery struct {
	Kind         DeliveryKind
	Large        bool
	Conversation id.Conversation
	Seq          uint64
	Counted      uint64
	Body         []byte
	Targets      []Target
	// Fence of an event: the event is stored only while this lease is held (job.Event); empty on a single node.
	Fence string
}

// Errors of Next.
var (
	ErrDelivery = errors.New("not a delivery")
	// ErrUnknownDelivery: its kind belongs to a later version.
	ErrUnknownDelivery = errors.New("a delivery of an unknown kind")
)

// Append appends the encoded delivery. Several follow each other in one bus message, each with its length.
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
	if d.Fence != "" { // earlier releases do not have this field
		b = binary.AppendUvarint(b, uint64(len(d.Fence)))
		b = append(b, d.Fence...)
	}
	return b
}

func (d *Delivery) formLen() int {
	n := 1 + uvarintLen(uint64(d.Conversation)) + uvarintLen(d.Seq) + uvarintLen(d.Counted) +
		uvarintLen(uint64(len(d.Body))) + len(d.Body) + uvarintLen(uint64(len(d.Targets)))
	for _, t := range d.Targets {
		n += uvarintLen(uint64(t.User)) + uvarintLen(uint64(t.At)) + uvarintLen(uint64(t.Prev))
	}
	if d.Fence != "" {
		n += uvarintLen(uint64(len(d.Fence))) + len(d.Fence)
	}
	return n
}

// Size is the length of what Append appends.
func (d *Delivery) Size() int {
	n := d.formLen()
	return uvarintLen(uint64(n)) + n
}

// Next decodes the first delivery of b into d, whose Targets are reused, and returns the remaining bytes. It returns them with an error,
// too, if only this delivery is invalid. Body aliases b.
func (d *Delivery) Next(b []byte) (rest []byte, err error) {
	all := FieldsOf(b)
	form := all.Bytes()
	rest = all.Rest()
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
	if d.Kind < DeliverEntry || count > uint64(len(f.Rest())) {
		return rest, ErrDelivery
	}
	d.Targets = d.Targets[:0]
	for range count {
		d.Targets = append(d.Targets, Target{User: id.User(f.Uvarint()), At: Position(f.Uvarint()), Prev: Position(f.Uvarint())})
	}
	d.Fence = ""
	if len(f.Rest()) > 0 {
		d.Fence = string(f.Bytes())
	}
	if f.Bad() {
		return rest, ErrDelivery
	}
	return rest, nil // the remaining bytes belong to fields of a later version
}
