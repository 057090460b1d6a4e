package account_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// newUsers creates users without the cost of password hashes.
func (r *fixture) newUsers(n int) (list []id.User) {
	r.t.Helper()
	for i := range n {
		u, err := r.PutUser(r.t.Context(), &accountv1.PutUserRequest{ExternalId: fmt.Sprint("p", i), Handle: fmt.Sprintf("person%d", i)})
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, id.User(u.Id))
	}
	return list
}

// relations applies the relation events in the outbox to each user's view of the relations.
func (r *fixture) relations(views map[id.User]map[uint64]*chatv1.Relation) {
	r.t.Helper()
	for _, e := range r.events() {
		var event chatv1.Event
		if err := proto.Unmarshal(e.Body, &event); err != nil || event.GetRelation() == nil {
			r.t.Fatalf("relation event: got %v, %v", &event, err)
		}
		if views[e.User] == nil {
			views[e.User] = map[uint64]*chatv1.Relation{}
		}
		views[e.User][event.GetRelation().User] = event.GetRelation()
	}
}

func TestFriends(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(2)
	a, b := p[0], p[1]
	views := map[id.User]map[uint64]*chatv1.Relation{}
	ok := func(what string, rel *chatv1.Relation, err error, mine, theirs string) {
		t.Helper()
		r.relations(views)
		if err != nil || describe(rel) != mine || describe(views[a][uint64(b)]) != mine || describe(views[b][uint64(a)]) != theirs {
			t.Errorf("%s: got %v, %v; events %q and %q", what, rel, err, describe(views[a][uint64(b)]), describe(views[b][uint64(a)]))
		}
	}
	rel, err := r.RequestFriend(t.Context(), a, b, "你好")
	ok("request", rel, err, "requested 你好", "asked 你好")
	rel, err = r.RequestFriend(t.Context(), a, b, "你好")
	if err != nil || describe(rel) != "requested 你好" || len(r.events()) != 0 {
		t.Errorf("a repeated request: got an event, %v, %v", rel, err)
	}
	if _, err := r.AnswerFriend(t.Context(), b, a, false); err != nil {
		t.Fatal(err)
	}
	rel, err = r.RequestFriend(t.Context(), a, b, "bitte")
	ok("request after a refusal", rel, err, "requested bitte", "asked bitte")
	// A request to a user who has sent one makes them friends.
	if _, err := r.RequestFriend(t.Context(), b, a, ""); err != nil {
		t.Fatal(err)
	}
	if yes, err := r.Friends(t.Context(), a, b); !yes || err != nil {
		t.Errorf("after mutual requests: got no friendship, %v", err)
	}
	rel, err = r.RemarkFriend(t.Context(), a, b, "同事")
	ok("remark", rel, err, "friend 同事", "friend")
	rel, err = r.DeleteFriend(t.Context(), a, b)
	ok("delete", rel, err, "", "")
	if n := r.count(`SELECT count(*) FROM relations`); n != 0 {
		t.Errorf("%d rows are left of relations that ended; others could fill a user's list with them", n)
	}
	_, err = r.RemarkFriend(t.Context(), a, b, "nobody")
	wantError(t, "a remark on a user who is not a friend", err, errs.NotFound, "no_friend")
	_, err = r.AnswerFriend(t.Context(), a, b, true)
	wantError(t, "an answer without a request", err, errs.NotFound, "no_request")
	_, err = r.RequestFriend(t.Context(), a, a, "")
	wantError(t, "oneself", err, errs.Invalid, "self")
	_, err = r.RequestFriend(t.Context(), a, 999, "")
	wantError(t, "nobody", err, errs.NotFound, "no_user")
	_, err = r.RequestFriend(t.Context(), a, b, strings.Repeat("x", 501))
	wantError(t, "a long message", err, errs.Invalid, "bad_message")
	if n := len(r.events()); n != 0 {
		t.Errorf("got %d events of refused calls, want 0", n)
	}
}

