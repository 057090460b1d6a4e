package exporter

import (
	"context"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// exportRelations writes what users have set about others, but about users who have registered since they were exported. A run that continues does so again.
func (x *export) exportRelations(ctx context.Context) error {
	for at := (&operationv1.ExportRelationsRequest{}); ; {
		page, err := x.Server.ExportRelations(ctx, at)
		if err != nil || len(page.Relations) == 0 {
			return err
		}
		for _, r := range page.Relations {
			at.AfterOwner, at.AfterOther = r.Owner, r.Other
			owner, isKnown := x.users[r.Owner]
			other, isOtherKnown := x.users[r.Other]
			if !isKnown || !isOtherKnown {
				continue
			}
			out := interchangefile.Relation{Owner: owner, Other: other, Friend: r.Friend, Requested: r.Requested, Asked: r.Asked, Blocked: r.Blocked, Following: r.Following,
				Muted: r.Muted, Remark: r.Remark, Message: r.Message}
			if err := x.to.Relation(out); err != nil {
				return err
			}
		}
	}
}
