package chat

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A thread is a conversation with the replies under one message, its root, of another conversation, its parent (docs/decisions/0076-threads.md).
// Its members are its followers: they have it in their streams and lists. Who may read and write is decided by the parent alone, whose state each
// call and each push looks at: a present member who may read the root, and may write to the parent. So nobody keeps a thread who has lost the
// parent, although the thread's log has no entry of it.
//
// The row of the thread names parent and root, and is unique: two users who start it at the same time get one thread. A thread is in its parent's
// partition, so that one node dispatches the entries of both in order.

// maxThreadFollowers bounds the followers, each of whom has the entries in an inbox. Others can read and write without following.
const maxThreadFollowers = 500

var (
	errThreadOfThread = errs.New(errs.Invalid, "thread_of_thread", "a thread has no threads below its messages: reply to the message instead")
	errNoThreads      = errs.New(errs.Invalid, "no_threads", "a channel has no threads")
	errThreadFull     = errs.New(errs.Exhausted, "group_full", "500 users follow this thread, which is the most; you can read it and write to it without following")
)

// withParent returns the state of a thread with that of its parent, and with what follows from it. Other states it returns as they are.
func withParent(ctx context.Context, st *state, load func(context.Context, id.Conversation) (*state, error)) (*state, error) {
	if st.kind != thread {
		return st, nil
	}
	parent, err := load(ctx, st.parentID)
	if err != nil {
		return nil, err
	}
	n := *st
	n.parent, n.retention = parent, parent.retention
	return &n, nil
}

// mayReadRoot reports whether a user is a member now and may read the message at a seq, if it still exists.
func (s *state) mayReadRoot(u id.User, seq uint64) bool {
	m, ok := s.members[u]
	return ok && m.leaveSeq == 0 && m.joinSeq <= seq
}

// rules returns the state whose roles and kind apply: of a thread its parent's.
func (s *state) rules() *state {
	if s.parent != nil {
		return s.parent
	}
	return s
}

// replier returns who a user is in a thread, whether the user follows it or not. It is not ok for those who may not read it, and in other
// conversations.
func (s *state) replier(u id.User) (m member, ok bool) {
	if s.parent == nil || !s.parent.mayReadRoot(u, s.rootSeq) {
		return m, false
	}
	if m = s.members[u]; m.leaveSeq != 0 || m.joinSeq == 0 {
		m = member{firstJoinSeq: 1, joinSeq: 1}
	}
	return m, true
}

// readers returns the users from a list who may read a conversation: of a thread those whom its parent lets. The list is not changed.
func (s *state) readers(users []id.User) []id.User {
	if s.parent == nil {
		return users
	}
	lost := func(u id.User) bool { return !s.parent.mayReadRoot(u, s.rootSeq) }
	if !slices.ContainsFunc(users, lost) {
		return users
	}
	return slices.DeleteFunc(slices.Clone(users), lost)
}

// canReply is canSend of a thread.
func (s *state) canReply(u id.User, nowMs int64) error {
	switch {
	case s.parent == nil:
		return nil // checkReplies has the parent's state
	case !s.parent.mayReadRoot(u, s.rootSeq):
		return errNoConversation
	case s.importing:
		return errImporting
	}
	return s.parent.canSend(u, nowMs)
}

// checkReplies returns a thread's state with that of its parent now, and which drafts that rejects. If the parent cannot be read, it rejects all,
// and the state is without it.
func (s *Service) checkReplies(st *state, batch []*message.Draft) (*state, []error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	rejections := make([]error, len(batch))
	with, err := withParent(ctx, st, s.sendableState)
	if err != nil {
		for i := range rejections {
			rejections[i] = busy(err)
		}
		return st, rejections
	}
	now := s.deps.Clock.Now().UnixMilli()
	for i, d := range batch {
		rejections[i] = with.admits(d, now)
	}
	return with, rejections
}

// sendableState is linearizableState with an answer of the relation webhook that has not expired.
func (s *Service) sendableState(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.conversation(c)
	r.mu.Lock()
	if s.relationExpired(r.state) {
		r.state = nil
	}
	r.mu.Unlock()
	return s.linearizableState(ctx, c)
}

// mayBeMentioned reports whether a message may mention a user: a member who may read it.
func (s *state) mayBeMentioned(u id.User) bool {
	if s.parent != nil {
		return s.parent.mayReadRoot(u, s.rootSeq)
	}
	return s.role(u) != 0
}

// mentionedAdmins returns whom a mention of the admins names.
func (s *state) mentionedAdmins() []uint64 {
	if s.parent == nil {
		return s.admins
	}
	return slices.DeleteFunc(slices.Clone(s.parent.admins), func(u uint64) bool { return !s.mayBeMentioned(id.User(u)) })
}

// describeThread returns a thread as a user sees it.
func describeThread(st *state, u id.User, nowMs int64) *chatv1.Conversation {
	v := st.snapshot()
	v.MemberCount = uint32(len(st.readers(st.activeMembers)))
	v.Parent, v.RootSeq, v.Dissolved = uint64(st.parentID), st.rootSeq, st.parent.dissolved
	v.MutedAll, v.MutedUntilMs = st.parent.mutedAllMs > nowMs, st.parent.members[u].mutedUntilMs
	return v
}

// threadOf returns the thread under a message, 0 if nobody started it.
func (s *Service) threadOf(ctx context.Context, parent id.Conversation, root uint64) (id.Conversation, error) {
	found, err := s.querySeqs(ctx, `SELECT id FROM conversations WHERE parent = $1 AND root = $2 AND parent <> 0`, int64(parent), int64(root))
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return id.Conversation(found[0]), nil
}

// namesRole reports whether mentions name the holders of a role.
func namesRole(mentions []*chatv1.Mention) bool {
	return slices.ContainsFunc(mentions, func(m *chatv1.Mention) bool { return m.Role != 0 })
}

// contentOf decodes a draft's content; nil if that is a plain text, or cannot be decoded.
func contentOf(d *message.Draft) *chatv1.Content {
	var c chatv1.Content
	if _, plain := message.TextOf(d.Content); plain || proto.Unmarshal(d.Content, &c) != nil {
		return nil
	}
	return &c
}
