package message

import "github.com/rialto-im/rialto/internal/base/id"

// Membership of a user in a conversation, as an interval of its log; Leave is 0 for a member. If messages expire, Join is the first
// retained seq. If the user cleared the history, Join is after what was cleared.
type Membership struct {
	Conversation id.Conversation
	Join, Leave  uint64
	Large        bool
	Thread       bool  // it is followed, and in no list of conversations
	ActiveMs     int64 // time of the last activity, as recorded in the user's list
	Channel      ChannelInfo
	Follower     bool // of a channel
	// Deleted: the user took the conversation off the list, when the running number of its messages was ClearedCounted.
	Deleted        bool
	ClearedCounted uint64
}

// ChannelInfo is what only the row of a channel has. It is zero for other conversations.
type ChannelInfo struct {
	Followers uint32
	Handle    string // empty for none
}

// Activity is the time of a conversation's newest entry that a user may read.
type Activity struct {
	Conversation id.Conversation
	Ms           int64
}

// Cursor is a position in a list by activity: the following rows are older, or of the same time with a lower id.
type Cursor struct {
	Ms           int64
	Conversation id.Conversation
}

// Span is the messages of a conversation with seqs above After, up to Last. AfterCounted is the running number at After.
type Span struct {
	Conversation              id.Conversation
	After, AfterCounted, Last uint64
}
