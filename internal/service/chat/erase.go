package chat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// An erasure goes through the conversations that a user is or was in, or has imported entries in, in the order of their ids. In each it
//
//	eraseEntries      makes the user's messages recalled ones, in steps, and removes the contents from the log: the entries stay, so that seqs and counts do
//	eraseReactions    takes the user's reactions back
//	EndMembership     makes the user leave: a group gets another owner, and a one-to-one conversation is dissolved, so that the other cannot write to nobody
//
// From the beginning of an erasure on, reads leave out what the user wrote (Deps.Erasing), however many steps are left.

const (
	// erasedAtOnce is how many entries of a log a step reads.
	erasedAtOnce = 500
	// erasedReactions is how many reactions a transaction takes back.
	erasedReactions = 100
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "members", Export: `SELECT m.conversation, c.kind, c.title, m.role, m.join_seq, m.leave_seq, m.follower FROM members m JOIN conversations c ON c.id = m.conversation WHERE m.member = $1 AND m.leave_seq = 0 ORDER BY m.conversation`},
	{Name: "imported_authors", Export: `SELECT conversation FROM imported_authors WHERE author = $1 ORDER BY conversation`},
	{Name: "join_requests", Export: `SELECT conversation, message, time_ms, inviter FROM join_requests WHERE member = $1 ORDER BY conversation`,
		Erase: `DELETE FROM join_requests WHERE (conversation, member) IN (SELECT conversation, member FROM join_requests WHERE member = $1 OR inviter = $1 LIMIT $2)`},
	{Name: "cleared", Erase: `DELETE FROM cleared WHERE (owner, conversation) IN (SELECT owner, conversation FROM cleared WHERE owner = $1 LIMIT $2)`},
	{Name: "deleted_messages", Erase: `DELETE FROM deleted_messages WHERE (owner, conversation, seq) IN (SELECT owner, conversation, seq FROM deleted_messages WHERE owner = $1 LIMIT $2)`},
	{Name: "reactions", Export: `SELECT r.conversation, r.seq, r.emoji FROM reactions r JOIN members m ON m.conversation = r.conversation AND m.member = r.member WHERE r.member = $1 AND r.active AND m.leave_seq = 0 ORDER BY r.conversation, r.seq`},
	{Name: "message_updates"},
	{Name: "message_edits"},
	{Name: "mentions"},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant { return userData{s} }

type userData struct{ *Service }

// Name in reports.
func (d userData) Name() string { return "messages" }

// UserTables are the tables with data of users.
func (d userData) UserTables() []string { return d.rows().UserTables() }

func (d userData) rows() *userdata.Tables {
	return &userdata.Tables{Service: "messages", DB: d.deps.DB, List: userTables}
}

// erasePosition is where an erasure continues: in a conversation after a seq, or in the tables.
type erasePosition struct {
	conversation id.Conversation
	seq          uint64
	tables       string // not empty: all conversations are done
}

func (p erasePosition) String() string {
	if p.tables != "" {
		return "t" + p.tables
	}
	return fmt.Sprintf("c%d/%d", p.conversation, p.seq)
}

func parseErasePosition(text string) (p erasePosition, err error) {
	switch {
	case text == "":
	case text[0] == 't':
		p.tables = text[1:]
	default:
		_, err = fmt.Sscanf(text, "c%d/%d", &p.conversation, &p.seq)
	}
	return p, err
}

// EraseUser does a step: some entries of a conversation, or the end of the membership, or some rows.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	at, err := parseErasePosition(from)
	if err != nil {
		return userdata.Step{}, err
	}
	if at.tables != "" {
		step, err := d.rows().EraseUser(ctx, u, at.tables)
		step.Next = erasePosition{tables: step.Next}.String()
		return step, err
	}
	c := at.conversation
	if at.seq == 0 {
		if c, err = d.nextConversation(ctx, u, at.conversation); err != nil {
			return userdata.Step{}, err
		}
		if c == 0 {
			return userdata.Step{Next: erasePosition{tables: userdata.FirstTable}.String()}, d.userErased(ctx, u)
		}
	}
	next, erased, err := d.eraseEntries(ctx, u, c, at.seq)
	if err != nil {
		return userdata.Step{}, fmt.Errorf("conversation %d: %w", c, err)
	}
	if next == 0 {
		if err := d.endConversation(ctx, u, c); err != nil {
			return userdata.Step{}, fmt.Errorf("conversation %d: %w", c, err)
		}
	}
	return userdata.Step{Next: erasePosition{conversation: c, seq: next}.String(), Erased: erased}, nil
}

