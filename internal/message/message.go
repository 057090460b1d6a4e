// Package message has the forms of a message that several rooms share: the draft that a door hands to the chat room, the
// stored entry of a conversation, the delivery that fan-out sends to nodes, and their encodings on the quick path. The
// encodings that clients see are the protobuf of api/, written flat by hand without allocation and checked against the
// generated code by fuzzing.
//
// It touches nothing and keeps nothing; values are for one goroutine at a time.
package message

import (
	"encoding/binary"
	"errors"

	"github.com/rialto-im/rialto/internal/id"
)

// Draft is a message on its way in, and afterwards its receipt. The door fills the upper part and gives it to chat, which
// calls Done exactly once, after the message is durable or refused. Done must not block.
type Draft struct {
	Conversation id.Conversation
	Sender       id.User
	Device       id.Device
	// ClientSeq counts the device's messages; ClientMsgID stands in its place for senders that do not count.
	ClientSeq   uint64
	ClientMsgID string
	// Content is the protobuf encoding of rialto.chat.v1.Content. The draft owns it.
	Content []byte
	Done    func(*Draft)
	// Context is the door's own.
	Context any
	// Cost is what the door counts as under way until Done, in bytes.
	Cost int
	// Upload that the content names; set by chat.
	Upload id.Upload

	// Results.
	ID        id.Message
	Seq       uint64
	Counted   uint64
	Duplicate bool
	Err       error
}

// Entry is a conversation's entry as stored (docs/formats/entry.md).
type Entry struct {
	ID        id.Message
	Sender    id.User
	Device    id.Device
	ClientSeq uint64
	// Control marks an entry that changes the conversation. It does not count as unread.
	Control bool
	// Content is the protobuf encoding of rialto.chat.v1.Content.
	Content []byte
}

// First byte of a stored entry.
const (
	formMessage byte = 0x10
	formControl byte = 0x11
)

// IsControl tells whether a stored entry is a control entry.
func IsControl(stored []byte) bool { return len(stored) > 0 && stored[0] == formControl }

// ErrEntry: the bytes are not a stored entry.
var ErrEntry = errors.New("not a stored message")

// Append appends the stored form to b.
func (e *Entry) Append(b []byte) []byte {
	form := formMessage
	if e.Control {
		form = formControl
	}
	b = append(b, form)
	b = append(b, e.ID[:]...)
	b = binary.AppendUvarint(b, uint64(e.Sender))
	b = binary.AppendUvarint(b, uint64(e.Device))
	b = binary.AppendUvarint(b, e.ClientSeq)
	return append(b, e.Content...)
}

// Decode reads the stored form. Content aliases b.
func (e *Entry) Decode(b []byte) error {
	if len(b) < 11 || b[0] != formMessage && b[0] != formControl {
		return ErrEntry
	}
	e.Control = b[0] == formControl
	copy(e.ID[:], b[1:])
	b = b[11:]
	var v [3]uint64
	for i := range v {
		n := 0
		if v[i], n = binary.Uvarint(b); n <= 0 {
			return ErrEntry
		}
		b = b[n:]
	}
	e.Sender, e.Device, e.ClientSeq, e.Content = id.User(v[0]), id.Device(v[1]), v[2], b
	return nil
}

// Position is a place in a user's sync stream. Seq has the epoch in its upper 32 bits, so that it alone rises for ever.
type Position uint64

// Epoch part of the position.
func (p Position) Epoch() uint32 { return uint32(p >> 32) }
