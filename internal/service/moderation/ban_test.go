package moderation_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

func user(u id.User) *moderationv1.Target {
	return &moderationv1.Target{Of: &moderationv1.Target_User{User: uint64(u)}}
}

func device(n uint64) *moderationv1.Target {
	return &moderationv1.Target{Of: &moderationv1.Target_Device{Device: n}}
}

func network(text string) *moderationv1.Target {
	return &moderationv1.Target{Of: &moderationv1.Target_Network{Network: text}}
}

// ban bans a target for some time; 0 is for ever.
func (f *fixture) ban(t *moderationv1.Target, last time.Duration) *moderationv1.Ban {
	f.t.Helper()
	r := &moderationv1.BanTargetRequest{Target: t, Reason: spam, Explanation: "stop it"}
	if last > 0 {
		r.EndsMs = f.clock.Now().Add(last).UnixMilli()
	}
	b, err := f.BanTarget(f.t.Context(), mia, r)
	must(f.t, err)
	return b
}

// A ban ends the sessions, and refuses login, refresh and tokens until its end, with the time.
func TestBansOfUsers(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	first, second, other := f.session(alice), f.session(alice), f.session(bob)
	refreshed, err := f.accounts.Refresh(t.Context(), &accountv1.RefreshRequest{RefreshToken: second.RefreshToken})
	must(t, err)
	b := f.ban(user(alice), time.Hour)
	if !b.Active || b.About != uint64(alice) || b.By != "mia" {
		t.Errorf("the ban is %v", b)
	}
	ended := []uint64{}
	for _, e := range f.ended {
		if e.User != alice || e.Reason != "banned" {
			t.Errorf("ended: %v", e)
		}
		ended = append(ended, uint64(e.Session))
	}
	slices.Sort(ended)
	if want := []uint64{first.Session, second.Session}; !slices.Equal(ended, want) {
		t.Errorf("the sessions %v have ended, want %v", ended, want)
	}
	attempts := map[string]func() error{
		"a login": func() error { _, err := f.login(alice, 0); return err },
		"a refresh": func() error {
			_, err := f.accounts.Refresh(t.Context(), &accountv1.RefreshRequest{RefreshToken: refreshed.RefreshToken})
			return err
		},
		"a token": func() error { _, err := f.accounts.Verify(t.Context(), refreshed.AccessToken); return err },
		"a user":  func() error { return f.CheckUser(t.Context(), alice) },
	}
	for name, attempt := range attempts {
		err := attempt()
		if e := errs.Of(err); reason(err) != "account_banned" || e.Kind != errs.Denied || e.Ban == nil || e.Ban.EndsMs != b.EndsMs || e.Ban.Explanation != "stop it" || e.Ban.AppealToken == "" ||
			!strings.Contains(e.Message, time.UnixMilli(b.EndsMs).UTC().Format("2006-01-02 15:04 UTC")) || !strings.Contains(e.Message, "appeal") {
			t.Errorf("%s is answered with %v", name, err)
		}
	}
	if _, err := f.accounts.Verify(t.Context(), other.AccessToken); err != nil {
		t.Errorf("another user is answered with %v", err)
	}
	f.clock.Advance(time.Hour - time.Millisecond)
	if _, err := f.login(alice, 0); reason(err) != "account_banned" {
		t.Errorf("just before the end a login is answered with %v", err)
	}
	f.clock.Advance(time.Millisecond)
	f.session(alice)
	if _, err := f.accounts.Refresh(t.Context(), &accountv1.RefreshRequest{RefreshToken: refreshed.RefreshToken}); reason(err) != "bad_refresh_token" {
		t.Errorf("a session that has ended is answered with %v", err)
	}
}

