package message

import "github.com/rialto-im/rialto/internal/base/id"

// Bridge says over which bridge an entry came.
type Bridge struct {
	Name string
	// Bot of the bridge. Only while it is a member of the conversation, the bridge may write there.
	Bot id.User
	// ExternalID is the id of the entry in the other system, unique in a conversation for each bridge.
	ExternalID string
}

// Bridged is an entry that comes over a bridge: a text, or an edit or a recall of one.
type Bridged struct {
	Bridge
	Conversation id.Conversation
	Sender       id.User // of a text
	Text         string
	// ReplyTo is the external id of the message that a text answers. If it is not known, the text is no reply.
	ReplyTo string
	// Edits and Recalls are the external id of the message that is changed. At most one is set.
	Edits, Recalls string
}