// endConversation does what follows the entries of a conversation.
func (s *Service) endConversation(ctx context.Context, u id.User, c id.Conversation) error {
	if err := s.noteErased(ctx, u, c); err != nil {
		return err
	}
	if err := s.eraseReactions(ctx, u, c); err != nil {
		return err
	}
	return s.EndMembership(ctx, u, c)
}

// nextConversation returns the first conversation after one that a user is or was in, 0 at the end.
func (s *Service) nextConversation(ctx context.Context, u id.User, after id.Conversation) (id.Conversation, error) {
	list, err := s.ConversationsOf(ctx, u, after, 1)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[0], nil
}

// userErased calls OnUserErased.
func (s *Service) userErased(ctx context.Context, u id.User) error {
	if s.deps.OnUserErased == nil {
		return nil
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.deps.OnUserErased(ctx, tx, u) })
}

// eraseEntries erases the user's among some entries of a conversation after a seq. next is the last one that was read, 0 at the end.
func (s *Service) eraseEntries(ctx context.Context, u id.User, c id.Conversation, after uint64) (next uint64, erased int64, err error) {
	if after == 0 {
		some, err := s.mayHaveWritten(ctx, u, c)
		if err != nil || !some {
			return 0, 0, err
		}
	}
	entries, err := s.deps.Log.Read(ctx, logKey(c), after, erasedAtOnce)
	if err != nil {
		return 0, 0, err
	}
	if erased, err = s.eraseAmong(ctx, u, c, entries); err != nil {
		return 0, 0, err
	}
	if len(entries) == erasedAtOnce {
		next = entries[len(entries)-1].Seq
	}
	return next, erased, nil
}

// eraseAmong erases what a user wrote among some entries of a conversation, and returns in how many of them.
func (s *Service) eraseAmong(ctx context.Context, u id.User, c id.Conversation, entries []timeline.Entry) (erased int64, err error) {
	messages, limited, emptied, err := emptyEntries(entries, u)
	if err != nil {
		return 0, err
	}
	if len(messages) > 0 {
		if err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.recallErased(ctx, tx, u, c, messages, limited) }); err != nil {
			return 0, err
		}
	}
	if len(emptied) > 0 { // after the rows: a reader who finds no content also finds why
		if err := s.deps.Log.Replace(ctx, logKey(c), emptied); err != nil {
			return 0, err
		}
	}
	return int64(len(emptied)), nil
}

// emptyEntries returns what entries are without what a user wrote, of those that have something: the seqs of the user's messages, those of them that only the user saw, and the entries.
func emptyEntries(entries []timeline.Entry, u id.User) (messages, limited []uint64, emptied []timeline.Entry, err error) {
	for i := range entries {
		var e message.Entry
		if err := e.Decode(entries[i].Payload); err != nil {
			return nil, nil, nil, errors.Join(errCorrupt, err)
		}
		switch {
		case e.Control || len(e.Content) == 0:
			continue
		case e.Sender == u && e.Updates == 0 && message.IsSignal(e.Content):
			if string(e.Content) == emptySignal {
				continue
			}
			e.Content = []byte(emptySignal)
		case e.Sender == u && e.Updates != 0 && !saysSomething(e.Content):
			continue
		case e.Sender == u:
			if e.Updates == 0 {
				messages = append(messages, entries[i].Seq)
			}
			if e.Updates == 0 && e.Limited {
				limited = append(limited, entries[i].Seq)
			}
			e.Content = nil
		default:
			changed, err := dropItems(&e, func(sender id.User) bool { return sender == u })
			if err != nil {
				return nil, nil, nil, err
			}
			if !changed {
				continue
			}
		}
		emptied = append(emptied, timeline.Entry{Seq: entries[i].Seq, Payload: e.Append(nil)})
	}
	return messages, limited, emptied, nil
}

// saysSomething reports whether an update has something that its sender wrote, or chose. Recalls, pins and starts of threads name a message only.
func saysSomething(content []byte) bool {
	var c chatv1.Content
	return proto.Unmarshal(content, &c) != nil || c.GetRecall() == nil && c.GetPin() == nil && c.GetThread() == nil
}

