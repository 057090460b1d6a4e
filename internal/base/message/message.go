// Package message has the types of a message that several packages share: the draft that a transport submits to package chat, the
// stored entry of a conversation, the delivery that fan-out sends to nodes, and their encodings on the fast path. The
// encodings that clients see are the protobuf of api/. Hand-written code encodes them without allocation, and fuzz tests compare it with the
// generated code.
//
// It has no state and no side effects; values are for one goroutine at a time.
package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
)

// Draft is an incoming message, and afterwards its receipt. The transport fills the upper part and submits it to chat, which
// calls Done exactly once, after the message is durable or refused. Done must not block.
type Draft struct {
	Conversation id.Conversation
	Sender       id.User
	Device       id.Device
	// ClientSeq counts the device's messages. Senders that do not count use ClientMsgID instead.
	ClientSeq   uint64
	ClientMsgID string
	// PrevClientSeq is the ClientSeq of the device's previous message in this conversation, which must be stored first. 0: not checked.
	PrevClientSeq uint64
	// Content is the protobuf encoding of rialto.chat.v1.Content. The draft owns it.
	Content []byte
	Done    func(*Draft)
	// OnPark, which may be nil, is called when a draft begins or ceases to wait for something else than the log (Park). It does not block, and sets IsParked.
	OnPark   func(d *Draft, parked bool)
	IsParked bool
	// Network from which the draft came, which has a share of what may be held; the zero value has none.
	Network netip.Prefix
	// Context belongs to the transport.
	Context any
	// Turn numbers the drafts of a connection, and Sent is the content as its client sent it, which nobody changes; both belong to the transport.
	Turn uint64
	Sent []byte
	// Application: it came with an API key, and comes after those of users where there is not room for all.
	Application bool
	// Cost in bytes is charged by the transport until Done is called.
	Cost int
	// Accepted is the time of receipt since the transport's start; 0 if the transport does not measure it, and does not trace the message.
	Accepted time.Duration
	// Request is the traced request that it came with; nil: none.
	Request *trace.SpanContext
	// Uploads to which the content refers; set by chat.
	Uploads []id.Upload
	// Refers: the content names an earlier message, which chat looks up before it appends the draft; set by chat.
	Refers bool
	// RefersByClientSeq: it does so by a client_seq, so that the drafts before it must be in the log first; set by chat.
	RefersByClientSeq bool
	// Mentions: the content, or that of the edit, has mentions; set by chat.
	Mentions bool
	// Reacts: a reaction of somebody who may read a channel and not write in it; set by chat.
	Reacts bool
	// LinkPreview: the content, or that of the edit, has a link preview; set by chat.
	LinkPreview bool
	// Asked: a webhook was asked, and may have replaced the text; set by chat.
	Asked bool
	// Streamed: the content says that its sender is still writing; set by chat.
	Streamed bool
	// ByServer: the end of a streamed message, also if its sender may no longer write or read, or a moderator's recall, which has no sender; set by chat.
	ByServer bool
	// LimitedSinceMs is when moderators limited the sender, in milliseconds since 1970; 0: they did not. Set by chat.
	LimitedSinceMs int64
	// Limited is Entry.Limited; set by chat.
	Limited bool
	// FlaggedWord of the content puts the message into the queue of moderators; set by chat.
	FlaggedWord string
	// Updates is Entry.Updates; set by chat.
	Updates uint64
	// Bridge over which the entry came, or that reports a delivery; nil: none. Set by chat.
	Bridge *Bridge

	// Results.
	ID        id.Message
	Seq       uint64
	Counted   uint64
	Duplicate bool
	Err       error
}

// Park tells the transport that the draft waits for something else than the log: a webhook, the state of its conversation, or an earlier message.
func (d *Draft) Park() {
	if d.OnPark != nil && !d.IsParked {
		d.OnPark(d, true)
	}
}

// Unpark tells it that the draft goes to the log. A draft that is answered need not be unparked.
func (d *Draft) Unpark() {
	if d.IsParked {
		d.OnPark(d, false)
	}
}

// Entry is a conversation's entry as stored (docs/formats/entry.md).
type Entry struct {
	ID        id.Message
	Sender    id.User
	Device    id.Device
	ClientSeq uint64
	// Control marks an entry that changes the conversation. It does not count as unread.
	Control bool
	// Updates is the seq of the message that this entry changes: an edit, a recall, a reaction or a pin; 0 for any other entry. An update
	// does not count as unread.
	Updates uint64
	// Limited: only its sender sees the entry, because moderators have limited the sender. It does not count as unread.
	Limited bool
	// Content is the protobuf encoding of rialto.chat.v1.Content.
	Content []byte
}

// First byte of a stored entry.
const (
	formMessage byte = 0x10
	formControl byte = 0x11
	formUpdate  byte = 0x12
	// Those that only their senders see.
	formLimitedMessage byte = 0x13
	formLimitedUpdate  byte = 0x14
)

// IsControl reports whether a stored entry is a control entry.
func IsControl(stored []byte) bool { return len(stored) > 0 && stored[0] == formControl }

