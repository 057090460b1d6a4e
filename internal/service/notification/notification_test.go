package notification_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

func (f *fixture) want(u id.User, want ...string) {
	f.t.Helper()
	if got := f.lines(u); !slices.Equal(got, want) {
		f.t.Errorf("%d is notified of\n%q, want\n%q", u, got, want)
	}
	unread := 0
	for _, w := range want {
		if w[len(w)-1] == '*' {
			unread++
		}
	}
	if got := f.unread(f.node, u); int(got) != unread {
		f.t.Errorf("%d has %d unread notifications, want %d", u, got, unread)
	}
}

// TestMerging: likes since the last read are one notification, which counts each user once. Later ones are another.
func TestMerging(t *testing.T) {
	f := open(t, 1)
	ana, bea, cem, dan := f.user(), f.user(), f.user(), f.user()
	post := f.post(ana)
	f.like(ana, post, true) // of one's own
	f.want(ana)
	f.like(bea, post, true)
	f.clock.Advance(time.Millisecond)
	f.like(cem, post, true)
	f.like(bea, post, false)
	f.like(bea, post, true)
	merged := fmt.Sprintf("like %d [%d %d]/2 items 0", post, cem, bea)
	f.want(ana, merged+"*")
	f.read(ana)
	f.want(ana, merged)
	// What is not new does not notify again.
	f.like(bea, post, false)
	f.want(ana, fmt.Sprintf("like %d [%d]/1 items 0", post, cem))
	f.like(bea, post, true)
	f.want(ana, merged)
	f.like(dan, post, true)
	f.want(ana, fmt.Sprintf("like %d [%d]/1 items 0*", post, dan), merged)
	// A like that is taken back before it was read leaves nothing.
	f.like(dan, post, false)
	f.want(ana, merged)
	// Of the deleted post, nothing is shown.
	must(t, f.feed.DeletePost(t.Context(), ana, post))
	f.want(ana)
}

// TestReadsCoverWhatTheirListShowed: what happens after a list is unread after a read up to that list, on any device, whether or not it moved the
// notification, and no position covers more than the last list.
func TestReadsCoverWhatTheirListShowed(t *testing.T) {
	f := open(t, 1)
	ana, bea, cem, dan := f.user(), f.user(), f.user(), f.user()
	post := f.post(ana)
	f.like(bea, post, true)
	_, first := f.list(f.node, ana, 0)
	f.like(cem, post, true) // within the second of the move
	f.readTo(ana, first)
	f.want(ana, fmt.Sprintf("like %d [%d %d]/2 items 0*", post, cem, bea))
	f.readTo(ana, first-1) // a device that is late
	f.want(ana, fmt.Sprintf("like %d [%d %d]/2 items 0*", post, cem, bea))
	f.like(dan, post, true)
	f.readTo(ana, 1<<62) // nobody has listed that of dan
	if got := f.unread(f.node, ana); got != 1 {
		t.Errorf("%d are unread, want 1", got)
	}
	f.read(ana)
	f.want(ana, fmt.Sprintf("like %d [%d %d %d]/3 items 0", post, dan, cem, bea))
	if got := f.hints(); !slices.Contains(got, hint{ana, first}) || len(got) != 3 {
		t.Errorf("the hints of reads are %v", got)
	}
}

