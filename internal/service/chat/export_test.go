package chat

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/overload"
)

// Statements whose plans a test reads.
const (
	ReactorsQuery  = reactorsQuery
	UserEmojiQuery = userEmojiQuery
)

// SetMaxCached bounds the conversations in memory, before the first use.
func SetMaxCached(s *Service, n int) { s.maxCached = n }

// SetControlTimeout bounds the wait for a control entry, before the first use.
func SetControlTimeout(s *Service, most time.Duration) { s.controlTimeout = most }

// SetMinTextAge sets how old a message is when its edit or recall is acknowledged, before the first use.
func SetMinTextAge(s *Service, age time.Duration) { s.minTextAge = age }

// OccupySenderSlots takes all slots in which updates of one sender are applied. free gives them back.
func OccupySenderSlots(ctx context.Context, s *Service, u id.User) (free func(), err error) {
	var releases []func()
	free = func() {
		for _, release := range releases {
			release()
		}
	}
	for range slotsPerSender {
		release, err := s.senderSlots.acquire(ctx, u)
		if err != nil {
			return free, err
		}
		releases = append(releases, release)
	}
	return free, nil
}

// SendersWithSlots counts the senders whose updates are being applied.
func SendersWithSlots(s *Service) int {
	s.senderSlots.mu.Lock()
	defer s.senderSlots.mu.Unlock()
	return len(s.senderSlots.bySender)
}

// CachedConversations counts the conversations in memory.
func CachedConversations(s *Service) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conversations)
}

// Expire deletes what has expired, as Run does periodically.
func Expire(ctx context.Context, s *Service) error {
	ctx, cancel := context.WithTimeout(ctx, eventually.Timeout)
	defer cancel()
	return s.expire(ctx, s.ownsPartition)
}

// ParseRetention returns the days of a setting.
var ParseRetention = parseRetention

// ExpireBatchSize is how many entries are deleted at once.
const ExpireBatchSize = expireBatchSize

// Validate checks a draft.
var Validate = validate

// MaxQueuedDrafts bounds the drafts that wait for one conversation.
const MaxQueuedDrafts = maxQueuedDrafts

// PushThreadUpdates pushes what changed threads are now, as Run does each second.
func PushThreadUpdates(ctx context.Context, s *Service) { s.pushThreadUpdates(ctx) }

// ExpireShort deletes what has expired of conversations with a short retention, as Run does more often.
func ExpireShort(ctx context.Context, s *Service) error { return s.expireShort(ctx, s.ownsPartition) }

// MaxDeletedMessages is how many messages of a conversation a user can delete one by one.
const MaxDeletedMessages = maxDeletedMessages

// Bounds of held drafts.
const (
	MaxHeldOfUser = maxHeldOfUser
	MaxHeld       = maxHeldBytes / heldOverhead
)

// SetHoldTime sets how long a draft waits for its previous message, before the first use.
func SetHoldTime(s *Service, d time.Duration) { s.holdTime = d }

// HeldDrafts counts drafts that wait for their previous messages.
func HeldDrafts(s *Service) int {
	s.holdBudget.mu.Lock()
	defer s.holdBudget.mu.Unlock()
	return len(s.holdBudget.holds)
}

// StopHolding rejects all held drafts, as Run does at its end.
func StopHolding(s *Service) { s.stopHolding() }

// LogKey is the key of a conversation's log.
var LogKey = logKey

// WaitingForNotices counts the users who will follow the notices with the next transaction.
func WaitingForNotices(s *Service, c id.Conversation) int {
	s.followBatches.mu.Lock()
	defer s.followBatches.mu.Unlock()
	if b := s.followBatches.next[c]; b != nil {
		return len(b.users)
	}
	return 0
}

// HeldUntil returns when the drafts of a device that are held now are refused.
func HeldUntil(s *Service, c id.Conversation, u id.User, device id.Device) time.Time {
	conv := s.conversation(c)
	conv.mu.Lock()
	defer conv.mu.Unlock()
	return conv.mailbox.held[senderDevice{u, device}].deadline
}

// SendPriority returns the priority of a draft in a conversation with a number of members; -1: it is not loaded.
func SendPriority(members int, channel bool, d *message.Draft) overload.Priority {
	if members < 0 {
		return sendPriority(nil, d)
	}
	return sendPriority(&state{activeMembers: make([]id.User, members), channel: channel}, d)
}
