package chat

import (
	"context"
	"database/sql"
	"math"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errMayNotPin = errs.New(errs.Denied, "not_allowed", "in a group, admins and the owner pin messages")

// checkPin returns why a user may not pin messages.
func checkPin(st *state, u id.User) error {
	if st = st.rules(); st.kind != direct && st.role(u) < chatv1.Role_ROLE_ADMIN {
		return errMayNotPin
	}
	return nil
}

func (u *update) applyPin(ctx context.Context, tx *sql.Tx, remove bool) error {
	return u.set(ctx, tx, `UPDATE message_updates SET pin_seq = $3, pinned = $4 WHERE conversation = $1 AND seq = $2 AND pin_seq < $3`, !remove)
}

// pinsPerPage is the most messages of a page of ListPins.
const pinsPerPage = 100

// ListPins returns a page of the pinned messages that a user may read, the last pinned first. A page's token is the pin_seq at which it
// begins.
func (s *Service) ListPins(ctx context.Context, u id.User, r *chatv1.ListPinsRequest) (*chatv1.ListPinsResponse, error) {
	c := id.Conversation(r.Conversation)
	begin, err := pagetoken.Start(r.Page, uint64(0))
	if err != nil {
		return nil, err
	}
	if begin == 0 {
		begin = math.MaxInt64
	}
	within, err := s.readable(ctx, u, c)
	if err != nil {
		return nil, err
	}
	pins, err := s.queryPairs(ctx, `SELECT seq, pin_seq FROM message_updates WHERE conversation = $1 AND pinned AND recall_seq = 0 AND seq >= $2 AND seq <= $3 AND pin_seq <= $4
		ORDER BY pin_seq DESC LIMIT $5`, int64(c), int64(within.from), int64(min(within.to, math.MaxInt64)), int64(min(begin, math.MaxInt64)), pinsPerPage+1)
	if err != nil {
		return nil, err
	}
	seqs := make([]uint64, min(len(pins), pinsPerPage))
	for i := range seqs {
		seqs[i] = pins[i][0]
	}
	messages, done, err := s.readMessages(ctx, u, c, seqs, within.tail)
	out := &chatv1.ListPinsResponse{Messages: messages}
	if done < len(pins) {
		out.Next = strconv.FormatUint(pins[done][1], 10)
	}
	return out, err
}