// TestCommentsAndMentions: each user is notified of one thing of a comment, and of what is there.
func TestCommentsAndMentions(t *testing.T) {
	f := open(t, 1)
	ana, bea, cem := f.user(), f.user(), f.user()
	post := f.post(ana)
	first := f.comment(bea, post, 0)
	f.comment(bea, post, 0)
	f.comment(ana, post, first, cem)
	f.want(ana, fmt.Sprintf("comment %d [%d]/1 items 2*", post, bea))
	f.want(bea, fmt.Sprintf("reply %d [%d]/1 items 1*", first, ana))
	third := f.comment(cem, post, first, bea, ana) // a reply with mentions
	f.want(ana, fmt.Sprintf("mention %d [%d]/1 items 1*", third, cem), fmt.Sprintf("comment %d [%d]/1 items 2*", post, bea))
	f.want(bea, fmt.Sprintf("mention %d [%d]/1 items 1*", third, cem), fmt.Sprintf("reply %d [%d]/1 items 1*", first, ana))
	// An edit that mentions somebody else.
	_, err := f.comments.EditComment(t.Context(), cem, &commentv1.EditCommentRequest{Comment: third, Content: &commentv1.CommentContent{Text: "edited", Mentions: mentions([]id.User{bea})}})
	must(t, err)
	f.want(ana, fmt.Sprintf("comment %d [%d]/1 items 2*", post, bea))
	must(t, f.comments.DeleteComment(t.Context(), cem, third))
	f.want(bea, fmt.Sprintf("reply %d [%d]/1 items 1*", first, ana))
	must(t, f.feed.HidePost(t.Context(), &feedv1.HidePostRequest{Post: post}))
	f.want(bea)
	f.want(ana)
	must(t, f.feed.HidePost(t.Context(), &feedv1.HidePostRequest{Post: post, Show: true}))
	f.want(bea, fmt.Sprintf("reply %d [%d]/1 items 1*", first, ana))
	// A mention in a post.
	other := f.post(cem, bea)
	f.want(bea, fmt.Sprintf("mention %d [%d]/1 items 1*", other, cem), fmt.Sprintf("reply %d [%d]/1 items 1*", first, ana))
	_, err = f.feed.EditPost(t.Context(), cem, &feedv1.EditPostRequest{Post: other, Content: &feedv1.PostContent{Text: "edited"}})
	must(t, err)
	f.want(bea, fmt.Sprintf("reply %d [%d]/1 items 1*", first, ana))
}

// TestMentionsAreChecked: a mention names a user who exists, in a range of the text.
func TestMentionsAreChecked(t *testing.T) {
	f := open(t, 1)
	ana := f.user()
	many := make([]id.User, 51)
	for i := range many {
		many[i] = ana
	}
	for name, c := range map[string]*commentv1.CommentContent{
		"bad_comment": {Text: "x", Mentions: mentions([]id.User{ana, ana})},
		"no_user":     {Text: "x", Mentions: mentions([]id.User{ana + 1<<20})},
	} {
		if _, err := f.comments.CreateComment(t.Context(), ana, &commentv1.CreateCommentRequest{ClientCommentId: "a", SubjectKind: onPost, Subject: f.post(ana), Content: c}); reason(err) != name {
			t.Errorf("%v is answered with %v, want %s", c, err, name)
		}
	}
	for name, c := range map[string]*feedv1.PostContent{
		"bad_post": {Text: string(make([]rune, 0)) + fmt.Sprintf("%060d", 0), Mentions: mentions(many)},
		"no_user":  {Text: "x", Mentions: mentions([]id.User{ana + 1<<20})},
	} {
		if _, err := f.feed.Publish(t.Context(), ana, &feedv1.PublishRequest{ClientPostId: "a", Content: c}); reason(err) != name {
			t.Errorf("%v is answered with %v, want %s", c, err, name)
		}
	}
}