// Of several bans the one that ends last holds; one that is lifted does not.
func TestBansAreLifted(t *testing.T) {
	f := open(t, 1)
	alice := f.user()
	f.ban(user(alice), time.Hour)
	forever := f.ban(user(alice), 0)
	f.ban(user(alice), 2*time.Hour)
	ends := func() string {
		_, err := f.login(alice, 0)
		if err == nil {
			return "none"
		}
		return errs.Of(err).Message
	}
	if got := ends(); !strings.Contains(got, "for ever") {
		t.Errorf("the refusal is %q", got)
	}
	for range 2 { // a retry is harmless
		b, err := f.LiftBan(t.Context(), moe, &moderationv1.LiftBanRequest{Ban: forever.Id, Note: "a mistake"})
		must(t, err)
		if b.Active || b.LiftedMs == 0 {
			t.Errorf("the lifted ban is %v", b)
		}
	}
	if got := ends(); !strings.Contains(got, f.clock.Now().Add(2*time.Hour).UTC().Format("15:04 UTC")) {
		t.Errorf("the refusal is %q", got)
	}
	list := func(r *moderationv1.ListBansRequest) (n int) {
		for r.Limit = 1; ; {
			page, err := f.ListBans(t.Context(), mia, r)
			must(t, err)
			n += len(page.Bans)
			if r.Page = page.Next; r.Page == "" {
				return n
			}
		}
	}
	for _, test := range []struct {
		r    *moderationv1.ListBansRequest
		want int
	}{{&moderationv1.ListBansRequest{}, 2}, {&moderationv1.ListBansRequest{Past: true}, 3}, {&moderationv1.ListBansRequest{About: uint64(alice)}, 2}, {&moderationv1.ListBansRequest{About: 5}, 0}} {
		if got := list(test.r); got != test.want {
			t.Errorf("%v has %d bans, want %d", test.r, got, test.want)
		}
	}
	f.clock.Advance(2 * time.Hour)
	if got := ends(); got != "none" {
		t.Errorf("after the bans the refusal is %q", got)
	}
	if _, err := f.LiftBan(t.Context(), mia, &moderationv1.LiftBanRequest{Ban: 5}); reason(err) != "no_ban" {
		t.Errorf("no ban is answered with %v", err)
	}
	if got := f.audited(); len(got) != 4 || got[3] != "max; ban.lift; banned; lifted; a mistake" || got[1] != "mia; ban.add; ; for ever; " {
		t.Errorf("the audit log has %q", got)
	}
}

// A ban of a device ends its session, and refuses it to all users, who may use others.
func TestBansOfDevices(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	one, two := f.session(alice), f.session(alice)
	b := f.ban(device(one.Device), time.Hour)
	if b.About != uint64(alice) || len(f.ended) != 1 || uint64(f.ended[0].Session) != one.Session {
		t.Errorf("the ban is %v, and ended %v", b, f.ended)
	}
	if _, err := f.accounts.Verify(t.Context(), two.AccessToken); err != nil {
		t.Errorf("another device is answered with %v", err)
	}
	for _, u := range []id.User{alice, bob} {
		_, err := f.login(u, one.Device)
		if reason(err) != "account_banned" || !strings.Contains(err.Error(), "this device") || (errs.Of(err).Ban.AppealToken != "") != (u == alice) {
			t.Errorf("user %d is answered with %v", u, err)
		}
	}
	f.session(alice)
	f.clock.Advance(time.Hour)
	_, err := f.login(alice, one.Device)
	must(t, err)
	if _, err := f.BanTarget(t.Context(), mia, &moderationv1.BanTargetRequest{Target: device(5), Reason: spam}); reason(err) != "no_target" {
		t.Errorf("no device is answered with %v", err)
	}
}