// noteErased appends the recall of the last message of a user that was erased in a conversation, once for that message. Without an update in the log, reads and counts take it
// that no message has a state (noUpdates). It is no draft: its target has been recalled already, and the user may have left. It names one that others saw, if there is any: nobody else is told
// of those that only the user saw.
func (s *Service) noteErased(ctx context.Context, u id.User, c id.Conversation) error {
	e := message.Entry{Sender: u}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT seq, limited FROM message_updates WHERE conversation = $1 AND recall_seq = seq AND recalled_by = $2 ORDER BY limited, seq DESC LIMIT 1`, int64(c), int64(u)).Scan(&e.Updates, &e.Limited)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if e.Content, err = proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: e.Updates}}}}); err != nil {
		return err
	}
	conv := s.conversation(c)
	conv.changeMu.Lock() // an import of the conversation waits
	defer conv.changeMu.Unlock()
	for {
		err := s.appendErased(ctx, conv, &e)
		if !errors.Is(err, timeline.ErrStale) {
			return err
		}
		conv.invalidate() // another node changed it
	}
}

// appendErased appends the entry of noteErased, while the conversation is imported with an id among those of the import. The caller holds changeMu.
func (s *Service) appendErased(ctx context.Context, conv *conversation, e *message.Entry) error {
	st, err := s.loadState(ctx, conv)
	if err != nil {
		return err
	}
	if st.importing {
		var ids importIDs
		if ids, err = s.lastImported(ctx, st.id); err == nil {
			e.ID = ids.next(uint8(st.kind), st.id, ids.ms)
		}
	} else {
		e.ID, err = s.deps.MessageIDs.Next(uint8(st.kind), st.id)
	}
	if err != nil {
		return err
	}
	done := make(chan struct{})
	a := &timeline.AppendRequest{Key: logKey(st.id), Payload: e.Append(nil), NeedsFanout: !st.importing, CheckAccess: true, ExpectedAccess: st.access, Done: func(*timeline.AppendRequest) { close(done) }}
	sum := sha256.Sum256(fmt.Appendf(nil, "erased %d %d %d", st.id, e.Sender, e.Updates)) // an import may add messages after the erasure of their author
	copy(a.Token.Sum[:], sum[:])
	s.deps.Log.Append(a)
	select {
	case <-done:
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// emptySignal is a signal without anything: field 22 with no bytes. It is not shown.
const emptySignal = "\xb2\x01\x00"

// dropItems removes what a forward shows of some users' messages. changed: it showed some.
func dropItems(e *message.Entry, erased func(sender id.User) bool) (changed bool, err error) {
	if e.Control || e.Updates != 0 || !message.IsForward(e.Content) {
		return false, nil
	}
	var c chatv1.Content
	if proto.Unmarshal(e.Content, &c) != nil {
		return false, nil // a corrupt entry, which its reader finds
	}
	for _, item := range c.GetForward().GetItems() {
		if item.Content != nil && erased(id.User(item.Sender)) {
			item.Content, changed = nil, true
		}
	}
	if changed {
		e.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(&c)
	}
	return changed, err
}

// mayHaveWritten reports whether a conversation may have entries by a user. Most followers of channels have written nothing in them.
func (s *Service) mayHaveWritten(ctx context.Context, u id.User, c id.Conversation) (some bool, err error) {
	last, _, err := s.deps.Log.LatestByAuthor(ctx, logKey(c), uint64(u))
	if err != nil || last > 0 {
		return true, err
	}
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM members WHERE conversation = $1 AND member = $2 AND (NOT follower OR former_leave_seq > 0)) OR EXISTS (SELECT 1 FROM reactions WHERE conversation = $1 AND member = $2) OR EXISTS (SELECT 1 FROM imported_authors WHERE author = $2 AND conversation = $1)`,
		int64(c), int64(u)).Scan(&some)
	return some, err
}

