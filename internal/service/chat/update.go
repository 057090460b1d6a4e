package chat

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// An update is an entry that changes an earlier message of its conversation, its target: an edit, a recall, a reaction, a pin, the
// start of a thread, or a bridge's report (docs/decisions/0072-updates.md). Its steps:
//
//	validateUpdate   checks its form
//	resolve          finds the target, and checks whether the sender may
//	append           stores it; it does not count as unread
//	applyStored      writes its effect into the rows of message_updates and reactions, before the sender gets the answer
//	ApplyUpdates     does the same before fan-out delivers it, in case that the process which stored it has stopped
//	current          adds the effects to what is read (message_state.go)
//
// Updates may be applied in any order, and again: of edits and of pins the one with the highest seq wins, and so does that of each user's
// emoji; nothing undoes a recall.

var (
	errNoTarget = errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
	errRecalled = errs.New(errs.Denied, "recalled", "this message was recalled")
)

// targetOf returns the message that an update names, nil for other contents.
func targetOf(c *chatv1.Content) *chatv1.Ref {
	switch k := c.Kind.(type) {
	case *chatv1.Content_Edit:
		return k.Edit.Target
	case *chatv1.Content_Recall:
		return k.Recall.Target
	case *chatv1.Content_Reaction:
		return k.Reaction.Target
	case *chatv1.Content_Pin:
		return k.Pin.Target
	case *chatv1.Content_Thread:
		return k.Thread.Target
	case *chatv1.Content_BridgeReport:
		return k.BridgeReport.Target
	}
	return nil
}

// validateUpdate checks the form of an update.
func validateUpdate(d *message.Draft, c *chatv1.Content) error {
	if c.ReplyTo != nil {
		return errs.New(errs.Invalid, "bad_content", "an edit, a recall, a reaction or a pin has a target, and is no reply")
	}
	if err := validateRef(d, targetOf(c)); err != nil {
		return err
	}
	switch k := c.Kind.(type) {
	case *chatv1.Content_Edit:
		return validateEdit(d, k.Edit)
	case *chatv1.Content_Reaction:
		return validateReaction(k.Reaction)
	}
	return nil
}

func validateRef(d *message.Draft, r *chatv1.Ref) error {
	switch {
	case (r.GetSeq() == 0) == (r.GetClientSeq() == 0):
		return errs.New(errs.Invalid, "bad_ref", "name the earlier message by its seq, or by the clientSeq with which this device sent it")
	case r.ClientSeq != 0 && d.ClientSeq == 0:
		return errs.New(errs.Invalid, "bad_ref", "only a device that counts its messages can name one by its clientSeq")
	case r.ClientSeq != 0 && r.ClientSeq >= d.ClientSeq:
		return errs.New(errs.Invalid, "bad_ref", "the clientSeq of an earlier message is lower than this one's")
	}
	d.Refers, d.RefersByClientSeq = true, r.ClientSeq != 0
	return nil
}

// resolveTimeout bounds the reads for one draft: the other drafts of the conversation wait for it.
const resolveTimeout = 5 * time.Second

// resolve finds the message to which a draft refers, checks what its sender may do to it, and writes its seq into the content. A failed or
// late read rejects the draft with a retryable error.
func (s *Service) resolve(st *state, d *message.Draft) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	err := s.resolveWithin(ctx, st, d)
	if err != nil && ctx.Err() != nil {
		return busy(err)
	}
	return err
}

func (s *Service) resolveWithin(ctx context.Context, st *state, d *message.Draft) error {
	var content chatv1.Content
	if err := proto.Unmarshal(d.Content, &content); err != nil {
		return err
	}
	if d.Reacts = st.channel && content.GetReaction() != nil; d.Reacts {
		if err := s.canReact(ctx, st, d.Sender); err != nil {
			return err
		}
	} else if err := st.admits(d, s.deps.Clock.Now().UnixMilli()); err != nil {
		return err
	}
	if f := content.GetForward(); f != nil {
		if err := s.resolveForward(ctx, st, d.Sender, f); err != nil {
			return err
		}
	}
	return s.resolveRef(ctx, st, d, &content)
}

