package account_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"google.golang.org/protobuf/proto"
)

// people registers users without paying for their passwords.
func (r *room) people(n int) (list []id.User) {
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

// told by events, of each user's relations.
func (r *room) relations(views map[id.User]map[uint64]*chatv1.Relation) {
	r.t.Helper()
	for _, e := range r.events() {
		var event chatv1.Event
		if err := proto.Unmarshal(e.Body, &event); err != nil || event.GetRelation() == nil {
			r.t.Fatalf("%v, %v", &event, err)
		}
		if views[e.User] == nil {
			views[e.User] = map[uint64]*chatv1.Relation{}
		}
		views[e.User][event.GetRelation().User] = event.GetRelation()
	}
}

func TestFriends(t *testing.T) {
	r := open(t, account.Config{})
	p := r.people(2)
	a, b := p[0], p[1]
	views := map[id.User]map[uint64]*chatv1.Relation{}
	ok := func(what string, rel *chatv1.Relation, err error, mine, theirs string) {
		t.Helper()
		r.relations(views)
		if err != nil || says(rel) != mine || says(views[a][uint64(b)]) != mine || says(views[b][uint64(a)]) != theirs {
			t.Errorf("%s: %v, %v; the events say %q and %q", what, rel, err, says(views[a][uint64(b)]), says(views[b][uint64(a)]))
		}
	}
	rel, err := r.RequestFriend(t.Context(), a, b, "你好")
	ok("request", rel, err, "requested 你好", "asked 你好")
	rel, err = r.RequestFriend(t.Context(), a, b, "你好")
	if err != nil || says(rel) != "requested 你好" || len(r.events()) != 0 {
		t.Errorf("the same again is an event: %v, %v", rel, err)
	}
	if _, err := r.AnswerFriend(t.Context(), b, a, false); err != nil {
		t.Fatal(err)
	}
	rel, err = r.RequestFriend(t.Context(), a, b, "bitte")
	ok("request after a refusal", rel, err, "requested bitte", "asked bitte")
	// Who asks one that has asked him is a friend.
	if _, err := r.RequestFriend(t.Context(), b, a, ""); err != nil {
		t.Fatal(err)
	}
	if yes, err := r.Friends(t.Context(), a, b); !yes || err != nil {
		t.Errorf("not friends: %v", err)
	}
	rel, err = r.RemarkFriend(t.Context(), a, b, "同事")
	ok("remark", rel, err, "friend 同事", "friend")
	rel, err = r.DeleteFriend(t.Context(), a, b)
	ok("delete", rel, err, "", "")
	_, err = r.RemarkFriend(t.Context(), a, b, "nobody")
	wants(t, "a remark on no friend", err, errs.NotFound, "no_friend")
	_, err = r.AnswerFriend(t.Context(), a, b, true)
	wants(t, "an answer to nothing", err, errs.NotFound, "no_request")
	_, err = r.RequestFriend(t.Context(), a, a, "")
	wants(t, "oneself", err, errs.Invalid, "self")
	_, err = r.RequestFriend(t.Context(), a, 999, "")
	wants(t, "nobody", err, errs.NotFound, "no_user")
	_, err = r.RequestFriend(t.Context(), a, b, strings.Repeat("x", 501))
	wants(t, "a long message", err, errs.Invalid, "bad_message")
	if n := len(r.events()); n != 0 {
		t.Errorf("%d events of what was refused", n)
	}
}

// A friendship that began or ended is answered when that holds everywhere. Where it could not be made to, the change is stored already,
// and who tries again is not answered either before it does.
func TestAFriendshipHoldsBeforeItIsAnswered(t *testing.T) {
	fails := false
	held := 0
	r := openOn(t, sqltest.Place(t), 1, account.Config{}, func(d *account.Deps) {
		d.FriendshipChanged = func(context.Context, id.User, id.User) error {
			if fails {
				return errors.New("a store is away")
			}
			held++
			return nil
		}
	})
	p := r.people(2)
	a, b := p[0], p[1]
	ask := func(x, y id.User) func() (*chatv1.Relation, error) {
		return func() (*chatv1.Relation, error) { return r.RequestFriend(t.Context(), x, y, "") }
	}
	accept := func() (*chatv1.Relation, error) { return r.AnswerFriend(t.Context(), b, a, true) }
	remove := func() (*chatv1.Relation, error) { return r.DeleteFriend(t.Context(), a, b) }
	for _, step := range []struct {
		what  string
		call  func() (*chatv1.Relation, error)
		holds bool
	}{{"ask", ask(a, b), false}, {"accept", accept, true}, {"remove", remove, true}, {"ask again", ask(a, b), false}, {"ask back", ask(b, a), true}} {
		fails, held = step.holds, 0
		if _, err := step.call(); (err != nil) != step.holds {
			t.Errorf("%s: %v, though what follows from it failed: %v", step.what, err, step.holds)
		}
		fails = false
		if _, err := step.call(); err != nil || (held == 1) != step.holds {
			t.Errorf("%s once more: %v, made to hold %d times", step.what, err, held)
		}
	}
}

// says a relation in words.
func says(r *chatv1.Relation) string {
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
	p := r.people(2)
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
	if says(views[a][uint64(b)]) != "blocked" || says(views[b][uint64(a)]) != "" {
		t.Errorf("%v and %v", views[a], views[b])
	}
	for _, pair := range [][2]id.User{{a, b}, {b, a}} {
		if yes, err := r.Blocked(t.Context(), pair[0], pair[1]); !yes || err != nil {
			t.Errorf("not blocked: %v", err)
		}
	}
	_, err := r.SetFollow(t.Context(), b, a, true)
	wants(t, "following one who blocks", err, errs.Denied, "blocked")
	_, err = r.RequestFriend(t.Context(), a, b, "")
	wants(t, "asking one whom one blocks", err, errs.Denied, "blocked")
	// The blocked one's request waits, as far as he sees; the other hears nothing of it.
	must(r.RequestFriend(t.Context(), b, a, "please"))
	r.relations(views)
	if says(views[b][uint64(a)]) != "requested please" || says(views[a][uint64(b)]) != "blocked" {
		t.Errorf("%v and %v", views[a], views[b])
	}
	if found, err := r.SearchUsers(t.Context(), id.Caller{User: b}, "person0"); err != nil || len(found) != 0 {
		t.Errorf("the blocked one finds %v, %v", found, err)
	}
	must(r.SetBlock(t.Context(), a, b, false))
	if yes, err := r.Blocked(t.Context(), a, b); yes || err != nil {
		t.Errorf("still blocked: %v", err)
	}
}

func TestABlockIsAnsweredAfterAccessHasChanged(t *testing.T) {
	r := open(t, account.Config{})
	p := r.people(2)
	refused := errors.New("the log is away")
	var called int
	r.deps.AccessChanged = func(ctx context.Context, a, b id.User) error {
		called++
		if yes, err := r.Blocked(ctx, a, b); err != nil || yes != (called == 1) {
			t.Errorf("call %d: blocked %v, %v", called, yes, err)
		}
		return refused
	}
	s, err := account.New(t.Context(), r.deps, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []bool{true, false} {
		if _, err := s.SetBlock(t.Context(), p[0], p[1], block); !errors.Is(err, refused) {
			t.Errorf("block %v was answered before: %v", block, err)
		}
	}
	if called != 2 {
		t.Errorf("called %d times", called)
	}
}

// TestEventsTellTheGraph: whatever is done, a device that has all events has what the list gives.
func TestEventsTellTheGraph(t *testing.T) {
	r := open(t, account.Config{})
	p := r.people(4)
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
			t.Fatal(err)
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
			seen += len(says(listed[uint64(other)]))
			if says(listed[uint64(other)]) != says(views[u][uint64(other)]) {
				t.Errorf("%d and %d: the list says %v, the events %v", u, other, listed[uint64(other)], views[u][uint64(other)])
			}
			one, err1 := r.Friends(t.Context(), u, other)
			two, err2 := r.Friends(t.Context(), other, u)
			if err1 != nil || err2 != nil || one != two {
				t.Errorf("%d and %d are friends on one side", u, other)
			}
		}
	}
	if seen == 0 {
		t.Error("nothing was related in the end")
	}
	for _, page := range []string{"x", "-1", "99999999999999999999"} {
		_, err := r.ListRelations(t.Context(), p[0], 10, page)
		wants(t, page, err, errs.Invalid, "bad_page")
	}
}

