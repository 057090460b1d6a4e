package chat

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// control appends a control entry.
func (p *importer) control(ctx context.Context, result *operationv1.ImportedEntry, e *operationv1.ImportEntry) error {
	if err := p.flush(ctx); err != nil {
		return err
	}
	given := e.Content.GetControl()
	control := &chatv1.Control{Action: given.Action, Actor: e.Sender, Users: slices.Clone(given.Users), Text: given.Text, Role: given.Role, UntilMs: given.UntilMs,
		JoinPolicy: given.JoinPolicy, Upload: given.Upload, RetentionSeconds: retentionOf(given)}
	token := importToken(p.conv.id, e.Key)
	seq, err := p.service.seqOfToken(ctx, p.conv.id, token)
	if err != nil {
		return err
	}
	if result.Seq, result.Duplicate = seq, seq != 0; result.Duplicate {
		return nil
	}
	if err := p.checkControl(ctx, control); err != nil {
		return err
	}
	if control.Action == chatv1.Control_ACTION_RETENTION {
		p.service.customRetention.Store(true)
	}
	ids := p.ids
	imported := &importedControl{id: ids.next(uint8(p.state.kind), p.conv.id, max(e.TimeMs, ids.ms)), token: token}
	if result.Seq, err = p.service.appendControlAs(ctx, p.conv, p.state, control, imported); err != nil {
		p.conv.invalidate()
		return changedMeanwhile(err)
	}
	p.ids = ids
	p.state, err = p.service.loadState(ctx, p.conv)
	if err == nil && p.state.access == result.Seq {
		p.conv.importAccess = result.Seq
	}
	return err
}

var errImportedControl = errs.New(errs.Invalid, "bad_content", "this control entry cannot be imported")

// checkControl checks a control entry against the state before it.
func (p *importer) checkControl(ctx context.Context, c *chatv1.Control) error {
	if p.state.kind == direct && c.Action != chatv1.Control_ACTION_RETENTION || len(c.Users) > maxUsersPerCall {
		return errImportedControl
	}
	if err := p.exist(ctx, c.Users...); err != nil {
		return err
	}
	switch c.Action {
	case chatv1.Control_ACTION_JOINED:
		if len(c.Users) == 0 {
			return errImportedControl
		}
		return p.service.checkCapacity(p.state, len(c.Users))
	case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED, chatv1.Control_ACTION_ROLE, chatv1.Control_ACTION_TRANSFERRED, chatv1.Control_ACTION_MUTED:
		return p.checkMembers(c)
	case chatv1.Control_ACTION_RENAMED:
		title, err := parseTitle(c.Text)
		c.Text = title
		return err
	case chatv1.Control_ACTION_ANNOUNCED:
		if len(c.Text) > maxImportedText || !isStorableText(c.Text) {
			return errBadText
		}
	case chatv1.Control_ACTION_JOIN_POLICY:
		if c.JoinPolicy < 1 || c.JoinPolicy > 3 {
			return errJoinPolicy
		}
	case chatv1.Control_ACTION_AVATAR:
		if p.service.deps.KeepPicture != nil && c.Upload != 0 {
			return p.service.deps.KeepPicture(ctx, id.User(c.Actor), id.Upload(c.Upload))
		}
	case chatv1.Control_ACTION_RETENTION:
		if c.RetentionSeconds != 0 && (c.RetentionSeconds < minRetention || c.RetentionSeconds > maxRetention) {
			return errImportedControl
		}
	case chatv1.Control_ACTION_DISSOLVED, chatv1.Control_ACTION_BANNED, chatv1.Control_ACTION_UNBANNED:
	default:
		return errImportedControl
	}
	return nil
}

// maxImportedText bounds an announcement, in bytes.
const maxImportedText = 8000

// checkMembers checks an entry that changes members.
func (p *importer) checkMembers(c *chatv1.Control) error {
	for _, u := range c.Users {
		if p.state.role(id.User(u)) == 0 {
			return errNotMentioned
		}
	}
	switch {
	case len(c.Users) == 0 && c.Action != chatv1.Control_ACTION_MUTED, c.Action == chatv1.Control_ACTION_TRANSFERRED && len(c.Users) != 1,
		c.Action == chatv1.Control_ACTION_ROLE && c.Role != chatv1.Role_ROLE_MEMBER && c.Role != roleAdmin:
		return errImportedControl
	}
	return nil
}