// TestRelations: follows and friend requests are merged, and shown while they are there.
func TestRelations(t *testing.T) {
	f := open(t, 1)
	ana, bea, cem := f.user(), f.user(), f.user()
	follow := func(a id.User, follows bool) {
		_, err := f.accounts.SetFollow(t.Context(), a, ana, follows)
		must(t, err)
	}
	request := func() {
		_, err := f.accounts.RequestFriend(t.Context(), bea, ana, "hello")
		must(t, err)
	}
	follow(bea, true)
	follow(cem, true)
	request()
	f.want(ana, fmt.Sprintf("friend_request 0 [%d]/1 items 0*", bea), fmt.Sprintf("follow 0 [%d %d]/2 items 0*", cem, bea))
	follow(bea, false)
	_, err := f.accounts.AnswerFriend(t.Context(), ana, bea, false)
	must(t, err)
	f.want(ana, fmt.Sprintf("follow 0 [%d]/1 items 0*", cem))
	f.read(ana)
	request() // again, after it was declined
	follow(bea, true)
	f.want(ana, fmt.Sprintf("friend_request 0 [%d]/1 items 0*", bea), fmt.Sprintf("follow 0 [%d %d]/2 items 0", cem, bea))
	_, err = f.accounts.SetBlock(t.Context(), ana, cem, true)
	must(t, err)
	_, err = f.accounts.AnswerFriend(t.Context(), ana, bea, true)
	must(t, err)
	f.want(ana, fmt.Sprintf("follow 0 [%d]/1 items 0", bea))
	// A muted user notifies of nothing.
	_, err = f.accounts.SetMute(t.Context(), ana, bea, true)
	must(t, err)
	f.want(ana)
	f.comment(bea, f.post(ana), 0)
	f.want(ana)
	// Nor later of what was done meanwhile.
	_, err = f.accounts.SetMute(t.Context(), ana, bea, false)
	must(t, err)
	f.want(ana, fmt.Sprintf("follow 0 [%d]/1 items 0", bea))
	// A request that is withdrawn.
	dan := f.user()
	_, err = f.accounts.RequestFriend(t.Context(), dan, ana, "")
	must(t, err)
	f.want(ana, fmt.Sprintf("friend_request 0 [%d]/1 items 0*", dan), fmt.Sprintf("follow 0 [%d]/1 items 0", bea))
	_, err = f.accounts.DeleteFriend(t.Context(), dan, ana)
	must(t, err)
	f.want(ana, fmt.Sprintf("follow 0 [%d]/1 items 0", bea))
}

// TestSettings: a kind that is off produces nothing.
func TestSettings(t *testing.T) {
	f := open(t, 1)
	ana, bea := f.user(), f.user()
	post := f.post(ana)
	set := func(off ...notificationv1.NotificationKind) string {
		_, err := f.SetNotificationSettings(t.Context(), ana, &notificationv1.NotificationSettings{Off: off})
		return reason(err)
	}
	const likes, comments, last = notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE, notificationv1.NotificationKind_NOTIFICATION_KIND_COMMENT, notificationv1.NotificationKind_NOTIFICATION_KIND_REPOST
	for _, bad := range [][]notificationv1.NotificationKind{{0}, {likes, likes}, {last + 1}, {-1}, {99}} {
		if got := set(bad...); got != "bad_settings" {
			t.Errorf("%v is answered with %q", bad, got)
		}
	}
	if got := set(comments, likes); got != "" {
		t.Fatalf("the settings were refused with %q, want success", got)
	}
	f.like(bea, post, true)
	f.comment(bea, post, 0)
	f.want(ana)
	mention := f.comment(bea, post, 0, ana)
	f.want(ana, fmt.Sprintf("mention %d [%d]/1 items 1*", mention, bea))
	got, err := f.GetNotificationSettings(t.Context(), ana)
	if err != nil || !slices.Equal(got.Off, []notificationv1.NotificationKind{likes, comments}) {
		t.Errorf("the settings are %v, %v", got, err)
	}
	if got := set(notificationv1.NotificationKind_NOTIFICATION_KIND_MENTION); got != "" {
		t.Fatalf("the settings were refused with %q, want success", got)
	}
	f.comment(bea, post, 0, ana) // what is off gives way to the next
	f.want(ana, fmt.Sprintf("comment %d [%d]/1 items 1*", post, bea), fmt.Sprintf("mention %d [%d]/1 items 1*", mention, bea))
}