// resolveRef resolves the message to which a draft replies, or which it updates, and gives the draft its stored form.
func (s *Service) resolveRef(ctx context.Context, st *state, d *message.Draft, content *chatv1.Content) (err error) {
	ref := refOf(content)
	if ref == nil {
		d.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(content)
		return err
	}
	seq := ref.Seq
	if seq == 0 {
		if seq, err = s.seqOfClientSeq(ctx, d, ref.ClientSeq); err != nil {
			return err
		}
	}
	ref.Seq, ref.ClientSeq = seq, 0
	target, err := s.targetOf(ctx, st, d, seq)
	if err != nil {
		return err
	}
	if e := content.GetEdit(); e != nil {
		if err := completeEdit(target, e); err != nil {
			return err
		}
	}
	if content.ReplyTo == nil {
		d.Updates, d.Limited = seq, target.entry.Limited
	}
	if d.Content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(content); err != nil {
		return err
	}
	if d.ByServer && content.GetRecall() != nil && target.state.recallSeq == 0 {
		return nil // a moderator's
	}
	return s.checkUpdate(ctx, st, d.Sender, target, content) // after the content has its stored form, which a retry is compared with
}

// refOf returns the reference of a content that has one: what it replies to, or the target of an update.
func refOf(c *chatv1.Content) *chatv1.Ref {
	if c.ReplyTo != nil {
		return c.ReplyTo
	}
	return targetOf(c)
}

// sameContent reports whether a draft has the content of a stored entry. The stored one has what resolve adds: the seq of the message to
// which it refers, whom mentions of roles name, and in an edit what that leaves as it is; and it may lack a preview. A retry may lack them, for instance because that message has expired since.
func sameContent(d *message.Draft, stored []byte) bool {
	if bytes.Equal(d.Content, stored) {
		return true
	}
	var sent, had chatv1.Content
	if !d.Refers && !d.Mentions && !d.LinkPreview || proto.Unmarshal(d.Content, &sent) != nil || proto.Unmarshal(stored, &had) != nil {
		return false
	}
	dropMentionedUsers(&sent)
	dropMentionedUsers(&had)
	if d.LinkPreview && previewed(&had).GetLinkPreview() == nil {
		previewed(&sent).LinkPreview = nil // its picture was gone at the first attempt
	}
	if f, was := sent.GetForward(), had.GetForward(); f != nil && was != nil {
		f.Items, was.Items = nil, nil
	}
	if r, of := refOf(&sent), refOf(&had); r != nil && of != nil && r.ClientSeq != 0 {
		r.Seq, r.ClientSeq = of.Seq, 0
	}
	if to, was := sent.GetEdit().GetContent(), had.GetEdit().GetContent(); to != nil && was != nil {
		to.ReplyTo, to.ExternalId, to.Bridge = was.ReplyTo, was.ExternalId, was.Bridge
		sameMentions := slices.EqualFunc(to.Mentions, was.Mentions, func(a, b *chatv1.Mention) bool { return proto.Equal(a, b) })
		if one, other := captionOf(to), captionOf(was); one != nil && other != nil && *one == *other && sameMentions {
			sent.GetEdit().Content = was
		}
	}
	return proto.Equal(&sent, &had)
}

// checkUpdate returns why a user may not do this to a message. All may reply.
func (s *Service) checkUpdate(ctx context.Context, st *state, u id.User, target *target, content *chatv1.Content) error {
	if target.state.recallSeq != 0 && content.GetBridgeReport() == nil { // by the id of a report, the recall finds the message in the other system
		return errRecalled
	}
	switch k := content.Kind.(type) {
	case *chatv1.Content_Edit:
		if target.entry.Sender != u {
			return errNotSender
		}
	case *chatv1.Content_Recall:
		return s.checkRecall(st, u, target)
	case *chatv1.Content_Reaction:
		return s.checkReaction(ctx, u, messageKey{st.id, k.Reaction.Target.Seq}, target, k.Reaction)
	case *chatv1.Content_Pin:
		return checkPin(st, u)
	}
	return nil
}

// target is a message to which a draft refers.
type target struct {
	entry message.Entry
	state messageState
}

// targetOf reads the message to which a draft refers.
func (s *Service) targetOf(ctx context.Context, st *state, d *message.Draft, seq uint64) (*target, error) {
	if d.ByServer {
		return s.targetWithin(ctx, st, 0, 1, math.MaxUint64, seq)
	}
	if d.Bridge != nil {
		return s.target(ctx, st, d.Bridge.Bot, seq)
	}
	return s.target(ctx, st, d.Sender, seq)
}

// target reads a message that a user may read. Control entries, updates and signals are none.
func (s *Service) target(ctx context.Context, st *state, u id.User, seq uint64) (*target, error) {
	from, to, err := s.readableRange(ctx, st, u)
	if err != nil {
		return nil, err
	}
	return s.targetWithin(ctx, st, u, from, to, seq)
}

