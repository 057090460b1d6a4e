package importer

import (
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// relationsAtOnce is how many relations a call imports.
const relationsAtOnce = 100

// loadRelations imports what users have set about others, from the first line on that is not done.
func (l *loader) loadRelations(ctx context.Context) error {
	request, line := &operationv1.ImportRelationsRequest{}, int64(0)
	var sent []*interchangefile.Relation
	flush := func() error {
		if len(sent) > 0 {
			answer, err := l.Server.importRelations(ctx, request)
			if err != nil {
				return err
			}
			if len(answer.Results) != len(sent) {
				return fmt.Errorf("the server answered %d of %d relations", len(answer.Results), len(sent))
			}
			for i, r := range answer.Results {
				l.accountRelation(sent[i], r.Reason, r.Message)
			}
		}
		request.Relations, sent = nil, nil
		if line <= l.at.Relations {
			return nil
		}
		l.at.Relations = line
		return l.save()
	}
	err := l.reader.Relations(func(r *interchangefile.Relation) error {
		if line++; line <= l.at.Relations {
			return nil
		}
		owner, isKnown := l.users[r.Owner]
		other, isOtherKnown := l.users[r.Other]
		if !isKnown || !isOtherKnown {
			l.accountRelation(r, "no_user", "one of the two was not imported")
		} else {
			request.Relations = append(request.Relations, &operationv1.InterchangeRelation{Owner: owner, Other: other, Friend: r.Friend, Requested: r.Requested, Asked: r.Asked,
				Blocked: r.Blocked, Following: r.Following, Muted: r.Muted, Remark: r.Remark, Message: r.Message})
			sent = append(sent, r)
		}
		if len(sent) < relationsAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// accountRelation counts a relation as imported, or as skipped for a reason.
func (l *loader) accountRelation(r *interchangefile.Relation, reason, message string) {
	if reason != "" {
		l.skip("relation", r.Owner+" "+r.Other, reason, message)
		return
	}
	l.at.Report.Imported.Relations++
}
