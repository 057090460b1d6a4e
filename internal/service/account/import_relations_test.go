package account_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// TestRelationsAreImported: they are added to what is stored, also twice; nobody is notified; and a page of an export has each once, in order. What a block
// forbids, and what names nobody, is refused by itself.
func TestRelationsAreImported(t *testing.T) {
	told := 0
	r := openOn(t, sqltest.Place(t), 1, account.Config{}, func(d *account.Deps) {
		d.OnRelation = func(context.Context, *sql.Tx, account.RelationChange) error {
			told++
			return nil
		}
	})
	p := r.newUsers(5)
	n := func(i int) uint64 { return uint64(p[i]) }
	_, err := r.SetFollow(t.Context(), p[0], p[2], true) // of the server itself
	if err != nil {
		t.Fatal(err)
	}
	told = 0
	list := []*operationv1.InterchangeRelation{
		{Owner: n(0), Other: n(1), Friend: true, Following: true, Remark: "one"},
		{Owner: n(0), Other: n(2), Muted: true},
		{Owner: n(1), Other: n(0), Friend: true},
		{Owner: n(2), Other: n(3), Requested: true, Message: "please"},
		{Owner: n(3), Other: n(0), Blocked: true},
		{Owner: n(3), Other: n(2), Asked: true, Message: "please"},
	}
	for range 2 {
		a, err := r.ImportRelations(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range a.Results {
			if result.Reason != "" {
				t.Errorf("%v is refused: %v", list[i], result)
			}
		}
	}
	if told != 0 {
		t.Errorf("users are notified of %d changes", told)
	}
	for want, relation := range map[string]*operationv1.InterchangeRelation{
		"blocked": {Owner: n(0), Other: n(3), Following: true}, "no_user": {Owner: n(0), Other: 12345, Friend: true}, "self": {Owner: n(0), Other: n(0), Following: true},
	} {
		if a, err := r.ImportRelations(t.Context(), []*operationv1.InterchangeRelation{relation}); err != nil || a.Results[0].Reason != want {
			t.Errorf("%v: %v, %v; want %s", relation, a, err, want)
		}
	}
	if a, err := r.ImportRelations(t.Context(), []*operationv1.InterchangeRelation{{Owner: n(4), Other: n(1), Friend: true, Blocked: true}}); err != nil || a.Results[0].Reason != "blocked" {
		t.Errorf("a friend who is blocked: %v, %v", a, err)
	}
	list[1].Following = true // as before
	var got []*operationv1.InterchangeRelation
	for after := (&operationv1.ExportRelationsRequest{Limit: 2}); ; {
		page, err := r.ExportRelations(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Relations) == 0 {
			break
		}
		got = append(got, page.Relations...)
		last := got[len(got)-1]
		after.AfterOwner, after.AfterOther = last.Owner, last.Other
	}
	if len(got) != len(list) {
		t.Fatalf("the export has %v, want %v", got, list)
	}
	for i := range got {
		if !proto.Equal(got[i], list[i]) {
			t.Errorf("relation %d is %v, want %v", i, got[i], list[i])
		}
	}
	if followers, _ := followersOf(r, p[1], 0, 10); len(followers) != 1 || followers[0] != p[0] {
		t.Errorf("the followers are %v", followers)
	}
}