func (s *Service) targetWithin(ctx context.Context, st *state, u id.User, from, to, seq uint64) (*target, error) {
	tail, err := s.deps.Log.Tail(ctx, logKey(st.id))
	if err != nil {
		return nil, err
	}
	if within := (readable{from, to, tail}); !within.has(seq) { // so that only a seq of the log goes to the engine
		return nil, errNoTarget
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(st.id), From: seq, To: seq}})
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errNoTarget // it expired just now
	}
	t := &target{}
	if err := t.entry.Decode(entries[0].Payload); err != nil {
		return nil, errors.Join(errCorrupt, err)
	}
	if t.entry.Control || t.entry.Updates != 0 || message.IsSignal(t.entry.Content) || !t.entry.IsFor(u) {
		return nil, errNoTarget
	}
	if s.deps.Erasing != nil && s.deps.Erasing()[t.entry.Sender] {
		return nil, errRecalled
	}
	k := messageKey{st.id, seq}
	states, err := s.messageStates(ctx, []messageKey{k})
	if err != nil {
		return nil, err
	}
	t.state = states[k]
	return t, s.checkNotExpired(ctx, []*message.Stored{{Conversation: st.id, Seq: seq, Entry: t.entry}}, states)
}

// readTarget reads a message that a user may read, for a list of what updates made of it.
func (s *Service) readTarget(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*target, error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	t, err := s.target(ctx, st, u, seq)
	if err != nil {
		return nil, err
	}
	if t.state.recallSeq != 0 {
		return nil, errRecalled
	}
	m := &message.Stored{Conversation: c, Seq: seq, Entry: t.entry}
	if err := s.markDeleted(ctx, u, []*message.Stored{m}); err != nil {
		return nil, err
	}
	if m.Deleted {
		return nil, errNoTarget
	}
	return t, nil
}

// seqOfClientSeq returns the seq of a message that the draft's device sent before, in this conversation.
func (s *Service) seqOfClientSeq(ctx context.Context, d *message.Draft, clientSeq uint64) (uint64, error) {
	seq, err := s.storedSeq(ctx, &message.Draft{Conversation: d.Conversation, Sender: d.Sender, Device: d.Device, ClientSeq: clientSeq})
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, timeline.ErrBusy
	case err == nil && seq == 0:
		return 0, errNoTarget
	}
	return seq, err
}

// applyTimeout bounds how long the sender of an update waits for its effect. After it, the sender is told to try again.
const applyTimeout = 10 * time.Second

// applyStored applies the update or the mentions of a stored draft, and answers the draft.
func (s *Service) applyStored(d *message.Draft) {
	ctx, cancel := context.WithTimeout(context.Background(), applyTimeout)
	defer cancel()
	switch err := s.applyDraft(ctx, d); {
	case hasNoEffect(err):
		d.Err = err
	case err != nil:
		s.deps.Logger.Warn("an update, or a message with mentions, is stored, and could not be applied yet", "conversation", d.Conversation, "seq", d.Seq, "error", err)
		d.Err = busy(err)
	}
	d.Done(d)
}

func (s *Service) applyDraft(ctx context.Context, d *message.Draft) error {
	release, err := s.senderSlots.acquire(ctx, d.Sender)
	if err != nil {
		return err
	}
	select {
	case s.applySlots <- struct{}{}:
	case <-ctx.Done():
		release()
		return ctx.Err()
	}
	m := message.Stored{Conversation: d.Conversation, Seq: d.Seq, Entry: message.Entry{ID: d.ID, Sender: d.Sender, Updates: d.Updates, Limited: d.Limited, Content: d.Content}}
	rejected, wasWritten, err := s.apply(ctx, []*message.Stored{&m})
	<-s.applySlots
	release()
	if err = errors.Join(err, rejected[0]); err != nil {
		return err
	}
	if err := s.stopParts(ctx, wasWritten); err != nil {
		return err
	}
	return s.stopOldPushes(ctx, &m)
}

func busy(cause error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: time.Second, Cause: cause}
}

// maxApplied bounds the updates of one transaction.
const maxApplied = 100