// A network that is banned opens no sessions and no connections, on all nodes.
func TestBansOfNetworks(t *testing.T) {
	f := open(t, 2)
	alice := f.user()
	four, six := netip.MustParsePrefix("203.0.113.7/32"), netip.MustParsePrefix("2001:db8:1:2::/64")
	login := func(from netip.Prefix) error {
		return f.CheckBan(ratelimit.WithNetwork(t.Context(), from), f.db.Read(), alice, 0)
	}
	bans := []*moderationv1.Ban{f.ban(network("203.0.113.0/24"), time.Hour), f.ban(network("2001:db8:1:2::99"), time.Hour)}
	eventually.Within(t, eventually.Timeout/2, "nodes are told, and need not wait until they read all", func() bool { return f.told.Load() > 0 })
	if got := []string{bans[0].Target.GetNetwork(), bans[1].Target.GetNetwork()}; !slices.Equal(got, []string{"203.0.113.0/24", "2001:db8:1:2::/64"}) {
		t.Errorf("the networks are %q", got)
	}
	for _, from := range []netip.Prefix{four, six} {
		if err := login(from); reason(err) != "address_banned" || errs.Of(err).Ban.EndsMs != bans[0].EndsMs || errs.Of(err).Ban.AppealToken != "" {
			t.Errorf("a login from %v is answered with %v", from, err)
		}
		if err := f.CheckAddress(from); reason(err) != "address_banned" {
			t.Errorf("%v is answered with %v at once", from, err)
		}
		eventually.True(t, "the other node refuses it", func() bool { return reason(f.nodes[1].CheckAddress(from)) == "address_banned" })
	}
	for _, text := range []string{"203.0.112.255/32", "203.0.114.0/32", "2001:db8:1:3::/64", "2001:db8:1:1::/64"} {
		from := netip.MustParsePrefix(text)
		if err := login(from); err != nil {
			t.Errorf("%s is answered with %v", text, err)
		}
		if err := f.CheckAddress(from); err != nil {
			t.Errorf("%s is answered with %v", text, err)
		}
	}
	if err := f.CheckAddress(netip.Prefix{}); err != nil || login(netip.Prefix{}) != nil {
		t.Errorf("this machine is answered with %v", err)
	}
	_, err := f.nodes[1].LiftBan(t.Context(), mia, &moderationv1.LiftBanRequest{Ban: bans[1].Id})
	must(t, err)
	if err := login(six); err != nil {
		t.Errorf("after the ban a login is answered with %v", err)
	}
	eventually.True(t, "the first node accepts it", func() bool { return f.CheckAddress(six) == nil })
	f.clock.Advance(time.Hour)
	if err := f.CheckAddress(four); err != nil || login(four) != nil {
		t.Errorf("after its end the network is answered with %v", err)
	}
	for _, text := range []string{"", "x", "203.0.113.0/7", "203.0.113.0/33", "2001:db8::/15", "2001:db8::/65", "::ffff:203.0.113.7/128"} {
		if _, err := f.BanTarget(t.Context(), mia, &moderationv1.BanTargetRequest{Target: network(text), Reason: spam}); reason(err) != "bad_ban" {
			t.Errorf("%q is answered with %v", text, err)
		}
	}
	for _, text := range []string{"127.0.0.1", "127.0.0.0/8", "::1", "::/16", "::ffff:127.0.0.1"} {
		_, err := f.BanTarget(t.Context(), mia, &moderationv1.BanTargetRequest{Target: network(text), Reason: spam})
		if reason(err) != "bad_ban" || !strings.Contains(err.Error(), "X-Forwarded-For") {
			t.Errorf("%q, an address of this machine, is answered with %v", text, err)
		}
	}
}

// A case that is decided by a ban hides its content, and bans its author.
func TestDecidedBans(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	f.session(alice)
	p := f.post(alice, "bad")
	f.report(bob, subject(ofPost, p, 0))
	d := f.decide(f.onlyCase(), ban, f.clock.Now().Add(time.Hour).UnixMilli())
	if _, err := f.login(alice, 0); reason(err) != "account_banned" || len(f.ended) != 1 {
		t.Errorf("a login is answered with %v", err)
	}
	if _, err := f.feed.GetPost(t.Context(), bob, p); reason(err) != "no_post" {
		t.Errorf("the post is answered with %v", err)
	}
	bans, err := f.ListBans(t.Context(), mia, &moderationv1.ListBansRequest{})
	must(t, err)
	if len(bans.Bans) != 1 || bans.Bans[0].Decision != d.Id || bans.Bans[0].Explanation != "it breaks the rules" {
		t.Errorf("the bans are %v", bans)
	}
}