// recallErased makes messages recalled ones, as of themselves: no entry says so. Limited are those of them that did not count as unread.
func (s *Service) recallErased(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation, seqs, limited []uint64) error {
	marks, args := sqldb.Placeholders(2, seqs, func(seq uint64) int64 { return int64(seq) })
	args = append([]any{int64(c)}, args...)
	for _, statement := range []string{
		`INSERT INTO message_updates (conversation, seq) VALUES ($1, ` + strings.ReplaceAll(marks, ", ", "), ($1, ") + `) ON CONFLICT DO NOTHING`,
		`DELETE FROM mentions WHERE conversation = $1 AND seq IN (` + marks + `)`,
	} {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err
		}
	}
	marks, args = sqldb.Placeholders(3, seqs, func(seq uint64) int64 { return int64(seq) })
	if _, err := tx.ExecContext(ctx, `UPDATE message_updates SET recall_seq = seq, recalled_by = $2, pinned = FALSE WHERE conversation = $1 AND recall_seq = 0 AND seq IN (`+marks+`)`, append([]any{int64(c), int64(u)}, args...)...); err != nil {
		return err
	}
	if len(limited) > 0 {
		marks, args := sqldb.Placeholders(2, limited, func(seq uint64) int64 { return int64(seq) })
		if _, err := tx.ExecContext(ctx, `UPDATE message_updates SET limited = TRUE WHERE conversation = $1 AND seq IN (`+marks+`)`, append([]any{int64(c)}, args...)...); err != nil {
			return err
		}
	}
	if s.deps.OnErased == nil {
		return nil
	}
	return s.deps.OnErased(ctx, tx, c, seqs[0], seqs[len(seqs)-1])
}

// EndMembership makes a user leave a conversation, in the user's own name and also as its owner. Organizations and tickets do not keep who is erased.
func (s *Service) EndMembership(ctx context.Context, u id.User, c id.Conversation) error {
	for {
		seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) { return s.eraseControl(ctx, st, u) })
		if err != nil {
			return err
		}
		if seq == 0 {
			break
		}
		s.resizeGroupAfter(ctx, c, seq)
	}
	st, err := s.linearizableState(ctx, c)
	if err == nil && st.channel {
		_, err = s.unfollow(ctx, c, u)
	}
	return err
}

// eraseControl returns the next control entry by which a user leaves, nil at the end.
func (s *Service) eraseControl(ctx context.Context, st *state, u id.User) (*chatv1.Control, error) {
	control := &chatv1.Control{Actor: uint64(u), Users: []uint64{uint64(u)}}
	switch {
	case st.role(u) == 0:
		return nil, nil
	case st.kind == direct:
		if st.dissolved {
			return nil, nil
		}
		control.Action, control.Users = chatv1.Control_ACTION_DISSOLVED, nil
	case st.role(u) == roleOwner && !st.dissolved:
		heir, err := s.heir(ctx, st, u)
		if err != nil {
			return nil, err
		}
		if heir != 0 {
			control.Action, control.Users = chatv1.Control_ACTION_TRANSFERRED, []uint64{uint64(heir)}
		} else {
			control.Action, control.Users = chatv1.Control_ACTION_DISSOLVED, nil
		}
	default:
		control.Action = chatv1.Control_ACTION_LEFT
	}
	return control, nil
}

// heir returns who becomes the owner of a group when its owner leaves it for good: of those who may own one, the admin who has been there for longest, else the member; 0 if there is nobody.
func (s *Service) heir(ctx context.Context, st *state, owner id.User) (id.User, error) {
	candidates := slices.SortedFunc(slices.Values(st.activeMembers), func(a, b id.User) int {
		return cmp.Or(cmp.Compare(st.members[b].role, st.members[a].role), cmp.Compare(st.members[a].joinSeq, st.members[b].joinSeq), cmp.Compare(a, b))
	})
	for _, u := range candidates {
		if u == owner {
			continue
		}
		if may, err := s.mayOwn(ctx, u); may || err != nil {
			return u, err
		}
	}
	return 0, nil
}

// hideErasing gives entries by users who are being erased no content, and their messages the state of recalled ones.
func (s *Service) hideErasing(list []*message.Stored) error {
	if s.deps.Erasing == nil {
		return nil
	}
	erasing := s.deps.Erasing()
	if len(erasing) == 0 {
		return nil
	}
	for _, m := range list {
		if m.Entry.Control || !erasing[m.Entry.Sender] {
			if _, err := dropItems(&m.Entry, func(sender id.User) bool { return erasing[sender] }); err != nil {
				return err
			}
			continue
		}
		if message.IsSignal(m.Entry.Content) {
			m.Entry.Content = []byte(emptySignal)
			continue
		}
		if m.Entry.Content = nil; m.Entry.Updates != 0 {
			continue
		}
		state := &chatv1.Message{}
		if err := proto.Unmarshal(m.State, state); err != nil {
			return err
		}
		if state.RecallSeq == 0 {
			state.RecallSeq, state.RecalledBy, state.Reactions, state.Pinned = m.Seq, uint64(m.Entry.Sender), nil, false
		}
		var err error
		if m.State, err = proto.Marshal(state); err != nil {
			return err
		}
	}
	return nil
}