// ApplyUpdates applies updates, and the mentions of messages, unless that is done, and gives each the content that members see. Fan-out calls it before it delivers the
// entries. rejected has the error of each that is corrupt; the others are applied.
func (s *Service) ApplyUpdates(ctx context.Context, list []*message.Stored) (rejected []error, err error) {
	for some := range slices.Chunk(list, maxApplied) {
		results, _, err := s.apply(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, err := range results {
			if hasNoEffect(err) {
				results[i] = nil // it is delivered, without an effect
			}
		}
		rejected = append(rejected, results...)
		if err := inParts(some, func(part []*message.Stored) error { return s.current(ctx, 0, part, nil) }); err != nil {
			return nil, err
		}
	}
	return rejected, nil
}

// inParts calls current for all of list, or for halves of it if they exceed a page.
func inParts(list []*message.Stored, current func([]*message.Stored) error) error {
	err := current(list)
	if half := len(list) / 2; half > 0 && errors.Is(err, timeline.ErrTooLarge) {
		if err = inParts(list[:half], current); err == nil {
			err = inParts(list[half:], current)
		}
	}
	return err
}

// apply writes the effects of updates into the rows, in one transaction. It is idempotent. rejected has errTooManyEmojis or errTooManyOwn for a reaction that
// has no effect, and errCorrupt for an update that cannot be decoded. wasWritten: one of the updates recalled a message while its sender wrote it.
func (s *Service) apply(ctx context.Context, list []*message.Stored) (rejected []error, wasWritten bool, err error) {
	return s.applyWith(ctx, list, s.deps.OnMentioned)
}

// onMentioned is Deps.OnMentioned.
type onMentioned func(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64, users []id.User) error

// applyWith is apply with another OnMentioned, which may be nil.
func (s *Service) applyWith(ctx context.Context, list []*message.Stored, mentioned onMentioned) (rejected []error, wasWritten bool, err error) {
	contents := make([]chatv1.Content, len(list))
	rejected = make([]error, len(list))
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		wasWritten = false
		for i, m := range list {
			u := update{conversation: m.Conversation, seq: m.Seq, target: m.Entry.Updates, by: m.Entry.Sender, storedMs: m.Entry.ID.Ms(), limited: m.Entry.Limited, onRecalled: s.deps.OnRecalled, onStreamed: s.deps.OnStreamed, onMentioned: mentioned}
			if u.target == 0 {
				u.target = m.Seq // a message with mentions, or a streamed one
			}
			if rejected[i] = proto.Unmarshal(m.Entry.Content, &contents[i]); rejected[i] != nil {
				rejected[i] = errors.Join(errCorrupt, rejected[i])
				continue
			}
			if rejected[i], err = u.apply(ctx, tx, &contents[i]); err != nil {
				return err
			}
			wasWritten = wasWritten || u.wasWritten
		}
		return nil
	})
	return rejected, wasWritten, err
}

// update is an entry that is being applied.
type update struct {
	conversation id.Conversation
	seq, target  uint64
	by           id.User
	storedMs     int64
	limited      bool                                                                                        // only its sender sees it
	wasWritten   bool                                                                                        // it recalled a message while its sender wrote it
	onStreamed   func(ctx context.Context, tx *sql.Tx, change message.StreamedChange) (was bool, err error)  // may be nil
	onMentioned  func(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64, users []id.User) error // may be nil
	onRecalled   func(ctx context.Context, tx *sql.Tx, c id.Conversation, seq uint64) error                  // may be nil
}

// apply writes the effect of an update. refused says why it has none.
func (u *update) apply(ctx context.Context, tx *sql.Tx, content *chatv1.Content) (refused, err error) {
	switch k := content.Kind.(type) {
	case *chatv1.Content_Edit:
		if err = u.applyEdit(ctx, tx, mentionsOf(content)); err == nil && k.Edit.Ends {
			_, err = u.endStreamed(ctx, tx)
		}
	case *chatv1.Content_Recall:
		if err = u.applyRecall(ctx, tx); err == nil {
			u.wasWritten, err = u.endStreamed(ctx, tx)
		}
	case *chatv1.Content_Streamed:
		err = u.beginStreamed(ctx, tx)
	case *chatv1.Content_Reaction:
		refused, err = u.applyReaction(ctx, tx, k.Reaction)
	case *chatv1.Content_Pin:
		err = u.applyPin(ctx, tx, k.Pin.Remove)
	case *chatv1.Content_Thread:
		err = u.applyThread(ctx, tx, k.Thread.Conversation)
	case *chatv1.Content_BridgeReport:
		err = u.applyBridgeReport(ctx, tx, k.BridgeReport.Delivery)
	default: // of an update of a later version nothing
		err = u.applyMentions(ctx, tx, 0, content.Mentions)
	}
	return refused, err
}

// set changes the row of the target, which it inserts first where that is missing. The statement has the conversation, the target's seq and the
// update's seq as its first parameters.
func (u *update) set(ctx context.Context, tx *sql.Tx, statement string, values ...any) error {
	_, err := u.change(ctx, tx, statement, values...)
	return err
}

// change is set, and reports whether the statement changed the row.
func (u *update) change(ctx context.Context, tx *sql.Tx, statement string, values ...any) (changed bool, err error) {
	if _, err := tx.ExecContext(ctx, `INSERT INTO message_updates (conversation, seq) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(u.conversation), int64(u.target)); err != nil {
		return false, err
	}
	done, err := tx.ExecContext(ctx, statement, append([]any{int64(u.conversation), int64(u.target), int64(u.seq)}, values...)...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
