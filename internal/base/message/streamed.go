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

// Streamed is a streamed message as a user sees it.
type Streamed struct {
	Sender id.User
	Ended  bool
	// MayStop is why the user may not stop it, nil if the user may.
	MayStop error
}
