package chat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// This file has the operations on conversations that only bridges use (docs/decisions/0154-bridges.md). A bridge writes only while its bot is a member. The log accepts
// an entry only with the state that was checked, so removing the bot ends the link at once on all nodes.
//
// The ids of the other system are the tokens of entries in the log. So an id can be looked up as long as the log has its conversation, and nothing has to be written beside the entry. The token of a
// delivery report is the id that the message has in the other system, so this id leads to the message, too.

var errNotBridged = errs.New(errs.Denied, "not_bridged", "only what came over the same bridge is edited and recalled from there")

// bridgeToken is that of the entry with an id of another system.
func bridgeToken(c id.Conversation, bridge, externalID string) (t timeline.Token) {
	b := binary.BigEndian.AppendUint64([]byte("bridge"), uint64(c))
	b = binary.BigEndian.AppendUint64(b, uint64(len(bridge)))
	b = append(append(b, bridge...), externalID...)
	sum := sha256.Sum256(b)
	copy(t.Sum[:], sum[:])
	return t
}

// admitsBridge returns why a bridge may not store an entry of somebody in the other system, who counts as a member without a role, or of its bot.
func (s *state) admitsBridge(bot, sender id.User, nowMs int64) error {
	switch {
	case s.kind != group || s.channel || s.ticket != 0 || s.role(bot) == 0:
		return message.ErrNotLinked
	case s.dissolved:
		return errDissolved
	case sender == bot: // a report
		return nil
	case s.banned(sender):
		return errMuted
	case s.mutedAllMs > nowMs:
		return errMutedAll
	}
	return nil
}

// stampBridge writes into the content of a draft over which bridge it came. It may be repeated.
func stampBridge(d *message.Draft) error {
	if d.Bridge == nil {
		return nil
	}
	var c chatv1.Content
	err := proto.Unmarshal(d.Content, &c)
	if err != nil {
		return err
	}
	c.Bridge = d.Bridge.Name
	if targetOf(&c) == nil {
		c.ExternalId = d.Bridge.ExternalID
	}
	d.Content, err = proto.MarshalOptions{Deterministic: true}.Marshal(&c)
	return err
}

// bridgedKey stands for the client's id of a bridged draft: its token is that of the bridge.
const bridgedKey = "bridge"

// SendBridged stores what came over a bridge. Of a second entry with the same external id it returns the first, whatever that says.
func (s *Service) SendBridged(ctx context.Context, b message.Bridged) (*message.Draft, error) {
	content, author, err := s.bridgedContent(ctx, b)
	if err != nil {
		return nil, err
	}
	d := &message.Draft{Conversation: b.Conversation, Sender: author, ClientMsgID: bridgedKey, Application: true, Bridge: &b.Bridge}
	if d.Content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(content); err != nil {
		return nil, err
	}
	err = s.Send(ctx, d)
	if content.ReplyTo != nil && (errs.Is(err, errs.NotFound) || errors.Is(err, errRecalled)) { // the message that it answers is gone, or was written before the bot came
		again := b
		again.ReplyTo = ""
		return s.SendBridged(ctx, again)
	}
	return d, err
}

// bridgedContent returns the content of an entry that came over a bridge, and its author: of an edit and a recall, that of the message.
func (s *Service) bridgedContent(ctx context.Context, b message.Bridged) (*chatv1.Content, id.User, error) {
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: b.Text}}
	if b.Kind == message.BridgedText {
		if b.ReplyTo != "" {
			seq, err := s.findBridged(ctx, b.Conversation, b.Name, b.ReplyTo)
			if err != nil {
				return nil, 0, err
			}
			if seq != 0 {
				text.ReplyTo = &chatv1.Ref{Seq: seq}
			}
		}
		return text, b.Sender, s.noteBridgedAuthor(ctx, b.Conversation, b.Sender)
	}
	seq, author, err := s.bridgedTarget(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	ref := &chatv1.Ref{Seq: seq}
	if b.Kind == message.BridgedEdit {
		return &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref, Content: text}}}, author, nil
	}
	return &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: ref}}}, author, nil
}

