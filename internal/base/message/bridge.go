package message

import (
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
)

// ErrNotLinked refuses a bridge that is not linked with a group, or whose bot is no member.
var ErrNotLinked = errs.New(errs.Denied, "not_linked", "this group is not linked with the bridge: an admin links it, and the bridge's bot must stay a member")

// Bridge says over which bridge an entry came.
type Bridge struct {
	Name string
	// Bot of the bridge. Only while it is a member of the conversation, the bridge may write there.
	Bot id.User
	// ExternalID is the id of the entry in the other system, unique in a conversation for each bridge.
	ExternalID string
}

// BridgedKind is what an entry that comes over a bridge is.
type BridgedKind int

// The kinds of bridged entries.
const (
	BridgedText BridgedKind = iota
	BridgedEdit
	BridgedRecall
)

// Bridged is an entry that comes over a bridge: a text, or an edit or a recall of one.
type Bridged struct {
	Bridge
	Kind         BridgedKind
	Conversation id.Conversation
	Sender       id.User // of a text
	Text         string  // of a text or an edit
	// ReplyTo is the external id of the message that a text answers. If it is not known, the text is no reply.
	ReplyTo string
	// Target is the external id of the message that an edit or a recall changes.
	Target string
}
