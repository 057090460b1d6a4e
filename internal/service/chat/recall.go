package chat

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errMayNotRecall = errs.New(errs.Denied, "not_allowed", "a message is recalled by its sender, or in a group by an admin")
	errRecallLate   = errs.New(errs.Denied, "too_late", "the time in which this message could be recalled is over")
)

// checkRecall returns why a user may not recall a message. Admins recall the messages of members, the owner those of all.
func (s *Service) checkRecall(st *state, u id.User, t *target) error {
	if t.entry.Sender == u {
		if s.deps.Clock.Now().UnixMilli()-t.entry.ID.Ms() > s.config.RecallWithin.Milliseconds() {
			return errRecallLate
		}
		return nil
	}
	st = st.rules()
	switch role := st.role(u); {
	case st.kind == direct || role < chatv1.Role_ROLE_ADMIN || role <= st.role(t.entry.Sender):
		return errMayNotRecall
	}
	return nil
}

// RecallForModerators recalls a message, whoever sent it and however old it is. The entry has no sender: 0 is the system. A retry is harmless.
func (s *Service) RecallForModerators(ctx context.Context, c id.Conversation, seq uint64) error {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}})
	if err != nil {
		return err
	}
	d := &message.Draft{Conversation: c, ClientMsgID: "recall " + strconv.FormatUint(seq, 10), Content: content, Refers: true, ByServer: true}
	if err := send(ctx, d, s.submitValid); !errors.Is(err, errRecalled) {
		return err
	}
	return nil
}

func (u *update) applyRecall(ctx context.Context, tx *sql.Tx) error {
	if err := u.deleteMentions(ctx, tx, math.MaxInt64); err != nil {
		return err
	}
	changed, err := u.change(ctx, tx, `UPDATE message_updates SET recall_seq = $3, recalled_by = $4, limited = $5 WHERE conversation = $1 AND seq = $2 AND recall_seq = 0`, int64(u.by), u.limited)
	if err != nil || !changed || u.onRecalled == nil { // unless it changes, this was done before
		return err
	}
	return u.onRecalled(ctx, tx, u.conversation, u.target)
}

// Recalled returns the seqs, from one to another, of the messages that were recalled or erased, and of the edits of such messages.
func (s *Service) Recalled(ctx context.Context, c id.Conversation, from, to uint64) ([]uint64, error) {
	return s.querySeqs(ctx, `SELECT seq FROM message_updates WHERE conversation = $1 AND recall_seq > 0 AND seq >= $2 AND seq <= $3
		UNION SELECT e.edit_seq FROM message_edits e JOIN message_updates u ON u.conversation = e.conversation AND u.seq = e.seq
		WHERE e.conversation = $1 AND u.recall_seq > 0 AND e.edit_seq >= $2 AND e.edit_seq <= $3 ORDER BY 1`, int64(c), int64(from), int64(to))
}
