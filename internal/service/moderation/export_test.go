package moderation

import (
	"context"

	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// Numbers of enums in queries.
const (
	UntoldActions = untoldActions
	HeldKind      = heldKind
)

// IsTold reports whether users are told of an action.
func IsTold(a moderationv1.Action) bool { return isTold(a) }

// Round finishes decisions and deletes old copies.
func (s *Service) Round(ctx context.Context) error { return s.round(ctx) }
