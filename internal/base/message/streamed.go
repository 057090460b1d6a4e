package message

import (
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// PushWindow is how long a node may push a text after it has begun to check that this was not recalled. A recall is acknowledged later.
const PushWindow = 500 * time.Millisecond

// StreamedChange says that a streamed message begins, or has ended or was recalled.
type StreamedChange struct {
	Conversation id.Conversation
	Seq          uint64
	Sender       id.User // of one that begins
	StoredMs     int64   // of one that begins
	Ended        bool
}

// StreamedReaders are those who are shown the parts of a streamed message, beside its sender.
type StreamedReaders struct {
	// Large: all who follow the conversation. Then there are no Users.
	Large bool
	Users []id.User
	// Count is how many they are, whether they are connected or not.
	Count int
	// HideParts: they see that the message is being written, and neither its text nor its notes.
	HideParts bool
}

// Streamed is a streamed message as a user sees it.
type Streamed struct {
	Sender id.User
	Ended  bool
	// MayStop is why the user may not stop it, nil if the user may.
	MayStop error
	// HideParts is that of StreamedReaders.
	HideParts bool
}