// TestPostsAndReposts: subscribers are notified of new posts that they may see, once, by jobs of bounded steps.
func TestPostsAndReposts(t *testing.T) {
	f := open(t, 1)
	f.UseSmallSizes()
	ana, bea, cem, dan := f.user(), f.user(), f.user(), f.user()
	for _, u := range []id.User{bea, cem, dan} {
		_, err := f.SubscribeToPosts(t.Context(), u, ana)
		must(t, err)
	}
	if _, err := f.SubscribeToPosts(t.Context(), ana, ana); reason(err) != "self" {
		t.Errorf("a subscription to oneself is answered with %v", err)
	}
	if _, err := f.SubscribeToPosts(t.Context(), ana, ana+1<<30); reason(err) != "no_user" {
		t.Errorf("a subscription to nobody is answered with %v", err)
	}
	_, err := f.UnsubscribeFromPosts(t.Context(), dan, ana)
	must(t, err)
	for u, want := range map[id.User]bool{bea: true, dan: false} {
		if got, err := f.GetPostSubscription(t.Context(), u, ana); err != nil || got.Subscribed != want {
			t.Errorf("%d is subscribed: %v %v", u, got, err)
		}
	}
	post := f.post(ana)
	chosen := f.publish(ana, &feedv1.PostContent{Text: "x", Audience: feedv1.Audience_AUDIENCE_CHOSEN, Users: []uint64{uint64(bea)}})
	if ran := f.runJobs(true); ran != 6 {
		t.Errorf("%d jobs ran, want 6 with one subscriber each", ran)
	}
	f.want(bea, fmt.Sprintf("post %d [%d]/1 items 2*", ana, ana))
	f.want(cem, fmt.Sprintf("post %d [%d]/1 items 1*", ana, ana))
	f.want(dan)
	_, err = f.feed.EditPost(t.Context(), ana, &feedv1.EditPostRequest{Post: chosen, Content: &feedv1.PostContent{Text: "for everyone later"}})
	must(t, err)
	f.want(cem, fmt.Sprintf("post %d [%d]/1 items 1*", ana, ana))
	list, _ := f.list(f.node, cem, 0)
	if list[0].Post != post || list[0].Item != post {
		t.Errorf("it names %v, want %d", list[0], post)
	}
	f.publish(cem, &feedv1.PostContent{RepostOf: post})
	f.want(ana, fmt.Sprintf("repost %d [%d]/1 items 1*", post, cem))
	f.publish(bea, &feedv1.PostContent{Text: "nobody is subscribed"})
	if ran := f.runJobs(false); ran != 0 {
		t.Errorf("%d jobs ran for an author without subscribers", ran)
	}
}

// TestPages: no notification is on two pages, and a page may be short.
func TestPages(t *testing.T) {
	f := open(t, 1)
	f.UseSmallSizes()
	ana, bea := f.user(), f.user()
	var want []string
	for range 7 {
		post := f.post(ana)
		f.comment(bea, post, 0)
		want = slices.Insert(want, 0, fmt.Sprintf("comment %d [%d]/1 items 1*", post, bea))
		f.comment(bea, f.post(ana), 0)
		hidden, _ := f.list(f.node, ana, 1)
		must(t, f.feed.DeletePost(t.Context(), ana, hidden[0].Post))
	}
	for _, limit := range []uint32{1, 2, 3, 50} {
		for _, examined := range []int{2, 500} {
			f.MaxExamined(examined)
			list, _ := f.list(f.node, ana, limit)
			var got []string
			for _, n := range list {
				got = append(got, line(n))
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d have %q, want %q", limit, got, want)
			}
		}
	}
	f.want(ana, want...)
}

