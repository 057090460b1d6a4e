// Package search finds users by their names.
package search

import (
	"context"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// Accounts has all users.
type Accounts interface {
	SearchUsers(ctx context.Context, c id.Caller, query string) ([]*accountv1.User, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Accounts Accounts
}

// Service answers searches.
type Service struct{ deps Deps }

// New returns a service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// Search gives the best hits for a query, in a group for each kind.
func (s *Service) Search(ctx context.Context, reader id.User, r *searchv1.SearchRequest) (*searchv1.SearchResponse, error) {
	q, err := parse(r)
	if err != nil {
		return nil, err
	}
	pattern := searchindex.NewPattern(q.phrases, r.Typing)
	users, err := s.deps.Accounts.SearchUsers(ctx, id.Caller{User: reader}, strings.Join(q.phrases, " "))
	if err != nil {
		return nil, err
	}
	group := &searchv1.HitGroup{Kind: searchv1.HitKind_HIT_KIND_USER}
	for _, u := range users {
		text := u.DisplayName + " @" + u.Handle
		parts, _ := pattern.Match(text)
		group.Hits = append(group.Hits, &searchv1.Hit{Text: text, Highlights: highlights(parts), User: u})
	}
	out := &searchv1.SearchResponse{}
	if len(group.Hits) > 0 {
		out.Groups = append(out.Groups, group)
	}
	return out, nil
}

func highlights(parts []searchindex.Range) (list []*searchv1.Highlight) {
	for _, p := range parts {
		list = append(list, &searchv1.Highlight{Start: uint32(p.Start), Length: uint32(p.End - p.Start)})
	}
	return list
}