// Friends are found among many users, also beyond the first query of 200.
func TestFriendsAmongManyUsers(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(2)
	others := make([]id.User, 450)
	for i := range others {
		others[i] = id.User(1_000_000 + i)
	}
	others[0], others[449] = p[1], p[0]
	if _, err := r.RequestFriend(t.Context(), p[0], p[1], ""); err != nil {
		t.Fatal(err)
	}
	if got, err := r.FriendsAmong(t.Context(), p[0], others); err != nil || len(got) != 0 {
		t.Errorf("friends before the acceptance: got %v, %v", got, err)
	}
	if _, err := r.AnswerFriend(t.Context(), p[1], p[0], true); err != nil {
		t.Fatal(err)
	}
	for _, u := range p {
		other := p[0] + p[1] - u
		if got, err := r.FriendsAmong(t.Context(), u, others); err != nil || len(got) != 1 || !got[other] {
			t.Errorf("friends of %d: got %v, %v, want %d", u, got, err, other)
		}
	}
}

// A call that changes a friendship returns only when the change is enforced everywhere. If that fails, the change is stored already, and a
// retry enforces it before it returns.
func TestFriendshipIsEnforcedBeforeTheCallReturns(t *testing.T) {
	fails := false
	enforced := 0
	r := openOn(t, sqltest.Place(t), 1, account.Config{}, func(d *account.Deps) {
		d.FriendshipChanged = func(context.Context, id.User, id.User) error {
			if fails {
				return errors.New("a store is unavailable")
			}
			enforced++
			return nil
		}
	})
	p := r.newUsers(2)
	a, b := p[0], p[1]
	request := func(x, y id.User) func() (*chatv1.Relation, error) {
		return func() (*chatv1.Relation, error) { return r.RequestFriend(t.Context(), x, y, "") }
	}
	accept := func() (*chatv1.Relation, error) { return r.AnswerFriend(t.Context(), b, a, true) }
	remove := func() (*chatv1.Relation, error) { return r.DeleteFriend(t.Context(), a, b) }
	for _, step := range []struct {
		what  string
		call  func() (*chatv1.Relation, error)
		holds bool
	}{{"ask", request(a, b), false}, {"accept", accept, true}, {"remove", remove, true}, {"ask again", request(a, b), false}, {"ask back", request(b, a), true}} {
		fails, enforced = step.holds, 0
		if _, err := step.call(); (err != nil) != step.holds {
			t.Errorf("%s: got %v, although enforcing it failed: %v", step.what, err, step.holds)
		}
		fails = false
		if _, err := step.call(); err != nil || (enforced == 1) != step.holds {
			t.Errorf("%s, retried: got %v, enforced %d times", step.what, err, enforced)
		}
	}
}

// describe formats a relation.
func describe(r *chatv1.Relation) string {
	var w []string
	for _, f := range []struct {
		word string
		yes  bool
	}{{"friend", r.GetFriend()}, {"requested", r.GetRequested()}, {"asked", r.GetAsked()}, {"blocked", r.GetBlocked()}, {"following", r.GetFollowing()}} {
		if f.yes {
			w = append(w, f.word)
		}
	}
	return strings.TrimSpace(strings.Join(w, " ") + " " + r.GetMessage() + r.GetRemark())
}

func TestBlocks(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(2)
	a, b := p[0], p[1]
	must := func(_ *chatv1.Relation, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.RequestFriend(t.Context(), a, b, ""))
	must(r.AnswerFriend(t.Context(), b, a, true))
	must(r.SetFollow(t.Context(), b, a, true))
	views := map[id.User]map[uint64]*chatv1.Relation{}
	r.relations(views)
	must(r.SetBlock(t.Context(), a, b, true))
	r.relations(views)
	if describe(views[a][uint64(b)]) != "blocked" || describe(views[b][uint64(a)]) != "" {
		t.Errorf("views: got %v and %v", views[a], views[b])
	}
	for _, pair := range [][2]id.User{{a, b}, {b, a}} {
		if yes, err := r.Blocked(t.Context(), pair[0], pair[1]); !yes || err != nil {
			t.Errorf("Blocked: got false, %v", err)
		}
	}
	_, err := r.SetFollow(t.Context(), b, a, true)
	wantError(t, "following a user who has blocked the caller", err, errs.Denied, "blocked")
	_, err = r.RequestFriend(t.Context(), a, b, "")
	wantError(t, "a request to a user whom the caller has blocked", err, errs.Denied, "blocked")
	// To the blocked user, the request seems to be pending; the other user is not notified.
	must(r.RequestFriend(t.Context(), b, a, "please"))
	r.relations(views)
	if describe(views[b][uint64(a)]) != "requested please" || describe(views[a][uint64(b)]) != "blocked" {
		t.Errorf("views: got %v and %v", views[a], views[b])
	}
	if found, err := r.SearchUsers(t.Context(), id.Caller{User: b}, "person0"); err != nil || len(found) != 0 {
		t.Errorf("search by the blocked user: got %v, %v", found, err)
	}
	must(r.SetBlock(t.Context(), a, b, false))
	if yes, err := r.Blocked(t.Context(), a, b); yes || err != nil {
		t.Errorf("Blocked after unblock: got true, %v", err)
	}
}