// A banned user appeals with the token of the refused login, once. An appeal that succeeds lifts the ban and shows the post.
func TestAppeals(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	p := f.post(alice, "a post")
	f.report(bob, subject(ofPost, p, 0))
	d := f.decide(f.onlyCase(), ban, 0)
	_, err := f.login(alice, 0)
	token := errs.Of(err).Ban.AppealToken
	appeal := func(token, text string) (uint64, error) {
		r, err := f.AppealBan(context.Background(), &moderationv1.AppealBanRequest{AppealToken: token, Text: text})
		return r.GetAppeal(), err
	}
	for _, test := range [][3]string{{"x", "please", "bad_appeal_token"}, {token, "", "bad_appeal"}, {token, strings.Repeat("x", 2001), "bad_appeal"}} {
		if _, err := appeal(test[0], test[1]); reason(err) != test[2] {
			t.Errorf("an appeal is answered with %v, want %s", err, test[2])
		}
	}
	f.clock.Advance(time.Hour + time.Millisecond)
	if _, err := appeal(token, "please"); reason(err) != "bad_appeal_token" {
		t.Errorf("an old token is answered with %v", err)
	}
	_, err = f.login(alice, 0)
	token = errs.Of(err).Ban.AppealToken
	n, err := appeal(token, "please")
	must(t, err)
	if again, err := appeal(token, "please"); err != nil || again != n {
		t.Errorf("a retry is appeal %d (%v), want %d", again, err, n)
	}
	if _, err := appeal(token, "please!"); reason(err) != "already_appealed" {
		t.Errorf("another appeal is answered with %v", err)
	}
	if _, err := f.AppealDecision(t.Context(), bob, &moderationv1.AppealDecisionRequest{Decision: d.Id, Text: "x"}); reason(err) != "no_decision" {
		t.Errorf("an appeal of another user is answered with %v", err)
	}
	_, err = f.login(alice, 0)
	if e := errs.Of(err); e.Ban.AppealToken != "" || !strings.Contains(e.Message, "You have appealed") {
		t.Errorf("after the appeal a login is answered with %v", err)
	}
	open, err := f.ListAppeals(t.Context(), mia, &moderationv1.ListAppealsRequest{})
	must(t, err)
	if len(open.Appeals) != 1 || open.Appeals[0].Id != n || open.Appeals[0].Decision.Id != d.Id || open.Appeals[0].Text != "please" || open.Appeals[0].Excerpt != "a post" || open.Appeals[0].User != uint64(alice) {
		t.Errorf("the appeals are %v", open)
	}
	verdict := &moderationv1.DecideAppealRequest{Appeal: n, Overturn: true, Answer: "sorry", Note: "a joke"}
	for range 2 {
		a, err := f.DecideAppeal(t.Context(), moe, verdict)
		must(t, err)
		if a.State != moderationv1.AppealState_APPEAL_STATE_OVERTURNED || !a.Decision.Overturned || !a.Decision.Applied {
			t.Errorf("the appeal is %v", a)
		}
	}
	if _, err := f.DecideAppeal(t.Context(), mia, &moderationv1.DecideAppealRequest{Appeal: n}); reason(err) != "appeal_decided" {
		t.Errorf("another moderator is answered with %v", err)
	}
	f.session(alice)
	if _, err := f.feed.GetPost(t.Context(), bob, p); err != nil {
		t.Errorf("the post is answered with %v", err)
	}
	mine, err := f.ListMyDecisions(t.Context(), alice, &moderationv1.ListMyDecisionsRequest{})
	must(t, err)
	if len(mine.Decisions) != 1 || mine.Decisions[0].Appeal != moderationv1.AppealState_APPEAL_STATE_OVERTURNED || mine.Decisions[0].AppealAnswer != "sorry" {
		t.Errorf("alice is told %v", mine)
	}
	if got := f.audited(); len(got) != 3 || !strings.HasPrefix(got[1], "max; ban.lift; banned; lifted; a joke") || !strings.HasPrefix(got[2], "max; appeal.decide; ban post") || !strings.HasSuffix(got[2], "; overturned; a joke") {
		t.Errorf("the audit log has %q", got)
	}
}

// An appeal that fails changes nothing; a comment that its author deletes while it is hidden is not shown again.
func TestAppealsAgainstHiding(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	p := f.post(bob, "a post")
	decide := func(text string, deletes, overturn bool) uint64 {
		n := f.comment(alice, p, 0, text)
		f.report(bob, subject(ofComment, n, 0))
		d := f.decide(f.onlyCase(), hide, 0)
		if deletes {
			must(t, f.comments.DeleteComment(t.Context(), alice, n))
		}
		a, err := f.AppealDecision(t.Context(), alice, &moderationv1.AppealDecisionRequest{Decision: d.Id, Text: "please"})
		must(t, err)
		_, err = f.DecideAppeal(t.Context(), mia, &moderationv1.DecideAppealRequest{Appeal: a.Appeal, Overturn: overturn})
		must(t, err)
		return n
	}
	upheld, deleted, shown := decide("one", false, false), decide("two", true, true), decide("three", false, true)
	for n, want := range map[uint64]string{upheld: "no_comment", deleted: "no_comment", shown: ""} {
		c, err := f.comments.GetComment(t.Context(), bob, n)
		if reason(err) != want || want == "" && c.Content.GetText() != "three" {
			t.Errorf("comment %d is %v (%v)", n, c, err)
		}
	}
	decided, err := f.ListAppeals(t.Context(), mia, &moderationv1.ListAppealsRequest{State: moderationv1.AppealState_APPEAL_STATE_UPHELD})
	must(t, err)
	if len(decided.Appeals) != 3 || decided.Appeals[2].State != moderationv1.AppealState_APPEAL_STATE_UPHELD {
		t.Errorf("the decided appeals are %v", decided)
	}
}
