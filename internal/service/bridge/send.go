package bridge

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errNoEntry       = errs.New(errs.Invalid, "no_content", "give a text with its sender, an edit, or a recall")
	errIDTaken       = errs.New(errs.Conflict, "external_id_taken", "another message has this external id")
	errTooManyPeople = errs.New(errs.Exhausted, "too_many_bridged_users", "1,000,000 users were made for this bridge, which is the limit; those that were erased since count, too")
)

// SendBridgedMessage stores a message from the other system.
func (s *Service) SendBridgedMessage(ctx context.Context, by id.Caller, r *bridgev1.SendBridgedMessageRequest) (*bridgev1.SendBridgedMessageResponse, error) {
	b, err := bridgedOf(by, r)
	if err != nil {
		return nil, err
	}
	if err := s.checkLinked(ctx, by, b.Conversation); err != nil {
		return nil, err
	}
	if b.Kind == message.BridgedText {
		if b.Sender, err = s.userOf(ctx, by.Bridge, r.Sender); err != nil {
			return nil, err
		}
	}
	d, err := s.deps.Chat.SendBridged(ctx, b)
	if err != nil {
		return nil, err
	}
	res := &bridgev1.SendBridgedMessageResponse{Seq: d.Seq, Id: d.ID.String(), Duplicate: d.Duplicate, Sender: uint64(b.Sender)}
	if b.Kind == message.BridgedText && d.Updates != 0 { // the echo of a message from here: the entry with its id is the report of its delivery
		res.Seq = d.Updates
	}
	return res, nil
}

// bridgedOf checks a request.
func bridgedOf(by id.Caller, r *bridgev1.SendBridgedMessageRequest) (b message.Bridged, err error) {
	b = message.Bridged{Bridge: message.Bridge{Name: by.Bridge, Bot: by.User, ExternalID: r.ExternalId}, Conversation: id.Conversation(r.Conversation), ReplyTo: r.ReplyTo}
	if err = checkExternalID(r.ExternalId); err != nil {
		return b, err
	}
	if r.ReplyTo != "" {
		err = checkExternalID(r.ReplyTo)
	}
	switch e := r.Entry.(type) {
	case *bridgev1.SendBridgedMessageRequest_Text:
		b.Text = e.Text
		if !isForeign(r.Sender.GetAddress()) {
			err = errAddress
		}
	case *bridgev1.SendBridgedMessageRequest_Edit:
		b.Kind, b.Text, b.Target = message.BridgedEdit, e.Edit.GetText(), e.Edit.GetTarget()
		err = errors.Join(err, checkExternalID(b.Target))
	case *bridgev1.SendBridgedMessageRequest_Recall:
		b.Kind, b.Target = message.BridgedRecall, e.Recall.GetTarget()
		err = errors.Join(err, checkExternalID(b.Target))
	default:
		err = errNoEntry
	}
	return b, err
}

// userOf returns the user of an address, with the name that it has there now, as far as a user may have it: no message is refused for the name of its author.
func (s *Service) userOf(ctx context.Context, bridge string, p *bridgev1.BridgedSender) (u id.User, err error) {
	known := func() (name string, err error) {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT member, name FROM bridge_users WHERE bridge = $1 AND address = $2`, bridge, p.Address).Scan(&u, &name)
		return name, err
	}
	wanted := message.CleanName(p.Name, maxName)
	name, err := known()
	if errors.Is(err, sql.ErrNoRows) {
		u, err = s.createUser(ctx, bridge, p.Address, wanted)
		if sqldb.IsUnique(err) { // another call was first
			_, err = known()
		}
		return u, err
	}
	if err != nil || wanted == "" || wanted == name {
		return u, err
	}
	if err := s.deps.Accounts.RenameBridged(ctx, bridge, u, wanted); err != nil && !refusesName(err) {
		return 0, err
	}
	return u, s.deps.DB.Write(ctx, func(tx *sql.Tx) error { // also a name that was refused, so that it is not tried with each message
		_, err := tx.ExecContext(ctx, `UPDATE bridge_users SET name = $3 WHERE bridge = $1 AND address = $2`, bridge, p.Address, wanted)
		return err
	})
}

// maxName is how many characters of a name or an address a user has as the name.
const maxName = 64

// createUser makes the user of an address. Without a name that a user may have, the name is the address, or else somebody.
func (s *Service) createUser(ctx context.Context, bridge, address, wanted string) (u id.User, err error) {
	shown := cmp.Or(wanted, message.CleanName(address, maxName), "somebody")
	for _, name := range []string{shown, message.CleanName(address, maxName), "somebody"} {
		if name == "" {
			continue
		}
		u, err = s.deps.Accounts.CreateBridged(ctx, bridge, name, func(tx *sql.Tx, u id.User) error { return s.insertUser(ctx, tx, bridge, address, shown, u) })
		if !refusesName(err) {
			break
		}
	}
	return u, err
}

// refusesName reports whether a user may not have a name, for instance by a list of words.
func refusesName(err error) bool { return errs.Is(err, errs.Invalid) || errs.Is(err, errs.Denied) }

func (s *Service) insertUser(ctx context.Context, tx *sql.Tx, bridge, address, name string, u id.User) error {
	done, err := tx.ExecContext(ctx, `UPDATE bridges SET people = people + 1 WHERE name = $1 AND people < $2`, bridge, s.most.people)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return errTooManyPeople
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO bridge_users (bridge, address, member, name) VALUES ($1, $2, $3, $4)`, bridge, address, int64(u), name)
	return err
}

// refusalID is the id of the report that a message was refused. The line break sets it apart from those of other systems.
func refusalID(seq uint64, reason string) string {
	return "refused\n" + strconv.FormatUint(seq, 10) + "\n" + reason
}

// ReportDelivery stores the result of a message's delivery in the other system. The id of a report is that of the message there, or follows from what was refused: so a repetition stores nothing.
func (s *Service) ReportDelivery(ctx context.Context, by id.Caller, r *bridgev1.ReportDeliveryRequest) (*bridgev1.ReportDeliveryResponse, error) {
	wasRefused := r.ExternalId == ""
	if err := checkReason(wasRefused, r.Reason, r.Text); err != nil {
		return nil, err
	}
	if !wasRefused {
		if err := checkExternalID(r.ExternalId); err != nil {
			return nil, err
		}
	}
	c := id.Conversation(r.Conversation)
	if err := s.checkLinked(ctx, by, c); err != nil {
		return nil, err
	}
	b := message.Bridge{Name: by.Bridge, Bot: by.User, ExternalID: r.ExternalId}
	if wasRefused {
		b.ExternalID = refusalID(r.Seq, r.Reason)
	}
	d, err := s.deps.Chat.ReportDelivery(ctx, b, c, r.Seq, &chatv1.BridgeDelivery{Bridge: by.Bridge, ExternalId: r.ExternalId, Reason: r.Reason, Text: r.Text})
	if err != nil {
		return nil, err
	}
	if d.Duplicate && d.Updates != r.Seq {
		return nil, errIDTaken
	}
	return &bridgev1.ReportDeliveryResponse{Seq: d.Seq}, nil
}
