package account

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

var errImportedBlock = errs.New(errs.Denied, "blocked", "one of the two has blocked the other; blocks end friendships and follows")

// ImportRelation adds what a user has set about another to what is stored, of which nothing is taken back. Nobody is notified. A friendship is stored for both.
// It may be repeated. The refusals are no_user, self, blocked, bad_name, bad_message and
// too_many_followed.
func (s *Service) ImportRelation(ctx context.Context, r *operationv1.InterchangeRelation) error {
	if err := checkRequest(r.Message); err != nil {
		return err
	}
	remark := r.Remark
	if remark != "" {
		var err error
		if remark, err = parseName(remark, 64); err != nil {
			return err
		}
	}
	a, b := id.User(r.Owner), id.User(r.Other)
	if err := s.Exist(ctx, []id.User{a, b}); err != nil && a != b {
		return err
	}
	changed, err := s.changeTelling(ctx, a, b, nil, func(mine, theirs *chatv1.Relation) error {
		if (r.Friend || r.Following) && theirs.Blocked || r.Friend && (mine.Blocked || r.Blocked) {
			return errImportedBlock
		}
		if r.Blocked {
			unfriend(mine, theirs)
			theirs.Following = false
		}
		mine.Blocked, mine.Following, mine.Muted = mine.Blocked || r.Blocked, mine.Following || r.Following, mine.Muted || r.Muted
		if remark != "" {
			mine.Remark = remark
		}
		switch {
		case r.Friend:
			befriend(mine, theirs)
		case !mine.Friend && (r.Requested || r.Asked):
			if !mine.Requested && !mine.Asked {
				mine.Message = r.Message
			}
			if mine.Requested, mine.Asked = mine.Requested || r.Requested, mine.Asked || r.Asked; mine.Requested && mine.Asked {
				befriend(mine, theirs)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if changed.Friend || r.Blocked {
		if err := s.enforce(ctx, a, b); err != nil {
			return err
		}
	}
	if r.Blocked && s.deps.AccessChanged != nil {
		return s.deps.AccessChanged(ctx, a, b)
	}
	return nil
}

// ImportRelations imports relations. Each that is refused has a reason.
func (s *Service) ImportRelations(ctx context.Context, list []*operationv1.InterchangeRelation) (*operationv1.ImportRelationsResponse, error) {
	out := &operationv1.ImportRelationsResponse{}
	for _, r := range list {
		result := &operationv1.ImportedRelation{}
		if err := s.ImportRelation(ctx, r); errs.IsRefusal(err) {
			e := errs.Of(err)
			result.Reason, result.Message = e.Reason, e.Message
		} else if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// ExportRelations returns a page of what users have set about others, by the ids of both.
func (s *Service) ExportRelations(ctx context.Context, r *operationv1.ExportRelationsRequest) (*operationv1.ExportRelationsResponse, error) {
	limit := outputlimit.LargePageSize(r.Limit)
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, other, friend, requested, asked, blocked, following, muted, remark, CASE WHEN requested OR asked THEN message ELSE '' END
		FROM relations WHERE (owner, other) > ($1, $2) AND (friend OR requested OR asked OR blocked OR following OR muted OR remark <> '') ORDER BY owner, other LIMIT $3`,
		int64(r.AfterOwner), int64(r.AfterOther), limit)
	list, err := sqldb.Collect(rows, err, func(scan func(...any) error) (*operationv1.InterchangeRelation, error) {
		e := &operationv1.InterchangeRelation{}
		return e, scan(&e.Owner, &e.Other, &e.Friend, &e.Requested, &e.Asked, &e.Blocked, &e.Following, &e.Muted, &e.Remark, &e.Message)
	})
	if err != nil {
		return nil, err
	}
	return &operationv1.ExportRelationsResponse{Relations: list}, nil
}