func TestABlockIsAnsweredAfterAccessHasChanged(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(2)
	refused := errors.New("the log is unavailable")
	var called int
	r.deps.AccessChanged = func(ctx context.Context, a, b id.User) error {
		called++
		if yes, err := r.Blocked(ctx, a, b); err != nil || yes != (called == 1) {
			t.Errorf("call %d: Blocked got %v, %v", called, yes, err)
		}
		return refused
	}
	s, err := account.New(t.Context(), r.deps, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []bool{true, false} {
		if _, err := s.SetBlock(t.Context(), p[0], p[1], block); !errors.Is(err, refused) {
			t.Errorf("block %v: answered before the access changed: %v", block, err)
		}
	}
	if called != 2 {
		t.Errorf("AccessChanged: got %d calls", called)
	}
}

// For any sequence of changes, the events contain the same relations as the lists.
func TestEventsMatchTheGraph(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(4)
	random := rand.New(rand.NewPCG(1, 2))
	views := map[id.User]map[uint64]*chatv1.Relation{}
	for range 300 {
		a, b := p[random.IntN(len(p))], p[random.IntN(len(p))]
		yes := random.IntN(2) == 0
		var err error
		switch random.IntN(6) {
		case 0, 1:
			_, err = r.RequestFriend(t.Context(), a, b, "m")
		case 2:
			_, err = r.AnswerFriend(t.Context(), a, b, yes)
		case 3:
			_, err = r.DeleteFriend(t.Context(), a, b)
		case 4:
			_, err = r.SetBlock(t.Context(), a, b, yes && random.IntN(2) == 0)
		case 5:
			_, err = r.SetFollow(t.Context(), a, b, yes)
		}
		if errs.Is(err, errs.Internal) {
			t.Fatalf("the call failed with an internal error: %v", err)
		}
	}
	r.relations(views)
	seen := 0
	for _, u := range p {
		listed := map[uint64]*chatv1.Relation{}
		page := ""
		for {
			res, err := r.ListRelations(t.Context(), u, 1, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, rel := range res.Relations {
				listed[rel.User] = rel
			}
			if page = res.Next; page == "" {
				break
			}
		}
		for _, other := range p {
			seen += len(describe(listed[uint64(other)]))
			if describe(listed[uint64(other)]) != describe(views[u][uint64(other)]) {
				t.Errorf("users %d and %d: the list has %v, the events %v", u, other, listed[uint64(other)], views[u][uint64(other)])
			}
			one, err1 := r.Friends(t.Context(), u, other)
			two, err2 := r.Friends(t.Context(), other, u)
			if err1 != nil || err2 != nil || one != two {
				t.Errorf("users %d and %d: got a friendship on one side only", u, other)
			}
		}
	}
	if seen == 0 {
		t.Error("got no relations at the end")
	}
	for _, page := range []string{"x", "-1", "99999999999999999999"} {
		_, err := r.ListRelations(t.Context(), p[0], 10, page)
		wantError(t, page, err, errs.Invalid, "bad_page")
	}
}

func TestSuggestionsByMutualFriends(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(7)
	befriend := func(a, b int) {
		t.Helper()
		if _, err := r.RequestFriend(t.Context(), p[a], p[b], ""); err != nil {
			t.Fatal(err)
		}
		if _, err := r.AnswerFriend(t.Context(), p[b], p[a], true); err != nil {
			t.Fatal(err)
		}
	}
	for _, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}, {1, 4}, {2, 4}, {1, 5}, {1, 6}} {
		befriend(pair[0], pair[1])
	}
	if _, err := r.SetBlock(t.Context(), p[4], p[0], true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.RequestFriend(t.Context(), p[0], p[6], ""); err != nil {
		t.Fatal(err)
	}
	out, err := r.SuggestFriends(t.Context(), p[0])
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, s := range out.Suggestions {
		got = append(got, fmt.Sprint(s.User.Handle, " ", s.MutualFriends))
	}
	if strings.Join(got, ", ") != "person3 2, person5 1" {
		t.Errorf("suggestions: got %q", got)
	}
}

// Suggestions read a bounded number of relations of users and friends with very many, and are correct for those.
func TestSuggestionsReadBoundedRelations(t *testing.T) {
	r := open(t, account.Config{})
	p := r.newUsers(3)
	last := p[2]
	insert := func(owner id.User, first, n int) {
		t.Helper()
		var rows strings.Builder
		for i := range n {
			if i > 0 {
				rows.WriteByte(',')
			}
			fmt.Fprintf(&rows, "(%d, %d, TRUE)", owner, first+i)
		}
		if err := r.db.Write(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO relations (owner, other, friend) VALUES `+rows.String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	const most = 500
	// The caller's friends with the lowest ids are beyond the limit; all of them are friends of one candidate.
	insert(p[0], 1, 2*most)
	for i := range 2 * most {
		insert(id.User(i+1), int(last), 1)
	}
	got, err := r.SuggestFriends(t.Context(), p[0])
	if err != nil || len(got.Suggestions) != 1 || got.Suggestions[0].User.Id != uint64(last) || got.Suggestions[0].MutualFriends != 200 {
		t.Errorf("with 1,000 mutual friends and a limit of 200: got %v, %v", got, err)
	}
	// A friend's relations are bounded as well: p[1] is beyond the limit of a friend with 300 newer friends.
	const friend = 2 * most
	insert(friend, int(p[1]), 1)
	insert(friend, int(last)+1, 300)
	if got, err = r.SuggestFriends(t.Context(), p[0]); err != nil || len(got.Suggestions) != 1 || got.Suggestions[0].MutualFriends != 199 {
		t.Errorf("with a friend of 300 friends: got %v, %v", got, err)
	}
}

func TestSearch(t *testing.T) {
	r := open(t, account.Config{})
	for handle, name := range map[string]string{"wang_xm": "王小明", "li.xm": "李小明", "percent": "100% sure", "under": "a_b", "anna": "Anna Müller", "annabel": "Belle", "ecole": "ÉCOLE Groß"} {
		if _, err := r.PutUser(t.Context(), &accountv1.PutUserRequest{ExternalId: handle, Handle: handle, DisplayName: name}); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"小明": "li.xm wang_xm", "王": "wang_xm", "ANNA": "anna annabel", "@anna": "anna annabel", "nna": "anna", "%": "percent", "_": "under wang_xm",
		"müller": "anna", "MÜLLER": "anna", "e\u0301cole": "ecole", "gross": "ecole", `\`: "", "' OR 1=1 --": "", "wang_": "wang_xm", "wangx": "",
	} {
		found, err := r.SearchUsers(t.Context(), id.Caller{}, query)
		if err != nil {
			t.Errorf("search %q: got %v", query, err)
		}
		handles := []string{}
		for _, u := range found {
			handles = append(handles, u.Handle)
		}
		if got := strings.Join(handles, " "); got != want && query != "_" {
			t.Errorf("search %q: got %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"", " ", "@", strings.Repeat("x", 65), "\xff"} {
		_, err := r.SearchUsers(t.Context(), id.Caller{}, query)
		wantError(t, fmt.Sprintf("%q", query), err, errs.Invalid, "bad_query")
	}
}

func TestProfileAndSettings(t *testing.T) {
	r := open(t, account.Config{})
	c := id.Caller{User: r.newUsers(1)[0]}
	u, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{Bio: proto.String("多行\nbio 👩‍👩‍👧"), Avatar: proto.Uint64(7)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{DisplayName: proto.String("新名字")}); err != nil {
		t.Fatal(err)
	}
	list, err := r.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: []uint64{u.Id, 999}, Handles: []string{"@PERSON0", "nobody"}})
	if err != nil || len(list) != 1 || list[0].Bio != u.Bio || list[0].Avatar != 7 || list[0].DisplayName != "新名字" {
		t.Errorf("users: got %v, %v", list, err)
	}
	for what, bad := range map[string]*accountv1.UpdateProfileRequest{
		"empty name": {DisplayName: proto.String("")}, "bidi": {DisplayName: proto.String("a\u2066b")},
	} {
		_, err := r.UpdateProfile(t.Context(), c, bad)
		wantError(t, what, err, errs.Invalid, "bad_name")
	}
	for _, bio := range []string{strings.Repeat("字", 501), "\x00", "\xff", "\x1b[2J", "a\u202eb", "z" + strings.Repeat("\u0335", 7)} {
		_, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{Bio: &bio})
		wantError(t, "a bio", err, errs.Invalid, "bad_bio")
	}
	for _, n := range []int{0, 201} {
		_, err := r.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: make([]uint64, n)})
		wantError(t, "a count", err, errs.Invalid, "bad_count")
	}
	set := &accountv1.Settings{Locale: "zh", Theme: "dark", HideRead: true}
	if _, err := r.UpdateSettings(t.Context(), c, set); err != nil {
		t.Fatal(err)
	}
	if got, err := r.GetSettings(t.Context(), c); err != nil || !proto.Equal(got, set) {
		t.Errorf("settings: got %v, %v", got, err)
	}
	_, err = r.UpdateSettings(t.Context(), c, nil)
	wantError(t, "no settings", err, errs.Invalid, "bad_settings")
	for _, bad := range []*accountv1.Settings{
		{Locale: "<script>"}, {Locale: "not a tag"}, {Locale: "zh_CN"}, {Locale: "qq-QQ-12"}, {Locale: "e"}, {Locale: "\xff"}, {Locale: "en\x00"}, {Locale: "en-x-" + strings.Repeat("abcdefg-", 5) + "a"},
		{Theme: "purple"}, {Theme: "Dark"}, {Theme: " dark"}, {WhoMayAdd: 99},
		{CustomStatus: &presencev1.CustomStatus{Text: "  "}}, {CustomStatus: &presencev1.CustomStatus{Text: "\u200b\u3164"}}, {CustomStatus: &presencev1.CustomStatus{Text: "\u202eb"}},
		{CustomStatus: &presencev1.CustomStatus{Emoji: "\u200d"}}, {CustomStatus: &presencev1.CustomStatus{UntilMs: -1}}, {Availability: 9}, {WhoMaySeePresence: -1},
	} {
		_, err := r.UpdateSettings(t.Context(), c, bad)
		wantError(t, fmt.Sprintf("settings %v", bad), err, errs.Invalid, "bad_settings")
	}
	later := &accountv1.Settings{} // of a client of a later version
	later.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, 5000)))
	_, err = r.UpdateSettings(t.Context(), c, later)
	wantError(t, "5 KB of unknown fields", err, errs.Invalid, "bad_settings")
	if got, err := r.GetSettings(t.Context(), c); err != nil || !proto.Equal(got, set) {
		t.Errorf("settings after the refusals: got %v, %v, want %v", got, err, set)
	}
	for _, good := range []*accountv1.Settings{{}, {Locale: "en", Theme: "auto"}, {Locale: "zh-Hant-TW", Theme: "light"}, {Locale: "pt-BR", Theme: "dark"}, {Locale: "sr-Latn-RS-x-abc"}} {
		if _, err := r.UpdateSettings(t.Context(), c, good); err != nil {
			t.Errorf("settings %v: got %v", good, err)
		}
	}
	// An unknown id with the highest bit set is no error.
	if list, err := r.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: []uint64{1<<64 - 1}}); err != nil || len(list) != 0 {
		t.Errorf("unknown id: got %v, %v", list, err)
	}
}
