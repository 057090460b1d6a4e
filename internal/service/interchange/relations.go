package interchange

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// relations are a subject of entries of the audit log.
const relations = "relations"

// maxRelations bounds the relations of a call of ImportRelations.
const maxRelations = 100

var errTooManyRelations = errs.New(errs.Invalid, "bad_count", "import 1 to 100 relations at once")

// ImportRelations stores what users have set about others.
func (s *Service) ImportRelations(ctx context.Context, c id.Caller, r *operationv1.ImportRelationsRequest) (*operationv1.ImportRelationsResponse, error) {
	if len(r.Relations) == 0 || len(r.Relations) > maxRelations {
		return nil, errTooManyRelations
	}
	if err := s.record(ctx, c, importing, relations); err != nil {
		return nil, err
	}
	return s.deps.Accounts.ImportRelations(ctx, r.Relations)
}

// ExportRelations returns a page of what users have set about others.
func (s *Service) ExportRelations(ctx context.Context, c id.Caller, r *operationv1.ExportRelationsRequest) (*operationv1.ExportRelationsResponse, error) {
	if err := s.record(ctx, c, exporting, relations); err != nil {
		return nil, err
	}
	return s.deps.Accounts.ExportRelations(ctx, r)
}