// IsUpdate reports whether a stored entry is an update of an earlier message.
func IsUpdate(stored []byte) bool {
	return len(stored) > 0 && (stored[0] == formUpdate || stored[0] == formLimitedUpdate)
}

// IsLimited reports whether only its sender sees a stored entry.
func IsLimited(stored []byte) bool {
	return len(stored) > 0 && (stored[0] == formLimitedMessage || stored[0] == formLimitedUpdate)
}

// isMessage reports whether a stored entry is a message.
func isMessage(stored []byte) bool {
	return len(stored) > 0 && (stored[0] == formMessage || stored[0] == formLimitedMessage)
}

// StoredMs returns the time of a stored entry, in milliseconds since 1970; 0 if that is none.
func StoredMs(stored []byte) int64 {
	m, ok := IDOf(stored)
	if !ok {
		return 0
	}
	return m.Ms()
}

// IDOf returns the id of a stored entry; false if that is none.
func IDOf(stored []byte) (m id.Message, ok bool) {
	if len(stored) < 1+len(m) {
		return m, false
	}
	copy(m[:], stored[1:])
	return m, true
}

// SameID reports whether two stored entries have the same id: they are the same message, of which one may have lost its content.
func SameID(a, b []byte) bool {
	const end = 1 + len(id.Message{})
	return len(a) >= end && len(b) >= end && bytes.Equal(a[1:end], b[1:end])
}

// signalTag is the first two bytes of a Content that is a signal: its field is the only one.
var signalTag = binary.AppendUvarint(nil, 22<<3|length)

// IsSignal reports whether a Content in its stored form is a signal: a message for programs, which is not shown and does not count as
// unread.
func IsSignal(content []byte) bool { return bytes.HasPrefix(content, signalTag) }

// forwardTag begins the field of a Content that is a forward.
var forwardTag = binary.AppendUvarint(nil, 21<<3|length)

// IsForward reports whether a Content in its stored form is a forward, which may be a reply.
func IsForward(content []byte) bool {
	if len(content) > 0 && content[0] == tag(14, length) {
		n, k := binary.Uvarint(content[1:])
		if k <= 0 || n > uint64(len(content)-1-k) {
			return false
		}
		content = content[1+k+int(n):]
	}
	return bytes.HasPrefix(content, forwardTag)
}

// IsStreamed reports whether a Content is that of a message which its sender is still writing.
func IsStreamed(content []byte) bool {
	var c chatv1.Content
	return HasEffect(content) && proto.Unmarshal(content, &c) == nil && c.GetStreamed() != nil
}

// IsForwardEntry reports whether a stored entry is a forward.
func IsForwardEntry(stored []byte) bool {
	var e Entry
	return isMessage(stored) && e.Decode(stored) == nil && IsForward(e.Content)
}

// IsSignalEntry reports whether a stored entry is a signal.
func IsSignalEntry(stored []byte) bool {
	var e Entry
	return isMessage(stored) && e.Decode(stored) == nil && IsSignal(e.Content)
}

// Counts reports whether an entry counts as unread: a message that is shown, and not only to its sender.
func (e *Entry) Counts() bool {
	return !e.Control && e.Updates == 0 && !e.Limited && !IsSignal(e.Content)
}

// IsFor reports whether a user may see an entry as far as limits of its sender are concerned. User 0 is nobody in particular.
func (e *Entry) IsFor(u id.User) bool { return !e.Limited || u == e.Sender || u == 0 }

// ErrEntry: the bytes are not a stored entry.
var ErrEntry = errors.New("not a stored message")

// Append appends the stored form to b.
func (e *Entry) Append(b []byte) []byte {
	form := formMessage
	switch {
	case e.Control:
		form = formControl
	case e.Updates != 0 && e.Limited:
		form = formLimitedUpdate
	case e.Updates != 0:
		form = formUpdate
	case e.Limited:
		form = formLimitedMessage
	}
	b = append(b, form)
	b = append(b, e.ID[:]...)
	b = binary.AppendUvarint(b, uint64(e.Sender))
	b = binary.AppendUvarint(b, uint64(e.Device))
	b = binary.AppendUvarint(b, e.ClientSeq)
	if e.Updates != 0 && !e.Control {
		b = binary.AppendUvarint(b, e.Updates)
	}
	return append(b, e.Content...)
}

// Decode reads the stored form. Content aliases b.
func (e *Entry) Decode(b []byte) error {
	if len(b) < 11 || b[0] < formMessage || b[0] > formLimitedUpdate {
		return ErrEntry
	}
	copy(e.ID[:], b[1:])
	f := FieldsOf(b[11:])
	e.Sender, e.Device, e.ClientSeq = id.User(f.Uvarint()), id.Device(f.Uvarint()), f.Uvarint()
	update := IsUpdate(b)
	if e.Control, e.Limited, e.Updates = IsControl(b), IsLimited(b), 0; update {
		e.Updates = f.Uvarint()
	}
	e.Content = f.Rest()
	if f.Bad() || update && e.Updates == 0 {
		return ErrEntry
	}
	return nil
}

// Position is a place in a user's sync stream. Seq has the epoch in its upper 32 bits, so that it alone always rises.
type Position uint64

// Epoch part of the position.
func (p Position) Epoch() uint32 { return uint32(p >> 32) }