// TestHotPost: thousands of likes at once cost few writes of the notification, whose causes are bounded.
func TestHotPost(t *testing.T) {
	f := open(t, 1)
	f.MaxCauses(5)
	ana := f.user()
	post := f.post(ana)
	like := func(from, to int) {
		var changes []counter.Change
		for n := from; n < to; n++ {
			changes = append(changes, counter.Change{Kind: counter.PostLikes, Subject: post, User: id.User(n)})
		}
		must(t, f.counters.Apply(t.Context(), changes))
	}
	for n := range 10 {
		like(1+n*10, 11+n*10)
	}
	list, position := f.list(f.node, ana, 0)
	if len(list) != 1 || list[0].ActorCount != 5 || !list[0].MoreActors || len(list[0].Actors) != 3 || list[0].Position != 1 {
		t.Errorf("the notifications are %v", list)
	}
	like(200, 210)
	f.readTo(ana, position)
	if got := f.unread(f.node, ana); got != 1 {
		t.Errorf("%d are unread, want 1: there were likes after the list", got)
	}
	f.clock.Advance(time.Second)
	like(300, 310)
	list, _ = f.list(f.node, ana, 0)
	if len(list) != 1 || list[0].Position != 3 {
		t.Errorf("the notifications are %v, want one that moved once a second", list)
	}
	var causes int
	must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM notification_causes`).Scan(&causes))
	if causes != 5 {
		t.Errorf("%d causes are stored, want 5", causes)
	}
}

// TestListsCountTheNewestCauses: a list counts a bounded number of the causes of a notification, and says that there are more. If these are gone, it shows the others.
func TestListsCountTheNewestCauses(t *testing.T) {
	f := open(t, 1)
	f.CountedCauses(3)
	ana := f.user()
	post := f.post(ana)
	apply := func(remove bool, from, to int) {
		for n := from; n < to; n++ {
			must(t, f.counters.Apply(t.Context(), []counter.Change{{Kind: counter.PostLikes, Subject: post, User: id.User(n), Remove: remove}}))
		}
		f.clock.Advance(time.Second)
	}
	check := func(what string, count uint32, more bool, actors ...uint64) {
		t.Helper()
		if list, _ := f.list(f.node, ana, 0); len(list) != 1 || list[0].ActorCount != count || list[0].MoreActors != more || !slices.Equal(list[0].Actors, actors) {
			t.Errorf("%s: the notifications are %v, want %d actors, first %v", what, list, count, actors)
		}
	}
	apply(false, 101, 104)
	check("as many as are counted", 3, false, 103, 102, 101)
	apply(false, 104, 108)
	check("more", 3, true, 107, 106, 105)
	apply(true, 105, 108)
	check("the newest were taken back", 4, false, 104, 103, 102)
	if n := f.unread(f.node, ana); n != 1 {
		t.Errorf("%d are unread, want 1", n)
	}
}

// TestDeletedCommentsKeepNobodyOut: who writes and deletes as many comments as a notification has causes does not hide those of others.
func TestDeletedCommentsKeepNobodyOut(t *testing.T) {
	f := open(t, 1)
	f.MaxCauses(3)
	ana, bea, cem := f.user(), f.user(), f.user()
	post := f.post(ana)
	for range 5 {
		f.clock.Advance(time.Millisecond)
		must(t, f.comments.DeleteComment(t.Context(), bea, f.comment(bea, post, 0)))
	}
	for range 2 {
		f.clock.Advance(time.Millisecond)
		f.comment(cem, post, 0)
	}
	f.want(ana, fmt.Sprintf("comment %d [%d]/1 items 2*", post, cem))
	var stored, counted int
	must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM notification_causes), (SELECT causes FROM notifications)`).Scan(&stored, &counted))
	if stored != 3 || counted != 3 {
		t.Errorf("%d causes are stored and %d counted, want 3", stored, counted)
	}
}

// TestTrim: the newest 500 notifications are kept, for 90 days.
func TestTrim(t *testing.T) {
	f := open(t, 1)
	ana, bea := f.user(), f.user()
	f.many(ana, bea, 525)
	must(t, f.Trim(t.Context()))
	list, _ := f.list(f.node, ana, 50)
	if len(list) != 500 || list[499].Id != 26 || f.unread(f.node, ana) != 100 {
		t.Errorf("%d are kept, the last is %v", len(list), list[len(list)-1])
	}
	f.clock.Advance(90 * 24 * time.Hour)
	must(t, f.Trim(t.Context()))
	if list, _ := f.list(f.node, ana, 50); len(list) != 500 {
		t.Errorf("%d are kept on the last day", len(list))
	}
	f.clock.Advance(time.Millisecond)
	must(t, f.Trim(t.Context()))
	var rows int
	must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM notifications) + (SELECT count(*) FROM notification_causes) + (SELECT kept FROM notification_owners WHERE owner = $1)`, int64(ana)).Scan(&rows))
	if list, _ := f.list(f.node, ana, 50); len(list) != 0 || rows != 0 {
		t.Errorf("%d are kept after 90 days, in %d rows", len(list), rows)
	}
}

// TestUnreadReadsBoundedCauses: likes that were taken back cost a count as much as they cost a list.
func TestUnreadReadsBoundedCauses(t *testing.T) {
	f := open(t, 1)
	f.UseSmallSizes()
	f.MaxExamined(8)
	ana, bea := f.user(), f.user()
	f.comment(bea, f.post(ana), 0)
	for range 6 {
		post := f.post(ana)
		var likes []counter.Change
		for n := range 40 {
			likes = append(likes, counter.Change{Kind: counter.PostLikes, Subject: post, User: id.User(n + 1)})
		}
		must(t, f.counters.Apply(t.Context(), likes))
		for i := range likes {
			likes[i].Remove = true
		}
		must(t, f.counters.Apply(t.Context(), likes))
	}
	if got := f.unread(f.node, ana); got != 0 {
		t.Errorf("%d are unread: more was read than 4 notifications with their 160 causes", got)
	}
	f.MaxExamined(100)
	if got := f.unread(f.node, ana); got != 1 {
		t.Errorf("%d are unread, want 1", got)
	}
}

// TestTrimKeepsWhatIsShown: notifications that show nothing do not count to the 500.
func TestTrimKeepsWhatIsShown(t *testing.T) {
	f := open(t, 1)
	ana, bea, cem := f.user(), f.user(), f.user()
	f.many(ana, bea, 480)
	post := f.post(cem)
	for range 60 {
		must(t, f.comments.DeleteComment(t.Context(), cem, f.comment(cem, post, 0, ana)))
	}
	f.comment(bea, post, 0, ana)
	must(t, f.Trim(t.Context()))
	var kept, stored int
	must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT kept, (SELECT count(*) FROM notifications WHERE owner = o.owner) FROM notification_owners o WHERE owner = $1`, int64(ana)).Scan(&kept, &stored))
	if list, _ := f.list(f.node, ana, 50); len(list) != 481 || kept != 500 || stored != 500 {
		t.Errorf("%d are shown, %d counted and %d stored", len(list), kept, stored)
	}
}