func TestSuggestionsByMutualFriends(t *testing.T) {
	r := open(t, account.Config{})
	p := r.people(7)
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
		t.Errorf("%q", got)
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
			t.Errorf("%q: %v", query, err)
		}
		handles := []string{}
		for _, u := range found {
			handles = append(handles, u.Handle)
		}
		if got := strings.Join(handles, " "); got != want && query != "_" {
			t.Errorf("%q finds %q, not %q", query, got, want)
		}
	}
	for _, query := range []string{"", " ", "@", strings.Repeat("x", 65), "\xff"} {
		_, err := r.SearchUsers(t.Context(), id.Caller{}, query)
		wants(t, fmt.Sprintf("%q", query), err, errs.Invalid, "bad_query")
	}
}

func TestProfileAndSettings(t *testing.T) {
	r := open(t, account.Config{})
	c := id.Caller{User: r.people(1)[0]}
	u, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{Bio: proto.String("多行\nbio 👩‍👩‍👧"), Avatar: proto.Uint64(7)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{DisplayName: proto.String("新名字")}); err != nil {
		t.Fatal(err)
	}
	list, err := r.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: []uint64{u.Id, 999}, Handles: []string{"@PERSON0", "nobody"}})
	if err != nil || len(list) != 1 || list[0].Bio != u.Bio || list[0].Avatar != 7 || list[0].DisplayName != "新名字" {
		t.Errorf("%v, %v", list, err)
	}
	for what, bad := range map[string]*accountv1.UpdateProfileRequest{
		"empty name": {DisplayName: proto.String("")}, "bidi": {DisplayName: proto.String("a\u2066b")},
	} {
		_, err := r.UpdateProfile(t.Context(), c, bad)
		wants(t, what, err, errs.Invalid, "bad_name")
	}
	for _, bio := range []string{strings.Repeat("字", 501), "\x00", "\xff"} {
		_, err := r.UpdateProfile(t.Context(), c, &accountv1.UpdateProfileRequest{Bio: &bio})
		wants(t, "a bio", err, errs.Invalid, "bad_bio")
	}
	for _, n := range []int{0, 201} {
		_, err := r.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: make([]uint64, n)})
		wants(t, "a count", err, errs.Invalid, "bad_count")
	}
	set := &accountv1.Settings{Locale: "zh", Theme: "dark", HideRead: true}
	if _, err := r.UpdateSettings(t.Context(), c, set); err != nil {
		t.Fatal(err)
	}
	if got, err := r.GetSettings(t.Context(), c); err != nil || !proto.Equal(got, set) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = r.UpdateSettings(t.Context(), c, nil)
	wants(t, "no settings", err, errs.Invalid, "bad_settings")
	// An unknown id with the highest bit set is nobody, not an error.
	if list, err := r.GetUsers(t.Context(), &accountv1.GetUsersRequest{Users: []uint64{1<<64 - 1}}); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