// ReportDelivery stores what became of a message in the other system.
func (s *Service) ReportDelivery(ctx context.Context, b message.Bridge, c id.Conversation, seq uint64, delivery *chatv1.BridgeDelivery) (*message.Draft, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(&chatv1.Content{Kind: &chatv1.Content_BridgeReport{BridgeReport: &chatv1.BridgeReport{Target: &chatv1.Ref{Seq: seq}, Delivery: delivery}}})
	if err != nil {
		return nil, err
	}
	d := &message.Draft{Conversation: c, Sender: b.Bot, ClientMsgID: bridgedKey, Content: content, Refers: true, Application: true, Bridge: &b}
	return d, send(ctx, d, s.submitValid)
}

// findBridged returns the seq of the message that has an id in the other system, 0 if there is none: one that came over the bridge, or one from here whose delivery was reported.
func (s *Service) findBridged(ctx context.Context, c id.Conversation, bridge, externalID string) (uint64, error) {
	seq, entry, err := s.bridgedEntry(ctx, c, bridge, externalID)
	if err == nil && entry != nil && entry.Updates != 0 {
		seq = entry.Updates
	}
	return seq, err
}

// bridgedEntry returns the entry with a token of a bridge. It is nil if it has expired.
func (s *Service) bridgedEntry(ctx context.Context, c id.Conversation, bridge, externalID string) (uint64, *message.Entry, error) {
	seq, err := s.seqOfToken(ctx, c, bridgeToken(c, bridge, externalID))
	if err != nil || seq == 0 {
		return 0, nil, err
	}
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(c), From: seq, To: seq}})
	if err != nil || len(entries) == 0 {
		return 0, nil, err
	}
	e := &message.Entry{}
	if err := e.Decode(entries[0].Payload); err != nil {
		return 0, nil, errors.Join(errCorrupt, err)
	}
	return seq, e, nil
}

// bridgedTarget returns the message that an edit or a recall over a bridge changes, which came over the same bridge, and its author.
func (s *Service) bridgedTarget(ctx context.Context, b message.Bridged) (uint64, id.User, error) {
	seq, e, err := s.bridgedEntry(ctx, b.Conversation, b.Name, b.Target)
	switch {
	case err != nil:
		return 0, 0, err
	case e == nil:
		return 0, 0, errNoTarget
	case e.Updates != 0:
		return 0, 0, errNotBridged
	}
	return seq, e.Sender, nil
}

// noteBridgedAuthor stores, before there is a message, that somebody who is no member has written in a conversation: exports and erasures find the messages by that.
func (s *Service) noteBridgedAuthor(ctx context.Context, c id.Conversation, u id.User) error {
	var n int
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT 1 FROM imported_authors WHERE author = $1 AND conversation = $2`, int64(u), int64(c)).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO imported_authors (author, conversation) VALUES ($1, $2) ON CONFLICT DO NOTHING`, int64(u), int64(c))
		return err
	})
}

// maxDeliveries is of how many bridges a message has a report. Beyond it, the oldest one goes.
const maxDeliveries = 5

// applyBridgeReport adds a report to those of the target, unless there is a newer one of the bridge.
func (u *update) applyBridgeReport(ctx context.Context, tx *sql.Tx, d *chatv1.BridgeDelivery) error {
	var raw []byte
	err := tx.QueryRowContext(ctx, `SELECT bridges FROM message_updates WHERE conversation = $1 AND seq = $2`, int64(u.conversation), int64(u.target)).Scan(&raw)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	list, err := decodeDeliveries(raw)
	if err != nil {
		return err
	}
	d = proto.CloneOf(d)
	d.Seq = u.seq
	if i := slices.IndexFunc(list, func(b *chatv1.BridgeDelivery) bool { return b.Bridge == d.GetBridge() }); i >= 0 {
		if list[i].Seq >= d.Seq {
			return nil
		}
		list = slices.Delete(list, i, i+1)
	}
	list = append(list, d)
	slices.SortFunc(list, func(a, b *chatv1.BridgeDelivery) int { return cmp.Compare(a.Seq, b.Seq) })
	list = list[max(0, len(list)-maxDeliveries):]
	if raw, err = proto.Marshal(&chatv1.Message{BridgeDeliveries: list}); err != nil {
		return err
	}
	return u.set(ctx, tx, `UPDATE message_updates SET bridges = $4 WHERE conversation = $1 AND seq = $2 AND $3 > seq`, raw)
}

func decodeDeliveries(raw []byte) ([]*chatv1.BridgeDelivery, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var m chatv1.Message
	err := proto.Unmarshal(raw, &m)
	return m.BridgeDeliveries, err
}