// TestTrimOfAFlood: who causes very many notifications does not displace those of others.
func TestTrimOfAFlood(t *testing.T) {
	f := open(t, 1)
	ana, bea, cem, dan := f.user(), f.user(), f.user(), f.user()
	f.many(ana, cem, 460)
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error { // those that follow are older
		_, notifications := tx.ExecContext(t.Context(), `UPDATE notifications SET pos = pos + 10000 WHERE owner = $1`, int64(ana))
		return notifications
	}))
	for range 30 {
		f.comment(bea, f.post(bea), 0, ana)
		f.comment(dan, f.post(dan), 0, ana)
	}
	must(t, f.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE notification_owners SET last_pos = 20000 WHERE owner = $1`, int64(ana))
		return err
	}))
	must(t, f.Trim(t.Context()))
	by := map[uint64]int{}
	list, _ := f.list(f.node, ana, 50)
	for _, n := range list {
		by[n.Actors[0]]++
	}
	if by[uint64(bea)] != 30 || by[uint64(dan)] != 30 || by[uint64(cem)] != 440 {
		t.Errorf("after a flood of user %d, the notifications by actor are %v", cem, by)
	}
}

// TestHints: connected devices are told after the commit, at most once a second.
func TestHints(t *testing.T) {
	f := open(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	ana, bea, cem := f.user(), f.user(), f.user()
	post := f.post(ana)
	f.like(bea, post, true)
	eventually.True(t, "a hint", func() bool { return slices.Equal(f.hints(), []hint{{ana, 0}}) })
	for range 3 {
		f.list(f.node, ana, 0) // so that the next one moves it
		f.comment(cem, post, 0)
	}
	eventually.True(t, "one more hint for all", func() bool { return len(f.hints()) == 2 })
	f.read(ana)
	if got := f.hints(); len(got) != 3 || got[2].read == 0 {
		t.Errorf("the hints are %v", got)
	}
	cancel()
	must(t, <-done)
}

// TestHintsFollowCommits: no device is told before the commit, and each is told after it.
func TestHintsFollowCommits(t *testing.T) {
	f := open(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	ana, bea := f.user(), f.user()
	post, other := f.post(ana), f.post(bea)
	f.Interrupt(func(string) error { return errs.New(errs.Unavailable, "busy", "") }) // the transaction fails
	if _, err := f.tryComment(f.node, bea, post, 0); err == nil {
		t.Fatal("the comment is stored")
	}
	f.Interrupt(nil)
	f.comment(ana, other, 0)
	eventually.True(t, "a hint of what was committed", func() bool { return len(f.hints()) > 0 })
	if got := f.hints(); !slices.Equal(got, []hint{{bea, 0}}) {
		t.Errorf("the hints are %v", got)
	}
	cancel()
	must(t, <-done)
}
