package moderation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// records has what was exported.
type records struct {
	userdata.Writer
	list []string
}

func (r *records) Record(kind string, record any) error {
	r.list = append(r.list, fmt.Sprint(kind, record))
	return nil
}

func (f *fixture) erase(p userdata.Participant, u id.User) {
	f.t.Helper()
	from := ""
	for range 100 {
		step, err := p.EraseUser(f.t.Context(), u, from)
		must(f.t, err)
		if step.Done {
			return
		}
		from = step.Next
	}
	f.t.Errorf("the erasure of %s does not end", p.Name())
}

// An export has what a user reported and was told, and not who reported. After an erasure no row has the user's words, also of what was hidden; decisions stay.
func TestUsersAreErased(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	g := f.group(alice, bob)
	f.report(bob, subject(ofMessage, uint64(g), f.send(alice, g, "aword of alice")))
	f.decide(f.onlyCase(), recall, 0)
	top := f.comment(alice, f.post(bob, "a post"), 0, "aword in a comment")
	f.report(bob, subject(ofComment, top, 0))
	f.decide(f.onlyCase(), hide, 0)
	f.report(bob, subject(ofPost, f.post(alice, "aword in a post"), 0))
	f.decide(f.onlyCase(), hide, 0)
	var of, by records
	p := f.UserData()
	must(t, p.ExportUser(t.Context(), alice, &of))
	must(t, p.ExportUser(t.Context(), bob, &by))
	if all := strings.Join(of.list, "\n"); len(of.list) != 3 || !strings.Contains(all, "it breaks the rules") || strings.Contains(all, "reporter") || strings.Contains(all, "moderation_reports") {
		t.Errorf("of alice is exported:\n%s", all)
	}
	if all := strings.Join(by.list, "\n"); len(by.list) != 3 || strings.Count(all, "moderation_reports") != 3 {
		t.Errorf("of bob is exported:\n%s", all)
	}
	words := func(table, columns string) (n int) {
		must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM `+table+` WHERE `+columns+` LIKE '%aword%'`).Scan(&n))
		return n
	}
	if n := words("moderation_cases", "excerpt") + words("moderation_decisions", "excerpt"); n != 6 {
		t.Fatalf("%d rows have the word before the erasure, want 6", n)
	}
	for range 2 { // a crash may repeat it
		f.erase(p, alice)
		f.erase(f.comments.UserData(), alice)
		f.erase(f.feed.UserData(), alice)
	}
	if n := words("moderation_cases", "excerpt") + words("moderation_decisions", "excerpt"); n != 0 {
		t.Errorf("%d rows have the word after the erasure", n)
	}
	for query, want := range map[string]int{
		`SELECT count(*) FROM moderation_cases WHERE has_content OR length(content) > 0`: 0, `SELECT count(*) FROM moderation_decisions`: 3, `SELECT count(*) FROM comments WHERE NOT deleted OR length(content) > 0 OR hidden_content IS NOT NULL`: 0,
		fmt.Sprintf(`SELECT count(*) FROM feed_posts WHERE author = %d AND (NOT deleted OR length(content) > 0)`, alice): 0,
	} {
		var n int
		if must(t, f.db.Read().QueryRowContext(t.Context(), query).Scan(&n)); n != want {
			t.Errorf("%s: %d, want %d", query, n, want)
		}
	}
}
